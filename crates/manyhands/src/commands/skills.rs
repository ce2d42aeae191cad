//! `skills`: lists, shows, enables and disables skills.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::call::segment;
use crate::args::{Skills, SkillsCommand};
use crate::context::CliContext;
use crate::remote::{Remote, text};
use manyhands_terminal::output::{self, Done, Failure};

/// Runs a `skills` command.
pub async fn run(skills: Skills, ctx: &CliContext) -> Done {
    let remote = ctx.remote()?;
    match skills.command {
        None => list(&remote, skills.agent.as_str(), skills.json).await?,
        Some(SkillsCommand::List { agent, json }) => list(&remote, agent.as_str(), json).await?,
        Some(SkillsCommand::Show { name, agent, json }) => {
            let path = format!("/api/skills/{}?agent={agent}", segment(&name));
            let found = remote.get(&path).await?;
            match json {
                true => output::json(&found),
                false => output::print_line(about(&found["skill"])),
            }
        }
        Some(SkillsCommand::Enable { name, agent }) => {
            switch(&remote, &name, agent.as_str(), true).await?;
        }
        Some(SkillsCommand::Disable { name, agent }) => {
            switch(&remote, &name, agent.as_str(), false).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(remote: &Remote, agent: &str, json: bool) -> Result<(), Failure> {
    let listed = remote.get(&format!("/api/skills?agent={agent}")).await?;
    if json {
        output::json(&listed);
        return Ok(());
    }
    let skills = listed["skills"].as_array().cloned().unwrap_or_default();
    if skills.is_empty() {
        let hint = "hint: create skills/NAME/SKILL.md in the workspace";
        output::print_line(format!("{agent} has no skills\n{hint}"));
        return Ok(());
    }
    let header = ["skill", "state", "description", "location"];
    output::table(&header, skills.iter().map(row).collect());
    Ok(())
}

async fn switch(remote: &Remote, name: &str, agent: &str, on: bool) -> Result<(), Failure> {
    let path = format!("/api/skills/{}", segment(name));
    let body = json!({ "enabled": on, "agent": agent });
    let done = remote.expect_post(&path, &body).await?;
    let skill = &done["skill"];
    output::print_line(format!("{}: {}", text(&skill["name"]), state(skill)));
    Ok(())
}

/// State of a skill.
fn state(skill: &Value) -> &'static str {
    // Disabled comes first: then it does not matter what the nodes can do.
    match (skill["enabled"] == false, skill["eligible"] == true) {
        (true, _) => "disabled",
        (false, true) => "ready",
        (false, false) => "unavailable",
    }
}

fn row(skill: &Value) -> Vec<String> {
    vec![
        text(&skill["name"]),
        state(skill).to_owned(),
        text(&skill["description"]),
        text(&skill["location"]),
    ]
}

/// Formats a skill and its text.
fn about(skill: &Value) -> String {
    let words = |value: &Value| {
        let all = value.as_array().into_iter().flatten().map(text);
        all.collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![format!("{} ({})", text(&skill["name"]), state(skill))];
    for (name, value) in [
        ("about", text(&skill["description"])),
        ("location", text(&skill["location"])),
        ("requires", words(&skill["requirements"]["capabilities"])),
        ("nodes", words(&skill["eligibleHosts"])),
        ("problem", words(&skill["reasons"])),
    ] {
        if !value.is_empty() {
            lines.push(format!("  {name:<9} {value}"));
        }
    }
    format!(
        "{}\n\n{}",
        lines.join("\n"),
        text(&skill["text"]).trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_skill_is_shown_with_its_reason() {
        let skill = json!({
            "name": "deploy", "description": "ships", "location": "skills/deploy/SKILL.md", "enabled": true,
            "eligible": false, "eligibleHosts": [], "reasons": ["no connected machine has: shell.exec"],
            "requirements": { "capabilities": ["shell.exec"] }, "text": "# Deploy\n",
        });
        let expect = "deploy (unavailable)\n  about     ships\n  location  skills/deploy/SKILL.md\n  \
            requires  shell.exec\n  problem   no connected machine has: shell.exec\n\n# Deploy";
        assert_eq!(about(&skill), expect);
        assert_eq!(
            state(&json!({ "enabled": false, "eligible": false })),
            "disabled"
        );
        assert_eq!(state(&json!({ "eligible": true })), "ready");
    }
}
