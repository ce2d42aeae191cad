//! `approvals`: what waits for the owner, and the owner's answer.

use std::process::ExitCode;

use serde_json::json;

use super::call::segment;
use crate::args::Approvals;
use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;

/// Lists, approves, denies.
pub async fn run(approvals: Approvals, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match approvals {
        Approvals::List { all, json } => {
            let listed = remote.get(&format!("/api/approvals?all={all}")).await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            let waiting = listed["approvals"].as_array().cloned().unwrap_or_default();
            if waiting.is_empty() {
                output::say("nothing waits for you");
            }
            for one in waiting {
                output::say(format!(
                    "{}  {}  {} asks for",
                    text(&one["id"]),
                    text(&one["state"]),
                    text(&one["caller"])
                ));
                output::say(format!("    {} {}", text(&one["tool"]), one["arguments"]));
                output::say(format!(
                    "    because of {}; until {}",
                    text(&one["rule"]),
                    text(&one["expiresAt"])
                ));
            }
        }
        Approvals::Approve { id } => {
            remote
                .expect_post(
                    &format!("/api/approvals/{}", segment(&id)),
                    &json!({ "decision": "approve" }),
                )
                .await?;
            output::say(format!("{id} is approved: the call may be made once"));
        }
        Approvals::Deny { id } => {
            remote
                .expect_post(
                    &format!("/api/approvals/{}", segment(&id)),
                    &json!({ "decision": "deny" }),
                )
                .await?;
            output::say(format!("{id} is denied"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
