//! Which skills an agent can use: what its files say, and what the connected machines can do.

use manyhands_agent::{SkillNote, skill};
use manyhands_core::AgentId;

use crate::workspace::{Found, Workspace};

/// How many skills are looked at.
const MAX_SKILLS: usize = 500;

/// The skills whose needs one connected machine meets, and those that are always shown, by name.
pub(super) async fn eligible(
    workspace: &Workspace,
    agent: &AgentId,
    nodes: &[(String, Vec<String>)],
) -> Vec<SkillNote> {
    let Ok(Found::Directory { directories, .. }) = workspace.find(agent, "skills/").await else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for folder in directories.into_iter().take(MAX_SKILLS) {
        let path = format!("{}/SKILL.md", folder.trim_end_matches('/'));
        let Ok(Found::File(file)) = workspace.find(agent, &path).await else {
            continue;
        };
        let name = folder
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let skill = skill::parse(name, &file.text);
        let able = |needs: &[String]| {
            needs.is_empty()
                || nodes
                    .iter()
                    .any(|(_, can)| needs.iter().all(|need| can.contains(need)))
        };
        if skill.always || able(&skill.capabilities) {
            found.push(SkillNote {
                name: skill.name,
                description: skill.description,
                path,
            });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}
