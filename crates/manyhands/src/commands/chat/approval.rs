//! The question whether a call may run.

use serde_json::{Map, Value};

use super::changes;
use crate::commands::approvals::rule;
use crate::remote::text;
use manyhands_terminal::style::Style;
use manyhands_terminal::{diff, output, wrap};

/// The choices, on the line where the answer is typed.
pub const CHOICES: &str =
    "Allow? [y]es once, [c]onversation, [a]lways, [n]o, or a reason to deny: ";
/// Rows of a diff: all of them, because what is approved has to be visible.
const ALL: usize = usize::MAX;

/// An approval request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PendingApproval {
    pub approval: String,
    pub tool: String,
    pub arguments: Value,
    /// The request as the gateway lists it: the rule, its reason, and what else is known.
    pub details: Value,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Allow: `once`, in this `conversation`, or `always`.
    Allow(&'static str),
    /// Deny, with a message to the model.
    Deny(Option<String>),
    /// Not understood.
    Unclear,
}

/// Reads a typed answer. More than one word is a reason to deny.
pub fn answer(line: &str) -> Answer {
    let line = line.trim();
    match line.to_ascii_lowercase().as_str() {
        "y" | "yes" | "o" | "once" => Answer::Allow("once"),
        "c" | "conversation" => Answer::Allow("conversation"),
        "a" | "always" => Answer::Allow("always"),
        "n" | "no" | "d" | "deny" => Answer::Deny(None),
        _ => match line.split_once(' ') {
            Some(("n" | "no" | "d" | "deny", why)) => Answer::Deny(Some(why.trim().to_owned())),
            Some(_) => Answer::Deny(Some(line.to_owned())),
            None => Answer::Unclear,
        },
    }
}

/// Composes the question, safe for the terminal: exactly what would run, why it is asked, and the choices.
pub fn question(asked: &PendingApproval, width: usize, styled: bool) -> String {
    let tool = output::one_line(&asked.tool);
    let mut lines = vec![format!(
        "{} {}",
        Style::YELLOW.bold().paint(&tool, styled),
        Style::YELLOW.paint(
            "needs your approval. It will run with exactly this:",
            styled
        ),
    )];
    let edit = changes::of_call(&asked.tool, &asked.arguments);
    arguments(&asked.arguments, edit.is_some(), &mut lines);
    // That of the gateway may be shortened, and the texts of an edit are shown nowhere else.
    let changed = edit.or_else(|| asked.details["diff"].as_str().map(str::to_owned));
    if let Some(changed) = changed {
        let rows = diff::rows(&changed, width.saturating_sub(2), ALL, styled);
        lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    }
    let mut detail = |name: &str, value: String| {
        if !value.is_empty() {
            let name = Style::DIM.paint(&format!("{name:<8}"), styled);
            let rows = wrap::plain(&output::one_line(&value), width.saturating_sub(11).max(20));
            lines.push(format!("  {name} {}", rows.join(&format!("\n{:11}", ""))));
        }
    };
    let details = &asked.details;
    detail("rule", rule(&details["rule"]));
    detail("reason", text(&details["reason"]));
    detail("task", text(&details["task"]));
    detail(
        "tainted",
        match details["taintedBy"].as_str() {
            Some(source) => format!("requested after reading untrusted text: {source}"),
            None => String::new(),
        },
    );
    if details["proposedRule"].is_object() {
        detail(
            "always",
            format!("adds the rule {}", details["proposedRule"]),
        );
    }
    lines.push(Style::STRONG.paint(CHOICES, styled));
    lines.join("\n")
}

/// Formats arguments as JSON, except that texts of several lines are shown as such.
fn arguments(arguments: &Value, is_edit: bool, lines: &mut Vec<String>) {
    let Value::Object(named) = arguments else {
        return push_json(arguments, "  ", lines);
    };
    let is_long = |value: &Value| value.as_str().is_some_and(|text| text.contains('\n'));
    // The texts of an edit are what its diff shows.
    let in_diff = |name: &str| {
        let name = name.to_ascii_lowercase().replace('_', "");
        is_edit
            && matches!(
                name.as_str(),
                "oldstring" | "newstring" | "oldtext" | "newtext"
            )
    };
    let mut short = Map::new();
    for (name, value) in named {
        if !is_long(value) && !in_diff(name) {
            short.insert(name.clone(), value.clone());
        }
    }
    if !short.is_empty() || named.is_empty() {
        push_json(&Value::Object(short), "  ", lines);
    }
    for (name, value) in named {
        if is_long(value) && !in_diff(name) {
            lines.push(format!("  {}:", Value::String(output::one_line(name))));
            let text = value.as_str().unwrap_or_default();
            // The empty row after a final line break shows that there is one.
            let rows = text
                .split('\n')
                .map(|line| format!("  │ {}", output::sanitize(line)));
            lines.extend(rows);
        }
    }
}

fn push_json(value: &Value, indent: &str, lines: &mut Vec<String>) {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    lines.extend(
        json.lines()
            .map(|line| format!("{indent}{}", output::sanitize(line))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(tool: &str, arguments: Value, details: Value) -> String {
        let asked = PendingApproval {
            approval: "a1".to_owned(),
            tool: tool.to_owned(),
            arguments,
            details,
        };
        question(&asked, 80, false)
    }

    #[test]
    fn answers_are_the_same_choices_as_elsewhere() {
        for (line, expect) in [
            ("y", Answer::Allow("once")),
            (" Yes\n", Answer::Allow("once")),
            ("c", Answer::Allow("conversation")),
            ("always", Answer::Allow("always")),
            ("n", Answer::Deny(None)),
            (
                "n use staging",
                Answer::Deny(Some("use staging".to_owned())),
            ),
            (
                "not this one",
                Answer::Deny(Some("not this one".to_owned())),
            ),
            ("perhaps", Answer::Unclear),
            ("", Answer::Unclear),
        ] {
            assert_eq!(answer(line), expect, "{line:?}");
        }
    }

    #[test]
    fn the_question_shows_all_that_would_run_and_why() {
        let text = asked(
            "bash",
            json!({ "cmd": "rm x", "script": "one\ntwo\u{1b}[2J\n" }),
            json!({ "rule": "policy.rules.0", "reason": "be careful", "proposedRule": { "decision": "allow" } }),
        );
        for part in [
            "bash needs your approval. It will run with exactly this:\n",
            "\"cmd\": \"rm x\"",
            "\"script\":\n  │ one\n  │ two\\u{1b}[2J\n  │ \n",
            "rule     policy.rules.0\n",
            "reason   be careful\n",
            "always   adds the rule {\"decision\":\"allow\"}\n",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(text.ends_with(CHOICES));
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn an_edit_is_shown_as_a_diff() {
        let edit = json!({ "path": "a.md", "oldString": "one", "newString": "two" });
        let text = asked("gsv__EditFile", edit, Value::Null);
        assert!(
            text.contains("\"path\": \"a.md\"") && text.contains("\n  -one\n  +two\n"),
            "{text}"
        );
        assert!(!text.contains("oldString"), "{text}");
        let text = asked("x", json!({}), json!({ "diff": "-a\n+b" }));
        assert!(text.contains("  {}\n  -a\n  +b\n"), "{text}");
    }
}
