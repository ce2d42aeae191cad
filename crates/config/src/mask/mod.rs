//! Masks secrets in everything shown of the configuration.
//!
//! The meaning of a key comes first: the schema marks secrets (`x-secret`) and names (`x-mask = "names"`). Otherwise
//! the key's own name decides, and every displayed text is searched for secrets by their form.

#[cfg(test)]
mod table_tests;
mod text;
mod url;
mod whole;

use serde_json::Value;

use crate::error::PathError;
use crate::path::KeyPath;
use crate::read::{effective, find};
use crate::settings::Settings;
use crate::shape::{Mask, Shape, root};

pub(crate) use text::mask_text;
pub(crate) use whole::{mask_file, unmask_file};

const MASK: &str = "***";

/// Words that make a value secret if its key ends with one of them.
const SECRET_WORDS: [&str; 10] = [
    "token",
    "secret",
    "password",
    "passphrase",
    "apikey",
    "privatekey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

/// Returns whether a key's name marks its value as secret. Ignores case, `_` and `-`.
pub fn is_secret_key(key: &str) -> bool {
    let name = plain(key);
    SECRET_WORDS.iter().any(|word| name.ends_with(word))
}

/// Returns whether a key holds an OAuth client id, which is not secret although it looks random: every browser
/// that logs in sees it.
fn is_client_id(key: &str) -> bool {
    plain(key).ends_with("clientid")
}

fn plain(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether the value under `key` is secret. Plurals such as `tokens` count too, unless the value is a number or
/// a boolean: those are limits.
fn is_secret(key: &str, value: &Value) -> bool {
    let scalar = matches!(value, Value::Number(_) | Value::Bool(_));
    is_secret_key(key) || (!scalar && key.strip_suffix(['s', 'S']).is_some_and(is_secret_key))
}

/// Replaces every secret in a JSON value by `***`, at every depth.
pub fn mask(value: &Value) -> Value {
    walk(value, None)
}

/// Replaces every secret in a text, such as a URL, by `***`.
pub fn masked_text(text: &str) -> String {
    mask_text(text)
}

/// Replaces every secret in a program's arguments by `***`; whether one is secret can depend on the one before it.
pub fn masked_args(args: &[String]) -> Vec<String> {
    text::mask_args(args.iter().map(String::as_str))
}

/// Returns the effective value at a path, or all of them, with every secret as `***`.
pub fn masked(settings: &Settings, path: Option<&str>) -> Result<Value, PathError> {
    let value = effective(settings);
    match path {
        Some(path) => at(&value, root(), &path.parse()?),
        None => Ok(with(&value, root())),
    }
}

/// Like [`mask`], but also masks what `shape` marks as secret.
fn with(value: &Value, shape: &Shape) -> Value {
    walk(value, Some(shape))
}

/// Returns the displayable value at `path`. Below a secret everything is masked, existing or not, so that a path
/// cannot be used to probe its structure.
fn at(value: &Value, shape: &Shape, path: &KeyPath) -> Result<Value, PathError> {
    // Masked from the root: whether a program argument is secret depends on the one before it.
    let all = walk(value, Some(shape));
    let mut shown = Some(&all);
    for segment in path.segments() {
        // A path into a masked table must not tell which keys exist.
        if shown.is_some_and(|shown| shown == MASK) {
            return Ok(Value::from(MASK));
        }
        shown = shown.and_then(|shown| match shown {
            Value::Array(list) => list.get(segment.parse::<usize>().ok()?),
            other => other.get(segment),
        });
    }
    // Unknown paths are reported as such, with a suggestion.
    find(value, shape, path)?;
    Ok(shown.cloned().unwrap_or_default())
}

fn walk(value: &Value, shape: Option<&Shape>) -> Value {
    if shape.is_some_and(|shape| shape.secret) {
        return hide(value);
    }
    let below = |segment: &str| shape.and_then(|shape| shape.child(segment));
    let names = |shape: Option<&Shape>| shape.is_some_and(|shape| shape.mask == Some(Mask::Names));
    match value {
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| {
                let child = below(key);
                let named = names(shape) || names(child);
                let shown = match value {
                    // Checked before the form of the value, which looks like a token.
                    Value::String(_) if is_client_id(key) => value.clone(),
                    _ if !named && is_secret(key, value) => hide(value),
                    _ => walk(value, child),
                };
                (key.clone(), shown)
            });
            Value::Object(entries.collect())
        }
        Value::Array(list) if shape.is_some_and(|shape| shape.mask == Some(Mask::Args)) => {
            let args = list.iter().map(|arg| arg.as_str().unwrap_or_default());
            text::mask_args(args).into()
        }
        Value::Array(list) => list.iter().map(|item| walk(item, below("0"))).collect(),
        Value::String(text) => mask_text(text).into(),
        other => other.clone(),
    }
}

/// Masks a secret as a whole, because the keys and the length of a secret table or list can reveal too much. Unset values
/// and references to the vault are not secret.
fn hide(value: &Value) -> Value {
    let shown = match value {
        Value::Null => true,
        Value::Array(list) => !list.is_empty() && list.iter().all(is_reference),
        other => is_reference(other),
    };
    if shown {
        value.clone()
    } else {
        Value::from(MASK)
    }
}

fn is_reference(value: &Value) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let name = value.as_str().and_then(|text| text.strip_prefix("vault:"));
    name.is_some_and(|name| !name.is_empty() && name.len() <= 128 && name.chars().all(legal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shape() -> Shape {
        Shape::of(&json!({ "type": "object", "properties": {
            "pin": { "type": "string", "x-secret": true },
            "pins": { "type": "array", "items": { "type": "string", "x-secret": true } },
            "plain": { "type": "string" },
        } }))
    }

    #[track_caller]
    fn check(value: Value, expect: Value) {
        assert_eq!(mask(&value), expect);
    }

    #[test]
    fn secret_keys_are_known_by_their_ending_in_any_spelling() {
        for key in [
            "token",
            "TOKEN",
            "bot_token",
            "botToken",
            "secret",
            "client-secret",
            "password",
            "passphrase",
            "api_key",
            "apiKey",
            "API-KEY",
            "x_api_key",
            "private_key",
            "credential",
            "credentials",
            "Authorization",
            "proxy-authorization",
        ] {
            assert!(is_secret_key(key), "{key}");
            check(json!({ key: "hunter2" }), json!({ key: "***" }));
        }
        for key in [
            "tokenizer",
            "key",
            "secretary",
            "listen",
            "author",
            "passwords_file",
        ] {
            assert!(!is_secret_key(key), "{key}");
            check(json!({ key: "shown" }), json!({ key: "shown" }));
        }
    }

    #[test]
    fn secrets_are_masked_inside_lists_and_maps() {
        check(
            json!({ "channels": [{ "name": "a", "token": "x" }, { "deep": { "m": { "password": 1 } } }] }),
            json!({ "channels": [{ "name": "a", "token": "***" }, { "deep": { "m": { "password": "***" } } }] }),
        );
        check(json!([{ "secret": true }]), json!([{ "secret": "***" }]));
    }

    #[test]
    fn a_secret_table_or_list_is_masked_whole() {
        check(
            json!({ "credentials": { "user": "u", "pass": "p" }, "token": ["a", "b"] }),
            json!({ "credentials": "***", "token": "***" }),
        );
        check(
            json!({ "tokens": { "abc": "laptop" }, "max_tokens": 5 }),
            json!({ "tokens": "***", "max_tokens": 5 }),
        );
    }

    #[test]
    fn references_and_absence_are_shown() {
        check(
            json!({ "token": "vault:TELEGRAM", "password": null, "secret": ["vault:A", "vault:b/c"] }),
            json!({ "token": "vault:TELEGRAM", "password": null, "secret": ["vault:A", "vault:b/c"] }),
        );
        check(
            json!({ "token": "vault:", "password": "vault:with space", "secret": ["vault:A", "x"], "api_key": "" }),
            json!({ "token": "***", "password": "***", "secret": "***", "api_key": "***" }),
        );
    }

    #[test]
    fn the_schema_can_mark_a_secret_that_its_name_does_not_give_away() {
        let value = json!({ "pin": "1234", "pins": ["1", "vault:P"], "plain": "x" });
        assert_eq!(
            with(&value, &shape()),
            json!({ "pin": "***", "pins": ["***", "vault:P"], "plain": "x" })
        );
    }

    #[track_caller]
    fn check_at(path: &str, expect: Value) {
        let value = json!({
            "pin": "1234",
            "pins": ["1", "vault:P"],
            "plain": "x",
            "token": { "inner": "y", "list": ["z"] },
            "bots": [{ "name": "n", "token": "t" }],
            "password": null,
        });
        let path = path.parse().unwrap();
        assert_eq!(at(&value, &shape(), &path).unwrap(), expect, "{path}");
    }

    #[test]
    fn a_path_to_or_below_a_secret_shows_the_mask() {
        check_at("plain", json!("x"));
        check_at("pin", json!("***"));
        check_at("pins", json!(["***", "vault:P"]));
        check_at("pins.0", json!("***"));
        check_at("pins.1", json!("vault:P"));
        check_at("token", json!("***"));
        check_at("token.inner", json!("***"));
        check_at("token.list.0", json!("***"));
        check_at("token.no.such", json!("***"));
        check_at("bots", json!([{ "name": "n", "token": "***" }]));
        check_at("bots.0.token", json!("***"));
        check_at("bots.0.name", json!("n"));
        check_at("password", Value::Null);
    }
}
