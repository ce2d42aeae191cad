//! Headers that mirror parts of a modern request, so that proxies need not parse its body.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// Maximum depth at which annotations are searched.
const DEEPEST: usize = 32;

/// A tool parameter mirrored in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// Keys from the arguments down to it.
    path: Vec<String>,
    header: HeaderName,
}

/// Adds the headers of a request.
pub(crate) fn put(
    into: &mut HeaderMap,
    method: &str,
    params: &Map<String, Value>,
    mirrored: &[Mirrored],
) {
    if let Ok(value) = HeaderValue::from_str(method) {
        into.insert("mcp-method", value);
    }
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return,
    };
    if let Some(name) = params.get(key).and_then(Value::as_str)
        && let Ok(value) = HeaderValue::from_str(&spelled(name))
    {
        into.insert("mcp-name", value);
    }
    let Some(arguments) = params.get("arguments") else {
        return;
    };
    for one in mirrored {
        let at = one
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key));
        let text = match at {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        if let Ok(value) = HeaderValue::from_str(&spelled(&text)) {
            into.insert(one.header.clone(), value);
        }
    }
}

/// The headers that belong to a modern request, for servers. `tool` is the definition of the called
/// tool.
pub fn expected(method: &str, params: &Map<String, Value>, tool: Option<&Value>) -> HeaderMap {
    let mirrored = tool.and_then(|tool| mirrored(tool).ok());
    let mut headers = HeaderMap::new();
    put(&mut headers, method, params, &mirrored.unwrap_or_default());
    headers
}

/// The text carried by a header; `None` if it is malformed.
pub fn decoded(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    let inner = text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match inner {
        Some(inner) => String::from_utf8(BASE64_STANDARD.decode(inner).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Encodes a text for a header.
fn spelled(text: &str) -> String {
    let blank = |b: Option<&u8>| b.is_some_and(|b| matches!(b, b' ' | b'\t'));
    let bytes = text.as_bytes();
    // A value that looks encoded is encoded once more, so that decoding always restores the original.
    let looks_spelled = text.starts_with("=?base64?") && text.ends_with("?=");
    let odd = bytes.iter().any(|b| !(0x20..=0x7e).contains(b));
    if !(odd || looks_spelled || blank(bytes.first()) || blank(bytes.last())) {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
}

/// The mirrored parameters of a tool, or what is wrong with its annotations.
pub(crate) fn mirrored(tool: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    if let Some(schema) = tool.get("inputSchema") {
        if schema.get("x-mcp-header").is_some() {
            return Err("x-mcp-header stands at the root of its schema".to_owned());
        }
        collect(schema, &mut Vec::new(), &mut found)?;
    }
    Ok(found)
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Ok(());
    };
    for (key, value) in schema {
        match key.as_str() {
            "properties" => {
                let Value::Object(properties) = value else {
                    continue;
                };
                for (name, property) in properties {
                    path.push(name.clone());
                    if path.len() > DEEPEST {
                        return Err("its schema is nested too deeply".to_owned());
                    }
                    if let Some(header) = property.get("x-mcp-header") {
                        found.push(one(header, property, path, found)?);
                    }
                    collect(property, path, found)?;
                    path.pop();
                }
            }
            // These hold data, not schemas.
            "default" | "const" | "enum" | "examples" | "x-mcp-header" => {}
            _ if off_the_path(value) => {
                return Err(format!("x-mcp-header stands below {key}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether an annotation is at a position that no single argument corresponds to.
fn off_the_path(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("x-mcp-header") || map.values().any(off_the_path),
        Value::Array(items) => items.iter().any(off_the_path),
        _ => false,
    }
}

fn one(
    header: &Value,
    property: &Value,
    path: &[String],
    found: &[Mirrored],
) -> Result<Mirrored, String> {
    let at = path.join(".");
    let name = header.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("x-mcp-header of {at} is no name"))?;
    let header = HeaderName::try_from(format!("mcp-param-{name}"))
        .map_err(|_| format!("x-mcp-header of {at} is no name of a header"))?;
    if found.iter().any(|other| other.header == header) {
        return Err(format!("x-mcp-header {name} is there twice"));
    }
    let kind = property.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "x-mcp-header of {at} is on a value that is not simple"
        ));
    }
    Ok(Mirrored {
        path: path.to_vec(),
        header,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(properties: Value) -> Value {
        json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } })
    }

    fn headers(method: &str, params: Value, tool: &Value) -> Vec<(String, String)> {
        let mut map = HeaderMap::new();
        let Value::Object(params) = params else {
            panic!()
        };
        put(&mut map, method, &params, &mirrored(tool).unwrap());
        let text =
            |(k, v): (&HeaderName, &HeaderValue)| (k.to_string(), v.to_str().unwrap().to_owned());
        map.iter().map(text).collect()
    }

    #[test]
    fn headers_repeat_method_and_name() {
        let none = tool(json!({}));
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(
            headers("tools/list", json!({}), &none),
            [pair("mcp-method", "tools/list")]
        );
        let read = headers("resources/read", json!({ "uri": "x://é" }), &none);
        let uri = format!("=?base64?{}?=", BASE64_STANDARD.encode("x://é"));
        assert_eq!(
            read,
            [pair("mcp-method", "resources/read"), pair("mcp-name", &uri)]
        );
    }

    #[test]
    fn annotated_arguments_are_repeated() {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let nested = json!({ "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } });
        let tool = tool(json!({ "region": region, "deep": nested, "other": { "type": "string" } }));
        let arguments = json!({ "region": " eu ", "deep": { "n": 4 }, "other": "x" });
        let sent = headers(
            "tools/call",
            json!({ "name": "t", "arguments": arguments }),
            &tool,
        );
        let mut names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["mcp-method", "mcp-name", "mcp-param-n", "mcp-param-region"]
        );
        assert!(sent.contains(&("mcp-param-n".to_owned(), "4".to_owned())));
        assert!(sent.contains(&(
            "mcp-param-region".to_owned(),
            "=?base64?IGV1IA==?=".to_owned()
        )));
        let absent = headers("tools/call", json!({ "name": "t", "arguments": {} }), &tool);
        assert_eq!(absent.len(), 2);
    }

    #[test]
    fn invalid_header_annotations_are_refused() {
        let header = |h: Value| json!({ "type": "string", "x-mcp-header": h });
        for wrong in [
            json!({ "a": header(json!("")) }),
            json!({ "a": header(json!(7)) }),
            json!({ "a": header(json!("bad name")) }),
            json!({ "a": header(json!("A")), "b": header(json!("a")) }),
            json!({ "a": { "type": "object", "x-mcp-header": "A" } }),
            json!({ "a": { "type": "array", "items": header(json!("A")) } }),
        ] {
            assert!(mirrored(&tool(wrong.clone())).is_err(), "{wrong}");
        }
        assert_eq!(
            mirrored(&tool(json!({ "a": header(json!("A")) })))
                .unwrap()
                .len(),
            1
        );
    }
}
