//! `connection`: the accounts by which MCP servers are used.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use crate::args::{Connection, Given};
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};

/// The most that is read of standard input.
const MAX_INPUT: u64 = 1024 * 1024;

/// Runs one of them.
pub async fn run(connection: Connection, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match connection {
        Connection::List { json } => list(&remote, json).await,
        Connection::Add {
            service,
            name,
            given,
        } => {
            let mut new = body(name, given, ground)?;
            new["service"] = json!(service);
            let made = remote.expect_post("/api/connections", &new).await?;
            output::say(text(&made["pcid"]));
            output::remark(format!(
                "{service} has a connection named {:?}\nhint: `manyhands connection test {}` tries it",
                text(&made["name"]),
                text(&made["pcid"])
            ));
            Ok(ExitCode::SUCCESS)
        }
        Connection::Show { pcid } => {
            output::json(&remote.get(&path(&pcid, "")).await?);
            Ok(ExitCode::SUCCESS)
        }
        Connection::Set { pcid, name, given } => {
            let change = body(name, given, ground)?;
            if change.as_object().is_some_and(|change| change.is_empty()) {
                return Err(Failure(
                    "say what to change: --name, --credential or --agents".to_owned(),
                ));
            }
            remote.put(&path(&pcid, ""), &change).await?;
            output::say(format!("{pcid} is changed"));
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
            output::say(format!("{name}: {status}"));
            Ok(ExitCode::SUCCESS)
        }
        Connection::Remove { pcid } => {
            remote.delete(&path(&pcid, "")).await?;
            output::say(format!("{pcid} is removed"));
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
        output::say(
            "there is no connection yet\nhint: `manyhands connection add SERVICE --credential token`",
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

/// What the gateway is told; only what was given.
fn body(name: Option<String>, given: Given, ground: &Ground) -> Result<Value, Failure> {
    let mut body = json!({});
    if let Some(name) = name {
        body["name"] = json!(name);
    }
    if !given.agents.is_empty() {
        body["agents"] = json!(given.agents);
    }
    let credentials = credentials(&given.credential, ground)?;
    if !credentials.is_empty() {
        body["credentials"] = json!(credentials);
    }
    Ok(body)
}

/// The values: of the environment, of standard input, or asked for.
pub(super) fn credentials(
    wanted: &[(String, Option<String>)],
    ground: &Ground,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut values = BTreeMap::new();
    let environment = ground.environment();
    for (key, variable) in wanted {
        let Some(variable) = variable else { continue };
        let value = environment.get(variable).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| Failure(format!("the variable {variable} is not set")))?;
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
            .map(|key| asked(key))
            .collect::<Result<_, _>>()?,
        false => piped(input, open.len())?,
    };
    for (key, value) in open.into_iter().zip(read) {
        if value.is_empty() {
            return Err(Failure(format!(
                "nothing came for {key}\nhint: give it on standard input, as in printf %s \"$VALUE\" | manyhands …, or name a variable of the environment"
            )));
        }
        values.insert(key.to_owned(), value);
    }
    Ok(values)
}

/// Standard input: all of it for one credential, a line each for several.
fn piped(input: std::io::Stdin, count: usize) -> Result<VecDeque<String>, Failure> {
    let mut said = String::new();
    input.lock().take(MAX_INPUT).read_to_string(&mut said)?;
    let said = said.trim_end_matches(['\n', '\r']);
    if count == 1 {
        return Ok([said.to_owned()].into());
    }
    let mut lines: VecDeque<String> = said.lines().map(str::to_owned).collect();
    if lines.len() > count {
        return Err(Failure(format!(
            "{count} credentials are wanted, but {} lines came",
            lines.len()
        )));
    }
    lines.resize(count, String::new());
    Ok(lines)
}

/// A line of the terminal that is not shown while it is typed.
pub(super) fn asked(key: &str) -> Result<String, Failure> {
    output::ask(&format!("{key}: "));
    let input = std::io::stdin();
    let quiet = Quiet::begin(&input)?;
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    drop(quiet);
    output::ask("\n");
    read?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
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
        // There is nobody left to tell.
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
    }
}
