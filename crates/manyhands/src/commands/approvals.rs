//! `approvals`: lists and answers approval requests.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use crate::args::Approvals;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done};
use manyhands_terminal::{diff, style, wrap};

/// A rule and where it is set; older gateways send only the latter.
pub(super) fn rule(rule: &Value) -> String {
    match (rule["text"].as_str(), rule["source"].as_str()) {
        (Some(text), Some(source)) => format!("{text} ({source})"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => text(rule),
    }
}

/// Lists, approves or denies.
pub async fn run(approvals: Approvals, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match approvals {
        Approvals::List { all, json } => {
            let listed = remote.get(&format!("/api/approvals?all={all}")).await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            let waiting = listed["approvals"].as_array().cloned().unwrap_or_default();
            if waiting.is_empty() {
                output::print_line("nothing needs your approval");
            }
            for one in waiting {
                output::print_line(format!(
                    "{}  {}  requested by {}",
                    text(&one["id"]),
                    text(&one["state"]),
                    text(&one["caller"])
                ));
                // The complete arguments: what is shown is exactly what will run.
                output::print_line(format!("    {} {}", text(&one["tool"]), one["arguments"]));
                output::print_line(format!(
                    "    rule: {}; expires {}",
                    rule(&one["rule"]),
                    text(&one["expiresAt"])
                ));
                for name in ["reason", "task"] {
                    if let Some(known) = one[name].as_str() {
                        output::print_line(format!("    {name}: {}", output::one_line(known)));
                    }
                }
                if let Some(changed) = one["diff"].as_str() {
                    let width = wrap::terminal_columns().unwrap_or(usize::MAX);
                    output::print_rows(&diff::rows(changed, width, usize::MAX, style::on_stdout()));
                }
                if let Some(source) = one["taintedBy"].as_str() {
                    output::print_line(format!(
                        "    requested after reading untrusted text: {source}"
                    ));
                }
                // An answered request can no longer add a rule.
                if one["state"] == "pending" && one["proposedRule"].is_object() {
                    output::print_line(format!(
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
                (true, _) => ("conversation", "similar calls are allowed in this session"),
                (_, true) => ("always", "the rule was added to the policy"),
                _ => ("once", "the call is allowed once"),
            };
            let path = format!("/api/approvals/{}", segment(&id));
            let decision = json!({ "decision": "approve", "scope": scope });
            remote.expect_post(&path, &decision).await?;
            output::print_line(format!("{id} is approved: {reaches}"));
        }
        Approvals::Deny { id, message } => {
            let path = format!("/api/approvals/{}", segment(&id));
            let decision = json!({ "decision": "deny", "message": message });
            remote.expect_post(&path, &decision).await?;
            output::print_line(format!("{id} is denied"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
