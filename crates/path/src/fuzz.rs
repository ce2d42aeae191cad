//! Doors for `make fuzz` and for the replay of its corpora; not an interface.

use serde_json::Value;

use crate::schema::Schema;

/// Compiles a schema and checks a value against it, as far as both are allowed; whether it fits.
pub fn schema(schema: &Value, value: &Value) -> Option<bool> {
    let schema = Schema::compile(schema).ok()?;
    schema.cost(value).ok()?;
    let valid = schema.validator.is_valid(value);
    let problems = schema.validator.iter_errors(value).count();
    assert_eq!(valid, problems == 0, "both ways to check agree");
    Some(valid)
}
