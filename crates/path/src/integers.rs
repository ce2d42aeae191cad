//! Whole numbers that are written with a fraction: `5.0` is `5` wherever a schema says integer.
//!
//! JSON has one kind of number and JSON Schema counts `5.0` as an integer, but Rust's integer types
//! do not read it. Some models and languages write every number that way.

use serde_json::{Map, Value};

/// Beyond this a double no longer tells neighbouring integers apart.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// How many schemas are looked at for one value, and how deep: references can form cycles.
const MAX_SCHEMAS: usize = 256;
const MAX_DEPTH: usize = 32;

/// Rewrites numbers with a fraction of zero as integers, where `schema` says integer.
pub(crate) fn as_integers(schema: &Value, value: &mut Value) {
    if has_fraction(value) {
        Walk { root: schema }.value(&[schema], value);
    }
}

/// Whether there is anything to do; almost always there is not.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(list) => list.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        _ => false,
    }
}

struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    fn value(&self, schemas: &[&'a Value], value: &mut Value) {
        let mut here = Vec::new();
        for schema in schemas {
            self.collect(schema, &mut here, 0);
        }
        match value {
            Value::Number(_) if here.iter().any(|schema| says_integer(schema)) => whole(value),
            Value::Array(list) => {
                for (at, item) in list.iter_mut().enumerate() {
                    let of = here.iter().filter_map(|schema| {
                        let own = schema["prefixItems"].get(at);
                        own.or_else(|| schema.get("items"))
                    });
                    self.value(&of.collect::<Vec<_>>(), item);
                }
            }
            Value::Object(fields) => self.fields(&here, fields),
            _ => {}
        }
    }

    fn fields(&self, here: &[&'a Value], fields: &mut Map<String, Value>) {
        for (name, field) in fields {
            let of = here.iter().filter_map(|schema| {
                let own = schema["properties"].get(name);
                own.or_else(|| schema.get("additionalProperties"))
            });
            self.value(&of.collect::<Vec<_>>(), field);
        }
    }

    /// All schemas that may apply to the same value.
    fn collect(&self, schema: &'a Value, all: &mut Vec<&'a Value>, depth: usize) {
        if all.len() >= MAX_SCHEMAS || depth >= MAX_DEPTH {
            return;
        }
        all.push(schema);
        let target = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
        let target = target.and_then(|pointer| self.root.pointer(pointer));
        let alternatives = ["allOf", "anyOf", "oneOf"];
        let inner = alternatives.iter().filter_map(|key| schema[key].as_array());
        for inner in target.into_iter().chain(inner.flatten()) {
            self.collect(inner, all, depth + 1);
        }
    }
}

fn says_integer(schema: &Value) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|kind| kind == "integer"),
        kind => kind == "integer",
    }
}

#[allow(clippy::cast_possible_truncation)] // whole, and within what a double tells exactly
fn whole(value: &mut Value) {
    let number = value.as_f64().filter(|_| value.is_f64());
    if let Some(number) = number.filter(|n| n.fract() == 0.0 && n.abs() < EXACT) {
        *value = Value::from(number as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_are_integers_wherever_the_schema_says_so() {
        let schema = json!({
            "properties": {
                "lines": { "type": ["integer", "null"] },
                "ratio": { "type": "number" },
                "job": { "$ref": "#/$defs/job" },
                "any": {},
            },
            "$defs": { "job": { "oneOf": [
                { "type": "string" },
                { "properties": { "every": { "items": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } } } },
            ] } },
        });
        let mut value = json!({
            "lines": 5.0, "ratio": 2.0, "any": 7.0, "job": { "every": [1.0, -2.0, 2.5, 1e300] },
        });
        as_integers(&schema, &mut value);
        let expected = json!({
            "lines": 5, "ratio": 2.0, "any": 7.0, "job": { "every": [1, -2, 2.5, 1e300] },
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let schema = json!({ "$ref": "#", "anyOf": [{ "$ref": "#" }], "items": { "$ref": "#" } });
        let mut value = json!([[[1.0]]]);
        as_integers(&schema, &mut value);
        assert_eq!(value, json!([[[1.0]]]));
    }
}
