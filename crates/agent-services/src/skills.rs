//! Which skills an agent can use, from its files, the settings and the capabilities of connected
//! machines.

use manyhands_agent::{SkillNote, skill};
use manyhands_config::Skills;
use manyhands_core::AgentId;
use manyhands_host::workspace::{SkillSource, Workspace, WorkspaceEntry, WorkspaceFile};
use manyhands_wire::{CAPABILITIES, SkillNeedsShape, SkillStatus};

/// The most skills read.
const MAX_SKILLS: usize = 500;

/// A machine and its capabilities.
pub type NodeCapabilities = (String, Vec<String>);

/// A skill as it applies to one agent.
pub struct ResolvedSkill {
    /// The folder of its file.
    pub folder: String,
    /// The path of its text in the workspace.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Whose copy it is.
    pub source: SkillSource,
    /// Whether it can be used, and why not.
    pub status: SkillStatus,
}

/// Returns every skill of an agent, by name. Its own take precedence over global ones of the same
/// name.
pub async fn resolve_all(
    workspace: &Workspace,
    agent: &AgentId,
    said: &Skills,
    nodes: &[NodeCapabilities],
) -> Vec<ResolvedSkill> {
    let Ok(WorkspaceEntry::Directory { directories, .. }) = workspace.find(agent, "skills/").await
    else {
        return Vec::new();
    };
    let mut found: Vec<ResolvedSkill> = Vec::new();
    for folder in directories.into_iter().take(MAX_SKILLS) {
        let path = format!("{}/SKILL.md", folder.trim_end_matches('/'));
        if let Ok(WorkspaceEntry::File(file)) = workspace.find(agent, &path).await {
            found.push(seen(path, file, said, nodes));
        }
    }
    // Own copies first, so that the dedup below drops the global one of the same name.
    let own = |seen: &ResolvedSkill| seen.source == SkillSource::Agent;
    found.sort_by(|a, b| {
        let by_name = a.status.name.cmp(&b.status.name);
        let by_name = by_name.then(own(b).cmp(&own(a)));
        by_name.then_with(|| a.folder.cmp(&b.folder))
    });
    found.dedup_by(|later, first| later.status.name == first.status.name);
    found
}

fn seen(
    path: String,
    file: WorkspaceFile,
    said: &Skills,
    nodes: &[NodeCapabilities],
) -> ResolvedSkill {
    let folder = path.rsplit('/').nth(1).unwrap_or_default().to_owned();
    let skill = skill::parse(&folder, &file.text);
    let entry = said.entry(&file.key, &folder, &skill.name);
    let enabled = entry.is_none_or(|entry| entry.enabled);
    let always = entry.and_then(|entry| entry.always).unwrap_or(skill.always);
    let needs = match entry.and_then(|entry| entry.requires.clone()) {
        Some(needs) => needs.capabilities,
        None => skill.capabilities,
    };
    let can = |(_, can): &&NodeCapabilities| needs.iter().all(|need| can.contains(need));
    let hosts: Vec<String> = nodes.iter().filter(can).map(|(id, _)| id.clone()).collect();
    let mut reasons = Vec::new();
    if !enabled {
        reasons.push("it is disabled under skills.entries".to_owned());
    }
    // The text of a skill becomes an instruction, so a tainted one must be trusted first.
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
            true => format!("no connected machine has: {}", needs.join(", ")),
            false => format!("it needs unknown capabilities: {}", unknown.join(", ")),
        });
    }
    ResolvedSkill {
        folder,
        text: file.text,
        source: file.skill.unwrap_or(SkillSource::Agent),
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

/// Returns the skills that an agent can use now, by name.
pub async fn eligible(
    workspace: &Workspace,
    agent: &AgentId,
    said: &Skills,
    nodes: &[NodeCapabilities],
) -> Vec<SkillNote> {
    let all = resolve_all(workspace, agent, said, nodes).await;
    let usable = all.into_iter().filter(|seen| seen.status.eligible);
    let note = |seen: ResolvedSkill| SkillNote {
        name: seen.status.name,
        description: seen.status.description,
        path: seen.path,
    };
    usable.map(note).collect()
}
