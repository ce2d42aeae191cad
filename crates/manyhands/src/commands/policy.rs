//! `policy`: the rules, and what they would say.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::Policy;
use crate::ground::Ground;
use crate::output::{self, Done};
use crate::remote::text;

/// Shows the rules, or asks them.
pub async fn run(policy: Policy, ground: &Ground) -> Done {
    let remote = ground.remote()?;
    match policy {
        Policy::List => {
            let listed = remote.get("/api/policy").await?;
            let rules: Vec<&Value> = listed["rules"].as_array().into_iter().flatten().collect();
            for (at, rule) in rules.iter().enumerate() {
                output::say(format!("policy.rules.{at}  {rule}"));
            }
            output::say(
                "then: the owner may call everything; others may read and write, and ask before they run programs or speak to anybody",
            );
        }
        Policy::Explain {
            tool,
            arguments,
            role,
            name,
            agent,
        } => {
            let arguments: Value = serde_json::from_str(arguments.as_deref().unwrap_or("{}"))?;
            let call = json!({ "tool": tool, "arguments": arguments, "role": role.word(), "name": name, "agent": agent });
            let verdict = remote.expect_post("/api/policy/explain", &call).await?;
            let reason = verdict["reason"]
                .as_str()
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            output::say(format!(
                "{} ({}{reason})",
                text(&verdict["decision"]),
                text(&verdict["rule"])
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
