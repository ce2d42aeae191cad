//! Ready-made rules for the policy.

use manyhands_config::Rule;
use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Rules to start from.
#[derive(Serialize, JsonSchema)]
pub struct RuleTemplate {
    /// Its name.
    id: &'static str,
    /// Display name.
    title: &'static str,
    /// What the rules do, and what to adapt.
    description: &'static str,
    /// The rules, for `policy.rules` or those of an agent.
    rules: Vec<Rule>,
}

/// Names of tools that change files, here and on nodes.
const WRITERS: [&str; 8] = [
    "gsv__WriteFile",
    "gsv__EditFile",
    "gsv__DeleteFile",
    "write_file",
    "edit_file",
    "apply_patch",
    "*__Write",
    "*__Edit",
];

fn templates() -> Vec<RuleTemplate> {
    let made = |id, title, description, rules: Value| RuleTemplate {
        id,
        title,
        description,
        // A test reads all of them.
        rules: serde_json::from_value(rules).unwrap_or_default(),
    };
    vec![
        made(
            "ask-shell",
            "Ask before any shell command",
            "Every program that an agent or a client starts needs your approval.",
            json!([{ "decision": "ask", "effects": ["runs"], "reason": "shell commands need approval" }]),
        ),
        made(
            "stay-in-folder",
            "Stay inside one folder",
            "Files may be changed below projects/ without asking, and nowhere else. Replace projects/ by your folder.",
            json!([
                { "decision": "allow", "tools": WRITERS, "when": { "path": { "starts_with": "projects/" } } },
                { "decision": "deny", "tools": WRITERS, "reason": "files may only be changed below projects/" },
            ]),
        ),
        made(
            "deny-destructive",
            "Refuse destructive commands",
            "Commands that delete files, format disks or change the machine's state are refused.",
            json!([{
                "decision": "deny",
                "effects": ["runs"],
                "when": { "command": { "program": ["rm", "shred", "dd", "mkfs*", "shutdown", "reboot", "sudo", "su"] } },
                "reason": "destructive commands are refused",
            }]),
        ),
        made(
            "allow-inspection",
            "Allow commands that only look",
            "Common commands that only read need no approval; everything else is decided by the rules below and the approval mode.",
            json!([{
                "decision": "allow",
                "effects": ["runs"],
                "when": { "command": { "program": ["ls", "cat", "head", "tail", "wc", "grep", "pwd", "date", "whoami", "uname", "df", "du", "ps"] } },
            }]),
        ),
        made(
            "ask-messages",
            "Ask before any message",
            "Messages to people and to other agents need your approval.",
            json!([{ "decision": "ask", "effects": ["sends"], "reason": "messages need approval" }]),
        ),
        made(
            "ask-network",
            "Ask before using the network",
            "Everything that uses the network needs your approval.",
            json!([{ "decision": "ask", "effects": ["leaves"], "reason": "network access needs approval" }]),
        ),
        made(
            "read-only",
            "Read only",
            "Nothing is changed, started or sent.",
            json!([{ "decision": "deny", "effects": ["writes", "runs", "sends"], "reason": "only reading is allowed" }]),
        ),
    ]
}

/// Lists ready-made rules.
pub async fn list(_: Owner) -> Answer<Vec<RuleTemplate>> {
    answer(templates())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_template_has_valid_rules_and_a_name_of_its_own() {
        let mut ids = BTreeSet::new();
        for template in templates() {
            assert!(ids.insert(template.id), "{}", template.id);
            assert!(!template.rules.is_empty(), "{}", template.id);
            assert!(!template.title.ends_with('.') && template.description.ends_with('.'));
            let lines: Vec<String> = template
                .rules
                .iter()
                .map(|rule| json!(rule).to_string())
                .collect();
            let policy: manyhands_config::Policy =
                serde_json::from_value(json!({ "rules": template.rules })).unwrap();
            assert_eq!(policy.rules.len(), lines.len());
        }
        assert!(ids.contains("ask-shell") && ids.contains("stay-in-folder"));
    }
}
