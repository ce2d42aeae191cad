//! Error codes and the error object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Close code after a failed login.
// From the range for applications, so that clients can tell it apart from a network failure.
pub const CLOSE_UNAUTHENTICATED: u16 = 4001;

/// Error codes of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Code {
    /// A request was sent before `connect`.
    NotConnected = 101,
    /// No protocol version supported by both sides.
    Version = 102,
    /// `connect` was repeated, late or invalid.
    BadConnect = 103,
    /// The request is invalid.
    BadRequest = 400,
    /// The token is missing or invalid.
    Unauthenticated = 401,
    /// The caller is not allowed to do this.
    Forbidden = 403,
    /// The method or the named object does not exist.
    NotFound = 404,
    /// The object is not in the required state.
    Conflict = 409,
    /// An internal error, or a failed tool.
    Internal = 500,
    /// The node or component is not available.
    Unavailable = 503,
    /// The request timed out.
    Timeout = 504,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 11] = [
        Self::NotConnected,
        Self::Version,
        Self::BadConnect,
        Self::BadRequest,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Conflict,
        Self::Internal,
        Self::Unavailable,
        Self::Timeout,
    ];

    /// The number on the wire.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Its meaning, for the reference.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotConnected => "a request was sent before `connect`",
            Self::Version => "no protocol version supported by both sides",
            Self::BadConnect => "`connect` was repeated, late or invalid",
            Self::BadRequest => "the request is invalid",
            Self::Unauthenticated => {
                "the token is missing or invalid; the socket is closed with 4001"
            }
            Self::Forbidden => "the caller is not allowed to do this",
            Self::NotFound => "the method or the named object does not exist",
            Self::Conflict => "the object is not in the required state",
            Self::Internal => "an internal error, or a failed tool",
            Self::Unavailable => "the node or component is not available",
            Self::Timeout => "the request timed out",
        }
    }

    /// Returns the code with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }
}

/// An error on the wire. The code may be one that this version does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorShape {
    /// The error code.
    pub code: u16,
    /// What is wrong and what would be right.
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether a retry may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl ErrorShape {
    /// Creates an error.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code: code.number(),
            message: message.into(),
            details: None,
            retryable: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_numbers_of_the_protocol() {
        let numbers: Vec<u16> = Code::ALL.into_iter().map(Code::number).collect();
        assert_eq!(
            numbers,
            [101, 102, 103, 400, 401, 403, 404, 409, 500, 503, 504]
        );
        for code in Code::ALL {
            assert_eq!(Code::from_number(code.number()), Some(code));
        }
        assert_eq!(Code::from_number(418), None);
    }
}
