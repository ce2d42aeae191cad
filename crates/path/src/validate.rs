//! Validate: the arguments against the tool's schema, all problems at once, by parameter.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use manyhands_core::{ErrorCode, Problem, Tool, ToolError};
use serde_json::{Map, Value};

use crate::layer::{Call, CallResult, Layer, Next};

/// How many problems one answer lists.
const MAX_PROBLEMS: usize = 20;

/// Checks arguments before any rule or tool sees them.
#[derive(Default)]
pub struct Validate {
    /// One validator per schema, by its address; tools that share a schema share it.
    compiled: RwLock<HashMap<usize, Compiled>>,
}

struct Compiled {
    /// Held, so that no other schema gets this address.
    _schema: Arc<Value>,
    validator: Arc<Validator>,
}

/// Past this many schemas the cache starts again: nodes and servers come and go.
const MAX_COMPILED: usize = 4_096;

impl Validate {
    fn validator(&self, tool: &Arc<dyn Tool>) -> Result<Arc<Validator>, ToolError> {
        let schema = &tool.spec().input_schema;
        let address = Arc::as_ptr(schema).addr();
        let compiled = self.compiled.read().expect("no panic while held");
        if let Some(found) = compiled.get(&address) {
            return Ok(found.validator.clone());
        }
        drop(compiled);
        let name = &tool.spec().name;
        let validator = jsonschema::validator_for(schema)
            .map_err(|e| ToolError::internal(format!("the schema of {name} is not valid: {e}")))?;
        let validator = Arc::new(validator);
        let mut compiled = self.compiled.write().expect("no panic while held");
        if compiled.len() >= MAX_COMPILED {
            compiled.clear();
        }
        let fresh = Compiled {
            _schema: schema.clone(),
            validator: validator.clone(),
        };
        compiled.insert(address, fresh);
        Ok(validator)
    }
}

/// Whether arguments can be checked against `schema`: a JSON Schema of an object.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("it is not a JSON object".to_owned());
    }
    jsonschema::validator_for(schema)
        .map(drop)
        .map_err(|e| e.to_string())
}

/// Whether `value` fits `schema`; the error lists what does not, by place.
pub fn validate_against(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema).map_err(|e| e.to_string())?;
    if validator.is_valid(value) {
        return Ok(());
    }
    let problems = validator
        .iter_errors(value)
        .flat_map(|error| explain(&error, schema))
        .take(MAX_PROBLEMS)
        .map(|Problem { parameter, message }| match parameter.as_str() {
            "arguments" => format!("the value: {message}"), // it has no name of its own
            _ => format!("{parameter}: {message}"),
        });
    Err(problems.collect::<Vec<_>>().join("; "))
}

impl Validate {
    /// Refuses arguments that do not fit the tool's schema; none at all are an empty object.
    pub(crate) fn check(
        &self,
        tool: &Arc<dyn Tool>,
        arguments: &mut Value,
    ) -> Result<(), ToolError> {
        if arguments.is_null() {
            *arguments = Value::Object(Map::new());
        }
        if !arguments.is_object() {
            let message = "the arguments must be a JSON object with one key for each parameter";
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        tool.check(arguments)?;
        let validator = self.validator(tool)?;
        if validator.is_valid(arguments) {
            return Ok(());
        }
        let schema = &tool.spec().input_schema;
        let problems = validator
            .iter_errors(arguments)
            .flat_map(|error| explain(&error, schema))
            .take(MAX_PROBLEMS)
            .collect();
        Err(ToolError::problems(problems).hint(format!(
            "see its parameters with `manyhands tools {}`",
            tool.spec().name
        )))
    }
}

#[async_trait]
impl Layer for Validate {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let tool = call.tool()?.clone();
        self.check(&tool, &mut call.arguments)?;
        call.arguments = tool.canonical(std::mem::take(&mut call.arguments));
        next.run(call).await
    }
}

/// One schema error as problems of parameters, in words that say what would be right.
fn explain(error: &ValidationError<'_>, schema: &Value) -> Vec<Problem> {
    let at = dotted(error.instance_path().as_str());
    let below = |name: &str| {
        if at.is_empty() {
            name.to_owned()
        } else {
            format!("{at}.{name}")
        }
    };
    let one = |message: String| {
        let parameter = if at.is_empty() {
            "arguments".to_owned()
        } else {
            at.clone()
        };
        vec![Problem { parameter, message }]
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Problem {
                parameter: below(name),
                message: "is required".to_owned(),
            }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Problem {
                parameter: below(name),
                message: unknown(name, known_at(schema, error.instance_path().as_str())),
            })
            .collect(),
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => kinds
                    .iter()
                    .map(|kind| kind.to_string())
                    .filter(|kind| kind != "null")
                    .collect::<Vec<_>>()
                    .join(" or "),
            };
            one(format!(
                "must be {}, not {}",
                with_article(&wanted),
                kind_of(error.instance())
            ))
        }
        ValidationErrorKind::Enum { options } => one(format!("must be one of {}", listed(options))),
        ValidationErrorKind::Constant { expected_value } => {
            one(format!("must be {expected_value}"))
        }
        ValidationErrorKind::Minimum { limit } => one(format!("must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => one(format!("must be at most {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            one(format!("must be more than {limit}"))
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            one(format!("must be less than {limit}"))
        }
        ValidationErrorKind::MinLength { limit: 1 } => one("must not be empty".to_owned()),
        ValidationErrorKind::MinLength { limit } => {
            one(format!("must have at least {limit} characters"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            one(format!("must have at most {limit} characters"))
        }
        ValidationErrorKind::MinItems { limit } => one(format!("must have at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => one(format!("must have at most {limit} items")),
        ValidationErrorKind::Pattern { pattern } => {
            one(format!("must match the pattern {pattern}"))
        }
        ValidationErrorKind::Format { format } => one(format!("must be a valid {format}")),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            // The branch that came closest says most about what was meant.
            let closest = context.iter().min_by_key(|errors| errors.len());
            let problems: Vec<Problem> = closest
                .into_iter()
                .flatten()
                .flat_map(|inner| explain(inner, schema))
                .collect();
            if problems.is_empty() {
                one("does not fit any of its allowed shapes".to_owned())
            } else {
                problems
            }
        }
        _ => one(error.to_string()),
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

/// The properties the schema knows at an instance path, through objects only.
fn known_at<'a>(schema: &'a Value, pointer: &str) -> Vec<&'a str> {
    let mut here = schema;
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        here = &here["properties"][part];
    }
    let properties = here["properties"].as_object();
    properties
        .map(|p| p.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

fn unknown(name: &str, known: Vec<&str>) -> String {
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
        None => format!("is not a parameter; there are {}", known.join(", ")),
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

fn with_article(kinds: &str) -> String {
    let article = if kinds.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kinds}")
}

fn listed(options: &Value) -> String {
    let Some(options) = options.as_array() else {
        return options.to_string();
    };
    let shown: Vec<String> = options
        .iter()
        .filter(|option| !option.is_null())
        .map(Value::to_string)
        .collect();
    shown.join(", ")
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
    fn a_value_fits_its_schema_or_the_error_says_where_not() {
        let schema = json!({ "type": "array", "items": { "type": "integer" } });
        assert_eq!(validate_against(&schema, &json!([1, 2])), Ok(()));
        for (value, words) in [
            (json!([1, "two"]), "1: must be an integer, not a string"),
            (json!({}), "the value: must be an array, not an object"),
        ] {
            assert_eq!(validate_against(&schema, &value).unwrap_err(), words);
        }
        assert!(validate_against(&json!({ "type": "odd" }), &json!(1)).is_err());
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
    fn an_unknown_parameter_says_what_was_meant() {
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
}
