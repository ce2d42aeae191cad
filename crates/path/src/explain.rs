//! What the validator found wrong, as problems of parameters that say what would be right.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use manyhands_core::Problem;
use serde_json::Value;

use crate::schema::bounded;

/// How many problems one answer lists.
pub(crate) const MAX_PROBLEMS: usize = 20;
/// How many names or options one problem lists.
const MAX_LISTED: usize = 50;

/// One schema error as problems of parameters.
pub(crate) fn explain(error: &ValidationError<'_>, schema: &Value) -> Vec<Problem> {
    let at = dotted(error.instance_path().as_str());
    let below = |name: &str| {
        if at.is_empty() {
            name.to_owned()
        } else {
            format!("{at}.{name}")
        }
    };
    let one = |message: String| vec![problem(&at, message)];
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![problem(&below(name), "is required".to_owned())]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = known_at(schema, error.schema_path().as_str());
            let each = unexpected.iter().take(MAX_PROBLEMS);
            each.map(|name| problem(&below(name), unknown(name, &known)))
                .collect()
        }
        Kind::Type { kind } => one(wrong_kind(&kinds(kind), error.instance())),
        Kind::Enum { .. } | Kind::Constant { .. } => one(one_of(&options(error))),
        Kind::Minimum { limit } => one(format!("must be at least {limit}")),
        Kind::Maximum { limit } => one(format!("must be at most {limit}")),
        Kind::ExclusiveMinimum { limit } => one(format!("must be more than {limit}")),
        Kind::ExclusiveMaximum { limit } => one(format!("must be less than {limit}")),
        Kind::MinLength { limit: 1 } => one("must not be empty".to_owned()),
        Kind::MinLength { limit } => one(format!("must have at least {limit} characters")),
        Kind::MaxLength { limit } => one(format!("must have at most {limit} characters")),
        Kind::MinItems { limit } => one(format!("must have at least {limit} items")),
        Kind::MaxItems { limit } => one(format!("must have at most {limit} items")),
        Kind::Pattern { pattern } => one(format!("must match the pattern {pattern}")),
        Kind::Format { format } => one(format!("must be a valid {format}")),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            no_alternative(error, context, schema)
        }
        _ => one(bounded(error)),
    }
}

/// Why none of the alternatives of an `anyOf` or `oneOf` fits.
///
/// An answer that follows the first alternative only would mislead: for a choice of `none`, `read`
/// and `write` that are an alternative each, it would say that the value must be `none`.
fn no_alternative(
    error: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
    schema: &Value,
) -> Vec<Problem> {
    let here = error.instance_path();
    let mut wanted: Vec<String> = Vec::new();
    let mut same_kind: Vec<&[ValidationError<'static>]> = Vec::new();
    for errors in alternatives {
        let other_kind = errors.iter().find_map(|inner| match inner.kind() {
            Kind::Type { kind } if inner.instance_path() == here => Some(kinds(kind)),
            _ => None,
        });
        match other_kind {
            Some(kinds) => wanted.extend(kinds),
            None => same_kind.push(errors),
        }
    }
    let at = dotted(here.as_str());
    if same_kind.is_empty() {
        wanted.dedup();
        return vec![problem(&at, wrong_kind(&wanted, error.instance()))];
    }
    // The alternative that is meant is the one whose constants are right; of several, the closest.
    let choices: Vec<_> = same_kind.iter().map(|errors| choice(errors)).collect();
    let meant = same_kind.iter().zip(&choices);
    let meant = meant.filter(|(_, choice)| choice.is_none());
    let closest = meant.map(|(errors, _)| errors).min_by_key(|e| e.len());
    if let Some(errors) = closest {
        let problems: Vec<Problem> = errors.iter().flat_map(|e| explain(e, schema)).collect();
        return match problems.is_empty() {
            true => vec![problem(
                &at,
                "does not fit any of its allowed shapes".to_owned(),
            )],
            false => problems,
        };
    }
    // Every alternative wants another constant: all of them are the choices there are.
    let mut by_place: Vec<(String, Vec<Value>)> = Vec::new();
    for (place, options) in choices.into_iter().flatten() {
        match by_place.iter_mut().find(|(known, _)| *known == place) {
            Some((_, all)) => all.extend(options),
            None => by_place.push((place, options)),
        }
    }
    let each = by_place.into_iter().take(MAX_PROBLEMS);
    each.map(|(place, options)| problem(&place, one_of(&options)))
        .collect()
}

/// The place whose value excludes an alternative, with the values it should have had there.
fn choice(errors: &[ValidationError<'static>]) -> Option<(String, Vec<Value>)> {
    errors.iter().find_map(|error| {
        let options = options(error);
        let place = dotted(error.instance_path().as_str());
        (!options.is_empty()).then_some((place, options))
    })
}

/// Every value that would be right, where an error is about a fixed set of them.
fn options(error: &ValidationError<'_>) -> Vec<Value> {
    match error.kind() {
        Kind::Constant { expected_value } => vec![Value::clone(expected_value)],
        Kind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let here = |inner: &&ValidationError<'static>| {
                inner.instance_path() == error.instance_path()
                    && !matches!(inner.kind(), Kind::Type { .. })
            };
            let mut all = Vec::new();
            for errors in context {
                all.extend(errors.iter().filter(here).flat_map(options));
            }
            all
        }
        _ => Vec::new(),
    }
}

fn problem(at: &str, message: String) -> Problem {
    let parameter = if at.is_empty() { "arguments" } else { at };
    Problem {
        parameter: parameter.to_owned(),
        message,
    }
}

/// A JSON pointer as people write paths: `/schedule/kind` is `schedule.kind`.
fn dotted(pointer: &str) -> String {
    pointer
        .trim_start_matches('/')
        .replace('/', ".")
        .replace("~1", "/")
        .replace("~0", "~")
}

/// The properties of the object schema that has the keyword at `schema_path`.
fn known_at<'a>(schema: &'a Value, schema_path: &str) -> Vec<&'a str> {
    let object = schema_path
        .rsplit_once('/')
        .map_or("", |(parent, _)| parent);
    let properties = schema.pointer(object).map(|found| &found["properties"]);
    let properties = properties.and_then(Value::as_object);
    properties
        .map(|p| p.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

fn unknown(name: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((_, near)) => format!("is not a parameter; did you mean {near}?"),
        None if known.is_empty() => "is not a parameter; there are none here".to_owned(),
        None if known.len() > MAX_LISTED => "is not a parameter".to_owned(),
        None => format!("is not a parameter; there are {}", known.join(", ")),
    }
}

/// The names of JSON types, without null: it stands for a parameter that is left out.
fn kinds(kind: &TypeKind) -> Vec<String> {
    let all: Vec<String> = match kind {
        TypeKind::Single(kind) => vec![kind.to_string()],
        TypeKind::Multiple(kinds) => kinds.iter().map(|kind| kind.to_string()).collect(),
    };
    all.into_iter().filter(|kind| kind != "null").collect()
}

fn wrong_kind(wanted: &[String], given: &Value) -> String {
    let given = kind_of(given);
    match wanted.first() {
        None => format!("must be null, not {given}"),
        Some(first) => {
            let article = match first.starts_with(['a', 'e', 'i', 'o', 'u']) {
                true => "an",
                false => "a",
            };
            format!("must be {article} {}, not {given}", wanted.join(" or "))
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn one_of(options: &[Value]) -> String {
    let options: Vec<&Value> = options.iter().filter(|option| !option.is_null()).collect();
    let shown: Vec<String> = options
        .iter()
        .take(MAX_LISTED)
        .map(ToString::to_string)
        .collect();
    match (shown.as_slice(), options.len().saturating_sub(MAX_LISTED)) {
        ([only], 0) => format!("must be {only}"),
        (several, 0) => format!("must be one of {}", several.join(", ")),
        (several, more) => format!("must be one of {} and {more} more", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path", "content"],
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "content": { "type": "string" },
                "mode": { "enum": ["due", "force", null] },
                "lines": { "type": ["integer", "null"], "minimum": 1, "maximum": 5000 },
                "job": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["name"],
                    "properties": { "name": { "type": "string" } },
                },
            },
        })
    }

    #[track_caller]
    fn check(arguments: Value, expect: &[(&str, &str)]) {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let found: Vec<(String, String)> = validator
            .iter_errors(&arguments)
            .flat_map(|error| explain(&error, &schema()))
            .map(|problem| (problem.parameter, problem.message))
            .collect();
        let expect: Vec<(String, String)> = expect
            .iter()
            .map(|(parameter, message)| ((*parameter).to_owned(), (*message).to_owned()))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn fitting_arguments_have_no_problems() {
        check(
            json!({ "path": "a", "content": "", "lines": 3, "mode": "due" }),
            &[],
        );
        check(json!({ "path": "a", "content": "", "lines": null }), &[]);
    }

    #[test]
    fn every_problem_is_named_by_its_parameter() {
        check(
            json!({}),
            &[("path", "is required"), ("content", "is required")],
        );
        check(
            json!({ "path": "", "content": 5 }),
            &[
                ("path", "must not be empty"),
                ("content", "must be a string, not a number"),
            ],
        );
        check(
            json!({ "path": "a", "content": "", "lines": 9000 }),
            &[("lines", "must be at most 5000")],
        );
        check(
            json!({ "path": "a", "content": "", "lines": "many" }),
            &[("lines", "must be an integer, not a string")],
        );
        check(
            json!({ "path": "a", "content": "", "mode": "now" }),
            &[("mode", "must be one of \"due\", \"force\"")],
        );
    }

    #[test]
    fn nested_parameters_are_named_by_their_path() {
        check(
            json!({ "path": "a", "content": "", "job": { "nam": "x" } }),
            &[
                ("job.nam", "is not a parameter; did you mean name?"),
                ("job.name", "is required"),
            ],
        );
    }

    #[test]
    fn an_unknown_parameter_gets_a_suggestion() {
        check(
            json!({ "path": "a", "content": "", "Path": "b" }),
            &[("Path", "is not a parameter; did you mean path?")],
        );
        check(
            json!({ "path": "a", "content": "", "zzz": 1 }),
            &[(
                "zzz",
                "is not a parameter; there are path, content, mode, lines, job",
            )],
        );
    }

    #[track_caller]
    fn explained(schema: &Value, value: Value) -> Vec<String> {
        let validator = jsonschema::validator_for(schema).unwrap();
        let errors = validator.iter_errors(&value);
        let problems = errors.flat_map(|error| explain(&error, schema));
        problems
            .map(|problem| format!("{}: {}", problem.parameter, problem.message))
            .collect()
    }

    #[test]
    fn a_wrong_choice_lists_every_choice_however_the_schema_spells_them() {
        let described = json!({ "oneOf": [
            { "const": "none", "description": "takes access away" },
            { "type": "string", "const": "read" },
            { "enum": ["write", "admin"] },
        ] });
        let expected = r#"level: must be one of "none", "read", "write", "admin""#;
        for level in [
            described.clone(),
            json!({ "anyOf": [described.clone(), { "type": "null" }] }),
            json!({ "anyOf": [{ "$ref": "#/$defs/level" }, { "type": "null" }] }),
        ] {
            let schema = json!({
                "properties": { "level": level }, "$defs": { "level": described },
            });
            assert_eq!(
                explained(&schema, json!({ "level": "all" })),
                [expected],
                "{schema}"
            );
        }
    }

    #[test]
    fn of_several_shapes_the_one_that_is_meant_is_explained() {
        let schema = json!({ "properties": { "schedule": { "oneOf": [
            { "type": "object", "required": ["kind", "at"], "additionalProperties": false,
              "properties": { "kind": { "const": "at" }, "at": { "type": "string" } } },
            { "type": "object", "required": ["kind", "expr"], "additionalProperties": false,
              "properties": { "kind": { "const": "cron" }, "expr": { "type": "string" }, "tz": {}, "x": {} } },
        ] } } });
        let check = |schedule: Value, expected: &[&str]| {
            assert_eq!(
                explained(&schema, json!({ "schedule": schedule })),
                expected
            );
        };
        check(
            json!({ "kind": "weekly", "at": "noon" }),
            &[r#"schedule.kind: must be one of "at", "cron""#],
        );
        check(
            json!({ "kind": "cron", "exp": "* * * * *" }),
            &[
                "schedule.expr: is required",
                "schedule.exp: is not a parameter; did you mean expr?",
            ],
        );
        check(
            json!("noon"),
            &["schedule: must be an object, not a string"],
        );
    }

    #[test]
    fn alternatives_of_other_kinds_are_all_named() {
        let schema = json!({ "properties": { "body": { "anyOf": [
            { "type": "string" }, { "type": ["object", "null"] }, { "type": "array" },
        ] } } });
        assert_eq!(
            explained(&schema, json!({ "body": 5 })),
            ["body: must be a string or object or array, not a number"]
        );
    }

    #[test]
    fn an_unknown_parameter_of_a_list_entry_says_what_there_is() {
        let schema = json!({
            "properties": { "rows": { "items": { "$ref": "#/$defs/row" } } },
            "$defs": { "row": { "additionalProperties": false, "properties": { "key": {}, "value": {} } } },
        });
        assert_eq!(
            explained(&schema, json!({ "rows": [{ "zzz": 1 }] })),
            ["rows.0.zzz: is not a parameter; there are key, value"]
        );
    }
}
