//! `connect --list`: clients, whether they are installed and connected.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::file::{self, SettingsFile};
use super::record::Record;
use crate::remote::text;
use manyhands_ai_clients::edit::Place;
use manyhands_ai_clients::{Client, UserEnv};
use manyhands_terminal::output::{self, Done};

/// Lists these clients, or all.
pub fn list(named: &[Client], user_env: &UserEnv, record: &Record, json: bool) -> Done {
    let all = match named.is_empty() {
        true => &Client::ALL[..],
        false => named,
    };
    let clients: Vec<Value> = all
        .iter()
        .map(|client| shown(*client, user_env, record))
        .collect();
    if json {
        output::json(&json!({ "clients": clients }));
        return Ok(ExitCode::SUCCESS);
    }
    let columns = ["client", "installed", "state", "gateway", "file"];
    let rows = clients.iter().map(|client| {
        let cells = columns.iter().map(|column| match &client[*column] {
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            other => text(other),
        });
        cells.collect::<Vec<String>>()
    });
    output::table(&columns, rows.collect());
    Ok(ExitCode::SUCCESS)
}

fn shown(client: Client, user_env: &UserEnv, record: &Record) -> Value {
    let known = record.clients.get(client.word());
    let path = known.map_or_else(|| client.settings(user_env), |known| known.file.clone());
    let read = SettingsFile::open(&path).map_err(|failure| failure.0);
    let entry = read.and_then(|file| {
        let entry = Place::of(client, &path).read(file.text())?;
        Ok((file, entry))
    });
    let state = match (&entry, known) {
        (Err(why), _) => format!("unreadable: {why}"),
        (Ok((_, None)), Some(_)) => "entry removed by another program".to_owned(),
        (Ok((_, None)), None) => "not connected".to_owned(),
        (Ok((file, Some(_))), Some(known)) if file::hash(file.text()) == known.written => {
            "connected".to_owned()
        }
        (Ok((_, Some(_))), Some(_)) => "connected, file changed since".to_owned(),
        (Ok((_, Some(_))), None) => "has an entry of another gateway".to_owned(),
    };
    json!({
        "client": client.word(),
        "installed": client.is_installed(user_env),
        "state": state,
        "gateway": known.map(|known| known.url.as_str()),
        "token": known.map(|known| known.token.as_str()),
        "file": path,
    })
}
