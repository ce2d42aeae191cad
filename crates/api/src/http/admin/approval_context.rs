//! What the owner sees of a call that needs approval besides its arguments: the rule, the task and the diff.

use manyhands_config::{Predicate, Rule, Settings};
use manyhands_gateway::Gateway;
use manyhands_store::{ApprovalRecord, TurnState};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

/// The longest task shown, in characters.
const MAX_TASK: usize = 200;
/// The largest texts that are compared, in bytes.
const MAX_COMPARED: usize = 256 * 1024;

/// The rule that asked.
#[derive(Serialize, JsonSchema)]
pub struct RuleShown {
    /// What it says.
    text: String,
    /// Where it is in the settings, such as `policy.rules.3`; `default` if no rule matched.
    source: String,
}

/// The rule of a request: as it stands in the settings, unless it changed since.
pub fn rule(record: &ApprovalRecord, settings: &Settings) -> RuleShown {
    if let Some(why) = record.rule.strip_prefix("default: ") {
        return RuleShown {
            text: why.to_owned(),
            source: "default".to_owned(),
        };
    }
    let found = found(&record.rule, settings);
    let found = found.filter(|rule| rule.reason == record.reason);
    RuleShown {
        text: found.map_or_else(|| record.rule.clone(), words),
        source: record.rule.clone(),
    }
}

/// The rule at a place such as `agents.main.policy.rules.0`.
fn found<'s>(place: &str, settings: &'s Settings) -> Option<&'s Rule> {
    let (list, at) = place.rsplit_once('.')?;
    let rules = match list.strip_prefix("agents.") {
        Some(agent) => {
            let name = agent.strip_suffix(".policy.rules")?;
            let mut agents = settings.agents.iter();
            let (_, agent) = agents.find(|(id, _)| id.as_str() == name)?;
            &agent.policy.rules
        }
        None => &settings.policy.rules,
    };
    rules.get(at.parse::<usize>().ok()?)
}

/// A rule in one line: `ask: tools *__Bash; effects runs; command program rm`.
fn words(rule: &Rule) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let mut parts = Vec::new();
    let tools: Vec<String> = rule.tools.iter().map(ToString::to_string).collect();
    if tools != ["*"] {
        parts.push(format!("tools {}", list(tools)));
    }
    let effects = rule.effects.iter().map(plain).collect::<Vec<_>>();
    let callers = rule
        .callers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    let agents = rule
        .agents
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    for (name, items) in [
        ("effects", effects),
        ("callers", callers),
        ("agents", agents),
    ] {
        if !items.is_empty() {
            parts.push(format!("{name} {}", list(items)));
        }
    }
    parts.extend(rule.when.iter().map(|(path, one)| condition(path, one)));
    if parts.is_empty() {
        parts.push("every call".to_owned());
    }
    format!("{}: {}", plain(&rule.decision), parts.join("; "))
}

fn condition(path: &str, one: &Predicate) -> String {
    let mut parts = Vec::new();
    if let Some(value) = &one.equals {
        parts.push(format!("{path} is {value}"));
    }
    for (verb, text) in [
        ("contains", &one.contains),
        ("starts with", &one.starts_with),
        ("matches", &one.matches),
    ] {
        if let Some(text) = text {
            parts.push(format!("{path} {verb} {text}"));
        }
    }
    for (noun, items) in [("host", &one.host), ("program", &one.program)] {
        if !items.is_empty() {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            parts.push(format!("{path} {noun} {}", items.join(" or ")));
        }
    }
    parts.join(" and ")
}

fn plain(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The first line of the message that the session's open turn works on.
pub async fn task(record: &ApprovalRecord, gateway: &Gateway) -> Option<String> {
    let session = record.session.as_deref()?;
    let turns = gateway.store.sessions().open_turns(session).await.ok()?;
    let turn = turns.iter().find(|turn| turn.state != TurnState::Queued)?;
    let input: Value = serde_json::from_str(&turn.input).ok()?;
    let line = input["text"]
        .as_str()?
        .lines()
        .find(|line| !line.trim().is_empty())?;
    let line: String = line.trim().chars().take(MAX_TASK).collect();
    Some(gateway.redactor().text(&line).into_owned())
}

/// The change that an edit or a patch makes, as a unified diff. Made from the arguments, which are what will run.
pub fn diff(arguments: &Value) -> Option<String> {
    let text = |names: [&str; 2]| names.iter().find_map(|name| arguments[*name].as_str());
    if let (Some(old), Some(new)) = (
        text(["oldString", "old_string"]),
        text(["newString", "new_string"]),
    ) {
        if old.len() + new.len() > MAX_COMPARED {
            return None;
        }
        let path = text(["path", "file_path"]).unwrap_or("file");
        let diff = TextDiff::from_lines(old, new);
        let mut unified = diff.unified_diff();
        let headed = unified
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_string();
        return Some(headed);
    }
    let patch = text(["patch", "diff"])?;
    let is_patch = patch.contains("\n@@") || patch.starts_with("***") || patch.contains("\n+++ ");
    is_patch.then(|| patch.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_is_shown_as_a_diff_and_other_calls_have_none() {
        let edit =
            json!({ "path": "a.md", "oldString": "one\ntwo\n", "newString": "one\nthree\n" });
        assert_eq!(
            diff(&edit).unwrap(),
            "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
        );
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(diff(&json!({ "patch": patch })).as_deref(), Some(patch));
        for other in [
            json!({ "command": "ls" }),
            json!({ "patch": { "enabled": true } }),
            json!(null),
        ] {
            assert_eq!(diff(&other), None, "{other}");
        }
    }

    #[test]
    fn a_rule_is_shown_in_one_line() {
        let shown = |rule: Value| words(&serde_json::from_value(rule).unwrap());
        assert_eq!(shown(json!({ "decision": "ask" })), "ask: every call");
        assert_eq!(
            shown(json!({
                "decision": "deny", "tools": ["*__Bash"], "effects": ["runs"], "agents": ["main"],
                "when": { "command": { "program": ["rm", "dd"] }, "url": { "starts_with": "http:" } },
            })),
            "deny: tools *__Bash; effects runs; agents main; command program rm or dd; url starts with http:"
        );
    }
}
