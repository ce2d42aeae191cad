//! `mcp`: serves the tools on stdio, and manages the gateway's MCP servers.

mod accept;
mod add;
mod import;
mod registry;
mod search;
mod serve;
mod server_store;

use std::process::ExitCode;

use manyhands_core::ServerName;
use serde_json::{Value, json};

use super::call::segment;
use super::login;
use crate::args::{Mcp, McpCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};
use server_store::ServerStore;

/// Runs an `mcp` command.
pub async fn run(mcp: Mcp, ctx: &CliContext) -> Done {
    match mcp.command {
        None => serve::run(ctx, mcp.profile.as_deref()).await,
        Some(McpCommand::List { json }) => list(ctx, json).await,
        Some(McpCommand::Show { name }) => show(&ctx.remote()?, &name).await,
        Some(McpCommand::Add(add)) => add::run(*add, ctx).await,
        Some(McpCommand::Search(search)) => search::run(search).await,
        Some(McpCommand::Remove { name }) => remove(&name, ctx).await,
        Some(McpCommand::Test { name }) => test(&ctx.remote()?, &name).await,
        Some(McpCommand::Accept { name, tool, yes }) => {
            accept::run(&ctx.remote()?, &name, tool.as_deref(), yes).await
        }
        Some(McpCommand::Login {
            name,
            account,
            connection,
        }) => login::login(&ctx.remote()?, &name, account, connection).await,
        Some(McpCommand::Logout { name, connection }) => {
            login::logout(&ctx.remote()?, &name, connection).await
        }
        Some(McpCommand::Logs { name }) => logs(&ctx.remote()?, &name).await,
        Some(McpCommand::Import(import)) => import::run(import, ctx).await,
    }
}

/// API path of a server.
fn path(name: &str, rest: &str) -> String {
    format!("/api/servers/{}{rest}", segment(name))
}

async fn list(ctx: &CliContext, json: bool) -> Done {
    let listed = match ServerStore::of(ctx)? {
        // Servers can be added before a gateway was ever started.
        ServerStore::File {
            file,
            running: None,
        } => {
            output::print_note("no gateway is running; showing config.toml");
            let servers: Vec<Value> = file.load()?.0.mcp_servers.iter().map(written).collect();
            json!({ "count": servers.len(), "servers": servers })
        }
        _ => ctx.remote()?.get("/api/servers").await?,
    };
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let servers = listed["servers"].as_array().cloned().unwrap_or_default();
    if servers.is_empty() {
        output::print_line(
            "no MCP servers yet\nhint: search well-known ones with `manyhands mcp search`, add one with `manyhands mcp add NAME -- COMMAND`, or find those of other programs with `manyhands mcp import`",
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
        // A disabled server has no details; show its list entry instead.
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
        // The server's last log lines usually tell more than the error.
        if let Ok(shown) = remote.get(&path(name, "")).await {
            let said = text(&shown["stderr"]);
            let last = said.lines().rev().take(10).collect::<Vec<_>>();
            for line in last.into_iter().rev() {
                output::print_dimmed(line);
            }
        }
        return Err(failed);
    }
    let shown = remote.get(&path(name, "")).await?;
    let era = match &shown["era"] {
        Value::String(era) => format!(", {era}"),
        _ => String::new(),
    };
    output::print_line(format!(
        "{name} ({}{era}): {}, {}",
        text(&shown["type"]),
        text(&shown["state"]),
        count(&shown["tools"], "tool")
    ));
    for tool in shown["toolList"].as_array().into_iter().flatten() {
        let about = text(&tool["description"]);
        let about = about.lines().next().unwrap_or_default();
        let about: String = about.chars().take(100).collect();
        output::print_line(format!("  {}  {about}", text(&tool["name"])).trim_end());
    }
    if shown["held"].as_u64().is_some_and(|held| held > 0) {
        output::print_note(format!(
            "{} held for review; see `manyhands mcp accept {name}`",
            count(&shown["held"], "tool")
        ));
    }
    for left in shown["leftOut"].as_array().into_iter().flatten() {
        output::print_note(format!(
            "{} is not available: {}",
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
        Some(said) => output::print_line(said.trim_end_matches('\n')),
        None => output::print_note(format!("the log of {name} is empty")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes a server; a running gateway also deletes what it has recorded about its tools.
async fn remove(name: &ServerName, ctx: &CliContext) -> Done {
    match ServerStore::of(ctx)? {
        ServerStore::File {
            file,
            running: None,
        } => {
            if !file.load()?.0.mcp_servers.contains_key(name) {
                return Err(Failure(format!("unknown MCP server {name}")));
            }
            file.unset(&server_store::key(name))?;
        }
        ServerStore::File { .. } | ServerStore::Remote(_) => {
            let remote = ctx.remote()?;
            remote.delete(&path(name.as_str(), "")).await?;
            // Otherwise `mcp list` right after this would still show it.
            server_store::wait_until_removed(&remote, name).await?;
            let secrets = remote.get("/api/secrets").await?;
            let of_it = format!("mcp/{name}/");
            for secret in secrets["names"].as_array().into_iter().flatten().map(text) {
                if secret.starts_with(&of_it) {
                    output::print_note(format!(
                        "secret {secret} is still stored; delete it with `manyhands secret remove {secret}`"
                    ));
                }
            }
        }
    }
    output::print_line(format!("removed {name}"));
    Ok(ExitCode::SUCCESS)
}
