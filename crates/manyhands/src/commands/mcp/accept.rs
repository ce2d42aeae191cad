//! `mcp accept`: what tools say of themselves now, held against what was taken on.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::path;
use crate::editor::{Question, somebody_is_there};
use crate::output::{self, Done, Failure};
use crate::remote::{Remote, text};

/// Shows what is held back and takes it on, when that is said.
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
        return Err(Failure(format!("nothing of {what} is held back")));
    }
    for one in &held {
        let news = match one["new"] == true {
            true => "new",
            false => "changed",
        };
        output::say(format!("{}: {news}", text(&one["tool"])));
        output::say(text(&one["difference"]).trim_end());
    }
    if !yes && !agreed(held.len()).await {
        output::remark(format!(
            "nothing is taken on\nhint: `manyhands mcp accept {name} --yes` takes on what is shown"
        ));
        return Ok(ExitCode::FAILURE);
    }
    // Tool by tool: what was not shown is not taken on with it.
    for one in held {
        let mut accept = json!({ "tool": one["tool"] });
        if let (Some(tool), Some(shown)) = (one["tool"].as_str(), one["fingerprint"].as_str()) {
            accept["fingerprints"] = json!({ tool: shown });
        }
        remote.expect_post(&path(name, "/accept"), &accept).await?;
        output::say(format!("{} is taken on", text(&one["tool"])));
    }
    Ok(ExitCode::SUCCESS)
}

async fn agreed(count: usize) -> bool {
    if !somebody_is_there() {
        return false;
    }
    output::ask(match count {
        1 => "Take it on as it is now? [y/N] ",
        _ => "Take them on as they are now? [y/N] ",
    });
    let answer = Question::new().answer().await.unwrap_or_default();
    matches!(answer.trim(), "y" | "Y" | "yes")
}
