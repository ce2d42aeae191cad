//! What a model is told before a conversation: the agent's own files, its skills, here and now.

use manyhands_llm::SystemPart;

use crate::fence;
use crate::key::SessionKey;
use crate::outside::{House, SkillNote};
use crate::settings::{AgentSettings, SessionSettings};

/// How much of one file a model is told.
const MAX_FILE: usize = 32 * 1024;
/// How many skills the index lists.
const MAX_SKILLS: usize = 200;

const BASE: &str = "You are an agent with hands: you act through tools. Use them when they help, and say plainly what you did and what you could not do. Never claim a result that no tool gave you. When a tool refuses or fails, read what it says and do that, or say that it cannot be done. A call that needs the owner's approval waits for it.";
const SAFETY: &str = "Do nothing that outlasts the task unless asked. Do not copy secrets anywhere. When in doubt whether something harms, ask first.";
const WORKSPACE: &str = "Your workspace is a folder of files that stays between conversations (gsv__ReadFile, gsv__WriteFile, gsv__EditFile). SOUL.md, IDENTITY.md, USER.md, AGENTS.md, MEMORY.md, TOOLS.md and HEARTBEAT.md in it are told to you below as they are now. Write what you should remember to MEMORY.md or memory/YYYY-MM-DD.md.";

/// The parts of the prompt: what stays the same first.
pub(crate) async fn build(
    house: &dyn House,
    key: &SessionKey,
    agent: &AgentSettings,
    session: &SessionSettings,
) -> Vec<SystemPart> {
    let mut stable = vec![BASE.to_owned(), SAFETY.to_owned(), fence::ABOUT.to_owned()];
    stable.push(WORKSPACE.to_owned());
    stable.extend(agent.system_prompt.clone());
    stable.extend(session.system_prompt.clone());
    let first_run = house.file(key.agent(), "BOOTSTRAP.md").await;
    let names: &[&str] = match &first_run {
        Some(_) => &["SOUL.md", "IDENTITY.md", "USER.md"],
        None => &[
            "SOUL.md",
            "IDENTITY.md",
            "USER.md",
            "AGENTS.md",
            "TOOLS.md",
            "HEARTBEAT.md",
        ],
    };
    for name in names {
        stable.extend(told(house, key, name).await);
    }
    if let Some(ceremony) = &first_run {
        stable.push(format!(
            "This is your first run. Do what BOOTSTRAP.md says, then delete that file.\n\n## BOOTSTRAP.md\n{}",
            shortened(ceremony)
        ));
    } else {
        stable.extend(skills(&house.skills(key.agent()).await));
    }
    let mut changing = Vec::new();
    if first_run.is_none() && key.is_main() {
        changing.extend(told(house, key, "MEMORY.md").await);
    }
    let now = house.local_time();
    for day in [&now.day_before, &now.day] {
        changing.extend(told(house, key, &format!("memory/{day}.md")).await);
    }
    // To the hour: what changes with every minute would cost the provider's cache all that follows it.
    let hour = now.clock.split(':').next().unwrap_or_default();
    let mut facts = vec![
        format!("It is {}, after {hour}:00 ({}).", now.day, now.zone),
        format!("This is session {key}."),
    ];
    facts.extend(house.facts());
    changing.push(format!("## Here and now\n{}", facts.join("\n")));
    vec![
        SystemPart::stable(stable.join("\n\n")),
        SystemPart::changing(changing.join("\n\n")),
    ]
}

async fn told(house: &dyn House, key: &SessionKey, name: &str) -> Option<String> {
    let text = house.file(key.agent(), name).await?;
    let text = text.trim();
    (!text.is_empty()).then(|| format!("## {name}\n{}", shortened(text)))
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_FILE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_FILE);
    let whole = text.len();
    format!(
        "{}\n[cut: the file has {whole} bytes; read it for the rest]",
        &text[..end]
    )
}

/// The index of skills; their texts are read when they are needed.
fn skills(notes: &[SkillNote]) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let line = |note: &SkillNote| format!("- {} ({}): {}", note.name, note.path, note.description);
    let lines: Vec<String> = notes.iter().take(MAX_SKILLS).map(line).collect();
    Some(format!(
        "## Skills\nInstructions for special tasks. When one fits, read its file with gsv__ReadFile first.\n{}",
        lines.join("\n")
    ))
}
