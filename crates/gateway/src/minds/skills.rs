//! Which skills an agent can use: what its files and the settings say, and what the connected
//! machines can do.

use manyhands_agent::{SkillNote, skill};
use manyhands_config::{KeyPath, Skills};
use manyhands_core::{AgentId, Caller, ErrorCode, Invoke as _, ToolError};
use manyhands_wire::{CAPABILITIES, SkillNeedsShape, SkillNode, SkillStatus, SkillsStatusResult};
use serde_json::json;

use crate::gateway::Gateway;
use crate::workspace::{File, Found, Source, Workspace};

/// How many skills are looked at.
const MAX_SKILLS: usize = 500;

/// A machine and what it can do.
pub(crate) type Able = (String, Vec<String>);

/// A skill as it stands for one agent.
pub(crate) struct Seen {
    /// The folder of its file.
    pub(crate) folder: String,
    /// Where its text is, as a path of the workspace.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// Whose copy it is.
    pub(crate) source: Source,
    /// Where it stands.
    pub(crate) status: SkillStatus,
}

/// Every skill of an agent, by name. Its own come before global ones of the same name.
pub(crate) async fn look(
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
            eligible: enabled && !unmet,
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
pub(super) async fn eligible(
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

impl Gateway {
    /// Every skill of an agent, for whoever may read the files of workspaces.
    async fn skills(&self, caller: &Caller, agent: &AgentId) -> Result<Vec<Seen>, ToolError> {
        self.minds().agent(agent)?;
        if let Some(reads) = self.path.catalogue().resolve("gsv__ReadFile") {
            let refused = |why| ToolError::new(ErrorCode::Forbidden, why);
            caller.rights.permit(reads.spec()).map_err(refused)?;
        }
        let settings = self.settings.current();
        let nodes = self.nodes.abilities();
        Ok(look(self.workspace(), agent, &settings.skills, &nodes).await)
    }

    /// The skills of an agent and the machines, as they stand now.
    pub(crate) async fn skills_status(
        &self,
        caller: &Caller,
        agent: &AgentId,
    ) -> Result<SkillsStatusResult, ToolError> {
        let skills = self.skills(caller, agent).await?;
        let nodes = self.nodes.list().into_iter().map(|node| SkillNode {
            node_id: node.node_id,
            online: node.online,
            host_capabilities: node.host_capabilities,
        });
        Ok(SkillsStatusResult {
            agent_id: agent.to_string(),
            refreshed_at: self.clock.now().0,
            nodes: nodes.collect(),
            skills: skills.into_iter().map(|seen| seen.status).collect(),
        })
    }

    /// One skill, by its name or its folder.
    pub(crate) async fn skill(
        &self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
    ) -> Result<Seen, ToolError> {
        let mut all = self.skills(caller, agent).await?;
        let by_name = all.iter().position(|seen| seen.status.name == name);
        let at = by_name.or_else(|| all.iter().position(|seen| seen.folder == name));
        at.map(|at| all.swap_remove(at)).ok_or_else(|| {
            ToolError::not_found(format!("{agent} has no skill {name:?}"))
                .hint("`manyhands skills list` shows what there is")
        })
    }

    /// Switches a skill on or off for every agent: under the key that speaks of it already, else
    /// under its name.
    pub(crate) async fn switch_skill(
        &self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
        on: bool,
    ) -> Result<Seen, ToolError> {
        let seen = self.skill(caller, agent, name).await?;
        let settings = self.settings.current();
        let keys = [&seen.status.location, &seen.folder, &seen.status.name];
        let said = keys
            .iter()
            .find(|key| settings.skills.entries.contains_key(**key));
        let can_be_written = |key: &&String| !key.contains('"') && !key.contains(char::is_control);
        let key = match said {
            Some(key) => *key,
            None => [&seen.status.name, &seen.folder]
                .into_iter()
                .find(can_be_written)
                .ok_or_else(|| ToolError::parameter("name", "holds signs that no setting can"))?,
        };
        let path = ["skills", "entries", key, "enabled"];
        let path = path
            .iter()
            .fold(KeyPath::default(), |path, part| path.join(*part));
        self.set_config(caller, &path.to_string(), json!(on))
            .await?;
        self.skill(caller, agent, name).await
    }
}
