//! The skills of an agent as the owner and clients see them, and enabling or disabling them.

use manyhands_agent_services::skills::{ResolvedSkill, resolve_all};
use manyhands_config::KeyPath;
use manyhands_core::{AgentId, Caller, Invoke as _, Question, ToolError};
use manyhands_wire::{SkillNode, SkillsStatusResult};
use serde_json::json;

use crate::gateway::Gateway;

impl Gateway {
    /// All skills of an agent. The caller needs the right to read workspace files.
    async fn skills(
        &self,
        caller: &Caller,
        agent: &AgentId,
    ) -> Result<Vec<ResolvedSkill>, ToolError> {
        self.minds().agent(agent)?;
        // Skills are workspace files, so listing them needs the right to read files.
        if let Some(reads) = self.path.catalogue().resolve("gsv__ReadFile") {
            let spec = reads.spec();
            let question = Question::available(caller, agent, spec);
            self.path.authorize(question).refused(spec)?;
        }
        let settings = self.settings.current();
        let nodes = self.nodes.abilities();
        Ok(resolve_all(self.workspace(), agent, &settings.skills, &nodes).await)
    }

    /// The current skills of an agent, and the nodes they may run on.
    pub async fn skills_status(
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

    /// A skill by its name or folder.
    pub async fn skill(
        &self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
    ) -> Result<ResolvedSkill, ToolError> {
        let mut all = self.skills(caller, agent).await?;
        let by_name = all.iter().position(|seen| seen.status.name == name);
        let at = by_name.or_else(|| all.iter().position(|seen| seen.folder == name));
        at.map(|at| all.swap_remove(at)).ok_or_else(|| {
            ToolError::not_found(format!("{agent} has no skill {name:?}"))
                .hint("`manyhands skills list` shows the available ones")
        })
    }

    /// Enables or disables a skill for every agent: under the settings key that already refers to
    /// it, or under its name.
    pub async fn switch_skill(
        &self,
        caller: &Caller,
        agent: &AgentId,
        name: &str,
        on: bool,
    ) -> Result<ResolvedSkill, ToolError> {
        let seen = self.skill(caller, agent, name).await?;
        let settings = self.settings.current();
        let keys = [&seen.status.location, &seen.folder, &seen.status.name];
        let said = keys
            .iter()
            .find(|key| settings.skills.entries.contains_key(**key));
        // A key is written between quotes in TOML.
        let can_be_written = |key: &&String| !key.contains('"') && !key.contains(char::is_control);
        let key = match said {
            Some(key) => *key,
            None => [&seen.status.name, &seen.folder]
                .into_iter()
                .find(can_be_written)
                .ok_or_else(|| {
                    ToolError::parameter(
                        "name",
                        "contains characters that cannot be part of a settings key",
                    )
                })?,
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
