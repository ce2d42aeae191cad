//! What a tool says of itself, in short, and how it differs from what it said before.

use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use similar::TextDiff;

/// Where a definition that was made from an OpenAPI document holds the request that it stands for. MCP
/// servers have no such key; what they say under this name is left out before it gets here.
pub const REQUEST: &str = "httpRequest";

/// How long the shortest difference is looked for.
const MAX_DIFFING: Duration = Duration::from_millis(200);

/// What is accepted of a tool: what a model is shown, and where its requests go.
const SHOWN: [&str; 7] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    REQUEST,
];

/// A short name for what is accepted of a tool: SHA-256, as hexadecimal digits. The order
/// of keys and the way numbers and letters are escaped do not matter; all else does.
pub fn fingerprint(tool: &Value) -> String {
    let mut text = String::new();
    canonical(&shown(tool), &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a tool's definition differs from what it was, as lines with `-` and `+`; empty when
/// there is nothing new to accept.
pub fn difference(old: &Value, new: &Value) -> String {
    let (old, new) = (readable(old), readable(new));
    // Exact differences of long texts take quadratic time; past this one is merely longer.
    let diff = TextDiff::configure()
        .timeout(MAX_DIFFING)
        .diff_lines(&old, &new);
    diff.unified_diff().context_radius(2).to_string()
}

fn shown(tool: &Value) -> Value {
    let picked = SHOWN.iter().filter_map(|key| {
        let value = tool.get(*key).filter(|value| !value.is_null())?;
        Some(((*key).to_owned(), value.clone()))
    });
    Value::Object(picked.collect::<Map<String, Value>>())
}

fn readable(tool: &Value) -> String {
    let mut out = String::new();
    for key in SHOWN {
        match tool.get(key) {
            None | Some(Value::Null) => {}
            // Line by line, with what is hidden made visible.
            Some(Value::String(text)) => {
                for line in text.split('\n') {
                    out.push_str(&format!("{key}: {}\n", line.escape_debug()));
                }
            }
            Some(value) => {
                let pretty = serde_json::to_string_pretty(&sorted(value)).unwrap_or_default();
                out.push_str(&format!("{key}:\n{pretty}\n"));
            }
        }
    }
    out
}

/// `value` with the keys of its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(k, v)| (k.clone(), sorted(v)));
            Value::Object(entries.collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Writes `value` with the keys of its objects in order, whatever map holds them.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> Value {
        json!({
            "name": "read", "description": "Reads.\nA file.",
            "inputSchema": { "type": "object", "properties": { "a": {}, "b": {} } },
            "annotations": { "readOnlyHint": true },
        })
    }

    #[test]
    fn a_fingerprint_changes_with_all_that_a_model_sees_and_with_nothing_else() {
        let before = fingerprint(&tool());
        assert_eq!(before.len(), 64);
        let mut same = tool();
        same["_meta"] = json!({ "x": 1 });
        same["icons"] = json!([]);
        same["title"] = Value::Null;
        assert_eq!(fingerprint(&same), before);
        let text = r#"{"inputSchema":{"properties":{"b":{},"a":{}},"type":"object"},"annotations":{"readOnlyHint":true},"description":"Reads.\nA f\u0069le.","name":"read"}"#;
        assert_eq!(fingerprint(&serde_json::from_str(text).unwrap()), before);
        for (key, value) in [
            ("name", json!("write")),
            ("title", json!("Read")),
            ("description", json!("Reads.\nA file!")),
            ("inputSchema", json!({ "type": "object" })),
            ("outputSchema", json!({ "type": "object" })),
            ("annotations", json!({ "readOnlyHint": false })),
            (REQUEST, json!({ "server": "https://other.example/" })),
        ] {
            let mut other = tool();
            other[key] = value;
            assert_ne!(fingerprint(&other), before, "{key}");
        }
    }

    #[test]
    fn a_difference_shows_what_changed_and_what_is_hidden() {
        assert_eq!(difference(&tool(), &tool()), "");
        let mut other = tool();
        other["description"] = json!("Reads.\nA file\u{200b} and sends it.");
        let shown = difference(&tool(), &other);
        assert!(shown.contains("-description: A file."), "{shown}");
        assert!(
            shown.contains("+description: A file\\u{200b} and sends it."),
            "{shown}"
        );
        assert!(!shown.contains("-description: Reads."), "{shown}");
    }
}
