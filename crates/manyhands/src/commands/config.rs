//! `config`: edits the settings file; a running gateway applies changes at once.

use std::process::ExitCode;

use manyhands_config::{masked, value_from_text};
use serde_json::{Value, json};

use crate::args::Config;
use crate::context::CliContext;
use crate::remote::Remote;
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `config` command.
pub async fn run(config: Config, ctx: &CliContext) -> Done {
    let file = ctx.config();
    match config {
        Config::Get { path } => {
            let (settings, _) = file.load()?;
            match masked(&settings, path.as_deref())? {
                Value::String(text) => output::print_line(text),
                value => output::json(&value),
            }
        }
        Config::Set { path, value } => {
            // Written to the file even if a gateway runs: the file is the only source of settings.
            file.set(&path, &value_from_text(&value))?;
            output::print_line(written(ctx, &path).await);
        }
        Config::Unset { path } => {
            file.unset(&path)?;
            output::print_line(written(ctx, &path).await);
        }
        Config::Path => output::print_line(file.path().display().to_string()),
        Config::Check => {
            file.load()?;
            output::print_line(format!("{} is valid", file.path().display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports a saved setting and whether it is active.
async fn written(ctx: &CliContext, path: &str) -> String {
    let Some(url) = ctx.running() else {
        return format!("saved {path}");
    };
    match reload(ctx, &url).await {
        Ok(restart) if restart.is_empty() => format!("saved {path}; active on {url}"),
        Ok(restart) => {
            let keys = restart.join(", ");
            format!("saved {path}; restart the gateway at {url} to activate it ({keys})")
        }
        Err(Failure(why)) => format!(
            "saved {path}; could not confirm that the gateway at {url} has applied it, see its log\n{why}"
        ),
    }
}

/// Makes the gateway reload its settings; returns the keys that need a restart.
pub(super) async fn reload(ctx: &CliContext, url: &str) -> Result<Vec<String>, Failure> {
    // Safe to send the owner's token: `url` comes from this home's lock file.
    let remote = Remote::new(url, ctx.owner_token()?)?;
    let reloaded = remote.expect_post("/api/config/reload", &json!({})).await?;
    let restart = reloaded["needsRestart"].as_array();
    let restart = restart.map(Vec::as_slice).unwrap_or_default();
    Ok(restart
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect())
}
