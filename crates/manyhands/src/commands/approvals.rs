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
                output::say("nothing needs your approval");
            }
            for one in waiting {
                output::say(format!(
                    "{}  {}  requested by {}",
                    text(&one["id"]),
                    text(&one["state"]),
                    text(&one["caller"])
                ));
                output::say(format!("    {} {}", text(&one["tool"]), one["arguments"]));
                output::say(format!(
                    "    because of {}; expires {}",
                    text(&one["rule"]),
                    text(&one["expiresAt"])
                ));
                if let Some(source) = one["taintedBy"].as_str() {
                    output::say(format!(
                        "    requested after reading untrusted text: {source}"
                    ));
                }
                if one["state"] == "pending" && one["proposedRule"].is_object() {
                    output::say(format!(
                        "    --always adds the rule {}",
                        one["proposedRule"]
                    ));
                }
            }
        }
        Approvals::Approve {
            id,
            conversation,
            always,
        } => {
            let (scope, reaches) = match (conversation, always) {
                (true, _) => (
                    "conversation",
                    "calls like it may be made in this conversation",
                ),
                (_, true) => ("always", "the rule was added to the policy"),
                _ => ("once", "the call may be made once"),
            };
            let path = format!("/api/approvals/{}", segment(&id));
            let decision = json!({ "decision": "approve", "scope": scope });
            remote.expect_post(&path, &decision).await?;
            output::say(format!("{id} is approved: {reaches}"));
        }
        Approvals::Deny { id, message } => {
            let path = format!("/api/approvals/{}", segment(&id));
            let decision = json!({ "decision": "deny", "message": message });
            remote.expect_post(&path, &decision).await?;
            output::say(format!("{id} is denied"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
