//! Shows a change of a settings file, and asks whether to make it.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use manyhands_ai_clients::import::is_secret_value;
use manyhands_terminal::editor::{Question, is_interactive};
use manyhands_terminal::output;

/// A change of a text.
pub struct Change<'a> {
    pub before: &'a str,
    pub after: &'a str,
    /// Texts that are not shown.
    pub secrets: Vec<String>,
}

impl Change<'_> {
    /// The changed lines, without the lines around them.
    pub fn diff(&self) -> String {
        let diff = TextDiff::from_lines(self.before, self.after);
        let mut shown = String::new();
        let mut last = None;
        for change in diff.iter_all_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => continue,
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let at = change.old_index().or(change.new_index()).unwrap_or(0);
            if last.is_none_or(|last| at > last + 1) {
                shown.push_str(&format!("@@ line {} @@\n", at + 1));
            }
            last = Some(at);
            let mut line = change.value().trim_end_matches(['\r', '\n']).to_owned();
            for secret in &self.secrets {
                line = line.replace(secret, "***");
            }
            shown.push_str(&format!("{sign}{line}\n"));
        }
        match shown.is_empty() {
            true => "no change\n".to_owned(),
            false => shown,
        }
    }
}

/// The secrets in a document: a file may be written on a single line, which a change then shows as a whole.
pub fn secrets(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let text = value.as_str().unwrap_or_default();
                    let secret = is_secret_value(key, text);
                    if secret && text.len() >= 8 {
                        found.push(text.trim_start_matches("Bearer ").to_owned());
                    }
                    open.push(value);
                }
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    found
}

/// Asks whether to make the change.
pub async fn confirmed() -> bool {
    // A script has to say `--yes`: silence is not consent.
    if !is_interactive() {
        return false;
    }
    output::print_prompt("Make this change? [y/N] ");
    let answer = Question::start().answer().await.unwrap_or_default();
    matches!(answer.trim(), "y" | "Y" | "yes")
}
