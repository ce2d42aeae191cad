//! Masks secret parameters of built-in tools in the audit and in approval requests.
//!
//! The value of a parameter with `writeOnly` goes to the tool only; the audit shows that it was given, and its field names
//! if it is an object. Only our own schemas are trusted: a server or a node could hide in this way what a call does.

use std::borrow::Cow;

use manyhands_core::{RunsOn, ToolSpec};
use serde_json::{Map, Value};

/// Replaces a secret value.
const MASK: &str = "[redacted]";

/// `arguments` without the values of secret parameters.
pub(crate) fn mask_secret_params<'a>(
    spec: Option<&ToolSpec>,
    arguments: &'a Value,
) -> Cow<'a, Value> {
    let own = |spec: &&ToolSpec| matches!(spec.runs_on, RunsOn::Gateway | RunsOn::Host);
    let own = spec.filter(own);
    let Some(properties) = own.and_then(|spec| spec.input_schema.get("properties")) else {
        return Cow::Borrowed(arguments);
    };
    let (Some(properties), Some(given)) = (properties.as_object(), arguments.as_object()) else {
        return Cow::Borrowed(arguments);
    };
    let secret = |name: &String| {
        properties
            .get(name)
            .is_some_and(|about| about["writeOnly"] == true)
    };
    if !given.keys().any(secret) {
        return Cow::Borrowed(arguments);
    }
    let masked = given.iter().map(|(name, value)| {
        let value = if secret(name) {
            mask(value)
        } else {
            value.clone()
        };
        (name.clone(), value)
    });
    Cow::Owned(Value::Object(masked.collect()))
}

fn mask(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(fields) => {
            let names = fields.keys().map(|name| (name.clone(), MASK.into()));
            Value::Object(names.collect::<Map<_, _>>())
        }
        _ => MASK.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn parameters_marked_as_secret_are_masked_and_no_others() {
        let mut spec = ToolSpec::new("t", "test");
        spec.input_schema = Arc::new(json!({
            "properties": { "a": { "writeOnly": true }, "b": {} },
        }));
        for (given, expect) in [
            (
                json!({ "a": { "X-Key": "s" }, "b": "t" }),
                json!({ "a": { "X-Key": MASK }, "b": "t" }),
            ),
            (json!({ "a": "s" }), json!({ "a": MASK })),
            (json!({ "a": ["s"], "c": 1 }), json!({ "a": MASK, "c": 1 })),
            (json!({ "a": null, "b": 1 }), json!({ "a": null, "b": 1 })),
            (json!({ "b": "a" }), json!({ "b": "a" })),
            (json!("odd"), json!("odd")),
        ] {
            assert_eq!(*mask_secret_params(Some(&spec), &given), expect);
            assert_eq!(*mask_secret_params(None, &given), given);
            let foreign = ToolSpec {
                runs_on: RunsOn::Server {
                    name: "s".to_owned(),
                },
                ..spec.clone()
            };
            assert_eq!(
                *mask_secret_params(Some(&foreign), &given),
                given,
                "a server hides nothing"
            );
        }
    }
}
