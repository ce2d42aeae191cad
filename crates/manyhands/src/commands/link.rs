//! `link`: a way into the page for one browser.

use std::process::ExitCode;

use serde_json::Value;

use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;

/// Prints a link that works once.
pub async fn run(ground: &Ground) -> Done {
    let remote = ground.remote()?;
    let made = remote
        .expect_post("/api/session/link", &Value::Null)
        .await?;
    let base = remote.url().trim_end_matches('/').to_owned();
    output::say(format!("{base}{}", text(&made["path"])));
    Ok(ExitCode::SUCCESS)
}
