//! Validates arguments against a tool's schema and reports all problems at once.
//!
//! The gateway does the same before it sends a call; a node does not rely on that.

use manyhands_core::{Problem, ToolError};
use serde_json::{Map, Value};

/// Returns the arguments as the tool reads them: an integer written with a zero fraction becomes an integer.
pub(super) fn check(schema: &Value, arguments: Value) -> Result<Value, ToolError> {
    let mut arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        other => {
            let kind = kind_of(&other);
            let message = format!("must be an object of parameters, not {kind}");
            return Err(ToolError::parameter("args", message));
        }
    };
    let nothing = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&nothing);
    let mut problems = Vec::new();
    for (name, value) in &mut arguments {
        let message = match known.get(name) {
            Some(rule) => wrong(rule, value),
            None => Some(unknown(name, known)),
        };
        problems.extend(message.map(|message| problem(name, message)));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            problems.push(problem(name, "is required".to_owned()));
        }
    }
    if problems.is_empty() {
        Ok(Value::Object(arguments))
    } else {
        Err(ToolError::problems(problems))
    }
}

fn problem(name: &str, message: String) -> Problem {
    Problem {
        parameter: name.to_owned(),
        message,
    }
}

fn unknown(name: &str, known: &Map<String, Value>) -> String {
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    // 0.8 suggests `workDir` for `workdir` and `cwd`, but nothing for unrelated words.
    let similar = names
        .iter()
        .map(|known| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()),
                known,
            )
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.8);
    match similar {
        Some((_, similar)) => format!("is not a parameter; did you mean `{similar}`?"),
        None => format!(
            "is not a parameter; the parameters are {}",
            names.join(", ")
        ),
    }
}

/// Returns what is wrong with one value.
fn wrong(rule: &Value, value: &mut Value) -> Option<String> {
    let types = match &rule["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    };
    if types.contains(&"integer") {
        normalise_integer(value);
    }
    let choices = choices(rule);
    if types.is_empty() && choices.is_empty() {
        return None;
    }
    let fits = |type_name: &&str| match *type_name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    };
    if !types.is_empty() && !types.iter().any(fits) {
        let type_name: Vec<&str> = types.iter().copied().filter(|t| *t != "null").collect();
        let type_name = type_name.join(" or ").replace("integer", "whole number");
        return Some(format!("must be a {type_name}, not {}", kind_of(value)));
    }
    if !choices.is_empty() && !choices.contains(&&*value) {
        let values: Vec<String> = choices.iter().map(ToString::to_string).collect();
        return Some(format!("is {value}; give one of {}", values.join(", ")));
    }
    bounds(rule, value)
}

fn bounds(rule: &Value, value: &Value) -> Option<String> {
    let minimum = rule["minimum"].as_i64();
    let below = |minimum: &i64| value.as_i64().is_some_and(|value| value < *minimum);
    if let Some(minimum) = minimum.filter(below) {
        return Some(format!("is {value}; it must be at least {minimum}"));
    }
    let short = rule["minLength"]
        .as_u64()
        .is_some_and(|minimum| minimum > 0);
    (short && value.as_str() == Some("")).then(|| "must not be empty".to_owned())
}

/// Allowed values, from `enum` or `oneOf`.
fn choices(rule: &Value) -> Vec<&Value> {
    let listed = rule["enum"].as_array().into_iter().flatten();
    let described = rule["oneOf"].as_array().into_iter().flatten();
    listed
        .chain(described.filter_map(|choice| choice.get("const")))
        .collect()
}

#[allow(clippy::cast_possible_truncation)] // an integer within the exact range of a double
fn normalise_integer(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let integer = value
        .as_f64()
        .filter(|number| value.is_f64() && number.fract() == 0.0 && number.abs() < EXACT);
    if let Some(number) = integer {
        *value = Value::from(number as i64);
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "limit": { "type": ["integer", "null"], "minimum": 1 },
                "replaceAll": { "type": ["boolean", "null"] },
                "action": { "type": "string", "enum": ["list", "poll"] },
            },
            "required": ["path"],
        })
    }

    #[track_caller]
    fn refused(arguments: Value, expect: &str) {
        assert_eq!(check(&schema(), arguments).unwrap_err().message, expect);
    }

    #[test]
    fn valid_arguments_pass_and_integers_are_normalised() {
        let value = json!({ "path": "a", "limit": 5.0, "replaceAll": null, "action": "poll" });
        let checked = check(&schema(), value).unwrap();
        assert_eq!(checked["limit"], 5);
    }

    #[test]
    fn every_problem_is_named_with_what_would_be_right() {
        refused(json!({}), "path: is required");
        refused(json!({ "path": "" }), "path: must not be empty");
        refused(json!({ "path": 7 }), "path: must be a string, not a number");
        refused(
            json!({ "path": "a", "replaceall": true }),
            "replaceall: is not a parameter; did you mean `replaceAll`?",
        );
        refused(
            json!({ "path": "a", "zzz": true }),
            "zzz: is not a parameter; the parameters are path, limit, replaceAll, action",
        );
        refused(
            json!({ "path": "a", "limit": 0, "replaceAll": "yes" }),
            "limit: is 0; it must be at least 1; replaceAll: must be a boolean, not a string",
        );
        refused(
            json!({ "path": "a", "limit": 1.5 }),
            "limit: must be a whole number, not a number with a fraction",
        );
        refused(
            json!({ "path": "a", "action": "stop" }),
            "action: is \"stop\"; give one of \"list\", \"poll\"",
        );
        refused(
            json!([]),
            "args: must be an object of parameters, not a list",
        );
    }
}
