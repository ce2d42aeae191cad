//! `config`: the file itself; a running gateway takes changes over by itself.

use std::process::ExitCode;

use manyhands_config::{masked, value_from_text};
use serde_json::Value;

use crate::args::Config;
use crate::ground::Ground;
use crate::output::{self, Done};

/// Shows, sets, checks.
pub fn run(config: Config, ground: &Ground) -> Done {
    let file = ground.config();
    match config {
        Config::Get { path } => {
            let (settings, _) = file.load()?;
            match masked(&settings, path.as_deref())? {
                Value::String(text) => output::say(text),
                value => output::json(&value),
            }
        }
        Config::Set { path, value } => {
            file.set(&path, &value_from_text(&value))?;
            told(ground, &path);
        }
        Config::Unset { path } => {
            file.unset(&path)?;
            told(ground, &path);
        }
        Config::Path => output::say(file.path().display().to_string()),
        Config::Check => {
            file.load()?;
            output::say(format!("{} is in order", file.path().display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn told(ground: &Ground, path: &str) {
    match ground.running() {
        Some(url) => output::say(format!(
            "{path} is written; the gateway at {url} takes it over now, or says in its log that it needs a restart"
        )),
        None => output::say(format!("{path} is written")),
    }
}
