//! `policy`: lists the rules and explains their decisions.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::Policy;
use crate::context::CliContext;
use crate::remote::text;
use manyhands_terminal::output::{self, Done};

/// Runs a `policy` command.
pub async fn run(policy: Policy, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match policy {
        Policy::List { json } => {
            let listed = remote.get("/api/policy").await?;
            if json {
                output::json(&listed);
                return Ok(ExitCode::SUCCESS);
            }
            let rules: Vec<&Value> = listed["rules"].as_array().into_iter().flatten().collect();
            for (at, rule) in rules.iter().enumerate() {
                output::print_line(format!("policy.rules.{at}  {rule}"));
            }
            output::print_line(
                "default: the owner may call everything; others may read and write, and need approval to run programs or send messages",
            );
        }
        Policy::Explain {
            tool,
            arguments,
            role,
            name,
            agent,
        } => {
            // Parsed here, so that a typo is reported without a request.
            let arguments: Value = serde_json::from_str(arguments.as_deref().unwrap_or("{}"))?;
            let call = json!({ "tool": tool, "arguments": arguments, "role": role.as_str(), "name": name, "agent": agent });
            let verdict = remote.expect_post("/api/policy/explain", &call).await?;
            let reason = verdict["reason"]
                .as_str()
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            output::print_line(format!(
                "{} ({}{reason})",
                text(&verdict["decision"]),
                text(&verdict["rule"])
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
