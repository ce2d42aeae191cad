//! `mcp login` and `mcp logout`: OAuth accounts of MCP servers.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::call::segment;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Polling interval while waiting for the login.
const LOGIN_POLL: Duration = Duration::from_millis(500);

/// Prints the URL to open and waits for the login to complete or expire.
pub async fn login(
    remote: &Remote,
    name: &str,
    account: Option<String>,
    connection: Option<String>,
) -> Done {
    let path = format!("/api/servers/{}/login", segment(name));
    let wanted = json!({ "name": account, "connection": connection });
    let started = remote.expect_post(&path, &wanted).await?;
    output::print_note("Open this URL in a browser and log in:");
    // On one line, so that it can be selected and opened as a whole.
    output::print_line(output::one_line(&text(&started["url"])));
    loop {
        let status = remote.get(&path).await?;
        // Each server has at most one login in progress; a newer one replaces ours.
        if status["login"] != started["login"] {
            return Err(Failure(
                "cancelled: another login was started meanwhile".to_owned(),
            ));
        }
        match status["state"].as_str() {
            // Polled rather than pushed: the login happens in another browser, possibly on another
            // machine.
            Some("waiting") => sleep(LOGIN_POLL).await,
            Some("done") => {
                output::print_note(format!(
                    "Logged in to {name}, connection {}.",
                    text(&status["pcid"])
                ));
                return Ok(ExitCode::SUCCESS);
            }
            _ => return Err(Failure(text(&status["detail"]))),
        }
    }
}

/// Logs out.
pub async fn logout(remote: &Remote, name: &str, connection: Option<String>) -> Done {
    let which = connection.map(|id| format!("?connection={}", segment(&id)));
    let path = format!(
        "/api/servers/{}/login{}",
        segment(name),
        which.unwrap_or_default()
    );
    let gone = remote.delete(&path).await?;
    output::print_line(format!("logged out of {name}"));
    if let Some(note) = gone["note"].as_str() {
        output::print_note(format!(
            "warning: the tokens were not revoked at the authorization server: {note}"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
