//! JSON schemas as providers accept them.

use serde_json::{Map, Value, json};

/// Keywords that some providers reject. The caller validates replies against the full schema.
const LOOSE: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "$schema",
    "format",
];

/// `schema` with every object closed and without keywords that Anthropic rejects; `None` if an object
/// is meant to be open, which cannot be expressed.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    match schema {
        Value::Array(items) => items
            .iter()
            .map(closed)
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        Value::Object(fields) => closed_object(fields),
        other => Some(other.clone()),
    }
}

fn closed_object(fields: &Map<String, Value>) -> Option<Value> {
    let mut converted = Map::new();
    for (type_name, value) in fields {
        match type_name.as_str() {
            "properties" | "$defs" | "definitions" => {
                let named = value.as_object()?;
                let inner = named
                    .iter()
                    .map(|(name, schema)| Some((name.clone(), closed(schema)?)));
                converted.insert(
                    type_name.clone(),
                    Value::Object(inner.collect::<Option<_>>()?),
                );
            }
            "enum" | "const" | "default" | "examples" | "required" | "description" | "title" => {
                converted.insert(type_name.clone(), value.clone());
            }
            "minItems" if value.as_u64().is_some_and(|n| n > 1) => {}
            loose if LOOSE.contains(&loose) => {}
            _ => {
                converted.insert(type_name.clone(), closed(value)?);
            }
        }
    }
    if is_object(fields) {
        if !fields.contains_key("properties") {
            return None;
        }
        match fields.get("additionalProperties") {
            None | Some(Value::Bool(false)) => {
                converted.insert("additionalProperties".into(), json!(false));
            }
            Some(_) => return None,
        }
    }
    Some(Value::Object(converted))
}

/// Whether `schema` meets OpenAI's strict mode: closed objects with all fields required.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().all(is_strict),
        Value::Object(fields) => {
            let strict = !is_object(fields) || strict_object(fields);
            strict && fields.values().all(is_strict)
        }
        _ => true,
    }
}

fn strict_object(fields: &Map<String, Value>) -> bool {
    let Some(properties) = fields.get("properties").and_then(Value::as_object) else {
        return false;
    };
    let required = fields.get("required").and_then(Value::as_array);
    let required = |name: &String| required.is_some_and(|r| r.iter().any(|r| r == name));
    let closed = fields.get("additionalProperties") == Some(&Value::Bool(false));
    closed && properties.keys().all(required)
}

fn is_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(type_name)) => type_name == "object",
        Some(Value::Array(type_names)) => type_names.iter().any(|type_name| type_name == "object"),
        _ => false,
    }
}

/// A tool's argument schema: always an object with properties, as every provider requires.
pub(super) fn of_arguments(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else {
        return json!({ "type": "object", "properties": {} });
    };
    fields.remove("$schema");
    fields.entry("type").or_insert_with(|| json!("object"));
    fields.entry("properties").or_insert_with(|| json!({}));
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_closed_and_refused_words_left_out() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer", "minimum": 1 },
                "pattern": { "type": "array", "items": { "type": "object", "properties": {} } },
            },
            "required": ["n"],
        });
        let expect = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "pattern": { "type": "array", "items": { "type": "object", "properties": {}, "additionalProperties": false } },
            },
            "required": ["n"],
            "additionalProperties": false,
        });
        assert_eq!(closed(&schema), Some(expect));
        for open in [
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": {}, "additionalProperties": true }),
            json!({ "type": "array", "items": { "type": "object" } }),
        ] {
            assert_eq!(closed(&open), None, "{open}");
        }
    }

    #[test]
    fn strict_means_closed_and_all_required() {
        let strict = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"], "additionalProperties": false });
        assert!(is_strict(&strict));
        for loose in [
            json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] }),
            json!({ "type": "array", "items": { "type": "object" } }),
        ] {
            assert!(!is_strict(&loose), "{loose}");
        }
    }
}
