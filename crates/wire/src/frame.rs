//! Text frames: requests, responses and events.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code::{Code, ErrorShape};

/// One text frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Frame {
    /// A request.
    #[serde(rename = "req")]
    Req(Request),
    /// A response.
    #[serde(rename = "res")]
    Res(Response),
    /// An event.
    #[serde(rename = "evt")]
    Evt(Event),
}

/// A request. Its parameters are not printed by `Debug`: they may contain a token.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the sender; the response has the same id.
    pub id: String,
    /// The method, as text: an unknown one gets an error response.
    pub method: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// A response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The request's id.
    pub id: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorShape>,
}

impl Response {
    /// Creates a successful response.
    pub fn ok(id: impl Into<String>, payload: Value) -> Self {
        Self {
            id: id.into(),
            ok: true,
            payload: Some(payload),
            error: None,
        }
    }

    /// Creates an error response.
    pub fn failed(id: impl Into<String>, error: ErrorShape) -> Self {
        Self {
            id: id.into(),
            ok: false,
            payload: None,
            error: Some(error),
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its name.
    pub event: String,
    /// Its payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Sequence number, if the sender counts events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl Frame {
    /// Decodes a text message; the error can be sent back.
    pub fn decode(text: &str) -> Result<Self, ErrorShape> {
        serde_json::from_str(text).map_err(|e| {
            // The text itself is not quoted: it may contain a token.
            let message = format!("not a frame: {e}; send a JSON object with type req, res or evt");
            ErrorShape::new(Code::BadRequest, message)
        })
    }

    /// Encodes the text message.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a frame is plain data with text keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The exact text on the wire, and the same frame from it.
    #[track_caller]
    fn check(frame: Frame, text: &str) {
        assert_eq!(frame.encode(), text);
        assert_eq!(Frame::decode(text), Ok(frame));
    }

    #[test]
    fn frames_have_their_golden_text() {
        check(
            Frame::Req(Request {
                id: "1".into(),
                method: "tools.list".into(),
                params: None,
            }),
            r#"{"type":"req","id":"1","method":"tools.list"}"#,
        );
        check(
            Frame::Req(Request {
                id: "2".into(),
                method: "config.get".into(),
                params: Some(json!({ "path": "listen" })),
            }),
            r#"{"type":"req","id":"2","method":"config.get","params":{"path":"listen"}}"#,
        );
        check(
            Frame::Res(Response::ok("2", json!({ "value": 1 }))),
            r#"{"type":"res","id":"2","ok":true,"payload":{"value":1}}"#,
        );
        let mut error = ErrorShape::new(Code::Unavailable, "node gone");
        error.retryable = Some(true);
        check(
            Frame::Res(Response::failed("3", error)),
            r#"{"type":"res","id":"3","ok":false,"error":{"code":503,"message":"node gone","retryable":true}}"#,
        );
        check(
            Frame::Evt(Event {
                event: "chat".into(),
                payload: Some(json!({})),
                seq: Some(7),
            }),
            r#"{"type":"evt","event":"chat","payload":{},"seq":7}"#,
        );
    }

    #[test]
    fn unknown_fields_are_ignored_and_order_does_not_matter() {
        let text = r#"{"trace":"x","method":"m","params":null,"id":"1","type":"req"}"#;
        let expect = Frame::Req(Request {
            id: "1".into(),
            method: "m".into(),
            params: None,
        });
        assert_eq!(Frame::decode(text), Ok(expect));
    }

    #[test]
    fn the_parameters_of_a_request_are_never_printed() {
        let text =
            r#"{"type":"req","id":"1","method":"connect","params":{"auth":{"token":"hunter2"}}}"#;
        let printed = format!("{:?}", Frame::decode(text).unwrap());
        assert_eq!(
            printed,
            r#"Req(Request { id: "1", method: "connect", .. })"#
        );
    }

    #[test]
    fn what_is_not_a_frame_is_refused_with_advice() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"type":"other"}"#,
            r#"{"type":"req","id":"1"}"#,
            r#"{"type":"req","id":1,"method":"m"}"#,
            r#"{"type":"res","id":"1"}"#,
        ] {
            let error = Frame::decode(text).unwrap_err();
            assert_eq!(error.code, 400, "{text}");
            assert!(error.message.starts_with("not a frame: "), "{text}");
        }
    }
}
