//! Fingerprints of tool definitions, and differences between two of them.

use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use similar::TextDiff;

/// Key under which a definition derived from an OpenAPI document holds its HTTP request. MCP
/// servers have no such key; it is removed from their definitions before they get here.
pub const REQUEST: &str = "httpRequest";

/// Time limit of the search for a minimal diff.
const MAX_DIFFING: Duration = Duration::from_millis(200);

/// The fields that the owner accepts: what a model sees, and where its requests go.
const PINNED_FIELDS: [&str; 7] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    REQUEST,
];

/// A SHA-256 fingerprint of the accepted fields, as hexadecimal digits. Independent of key order
/// and of the escaping of numbers and letters.
pub fn fingerprint(tool: &Value) -> String {
    let mut text = String::new();
    canonical(&pinned(tool), &mut text);
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(digest)
}

/// The difference between two definitions, as lines with `-` and `+`; empty if there is nothing new
/// to accept.
pub fn difference(old: &Value, new: &Value) -> String {
    let (old, new) = (readable(old), readable(new));
    // Minimal diffs of long texts take quadratic time; past the limit the diff is merely longer.
    let diff = TextDiff::configure()
        .timeout(MAX_DIFFING)
        .diff_lines(&old, &new);
    diff.unified_diff().context_radius(2).to_string()
}

fn pinned(tool: &Value) -> Value {
    let picked = PINNED_FIELDS.iter().filter_map(|key| {
        let value = tool.get(*key).filter(|value| !value.is_null())?;
        Some(((*key).to_owned(), value.clone()))
    });
    Value::Object(picked.collect::<Map<String, Value>>())
}

fn readable(tool: &Value) -> String {
    let mut out = String::new();
    for key in PINNED_FIELDS {
        match tool.get(key) {
            None | Some(Value::Null) => {}
            // Line by line, with hidden characters made visible.
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

/// `value` with sorted object keys.
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

/// Writes `value` with sorted object keys, independent of the map type.
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
    fn a_fingerprint_covers_exactly_the_fields_a_model_sees() {
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
    fn a_difference_shows_changes_and_invisible_characters() {
        assert_eq!(difference(&tool(), &tool()), "");
        let mut other = tool();
        other["description"] = json!("Reads.\nA file\u{200b} and sends it.");
        let pinned = difference(&tool(), &other);
        assert!(pinned.contains("-description: A file."), "{pinned}");
        assert!(
            pinned.contains("+description: A file\\u{200b} and sends it."),
            "{pinned}"
        );
        assert!(!pinned.contains("-description: Reads."), "{pinned}");
    }
}
