//! Reads settings by path.

use serde_json::Value;

use crate::error::PathError;
use crate::nearest::suggest_path;
use crate::path::KeyPath;
use crate::settings::Settings;
use crate::shape::{Kind, Shape, root};

/// Returns the effective value at a dotted path, including defaults and unmasked secrets: for the program itself. Use
/// [`masked`](crate::masked) for everything that is displayed.
pub fn get(settings: &Settings, path: &str) -> Result<Value, PathError> {
    find(&effective(settings), root(), &path.parse()?).cloned()
}

/// Parses a typed value: JSON if it is valid, otherwise a string.
pub fn value_from_text(text: &str) -> Value {
    // So `true`, `5` and `["a"]` are typed values, and everything else needs no quotes.
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Returns whether `path` decides which programs or files of this machine are used. Such keys can only be set in the
/// file, never over the network.
pub fn is_local(path: &str) -> bool {
    let Ok(path) = path.parse::<KeyPath>() else {
        return false;
    };
    let mut shape = root();
    for segment in path.segments() {
        match shape.child(segment) {
            // A key inside of a local table is local as well.
            Some(child) if child.local => return true,
            Some(child) => shape = child,
            None => return false,
        }
    }
    holds_local(shape)
}

pub(crate) fn holds_local(shape: &Shape) -> bool {
    let inside = match &shape.kind {
        Kind::Map(item) | Kind::List { item, .. } => holds_local(item),
        _ => shape.keys().iter().any(|(_, child)| holds_local(child)),
    };
    shape.local || inside
}

pub(crate) fn effective(settings: &Settings) -> Value {
    // Cannot fail: there are no maps with other keys and no floats that are not finite.
    serde_json::to_value(settings).expect("settings are plain data with text keys")
}

/// Returns the value at `path`. A known key that is not set is null.
pub(crate) fn find<'v>(
    value: &'v Value,
    shape: &Shape,
    path: &KeyPath,
) -> Result<&'v Value, PathError> {
    static NULL: Value = Value::Null;
    static ANY: std::sync::LazyLock<Shape> = std::sync::LazyLock::new(|| Shape::of(&Value::Null));
    let (mut value, mut shape, mut at) = (value, shape, KeyPath::default());
    for segment in path.segments() {
        let child = match value {
            Value::Object(object) => object.get(segment),
            Value::Array(list) => match segment.parse::<usize>() {
                Ok(index) if index >= list.len() => {
                    return Err(PathError::OutOfRange {
                        path: path.to_string(),
                        list: at.to_string(),
                        len: list.len(),
                    });
                }
                Ok(index) => list.get(index),
                Err(_) => None,
            },
            _ => None,
        };
        let known = shape.keys().iter().any(|(key, _)| key == segment);
        value = match child {
            Some(child) => child,
            None if known => &NULL,
            None => {
                let present = value.as_object().into_iter().flatten();
                return Err(PathError::Unknown {
                    path: path.to_string(),
                    nearest: suggest_path(&at, shape, present.map(|(k, _)| k.as_str()), segment),
                });
            }
        };
        shape = shape.child(segment).unwrap_or(&ANY);
        at = at.join(segment);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::masked;
    use serde_json::json;

    fn settings() -> Settings {
        let text = "[[policy.rules]]\ndecision = \"ask\"\nwhen.\"a.b\".equals = { c = [1, 2] }\n";
        crate::check::check(text).unwrap().0
    }

    #[track_caller]
    fn check(path: &str, expect: Value) {
        assert_eq!(get(&settings(), path).unwrap(), expect);
        assert_eq!(masked(&settings(), Some(path)).unwrap(), expect);
    }

    #[track_caller]
    fn check_refused(path: &str, expect: &str) {
        let error = get(&settings(), path).unwrap_err();
        assert_eq!(error.to_string(), expect);
        assert_eq!(masked(&settings(), Some(path)).unwrap_err(), error);
    }

    #[test]
    fn paths_read_what_is_in_force() {
        check("listen", json!("127.0.0.1:7717"));
        check("limits.calls_per_minute", json!(600));
        check("log", json!({ "level": "info", "format": "text" }));
        check("policy.rules.0.decision", json!("ask"));
        check("policy.rules.0.tools", json!(["*"]));
        check("policy.rules.0.when.\"a.b\".equals.c.1", json!(2));
    }

    #[test]
    fn a_known_key_that_is_not_set_is_null() {
        check("tls", Value::Null);
        check("tls.cert", Value::Null);
        check("policy.rules.0.reason", Value::Null);
    }

    #[test]
    fn keys_of_programs_and_files_can_only_be_set_in_the_file() {
        for (path, local) in [
            ("tools.bash.rewrite.binary", true),
            ("tools.bash.rewrite", true),
            ("tools", true),
            ("tls", true),
            ("tls.cert", true),
            ("tools.shell_exec.allow.0", true),
            ("workspace_root", true),
            ("channels.telegram.accounts.default.api_url", true),
            ("channels.telegram.accounts", true),
            ("channels.telegram", true),
            ("channels.telegram.accounts.default.enabled", false),
            ("channels.telegram.allow_from", false),
            ("tools.bash.timeout", false),
            ("limits.calls_per_day", false),
            ("policy.rules", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_local(path), local, "{path}");
        }
    }

    #[test]
    fn an_unknown_path_gets_a_suggestion() {
        check_refused(
            "limits.request_byte",
            "unknown setting `limits.request_byte`; did you mean `limits.request_bytes`?",
        );
        check_refused("lmits", "unknown setting `lmits`; did you mean `limits`?");
        check_refused(
            "concurrent_calls",
            "unknown setting `concurrent_calls`; did you mean `limits.concurrent_calls`?",
        );
        check_refused(
            "policy.rules.0.when.\"a.c\"",
            "unknown setting `policy.rules.0.when.\"a.c\"`; did you mean `policy.rules.0.when.\"a.b\"`?",
        );
        check_refused(
            "zzz.dmScope",
            "unknown setting `zzz.dmScope`; see docs/config.md for all of them",
        );
        check_refused(
            "listen.port",
            "unknown setting `listen.port`; see docs/config.md for all of them",
        );
        check_refused(
            "policy.rules.first",
            "unknown setting `policy.rules.first`; see docs/config.md for all of them",
        );
        check_refused(
            "policy.rules.1",
            "`policy.rules.1` does not exist: `policy.rules` has 1 entry, counted from 0",
        );
    }

    #[test]
    fn typed_text_is_json_where_it_can_be() {
        for (text, value) in [
            ("5", json!(5)),
            ("true", json!(true)),
            ("[\"a\"]", json!(["a"])),
            ("\"5\"", json!("5")),
            ("127.0.0.1:80", json!("127.0.0.1:80")),
            ("info", json!("info")),
            ("", json!("")),
        ] {
            assert_eq!(value_from_text(text), value);
        }
    }
}
