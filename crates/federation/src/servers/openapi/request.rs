//! Builds the HTTP request of an operation from the arguments of a call.

use manyhands_core::ToolError;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Slot {
    Path,
    Query,
    Header,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parameter {
    /// Its name in the tool's schema.
    pub(super) key: String,
    /// Its name in the request.
    pub(super) name: String,
    #[serde(rename = "in")]
    pub(super) slot: Slot,
    /// Whether each item of a list becomes its own parameter.
    pub(super) explode: bool,
}

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyKind {
    Json,
    Form,
    Text,
}

/// The request that a tool stands for. It is part of the tool definition, so the owner accepts the
/// address together with the description; calls use the accepted request and never the current
/// document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::servers) struct OperationRequest {
    /// Scheme, host, port and base path; `None` if the settings name them.
    pub(super) server: Option<String>,
    /// The HTTP method.
    pub(super) method: String,
    /// The path with its `{parameters}`.
    pub(super) path: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<BodyKind>,
}

/// Everything except letters, digits and the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A request without base URL and credentials.
#[derive(Debug, PartialEq)]
pub(super) struct RequestDraft {
    /// The path below the base path of the service.
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

/// Builds the request for arguments that match the schema.
pub(super) fn draft(
    operation: &OperationRequest,
    arguments: &Map<String, Value>,
) -> Result<RequestDraft, ToolError> {
    let template = operation.path.split('#').next().unwrap_or_default();
    let (path, fixed) = match template.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (template, None),
    };
    let mut path = path.to_owned();
    let mut query: Vec<String> = fixed.map(str::to_owned).into_iter().collect();
    let mut headers = HeaderMap::new();
    for parameter in &operation.parameters {
        let Some(value) = arguments
            .get(&parameter.key)
            .filter(|value| !value.is_null())
        else {
            continue;
        };
        match parameter.slot {
            Slot::Path => {
                let text = joined(value);
                if text.is_empty() || text == "." || text == ".." {
                    let message = "cannot be used as a path segment";
                    return Err(ToolError::parameter(&parameter.key, message));
                }
                path = path.replace(&format!("{{{}}}", parameter.name), &escape(&text));
            }
            Slot::Query => query.extend(pairs(parameter, value)),
            Slot::Header => {
                let wrong = || ToolError::parameter(&parameter.key, "cannot be sent as a header");
                let name = HeaderName::try_from(parameter.name.as_str()).map_err(|_| wrong())?;
                let value = HeaderValue::from_str(&joined(value)).map_err(|_| wrong())?;
                headers.insert(name, value);
            }
        }
    }
    let (kind, body) = match (operation.body, arguments.get("body")) {
        (Some(BodyKind::Json), Some(body)) => ("application/json", Some(body.to_string())),
        (Some(BodyKind::Form), Some(body)) => {
            ("application/x-www-form-urlencoded", Some(form(body)))
        }
        (Some(BodyKind::Text), Some(body)) => ("text/plain; charset=utf-8", Some(joined(body))),
        _ => ("", None),
    };
    if body.is_some() {
        headers.insert("content-type", HeaderValue::from_static(kind));
    }
    headers.insert(
        "accept",
        HeaderValue::from_static("application/json, */*;q=0.5"),
    );
    Ok(RequestDraft {
        path,
        query: (!query.is_empty()).then(|| query.join("&")),
        headers,
        body: body.map(String::into_bytes),
    })
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn pair(name: &str, value: &str) -> String {
    format!("{}={}", escape(name), escape(value))
}

/// Encodes a query parameter: lists are repeated or joined, objects become one pair per key.
fn pairs(parameter: &Parameter, value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) if parameter.explode => items
            .iter()
            .map(|item| pair(&parameter.name, &joined(item)))
            .collect(),
        Value::Object(map) if parameter.explode => map
            .iter()
            .map(|(key, value)| pair(key, &joined(value)))
            .collect(),
        other => vec![pair(&parameter.name, &joined(other))],
    }
}

fn form(body: &Value) -> String {
    let fields = body.as_object().into_iter().flatten();
    let fields = fields.flat_map(|(key, value)| match value {
        Value::Array(items) => items.iter().map(|item| pair(key, &joined(item))).collect(),
        other => vec![pair(key, &joined(other))],
    });
    fields.collect::<Vec<_>>().join("&")
}

/// Renders a value as text; lists are comma-separated.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(joined).collect::<Vec<_>>().join(","),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn operation(
        path: &str,
        parameters: &[(&str, Slot)],
        body: Option<BodyKind>,
    ) -> OperationRequest {
        let parameter = |(name, slot): &(&str, Slot)| Parameter {
            key: (*name).to_owned(),
            name: (*name).to_owned(),
            slot: *slot,
            explode: true,
        };
        OperationRequest {
            server: None,
            method: "GET".to_owned(),
            path: path.to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
            body,
        }
    }

    #[track_caller]
    fn check(arguments: Value, target: &str) {
        let of = [
            ("id", Slot::Path),
            ("tags", Slot::Query),
            ("q", Slot::Query),
        ];
        let operation = operation("/pets/{id}", &of, None);
        let draft = draft(&operation, arguments.as_object().unwrap()).unwrap();
        let query = draft.query.map(|query| format!("?{query}"));
        assert_eq!(draft.path + &query.unwrap_or_default(), target);
    }

    #[test]
    fn arguments_are_put_in_their_places_and_cannot_leave_them() {
        check(json!({ "id": 7 }), "/pets/7");
        check(json!({ "id": "a/../b?c#d" }), "/pets/a%2F..%2Fb%3Fc%23d");
        check(
            json!({ "id": "x", "tags": ["a b", "c&d"], "q": true }),
            "/pets/x?tags=a%20b&tags=c%26d&q=true",
        );
        let operation = operation("/pets/{id}", &[("id", Slot::Path)], None);
        for away in ["..", ".", ""] {
            let arguments = json!({ "id": away });
            assert!(
                draft(&operation, arguments.as_object().unwrap()).is_err(),
                "{away}"
            );
        }
    }

    #[test]
    fn bodies_are_written_as_the_service_reads_them() {
        let body = json!({ "body": { "a": [1, 2], "b": "x y" } });
        let written = |kind| {
            let draft = draft(&operation("/", &[], Some(kind)), body.as_object().unwrap()).unwrap();
            String::from_utf8(draft.body.unwrap()).unwrap()
        };
        assert_eq!(written(BodyKind::Json), r#"{"a":[1,2],"b":"x y"}"#);
        assert_eq!(written(BodyKind::Form), "a=1&a=2&b=x%20y");
    }
}
