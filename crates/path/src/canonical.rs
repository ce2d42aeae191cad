//! One spelling for equal JSON, so that fingerprints and digests can be compared.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Writes `value` with sorted keys and no white space.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (at, key) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(&map[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// SHA-256 over the parts, each with its length before it so that none can lean into the next.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(half)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_one_spelling() {
        let spelled: Value =
            serde_json::from_str(r#"{ "b": [1, "x"], "a": {"d":null, "c":true} }"#).unwrap();
        assert_eq!(
            canonical(&spelled),
            r#"{"a":{"c":true,"d":null},"b":[1,"x"]}"#
        );
        assert_eq!(canonical(&json!("é\"\n")), "\"é\\\"\\n\"");
    }

    #[test]
    fn parts_cannot_lean_into_each_other() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab"]).len(), 64);
    }
}
