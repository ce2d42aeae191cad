//! Holding a result against what it must be.

use serde_json::Value;

/// How `value` is not what was wanted, with the way to the first difference.
pub(super) fn mismatch(wanted: &Value, value: &Value, way: &str) -> Option<String> {
    match (wanted, value) {
        (Value::String(wanted), _) if wanted.starts_with('$') => kind(wanted, value, way),
        (Value::Object(wanted), Value::Object(there)) => {
            let fields = wanted.iter().filter(|(name, _)| *name != "$only");
            let wrong = fields.map(|(name, wanted)| {
                let way = format!("{way}.{name}");
                match there.get(name) {
                    Some(value) => mismatch(wanted, value, &way),
                    None if wanted == "$absent" => None,
                    None => Some(format!("{way} is missing in {value}")),
                }
            });
            let wrong = wrong.flatten().next();
            let only = wanted.contains_key("$only");
            wrong.or_else(|| {
                let more = there
                    .keys()
                    .find(|name| only && !wanted.contains_key(*name));
                more.map(|name| format!("{way} has also {name}"))
            })
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            let pairs = wanted.iter().zip(there).enumerate();
            let mut wrong =
                pairs.map(|(at, (wanted, value))| mismatch(wanted, value, &format!("{way}[{at}]")));
            wrong.find_map(|wrong| wrong)
        }
        _ if wanted == value => None,
        _ => Some(format!("{way} is {value} and not {wanted}")),
    }
}

fn kind(wanted: &str, value: &Value, way: &str) -> Option<String> {
    let (kind, rest) = wanted.split_once(' ').unwrap_or((wanted, ""));
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
        _ => panic!("{wanted} is no kind"),
    };
    (!fits).then(|| format!("{way} is {value} and not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(wanted: &Value, value: &Value, fits: bool) {
        let told = mismatch(wanted, value, "it");
        assert_eq!(told.is_none(), fits, "{told:?}");
    }

    #[test]
    fn what_is_wanted_is_told_from_what_is_not() {
        let value = json!({ "a": 1, "b": "text", "c": [1, { "d": null }] });
        for (wanted, fits) in [
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
            check(&wanted, &value, fits);
        }
    }
}
