//! `mcp`: the tools over standard input and output, and the MCP servers behind the gateway.

mod accept;
mod add;
mod import;
mod place;
mod serve;

use std::process::ExitCode;

use manyhands_core::ServerName;
use serde_json::{Value, json};

use super::call::segment;
use super::login;
use crate::args::{Mcp, McpCommand};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};
use place::Place;

/// Serves, or sees to the servers.
pub async fn run(mcp: Mcp, ground: &Ground) -> Done {
    match mcp.command {
        None => serve::run(ground, mcp.profile.as_deref()).await,
        Some(McpCommand::List { json }) => list(ground, json).await,
        Some(McpCommand::Show { name }) => show(&ground.remote()?, &name).await,
        Some(McpCommand::Add(add)) => add::run(*add, ground).await,
        Some(McpCommand::Remove { name }) => remove(&name, ground).await,
        Some(McpCommand::Test { name }) => test(&ground.remote()?, &name).await,
        Some(McpCommand::Accept { name, tool, yes }) => {
            accept::run(&ground.remote()?, &name, tool.as_deref(), yes).await
        }
        Some(McpCommand::Login {
            name,
            account,
            connection,
        }) => login::login(&ground.remote()?, &name, account, connection).await,
        Some(McpCommand::Logout { name, connection }) => {
            login::logout(&ground.remote()?, &name, connection).await
        }
        Some(McpCommand::Logs { name }) => logs(&ground.remote()?, &name).await,
        Some(McpCommand::Import(import)) => import::run(import, ground).await,
    }
}

/// Where the gateway answers about a server.
fn path(name: &str, rest: &str) -> String {
    format!("/api/servers/{}{rest}", segment(name))
}

async fn list(ground: &Ground, json: bool) -> Done {
    let listed = match Place::of(ground)? {
        // Servers can be added before a gateway was ever started.
        Place::File {
            file,
            running: None,
        } => {
            output::remark("no gateway runs: this is what config.toml says");
            let servers: Vec<Value> = file.load()?.0.mcp_servers.iter().map(written).collect();
            json!({ "count": servers.len(), "servers": servers })
        }
        _ => ground.remote()?.get("/api/servers").await?,
    };
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let servers = listed["servers"].as_array().cloned().unwrap_or_default();
    if servers.is_empty() {
        output::say(
            "there is no MCP server yet\nhint: `manyhands mcp add NAME -- COMMAND` adds one, `manyhands mcp import` finds those of other programs",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let columns = ["name", "type", "state", "tools", "held", "problem"];
    let rows = servers.iter().map(|server| {
        let cells = columns.iter().map(|column| text(&server[column]));
        cells.collect::<Vec<String>>()
    });
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

fn written((name, server): (&ServerName, &manyhands_config::McpServer)) -> Value {
    let kind = match (&server.openapi, &server.command) {
        (Some(_), _) => "openapi",
        (None, Some(_)) => "stdio",
        (None, None) => "http",
    };
    let state = match server.enabled {
        true => "stopped",
        false => "off",
    };
    json!({ "name": name, "type": kind, "state": state, "url": server.url, "command": server.command })
}

async fn show(remote: &Remote, name: &str) -> Done {
    let shown = match remote.get(&path(name, "")).await {
        Ok(shown) => shown,
        // One that is switched off has no more to show than that.
        Err(unknown) => {
            let listed = remote.get("/api/servers").await?;
            let servers = listed["servers"].as_array().into_iter().flatten();
            let mut off = servers.filter(|one| one["name"] == name && one["state"] == "off");
            off.next().cloned().ok_or(unknown)?
        }
    };
    output::json(&shown);
    Ok(ExitCode::SUCCESS)
}

async fn test(remote: &Remote, name: &str) -> Done {
    let refresh = path(name, "/refresh");
    if let Err(failed) = remote.expect_post(&refresh, &Value::Null).await {
        // What its program said before it ended is more telling than that it did.
        if let Ok(shown) = remote.get(&path(name, "")).await {
            let said = text(&shown["stderr"]);
            let last = said.lines().rev().take(10).collect::<Vec<_>>();
            for line in last.into_iter().rev() {
                output::aside(line);
            }
        }
        return Err(failed);
    }
    let shown = remote.get(&path(name, "")).await?;
    let era = match &shown["era"] {
        Value::String(era) => format!(", {era}"),
        _ => String::new(),
    };
    output::say(format!(
        "{name} ({}{era}): {}, {}",
        text(&shown["type"]),
        text(&shown["state"]),
        count(&shown["tools"], "tool")
    ));
    for tool in shown["toolList"].as_array().into_iter().flatten() {
        let about = text(&tool["description"]);
        let about = about.lines().next().unwrap_or_default();
        let about: String = about.chars().take(100).collect();
        output::say(format!("  {}  {about}", text(&tool["name"])).trim_end());
    }
    if shown["held"].as_u64().is_some_and(|held| held > 0) {
        output::remark(format!(
            "{} held back until you take on what changed: `manyhands mcp accept {name}`",
            count(&shown["held"], "tool")
        ));
    }
    for left in shown["leftOut"].as_array().into_iter().flatten() {
        output::remark(format!(
            "{} is not offered as it is: {}",
            text(&left["tool"]),
            text(&left["reason"])
        ));
    }
    match &shown["problem"] {
        Value::String(problem) => Err(Failure(problem.clone())),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn count(number: &Value, thing: &str) -> String {
    match number.as_u64().unwrap_or(0) {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    }
}

async fn logs(remote: &Remote, name: &str) -> Done {
    let shown = remote.get(&path(name, "")).await?;
    match shown["stderr"].as_str().filter(|said| !said.is_empty()) {
        Some(said) => output::say(said.trim_end_matches('\n')),
        None => output::remark(format!("{name} wrote nothing to standard error")),
    }
    Ok(ExitCode::SUCCESS)
}

/// A running gateway also forgets what is on record of its tools.
async fn remove(name: &ServerName, ground: &Ground) -> Done {
    match Place::of(ground)? {
        Place::File {
            file,
            running: None,
        } => {
            if !file.load()?.0.mcp_servers.contains_key(name) {
                return Err(Failure(format!("there is no MCP server {name}")));
            }
            file.unset(&place::key(name))?;
        }
        Place::File { .. } | Place::Far(_) => {
            let remote = ground.remote()?;
            remote.delete(&path(name.as_str(), "")).await?;
            place::gone(&remote, name).await?;
            let secrets = remote.get("/api/secrets").await?;
            let of_it = format!("mcp/{name}/");
            for secret in secrets["names"].as_array().into_iter().flatten().map(text) {
                if secret.starts_with(&of_it) {
                    output::remark(format!(
                        "the secret {secret} is still kept; forget it with `manyhands secret remove {secret}`"
                    ));
                }
            }
        }
    }
    output::say(format!("{name} is removed"));
    Ok(ExitCode::SUCCESS)
}
