//! `connection`: accounts used with MCP servers.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use crate::args::{AccountOptions, Connection};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Maximum size of standard input.
const MAX_INPUT: u64 = 1024 * 1024;

/// Runs a `connection` command.
pub async fn run(connection: Connection, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match connection {
        Connection::List { json } => list(&remote, json).await,
        Connection::Add {
            service,
            name,
            options,
        } => {
            let mut new = body(name, options, ctx)?;
            new["service"] = json!(service);
            let made = remote.expect_post("/api/connections", &new).await?;
            output::print_line(text(&made["pcid"]));
            output::print_note(format!(
                "added connection {:?} of {service}\nhint: test it with `manyhands connection test {}`",
                text(&made["name"]),
                text(&made["pcid"])
            ));
            Ok(ExitCode::SUCCESS)
        }
        Connection::Show { pcid } => {
            output::json(&remote.get(&path(&pcid, "")).await?);
            Ok(ExitCode::SUCCESS)
        }
        Connection::Set {
            pcid,
            name,
            options,
        } => {
            let change = body(name, options, ctx)?;
            if change.as_object().is_some_and(|change| change.is_empty()) {
                return Err(Failure(
                    "nothing to change; use --name, --credential or --agents".to_owned(),
                ));
            }
            remote.put(&path(&pcid, ""), &change).await?;
            output::print_line(format!("updated {pcid}"));
            Ok(ExitCode::SUCCESS)
        }
        Connection::Test { pcid } => {
            let tried = remote
                .expect_post(&path(&pcid, "/test"), &Value::Null)
                .await?;
            let status = text(&tried["status"]);
            let name = text(&tried["name"]);
            if status != "connected" {
                return Err(Failure(format!(
                    "{name}: {status}: {}",
                    text(&tried["detail"])
                )));
            }
            output::print_line(format!("{name}: {status}"));
            Ok(ExitCode::SUCCESS)
        }
        Connection::Remove { pcid } => {
            remote.delete(&path(&pcid, "")).await?;
            output::print_line(format!("removed {pcid}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn path(pcid: &str, rest: &str) -> String {
    format!("/api/connections/{}{rest}", segment(pcid))
}

async fn list(remote: &Remote, json: bool) -> Done {
    let listed = remote.get("/api/connections").await?;
    if json {
        output::json(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    let all = listed["connections"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if all.is_empty() {
        output::print_line(
            "no connections yet\nhint: `manyhands connection add SERVICE --credential token`",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let words = |value: &Value| {
        let all = value.as_array().into_iter().flatten();
        all.map(text).collect::<Vec<_>>().join(" ")
    };
    let rows = all.iter().map(|one| {
        vec![
            text(&one["pcid"]),
            text(&one["service"]),
            text(&one["name"]),
            text(&one["status"]),
            words(&one["fields"]),
            words(&one["agents"]),
            text(&one["detail"]),
        ]
    });
    let columns = [
        "pcid",
        "service",
        "name",
        "status",
        "credentials",
        "agents",
        "problem",
    ];
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

/// Request body with only the options that were options.
fn body(name: Option<String>, options: AccountOptions, ctx: &CliContext) -> Result<Value, Failure> {
    let mut body = json!({});
    if let Some(name) = name {
        body["name"] = json!(name);
    }
    if !options.agents.is_empty() {
        body["agents"] = json!(options.agents);
    }
    let credentials = credentials(&options.credential, ctx)?;
    if !credentials.is_empty() {
        body["credentials"] = json!(credentials);
    }
    Ok(body)
}

/// Collects credentials from the environment, standard input or prompts.
pub(super) fn credentials(
    wanted: &[(String, Option<String>)],
    ctx: &CliContext,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut values = BTreeMap::new();
    let environment = ctx.environment();
    for (key, variable) in wanted {
        let Some(variable) = variable else { continue };
        let value = environment.get(variable).filter(|value| !value.is_empty());
        let value =
            value.ok_or_else(|| Failure(format!("environment variable {variable} is not set")))?;
        values.insert(key.clone(), value.clone());
    }
    let open = wanted.iter().filter(|(_, variable)| variable.is_none());
    let open: Vec<&str> = open.map(|(key, _)| key.as_str()).collect();
    if open.is_empty() {
        return Ok(values);
    }
    let input = std::io::stdin();
    let read = match input.is_terminal() {
        true => open
            .iter()
            .map(|key| prompt_for(key))
            .collect::<Result<_, _>>()?,
        false => piped(input, open.len())?,
    };
    for (key, value) in open.into_iter().zip(read) {
        if value.is_empty() {
            return Err(Failure(format!(
                "no value given for {key}\nhint: pipe it in, as in printf %s \"$VALUE\" | manyhands …, or name an environment variable"
            )));
        }
        values.insert(key.to_owned(), value);
    }
    Ok(values)
}

/// Reads standard input: all of it for one credential, one line each for several.
fn piped(input: std::io::Stdin, count: usize) -> Result<VecDeque<String>, Failure> {
    let mut said = String::new();
    input.lock().take(MAX_INPUT).read_to_string(&mut said)?;
    let said = said.trim_end_matches(['\n', '\r']);
    // A single credential may have several lines, such as a private key.
    if count == 1 {
        return Ok([said.to_owned()].into());
    }
    let mut lines: VecDeque<String> = said.lines().map(str::to_owned).collect();
    if lines.len() > count {
        return Err(Failure(format!(
            "expected {count} credentials on standard input, got {} lines",
            lines.len()
        )));
    }
    // Missing lines become empty values, which the caller refuses by name.
    lines.resize(count, String::new());
    Ok(lines)
}

/// Prompts for a value without echoing it.
pub(super) fn prompt_for(key: &str) -> Result<String, Failure> {
    let input = std::io::stdin();
    let quiet = Quiet::begin(&input)?;
    // Only now: what is typed or pasted as soon as the prompt shows must not be echoed.
    output::print_prompt(&format!("{key}: "));
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    // Restored before anything else can fail or print.
    drop(quiet);
    output::print_prompt("\n");
    read?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Disables terminal echo until dropped.
struct Quiet<'a> {
    input: &'a std::io::Stdin,
    before: rustix::termios::Termios,
}

impl<'a> Quiet<'a> {
    fn begin(input: &'a std::io::Stdin) -> Result<Self, Failure> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(input)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(input, OptionalActions::Now, &quiet)?;
        Ok(Self { input, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // The terminal may be gone; there is nothing left to restore then.
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
    }
}
