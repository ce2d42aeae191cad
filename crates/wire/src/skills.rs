//! Skills of agents, and whether they can be used now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose skills.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsStatusParams {
    /// The agent; `main` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Whose skills are looked at anew.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsUpdateParams {
    /// The agent; `main` when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// The skills of an agent and the machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsStatusResult {
    /// The agent.
    pub agent_id: String,
    /// When this was looked at, in milliseconds since 1970.
    pub refreshed_at: i64,
    /// Every node on record.
    pub nodes: Vec<SkillNode>,
    /// Every skill, by name.
    pub skills: Vec<SkillStatus>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillNode {
    /// Its name.
    pub node_id: String,
    /// Whether it is connected now.
    pub online: bool,
    /// What it can do.
    pub host_capabilities: Vec<String>,
}

/// Where a skill stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillStatus {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its text is kept.
    pub location: String,
    /// Whether it is shown whatever the machines can do.
    pub always: bool,
    /// Whether an agent is shown it now.
    pub eligible: bool,
    /// The connected nodes that can do all it needs.
    pub eligible_hosts: Vec<String>,
    /// Why it is not shown.
    pub reasons: Vec<String>,
    /// What it needs.
    pub requirements: SkillNeedsShape,
    /// Whether it is switched on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillNeedsShape {
    /// What one machine must be able to do.
    pub capabilities: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_fields_are_those_of_the_protocol() {
        let status = SkillStatus {
            name: "deploy".to_owned(),
            description: "ships it".to_owned(),
            location: "skills/deploy/SKILL.md".to_owned(),
            always: false,
            eligible: true,
            eligible_hosts: vec!["laptop".to_owned()],
            reasons: Vec::new(),
            requirements: SkillNeedsShape {
                capabilities: vec!["shell.exec".to_owned()],
            },
            enabled: None,
        };
        let result = SkillsStatusResult {
            agent_id: "main".to_owned(),
            refreshed_at: 7,
            nodes: vec![SkillNode {
                node_id: "laptop".to_owned(),
                online: true,
                host_capabilities: vec!["shell.exec".to_owned()],
            }],
            skills: vec![status],
        };
        let expect = json!({
            "agentId": "main",
            "refreshedAt": 7,
            "nodes": [{ "nodeId": "laptop", "online": true, "hostCapabilities": ["shell.exec"] }],
            "skills": [{
                "name": "deploy", "description": "ships it", "location": "skills/deploy/SKILL.md",
                "always": false, "eligible": true, "eligibleHosts": ["laptop"], "reasons": [],
                "requirements": { "capabilities": ["shell.exec"] },
            }],
        });
        assert_eq!(serde_json::to_value(&result).unwrap(), expect);
    }
}
