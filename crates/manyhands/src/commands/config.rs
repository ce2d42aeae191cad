//! `config`: the file itself; a running gateway takes changes over at once.

use std::process::ExitCode;

use manyhands_config::{masked, value_from_text};
use serde_json::{Value, json};

use crate::args::Config;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::remote::Remote;

/// Shows, sets, checks.
pub async fn run(config: Config, ground: &Ground) -> Done {
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
            output::say(written(ground, &path).await);
        }
        Config::Unset { path } => {
            file.unset(&path)?;
            output::say(written(ground, &path).await);
        }
        Config::Path => output::say(file.path().display().to_string()),
        Config::Check => {
            file.load()?;
            output::say(format!("{} is in order", file.path().display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is said of a key that stands in the file now.
async fn written(ground: &Ground, path: &str) -> String {
    let Some(url) = ground.running() else {
        return format!("{path} is written");
    };
    match taken_over(ground, &url).await {
        Ok(restart) if restart.is_empty() => format!("{path} is written, and holds at {url}"),
        Ok(restart) => {
            let keys = restart.join(", ");
            format!("{path} is written; at {url} it holds after a restart ({keys})")
        }
        Err(Failure(why)) => format!(
            "{path} is written; the gateway at {url} takes it over by itself, or says in its log why not\n{why}"
        ),
    }
}

/// Has the gateway look at its file now; the keys that need a restart.
async fn taken_over(ground: &Ground, url: &str) -> Result<Vec<String>, Failure> {
    // The address is the one that the gateway of this home noted down.
    let remote = Remote::new(url, ground.owner_token()?)?;
    let told = remote.expect_post("/api/config/reload", &json!({})).await?;
    let restart = told["needsRestart"].as_array();
    let restart = restart.map(Vec::as_slice).unwrap_or_default();
    Ok(restart
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect())
}
