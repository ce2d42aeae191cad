//! Skills of agents and their availability.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Selects an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsStatusParams {
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Selects an agent whose skills are refreshed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsUpdateParams {
    /// The agent; default: `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Skills of an agent, and the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsStatusResult {
    /// The agent.
    pub agent_id: String,
    /// Time of the check, in milliseconds since 1970.
    pub refreshed_at: i64,
    /// All registered nodes.
    pub nodes: Vec<SkillNode>,
    /// All skills, by name.
    pub skills: Vec<SkillStatus>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillNode {
    /// Its name.
    pub node_id: String,
    /// Whether it is connected.
    pub online: bool,
    /// Its capabilities.
    pub host_capabilities: Vec<String>,
}

/// Status of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillStatus {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Path of its file.
    pub location: String,
    /// Whether it is shown whatever the nodes can do.
    pub always: bool,
    /// Whether it is shown to the agent now.
    pub eligible: bool,
    /// Connected nodes with all required capabilities.
    pub eligible_hosts: Vec<String>,
    /// Why it is not shown.
    pub reasons: Vec<String>,
    /// Its requirements.
    pub requirements: SkillNeedsShape,
    /// Whether it is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Requirements of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillNeedsShape {
    /// Capabilities that one node must have.
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
