//! `mcp login` and `mcp logout`: accounts at MCP servers that want OAuth.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::call::segment;
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};

/// How often the gateway is asked whether somebody logged in.
const PAUSE: Duration = Duration::from_millis(500);

/// Shows the address to open, and waits until somebody has logged in there, or not in time.
pub async fn login(
    remote: &Remote,
    name: &str,
    account: Option<String>,
    connection: Option<String>,
) -> Done {
    let path = format!("/api/servers/{}/login", segment(name));
    let wanted = json!({ "name": account, "connection": connection });
    let begun = remote.expect_post(&path, &wanted).await?;
    output::remark("Open this in a browser and log in there:");
    output::say(output::one_line(&text(&begun["url"])));
    loop {
        let told = remote.get(&path).await?;
        if told["login"] != begun["login"] {
            return Err(Failure(
                "another login was begun since; this one was given up".to_owned(),
            ));
        }
        match told["state"].as_str() {
            Some("waiting") => sleep(PAUSE).await,
            Some("done") => {
                output::remark(format!(
                    "Logged in at {name}, connection {}.",
                    text(&told["pcid"])
                ));
                return Ok(ExitCode::SUCCESS);
            }
            _ => return Err(Failure(text(&told["detail"]))),
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
    output::say(format!("logged out of {name}"));
    if let Some(note) = gone["note"].as_str() {
        output::remark(format!("its authorization server was not told: {note}"));
    }
    Ok(ExitCode::SUCCESS)
}
