//! JSON-RPC messages.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// A received message.
#[derive(Debug, PartialEq)]
pub(super) enum RpcMessage {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// A response to a request of ours.
    Reply {
        id: Value,
        result: Result<Value, Value>,
    },
}

/// A JSON-RPC error and the HTTP status to send it with.
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

/// Error for a cursor.
pub(super) const UNKNOWN_CURSOR: &str =
    "cursor: unknown; the list of tools has a single page, omit it";

impl Fault {
    /// An error sent with HTTP status 200.
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

    /// The complete HTTP response.
    pub(super) fn respond(self, id: &Value) -> Response {
        (self.status, Json(answer(id, Err(self)))).into_response()
    }
}

/// The parameters of a call other than the tool name and its arguments.
pub(super) fn besides_call(params: &Map<String, Value>) -> Map<String, Value> {
    let said = params.iter();
    said.filter(|(key, _)| !matches!(key.as_str(), "name" | "arguments"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The response to the request `id`.
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

/// Parses a message. An error comes with the id to respond to, if the message has one.
pub(super) fn read(body: &[u8]) -> Result<RpcMessage, (Value, Fault)> {
    let bad = |id: &Value, code, message: &str| {
        let fault = Fault::new(code, message).status(StatusCode::BAD_REQUEST);
        Err((id.clone(), fault))
    };
    let none = &Value::Null;
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return bad(none, PARSE, "Parse error: the body is not JSON");
    };
    let mut message = match value {
        Value::Object(message) => message,
        Value::Array(_) => {
            let message = "batches are not supported: send one message per request";
            return bad(none, INVALID_REQUEST, message);
        }
        _ => return bad(none, INVALID_REQUEST, "the body must be a JSON object"),
    };
    let id = message.remove("id");
    // JSON-RPC forbids a null id for requests; answering it would be ambiguous.
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        let message = "id must be a string or an integer";
        return bad(none, INVALID_REQUEST, message);
    }
    let known = id.as_ref().unwrap_or(none);
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return bad(known, INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    }
    let params = match message.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return bad(known, INVALID_PARAMS, "params must be an object"),
    };
    let outcome = (message.remove("result"), message.remove("error"));
    match (message.remove("method"), id, outcome) {
        (Some(Value::String(method)), Some(id), (None, None)) => {
            Ok(RpcMessage::Request { id, method, params })
        }
        (Some(Value::String(method)), None, (None, None)) => {
            Ok(RpcMessage::Notification { method, params })
        }
        (None, Some(id), (Some(result @ Value::Object(_)), None)) => {
            let result = Ok(result);
            Ok(RpcMessage::Reply { id, result })
        }
        (None, Some(id), (None, Some(error)))
            if error["code"].is_i64() && error["message"].is_string() =>
        {
            let result = Err(error);
            Ok(RpcMessage::Reply { id, result })
        }
        (_, id, _) => {
            let message = "a request has a method; a response has an id and either a result \
                           object or an error with code and message";
            bad(&id.unwrap_or_default(), INVALID_REQUEST, message)
        }
    }
}

/// Whether a value is a valid request id.
pub(super) fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The request id in `notifications/cancelled`.
pub(super) fn cancelled(params: &Map<String, Value>) -> Result<&Value, Fault> {
    let id = params.get("requestId").filter(|id| is_id(id));
    id.ok_or_else(|| {
        let message = "requestId: must be the id of a request, a string or an integer";
        Fault::new(INVALID_PARAMS, message).status(StatusCode::BAD_REQUEST)
    })
}

/// Rejects cursors: the tool list has one page, so no cursor was ever issued.
pub(super) fn one_page(params: &Map<String, Value>) -> Result<(), Fault> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(Fault::new(INVALID_PARAMS, UNKNOWN_CURSOR)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_the_request_id() {
        let bad = json!({ "jsonrpc": "2.0", "id": "a", "method": "x", "params": 5 });
        let (id, fault) = read(bad.to_string().as_bytes()).unwrap_err();
        assert_eq!((id, fault.code), (json!("a"), INVALID_PARAMS));
        let (id, fault) = read(b"{").unwrap_err();
        assert_eq!((id, fault.code), (Value::Null, PARSE));
        assert_eq!(fault.status, StatusCode::BAD_REQUEST);
    }

    #[test]
    fn requests_responses_and_notifications_are_distinguished() {
        let read = |value: Value| read(value.to_string().as_bytes());
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        assert!(matches!(read(request), Ok(RpcMessage::Request { .. })));
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert!(matches!(
            read(notification),
            Ok(RpcMessage::Notification { .. })
        ));
        let reply = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
        assert!(matches!(read(reply), Ok(RpcMessage::Reply { .. })));
        for (bad, code) in [
            (json!([]), INVALID_REQUEST),
            (
                json!({ "jsonrpc": "2.0", "id": null, "method": "x" }),
                INVALID_REQUEST,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1.5, "method": "x" }),
                INVALID_REQUEST,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "result": {} }),
                INVALID_REQUEST,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "result": 7 }),
                INVALID_REQUEST,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "error": "no" }),
                INVALID_REQUEST,
            ),
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
            assert_eq!(read(bad.clone()).unwrap_err().1.code, code, "{bad}");
        }
    }
}
