//! `link`: prints a login link for the web page.

use std::process::ExitCode;

use serde_json::Value;

use crate::context::CliContext;
use crate::output::{self, Done};
use crate::remote::text;

/// Prints a one-time login link.
pub async fn run(ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let made = remote
        .expect_post("/api/session/link", &Value::Null)
        .await?;
    // The URL this command has just used is one that works from here.
    let base = remote.url().trim_end_matches('/').to_owned();
    output::print_line(format!("{base}{}", text(&made["path"])));
    Ok(ExitCode::SUCCESS)
}
