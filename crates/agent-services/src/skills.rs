//! Which skills an agent can use: what its files and the settings say, and what the connected
//! machines can do.

use manyhands_agent::{SkillNote, skill};
use manyhands_config::Skills;
use manyhands_core::AgentId;
use manyhands_host::workspace::{File, Found, Source, Workspace};
use manyhands_wire::{CAPABILITIES, SkillNeedsShape, SkillStatus};

/// How many skills are looked at.
const MAX_SKILLS: usize = 500;

/// A machine and what it can do.
pub type Able = (String, Vec<String>);

/// A skill as it stands for one agent.
pub struct Seen {
    /// The folder of its file.
    pub folder: String,
    /// Where its text is, as a path of the workspace.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Whose copy it is.
    pub source: Source,
    /// Where it stands.
    pub status: SkillStatus,
}

/// Every skill of an agent, by name. Its own come before global ones of the same name.
pub async fn look(
    workspace: &Workspace,
    agent: &AgentId,
    said: &Skills,
    nodes: &[Able],
) -> Vec<Seen> {
    let Ok(Found::Directory { directories, .. }) = workspace.find(agent, "skills/").await else {
        return Vec::new();
    };
    let mut found: Vec<Seen> = Vec::new();
    for folder in directories.into_iter().take(MAX_SKILLS) {
        let path = format!("{}/SKILL.md", folder.trim_end_matches('/'));
        if let Ok(Found::File(file)) = workspace.find(agent, &path).await {
            found.push(seen(path, file, said, nodes));
        }
    }
    let own = |seen: &Seen| seen.source == Source::Agent;
    found.sort_by(|a, b| {
        let by_name = a.status.name.cmp(&b.status.name);
        let by_name = by_name.then(own(b).cmp(&own(a)));
        by_name.then_with(|| a.folder.cmp(&b.folder))
    });
    found.dedup_by(|later, first| later.status.name == first.status.name);
    found
}

fn seen(path: String, file: File, said: &Skills, nodes: &[Able]) -> Seen {
    let folder = path.rsplit('/').nth(1).unwrap_or_default().to_owned();
    let skill = skill::parse(&folder, &file.text);
    let entry = said.entry(&file.key, &folder, &skill.name);
    let enabled = entry.is_none_or(|entry| entry.enabled);
    let always = entry.and_then(|entry| entry.always).unwrap_or(skill.always);
    let needs = match entry.and_then(|entry| entry.requires.clone()) {
        Some(needs) => needs.capabilities,
        None => skill.capabilities,
    };
    let can = |(_, can): &&Able| needs.iter().all(|need| can.contains(need));
    let hosts: Vec<String> = nodes.iter().filter(can).map(|(id, _)| id.clone()).collect();
    let mut reasons = Vec::new();
    if !enabled {
        reasons.push("it is switched off under skills.entries".to_owned());
    }
    // Its text would become an instruction.
    let untrusted = file.taint.is_tainted();
    if untrusted {
        reasons.push(format!(
            "it was written after reading untrusted text ({}); trust it with `manyhands trust accept file {}`",
            file.taint, file.key
        ));
    }
    let unmet = !always && !needs.is_empty() && hosts.is_empty();
    if unmet {
        let unknown: Vec<&str> = needs
            .iter()
            .map(String::as_str)
            .filter(|need| !CAPABILITIES.contains(need))
            .collect();
        reasons.push(match unknown.is_empty() {
            true => format!("no connected machine can do: {}", needs.join(", ")),
            false => format!("it needs what no machine has: {}", unknown.join(", ")),
        });
    }
    Seen {
        folder,
        text: file.text,
        source: file.skill.unwrap_or(Source::Agent),
        status: SkillStatus {
            name: skill.name,
            description: skill.description,
            location: file.key,
            always,
            eligible: enabled && !unmet && !untrusted,
            eligible_hosts: hosts,
            reasons,
            requirements: SkillNeedsShape {
                capabilities: needs,
            },
            enabled: Some(enabled),
        },
        path,
    }
}

/// The skills that an agent can use now, by name.
pub async fn eligible(
    workspace: &Workspace,
    agent: &AgentId,
    said: &Skills,
    nodes: &[Able],
) -> Vec<SkillNote> {
    let all = look(workspace, agent, said, nodes).await;
    let usable = all.into_iter().filter(|seen| seen.status.eligible);
    let note = |seen: Seen| SkillNote {
        name: seen.status.name,
        description: seen.status.description,
        path: seen.path,
    };
    usable.map(note).collect()
}
