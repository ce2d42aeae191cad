//! Lists that an MCP server wraps as `{"result": [...]}`.
//!
//! Structured content must be an object, so SDKs such as FastMCP wrap the list that a tool returns.
//! A script wants the list: `callTool` unwraps it, and the TypeScript declarations say so.
//! Everything else passes results on unchanged, and the `result` of an OpenAPI service is its own
//! field.

use manyhands_core::{RunsOn, ToolSpec};
use serde_json::{Map, Value};

const FIELD: &str = "result";

/// Returns the list inside `value` if a tool of an MCP server wrapped one, else `value` itself.
pub fn list_of(spec: &ToolSpec, value: Value) -> Value {
    match value {
        Value::Object(mut fields) if wraps(spec) && only(&fields).is_some_and(Value::is_array) => {
            fields.remove(FIELD).unwrap_or_default()
        }
        other => other,
    }
}

/// The schema of what `callTool` returns.
pub fn schema_of(spec: &ToolSpec) -> Option<&Value> {
    let whole = spec.output_schema.as_ref()?;
    let inner = whole["properties"].as_object().and_then(only);
    let list = inner.filter(|inner| wraps(spec) && inner["type"] == "array");
    // A schema that refers to definitions next to it cannot be used alone.
    Some(
        list.filter(|_| whole.get("$defs").is_none())
            .unwrap_or(whole),
    )
}

fn wraps(spec: &ToolSpec) -> bool {
    matches!(&spec.runs_on, RunsOn::Server { name } if !name.starts_with("dynamic/"))
}

fn only(fields: &Map<String, Value>) -> Option<&Value> {
    fields.get(FIELD).filter(|_| fields.len() == 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(server: Option<&str>) -> ToolSpec {
        let mut spec = ToolSpec::new("tool", "server");
        if let Some(name) = server {
            spec.runs_on = RunsOn::Server {
                name: name.to_owned(),
            };
        }
        spec
    }

    #[test]
    fn only_a_list_that_an_mcp_server_wrapped_is_unwrapped() {
        let wrapped = json!({ "result": [1, 2] });
        assert_eq!(list_of(&spec(Some("s")), wrapped.clone()), json!([1, 2]));
        for other in [None, Some("dynamic/s")] {
            assert_eq!(list_of(&spec(other), wrapped.clone()), wrapped);
        }
        for other in [
            json!({ "result": "text" }),
            json!({ "result": [1], "next": 2 }),
            json!([1]),
            json!("text"),
        ] {
            assert_eq!(list_of(&spec(Some("s")), other.clone()), other);
        }
    }

    #[test]
    fn the_declared_type_is_that_of_the_list() {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let mut tool = spec(Some("s"));
        tool.output_schema = Some(json!({ "type": "object", "properties": { "result": list } }));
        assert_eq!(schema_of(&tool), Some(&list));
        let object = json!({ "type": "object", "properties": { "result": { "type": "object" } } });
        tool.output_schema = Some(object.clone());
        assert_eq!(schema_of(&tool), Some(&object));
    }
}
