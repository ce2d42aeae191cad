//! Validate: the arguments against the tool's schema, all problems at once, by parameter.
//!
//! Schemas and arguments come from outside, and a validator cannot be interrupted. So both are
//! measured first ([`crate::schema`]); what is more than a little work is done on a blocking thread,
//! few at a time, so that the runtime's workers always have time for other calls.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{ErrorCode, Problem, ToolError, ToolSpec};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::explain::{MAX_PROBLEMS, explain};
use crate::integers::as_integers;
use crate::layer::{Call, CallResult, Layer, Next};
use crate::schema::Schema;

/// Maximum work done on the calling thread: about 2 ms.
const INLINE: u64 = 40_000;
/// Work up to which every problem is collected; the validator holds them all at once.
const EXPLAINED: u64 = 100_000;
/// Maximum bytes of the paths of all problems.
const MAX_HELD: u64 = 64 * 1024 * 1024;
/// The longest name of an argument that is quoted.
const MAX_NAME: usize = 100;
/// Schemas up to this many values are compiled where they are needed.
const INLINE_VALUES: usize = 1_000;

/// Permits for heavy checks, so that cores are left for other calls.
static HEAVY_CHECKS: Semaphore = Semaphore::const_new(2);
/// How long a heavy check waits for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks arguments before any rule or tool sees them.
#[derive(Default)]
pub struct Validate {
    /// One validator per schema, by its address; tools that share a schema share it.
    compiled: RwLock<HashMap<usize, Compiled>>,
}

struct Compiled {
    /// Held, so that no other schema gets this address.
    _source: Arc<Value>,
    schema: Arc<Schema>,
}

/// Size at which the cache is cleared: nodes and servers come and go.
const MAX_COMPILED: usize = 4_096;

impl Validate {
    async fn schema(&self, spec: &ToolSpec) -> Result<Arc<Schema>, ToolError> {
        let source = &spec.input_schema;
        let address = Arc::as_ptr(source).addr();
        if let Some(found) = self.known(address) {
            return Ok(found);
        }
        let compiled = if values(source, INLINE_VALUES) < INLINE_VALUES {
            Schema::compile(source)
        } else {
            let source = source.clone();
            on_blocking_thread(move || Schema::compile(&source)).await?
        };
        let schema =
            Arc::new(compiled.map_err(|why| {
                ToolError::internal(format!("the schema of {} {why}", spec.name))
            })?);
        let mut all = self.compiled.write().expect("no panic while held");
        // Cleared whole rather than evicted one by one: schemas of nodes that left stay until then, and
        // compiling the live ones again is cheap.
        if all.len() >= MAX_COMPILED {
            all.clear();
        }
        let fresh = Compiled {
            _source: source.clone(),
            schema: schema.clone(),
        };
        all.insert(address, fresh);
        Ok(schema)
    }

    fn known(&self, address: usize) -> Option<Arc<Schema>> {
        let all = self.compiled.read().expect("no panic while held");
        all.get(&address).map(|found| found.schema.clone())
    }

    /// Refuses arguments that do not fit the schema of `spec`; none at all are an empty object. `own`
    /// is what the tool itself says of them ([`Tool::check`](manyhands_core::Tool::check)).
    pub(crate) async fn check(
        &self,
        spec: &ToolSpec,
        arguments: &mut Value,
        own: impl FnOnce(&Value) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        if arguments.is_null() {
            *arguments = Value::Object(Map::new());
        }
        if !arguments.is_object() {
            let message = "the arguments must be a JSON object with one key for each parameter";
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        let own_error = own(arguments);
        let schema = self.schema(spec).await?;
        // Moved rather than copied: a large value is checked on another thread, which needs to own it.
        let taken = std::mem::take(arguments);
        let (taken, checked) = fits(schema, spec.input_schema.clone(), taken).await?;
        // Put back before anything is refused: the audit records the arguments of a refusal too.
        *arguments = taken;
        as_integers(&spec.input_schema, arguments);
        match (own_error, checked) {
            (own_error, Ok(())) => own_error,
            (Err(own_error), Err(problems)) => Err(joined(own_error, problems)),
            (Ok(()), Err(problems)) => Err(ToolError::problems(problems).hint(format!(
                "see its parameters with `manyhands tools {}`",
                spec.name
            ))),
        }
    }
}

/// Combines the tool's own error with the problems of other parameters.
fn joined(mut own_error: ToolError, problems: Vec<Problem>) -> ToolError {
    for problem in problems {
        let same = |known: &Problem| known.parameter == problem.parameter;
        if !own_error.problems.iter().any(same) {
            let Problem { parameter, message } = &problem;
            own_error
                .message
                .push_str(&format!("; {parameter}: {message}"));
            own_error.problems.push(problem);
        }
    }
    own_error
}

/// Whether values can be checked against `schema`, a JSON Schema that is an object; the error says
/// what is wrong, to stand behind "the schema". Large schemas take a while: not for a runtime's worker.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("is not a JSON object".to_owned());
    }
    Schema::compile(schema).map(drop)
}

/// [`check_schema`] for async code.
pub async fn check_schema_aside(schema: Value) -> Result<(), String> {
    let checked = on_blocking_thread(move || check_schema(&schema)).await;
    checked.unwrap_or_else(|error| Err(format!("was not checked: {}", error.message)))
}

/// Returns `value` if it fits `schema`; the error lists all problems by path.
pub async fn validate_against(schema: Arc<Value>, value: Value) -> Result<Value, String> {
    let source = schema.clone();
    let compiled = on_blocking_thread(move || Schema::compile(&source)).await;
    let compiled = compiled
        .map_err(|error| error.message)?
        .map_err(|why| format!("the schema {why}"))?;
    let done = fits(Arc::new(compiled), schema, value).await;
    let (value, checked) = done.map_err(|error| error.message)?;
    let named = |Problem { parameter, message }| match String::as_str(&parameter) {
        "arguments" => format!("the value: {message}"), // it has no name of its own
        _ => format!("{parameter}: {message}"),
    };
    match checked {
        Ok(()) => Ok(value),
        Err(problems) => Err(problems
            .into_iter()
            .map(named)
            .collect::<Vec<_>>()
            .join("; ")),
    }
}

type Checked = (Value, Result<(), Vec<Problem>>);

/// Checks a value, on a blocking thread if it is much work, and returns it.
async fn fits(schema: Arc<Schema>, source: Arc<Value>, value: Value) -> Result<Checked, ToolError> {
    if schema.is_cheap(&value, INLINE) {
        let checked = problems(&schema, &source, &value);
        return Ok((value, checked));
    }
    on_blocking_thread(move || {
        let checked = problems(&schema, &source, &value);
        (value, checked)
    })
    .await
}

/// What does not fit, if anything.
fn problems(schema: &Schema, source: &Value, value: &Value) -> Result<(), Vec<Problem>> {
    let whole = |message: &str| {
        let parameter = largest(value).unwrap_or("arguments").to_owned();
        let message = message.to_owned();
        vec![Problem { parameter, message }]
    };
    // Measured before it is validated: a validator cannot be interrupted, and `uniqueItems` or nested
    // alternatives can take minutes.
    let cost = schema.cost(value).map_err(|why| whole(&why))?;
    if schema.validator.is_valid(value) {
        return Ok(());
    }
    // Each problem holds the whole way to its place, and names of properties can be long.
    let held = cost.saturating_mul(longest_path(value));
    if cost > EXPLAINED || held > MAX_HELD {
        return Err(whole(
            "does not fit the schema, and is too large to say where: send less at once",
        ));
    }
    let errors = schema.validator.iter_errors(value);
    let listed = errors.flat_map(|error| explain(&error, source));
    Err(listed.take(MAX_PROBLEMS).collect())
}

/// Runs work on a blocking thread once there is a permit.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let place = tokio::time::timeout(PERMIT_TIMEOUT, HEAVY_CHECKS.acquire()).await;
    let Ok(Ok(place)) = place else {
        let message = "too many large values are being checked; try again in a few seconds";
        return Err(ToolError::new(ErrorCode::RateLimited, message));
    };
    let done = tokio::task::spawn_blocking(move || {
        let _place = place; // until it is done, even if the caller no longer waits
        work()
    });
    done.await.map_err(|e| ToolError::internal(e.to_string()))
}

/// The name of the largest argument.
fn largest(arguments: &Value) -> Option<&str> {
    let weight = |value: &Value| match value {
        Value::String(text) => text.len(),
        other => values(other, usize::MAX),
    };
    let all = arguments.as_object()?.iter();
    let most = all.max_by_key(|(_, value)| weight(value))?;
    Some(most.0)
        .filter(|name| name.len() <= MAX_NAME)
        .map(String::as_str)
}

/// Bytes of the longest path into a value.
fn longest_path(value: &Value) -> u64 {
    match value {
        Value::Array(list) => 8 + list.iter().map(longest_path).max().unwrap_or(0),
        Value::Object(fields) => {
            let each = fields.iter();
            let each = each.map(|(name, inner)| name.len() as u64 + 1 + longest_path(inner));
            each.max().unwrap_or(0)
        }
        _ => 1,
    }
}

/// How many values there are in a value, as far as `most`.
fn values(value: &Value, most: usize) -> usize {
    let mut count = 1;
    let mut add = |inner: &Value| {
        if count < most {
            count += values(inner, most - count);
        }
    };
    match value {
        Value::Array(list) => list.iter().for_each(&mut add),
        Value::Object(fields) => fields.values().for_each(&mut add),
        _ => {}
    }
    count
}

#[async_trait]
impl Layer for Validate {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let tool = call.tool()?.clone();
        // No copy unless the caller holds the arguments too, as agents do.
        let arguments = Arc::make_mut(&mut call.request.arguments);
        let own = |arguments: &Value| tool.check(arguments);
        self.check(tool.spec(), arguments, own).await?;
        *arguments = tool.canonical(std::mem::take(arguments));
        call.effects = tool.effects_of(arguments);
        next.run(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_value_fits_its_schema_or_the_error_says_where_not() {
        let schema = Arc::new(json!({ "type": "array", "items": { "type": "integer" } }));
        let fits = validate_against(schema.clone(), json!([1, 2])).await;
        assert_eq!(fits, Ok(json!([1, 2])));
        for (value, words) in [
            (json!([1, "two"]), "1: must be an integer, not a string"),
            (json!({}), "the value: must be an array, not an object"),
        ] {
            let refused = validate_against(schema.clone(), value).await;
            assert_eq!(refused.unwrap_err(), words);
        }
        let odd = Arc::new(json!({ "type": "odd" }));
        assert!(validate_against(odd, json!(1)).await.is_err());
    }

    #[tokio::test]
    async fn problems_that_would_fill_the_memory_are_not_listed() {
        let list = json!({ "additionalProperties": { "items": { "type": "integer" } } });
        let check = async |name: &str, count: usize| {
            let value = json!({ name: vec!["x"; count] });
            validate_against(Arc::new(list.clone()), value)
                .await
                .unwrap_err()
        };
        let long = "n".repeat(100_000);
        for (name, count) in [(long.as_str(), 10_000), ("short", 100_000)] {
            let refused = check(name, count).await;
            assert!(refused.contains("too large to say where"), "{refused:.300}");
        }
        assert!(
            check("short", 100)
                .await
                .starts_with("short.0: must be an integer")
        );
    }
}
