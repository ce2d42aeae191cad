//! `mcp accept`: shows changed tool definitions and accepts them.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::path;
use crate::remote::{Remote, text};
use manyhands_terminal::editor::{Question, is_interactive};
use manyhands_terminal::output::{self, Done, Failure};

/// Shows the held tools and accepts them after confirmation.
pub async fn run(remote: &Remote, name: &str, tool: Option<&str>, yes: bool) -> Done {
    let shown = remote.get(&path(name, "")).await?;
    let held: Vec<&Value> = shown["heldBack"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| tool.is_none_or(|tool| one["tool"] == tool))
        .collect();
    if held.is_empty() {
        let what = tool.map_or(name.to_owned(), |tool| format!("{tool} of {name}"));
        return Err(Failure(format!("no held tools: {what}")));
    }
    for one in &held {
        let change = match one["new"] == true {
            true => "new",
            false => "changed",
        };
        output::print_line(format!("{}: {change}", text(&one["tool"])));
        output::print_line(text(&one["difference"]).trim_end());
    }
    if !yes && !confirmed(held.len()).await {
        output::print_note(format!(
            "nothing was accepted\nhint: `manyhands mcp accept {name} --yes` accepts what is shown"
        ));
        return Ok(ExitCode::FAILURE);
    }
    // One request per tool, with the fingerprint that was shown: a definition that changes in between is not accepted.
    for one in held {
        let mut accept = json!({ "tool": one["tool"] });
        if let (Some(tool), Some(shown)) = (one["tool"].as_str(), one["fingerprint"].as_str()) {
            accept["fingerprints"] = json!({ tool: shown });
        }
        remote.expect_post(&path(name, "/accept"), &accept).await?;
        output::print_line(format!("accepted {}", text(&one["tool"])));
    }
    Ok(ExitCode::SUCCESS)
}

async fn confirmed(count: usize) -> bool {
    // A script has to say `--yes`: silence is not consent.
    if !is_interactive() {
        return false;
    }
    output::print_prompt(match count {
        1 => "Accept the new definition? [y/N] ",
        _ => "Accept the new definitions? [y/N] ",
    });
    let answer = Question::start().answer().await.unwrap_or_default();
    matches!(answer.trim(), "y" | "Y" | "yes")
}
