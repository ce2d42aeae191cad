//! JSON-RPC, read and written.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::RpcError;

/// The most messages in one batch, which only 2025-03-26 knows.
const MAX_BATCH: usize = 100;

/// A message from a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to one of our requests.
    Reply {
        /// Which; `None` when the server could not tell.
        id: Option<u64>,
        /// What it came to.
        outcome: Result<Value, RpcError>,
    },
    /// It asks us.
    Request {
        /// How it calls its question.
        id: Value,
        /// What it asks.
        method: String,
        /// With which parameters.
        params: Value,
    },
    /// It tells us.
    Notification {
        /// What.
        method: String,
        /// With which parameters.
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

/// Keeps `null` apart from absence.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Reads what arrived as one piece: a message, or a batch of them. Nesting beyond 128 levels
/// is refused by the parser.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Incoming>, String> {
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

fn sort(raw: Raw) -> Result<Incoming, String> {
    if let Some(method) = raw.method {
        return Ok(match raw.id {
            Some(id) => Incoming::Request {
                id,
                method,
                params: raw.params.unwrap_or_default(),
            },
            None => Incoming::Notification {
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
    Ok(Incoming::Reply { id, outcome })
}

/// Our ids are numbers from one on; some servers send them back as text. Zero is nobody's.
fn number(id: &Value) -> u64 {
    let number = match id {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.unwrap_or(0)
}

/// A request.
pub(crate) fn request(id: u64, method: &str, params: &Map<String, Value>) -> Bytes {
    #[derive(Serialize)]
    struct Out<'a> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        params: &'a Map<String, Value>,
    }
    written(&Out {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// A notification.
pub(crate) fn notification(method: &str, params: Option<&Value>) -> Bytes {
    #[derive(Serialize)]
    struct Out<'a> {
        jsonrpc: &'static str,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a Value>,
    }
    written(&Out {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// The answer to a server's question.
pub(crate) fn reply(id: &Value, outcome: Result<Value, RpcError>) -> Bytes {
    #[derive(Serialize)]
    struct Out<'a> {
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
    written(&Out {
        jsonrpc: "2.0",
        id,
        result,
        error,
    })
}

/// One line: JSON holds no line breaks, and the one at the end is harmless over HTTP.
fn written(message: &impl Serialize) -> Bytes {
    // Values with text keys are always JSON.
    let mut bytes = serde_json::to_vec(message).unwrap_or_default();
    bytes.push(b'\n');
    Bytes::from(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn one(value: &Value) -> Result<Incoming, String> {
        read(value.to_string().as_bytes()).map(|mut all| all.remove(0))
    }

    #[test]
    fn messages_are_told_apart() {
        let reply = one(&json!({ "jsonrpc": "2.0", "id": 3, "result": { "x": 1 } }));
        let expected = Incoming::Reply {
            id: Some(3),
            outcome: Ok(json!({ "x": 1 })),
        };
        assert_eq!(reply, Ok(expected.clone()));
        let text_id = one(&json!({ "id": "3", "result": { "x": 1 } }));
        assert_eq!(text_id, Ok(expected));
        let nobody = one(&json!({ "id": null, "error": { "code": -1, "message": "m" } }));
        assert!(matches!(nobody, Ok(Incoming::Reply { id: None, .. })));
        let null = one(&json!({ "id": 1, "result": null }));
        assert!(matches!(
            null,
            Ok(Incoming::Reply {
                outcome: Ok(Value::Null),
                ..
            })
        ));
        let other = one(&json!({ "id": "x", "result": {} }));
        assert!(matches!(other, Ok(Incoming::Reply { id: Some(0), .. })));
        let asked = one(&json!({ "id": "a", "method": "ping" }));
        assert!(matches!(asked, Ok(Incoming::Request { .. })));
        let told = one(&json!({ "method": "notifications/x", "params": [1] }));
        assert!(matches!(told, Ok(Incoming::Notification { .. })));
        assert!(one(&json!({ "id": 1 })).is_err());
        assert!(one(&json!(7)).is_err());
    }

    #[test]
    fn a_batch_is_read_up_to_a_point() {
        let message = json!({ "method": "m" });
        let batch = json!([message, message]);
        assert_eq!(read(batch.to_string().as_bytes()).unwrap().len(), 2);
        let long = json!(vec![message; MAX_BATCH + 1]);
        assert!(read(long.to_string().as_bytes()).is_err());
    }

    #[test]
    fn what_is_nested_without_end_is_refused() {
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
