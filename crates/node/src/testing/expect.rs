//! Holding a result against what it must be.

use serde_json::Value;

/// How `value` is not what was wanted, with the way to the first difference.
pub(super) fn mismatch(expected: &Value, value: &Value, path: &str) -> Option<String> {
    match (expected, value) {
        (Value::String(expected), _) if expected.starts_with('$') => kind(expected, value, path),
        (Value::Object(expected), Value::Object(there)) => {
            let fields = expected.iter().filter(|(name, _)| *name != "$only");
            let wrong = fields.map(|(name, expected)| {
                let path = format!("{path}.{name}");
                match there.get(name) {
                    Some(value) => mismatch(expected, value, &path),
                    None if expected == "$absent" => None,
                    None => Some(format!("{path} is missing in {value}")),
                }
            });
            let wrong = wrong.flatten().next();
            let only = expected.contains_key("$only");
            wrong.or_else(|| {
                let more = there
                    .keys()
                    .find(|name| only && !expected.contains_key(*name));
                more.map(|name| format!("{path} has also {name}"))
            })
        }
        (Value::Array(expected), Value::Array(there)) if expected.len() == there.len() => {
            let pairs = expected.iter().zip(there).enumerate();
            let mut wrong = pairs
                .map(|(at, (expected, value))| mismatch(expected, value, &format!("{path}[{at}]")));
            wrong.find_map(|wrong| wrong)
        }
        _ if expected == value => None,
        _ => Some(format!("{path} is {value} and not {expected}")),
    }
}

fn kind(expected: &str, value: &Value, path: &str) -> Option<String> {
    let (kind, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    let text = value.as_str();
    let fits = match kind {
        "$uuid" => text.is_some_and(|text| uuid::Uuid::parse_str(text).is_ok()),
        "$number" => value.is_u64(),
        "$string" => text.is_some(),
        "$absent" => false,
        "$has" => text.is_some_and(|text| text.contains(rest)),
        "$starts" => text.is_some_and(|text| text.starts_with(rest)),
        "$ends" => text.is_some_and(|text| text.ends_with(rest)),
        "$chars" => text.is_some_and(|text| text.chars().count().to_string() == rest),
        _ => panic!("{expected} is no kind"),
    };
    (!fits).then(|| format!("{path} is {value} and not {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(expected: &Value, value: &Value, fits: bool) {
        let result = mismatch(expected, value, "it");
        assert_eq!(result.is_none(), fits, "{result:?}");
    }

    #[test]
    fn mismatches_are_described() {
        let value = json!({ "a": 1, "b": "text", "c": [1, { "d": null }] });
        for (expected, fits) in [
            (json!({}), true),
            (json!({ "a": 1 }), true),
            (json!({ "a": 2 }), false),
            (
                json!({ "a": "$number", "b": "$has ex", "c": [1, { "d": null }] }),
                true,
            ),
            (json!({ "b": "$chars 4" }), true),
            (json!({ "b": "$chars 5" }), false),
            (json!({ "b": "$uuid" }), false),
            (json!({ "z": "$absent" }), true),
            (json!({ "a": "$absent" }), false),
            (json!({ "z": 1 }), false),
            (json!({ "c": [1] }), false),
            (json!({ "a": 1, "$only": true }), false),
            (
                json!({ "a": 1, "b": "$string", "c": [1, {}], "$only": true }),
                true,
            ),
        ] {
            check(&expected, &value, fits);
        }
    }
}
