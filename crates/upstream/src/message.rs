//! JSON-RPC messages.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::RpcError;

/// Maximum messages in a batch, which only 2025-03-26 has.
const MAX_BATCH: usize = 100;

/// A message from a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerMessage {
    /// The reply to one of our requests.
    Reply {
        /// The request's id; `None` if the server could not tell.
        id: Option<u64>,
        /// Its result or error.
        outcome: Result<Value, RpcError>,
    },
    /// A request of the server.
    Request {
        /// The server's id of the request.
        id: Value,
        /// The method.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<RpcError>,
}

/// Distinguishes `null` from absence.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Parses received bytes: a message or a batch. The parser refuses nesting beyond 128 levels.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<ServerMessage>, String> {
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    if first == Some(&b'[') {
        let batch: Vec<Raw> = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if batch.len() > MAX_BATCH {
            return Err(format!("a batch of more than {MAX_BATCH} messages"));
        }
        return batch.into_iter().map(sort).collect();
    }
    let raw = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    Ok(vec![sort(raw)?])
}

fn sort(raw: Raw) -> Result<ServerMessage, String> {
    if let Some(method) = raw.method {
        return Ok(match raw.id {
            Some(id) => ServerMessage::Request {
                id,
                method,
                params: raw.params.unwrap_or_default(),
            },
            None => ServerMessage::Notification {
                method,
                params: match raw.params {
                    Some(Value::Object(params)) => params,
                    _ => Map::new(),
                },
            },
        });
    }
    let outcome = match (raw.result, raw.error) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => Ok(result),
        (None, None) => return Err("neither a method nor a result nor an error".to_owned()),
    };
    let id = raw.id.as_ref().filter(|id| !id.is_null()).map(number);
    Ok(ServerMessage::Reply { id, outcome })
}

/// Our ids are numbers from one up; some servers return them as text. Zero matches no request.
fn number(id: &Value) -> u64 {
    let number = match id {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.unwrap_or(0)
}

/// Encodes a request.
pub(crate) fn request(id: u64, method: &str, params: &Map<String, Value>) -> Bytes {
    #[derive(Serialize)]
    struct RequestFrame<'a> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        params: &'a Map<String, Value>,
    }
    written(&RequestFrame {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// Encodes a notification.
pub(crate) fn notification(method: &str, params: Option<&Value>) -> Bytes {
    #[derive(Serialize)]
    struct NotificationFrame<'a> {
        jsonrpc: &'static str,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a Value>,
    }
    written(&NotificationFrame {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// Encodes the reply to a server's request.
pub(crate) fn reply(id: &Value, outcome: Result<Value, RpcError>) -> Bytes {
    #[derive(Serialize)]
    struct ResponseFrame<'a> {
        jsonrpc: &'static str,
        id: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<RpcError>,
    }
    let (result, error) = match outcome {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    written(&ResponseFrame {
        jsonrpc: "2.0",
        id,
        result,
        error,
    })
}

/// Encodes as one line: JSON contains no line breaks, and the final one is harmless over HTTP.
fn written(message: &impl Serialize) -> Bytes {
    // Cannot fail: all map keys are strings.
    let mut bytes = serde_json::to_vec(message).unwrap_or_default();
    bytes.push(b'\n');
    Bytes::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn one(value: &Value) -> Result<ServerMessage, String> {
        read(value.to_string().as_bytes()).map(|mut all| all.remove(0))
    }

    #[test]
    fn messages_are_distinguished() {
        let reply = one(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "x": 1 } }));
        let expected = ServerMessage::Reply {
            id: Some(3),
            outcome: Ok(json!({ "x": 1 })),
        };
        assert_eq!(reply, Ok(expected.clone()));
        let text_id = one(&json!({ "id": "3", "result": { "x": 1 } }));
        assert_eq!(text_id, Ok(expected));
        let unattributed = one(&json!({ "id": null, "error": { "code": -1, "message": "m" } }));
        assert!(matches!(
            unattributed,
            Ok(ServerMessage::Reply { id: None, .. })
        ));
        let null = one(&json!({ "id": 1, "result": null }));
        assert!(matches!(
            null,
            Ok(ServerMessage::Reply {
                outcome: Ok(Value::Null),
                ..
            })
        ));
        let other = one(&json!({ "id": "x", "result": {} }));
        assert!(matches!(
            other,
            Ok(ServerMessage::Reply { id: Some(0), .. })
        ));
        let request_message = one(&json!({ "id": "a", "method": "ping" }));
        assert!(matches!(request_message, Ok(ServerMessage::Request { .. })));
        let notification_message = one(&json!({ "method": "notifications/x", "params": [1] }));
        assert!(matches!(
            notification_message,
            Ok(ServerMessage::Notification { .. })
        ));
        assert!(one(&json!({ "id": 1 })).is_err());
        assert!(one(&json!(7)).is_err());
    }

    #[test]
    fn a_batch_of_too_many_messages_is_refused() {
        let message = json!({ "method": "m" });
        let batch = json!([message, message]);
        assert_eq!(read(batch.to_string().as_bytes()).unwrap().len(), 2);
        let long = json!(vec![message; MAX_BATCH + 1]);
        assert!(read(long.to_string().as_bytes()).is_err());
    }

    #[test]
    fn excessive_nesting_is_refused() {
        let deep = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            format!("{{\"id\":1,\"result\":{open}{close}}}")
        };
        assert!(read(deep(100).as_bytes()).is_ok());
        assert!(read(deep(100_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
