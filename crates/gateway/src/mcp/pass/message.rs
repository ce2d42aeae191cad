//! JSON-RPC as it is said on the wire.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// What came in.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// Something to be answered.
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    /// Something to be heard.
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// The answer to something that was asked.
    Reply {
        id: Value,
        result: Result<Value, Value>,
    },
}

/// An error, and the status under which it goes out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;
pub(super) const HEADER_MISMATCH: i64 = -32020;
pub(super) const MISSING_CAPABILITY: i64 = -32021;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

impl Fault {
    /// An error inside an answer that is fine as far as HTTP goes.
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::OK,
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(super) fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    fn value(self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        error
    }

    /// The whole answer.
    pub(super) fn respond(self, id: &Value) -> Response {
        (self.status, Json(answer(id, Err(self)))).into_response()
    }
}

/// What a call says besides which tool is called and with what.
pub(super) fn besides_call(params: &Map<String, Value>) -> Map<String, Value> {
    let said = params.iter();
    said.filter(|(key, _)| !matches!(key.as_str(), "name" | "arguments"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// An answer to the request `id`.
pub(super) fn answer(id: &Value, result: Result<Value, Fault>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => json!({ "jsonrpc": "2.0", "id": id, "error": fault.value() }),
    }
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    match params {
        Value::Null => json!({ "jsonrpc": "2.0", "method": method }),
        params => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    }
}

pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Reads a message.
pub(super) fn read(body: &[u8]) -> Result<Incoming, Fault> {
    let bad = |code, message: &str| Err(Fault::new(code, message).status(StatusCode::BAD_REQUEST));
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return bad(PARSE, "the body is not JSON");
    };
    let Value::Object(mut message) = value else {
        return bad(INVALID_REQUEST, "send one message at a time, a JSON object");
    };
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return bad(INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    }
    let id = message.remove("id").filter(|id| !id.is_null());
    let params = match message.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return bad(INVALID_PARAMS, "params must be an object"),
    };
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
            Ok(Incoming::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let result = match (message.remove("result"), message.remove("error")) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => Err(error),
                _ => return bad(INVALID_REQUEST, "an answer has a result or an error"),
            };
            Ok(Incoming::Reply { id, result })
        }
        _ => bad(INVALID_REQUEST, "it is neither a request nor an answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let read = |value: Value| read(value.to_string().as_bytes());
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        assert!(matches!(read(request), Ok(Incoming::Request { .. })));
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert!(matches!(read(told), Ok(Incoming::Notification { .. })));
        let reply = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
        assert!(matches!(read(reply), Ok(Incoming::Reply { .. })));
        for (bad, code) in [
            (json!([]), INVALID_REQUEST),
            (json!({ "id": 1, "method": "x" }), INVALID_REQUEST),
            (json!({ "jsonrpc": "2.0", "id": 1 }), INVALID_REQUEST),
            (
                json!({ "jsonrpc": "2.0", "id": {}, "method": "x" }),
                INVALID_REQUEST,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": [] }),
                INVALID_PARAMS,
            ),
        ] {
            assert_eq!(read(bad.clone()).unwrap_err().code, code, "{bad}");
        }
    }
}
