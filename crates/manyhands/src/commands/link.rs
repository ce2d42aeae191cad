//! `link`: prints a login link for the web page.

use std::process::ExitCode;

use serde_json::Value;

use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Prints a one-time login link.
pub async fn run(ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    let path = path(&remote).await?;
    // The URL this command has just used is one that works from here.
    let base = remote.url().trim_end_matches('/');
    output::print_line(format!("{base}{path}"));
    Ok(ExitCode::SUCCESS)
}

/// Creates a one-time login link; returns its path at the gateway.
pub async fn path(remote: &Remote) -> Result<String, Failure> {
    let made = remote
        .expect_post("/api/session/link", &Value::Null)
        .await?;
    Ok(text(&made["path"]))
}
