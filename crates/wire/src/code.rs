//! Error codes and the shape of an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The close code of a socket whose login failed.
pub const CLOSE_UNAUTHENTICATED: u16 = 4001;

/// The codes an answer can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Code {
    /// Another request came before `connect`.
    NotConnected = 101,
    /// No protocol version that both sides speak.
    Version = 102,
    /// `connect` came twice, too late, or makes no sense.
    BadConnect = 103,
    /// The request makes no sense.
    BadRequest = 400,
    /// The token is missing or wrong.
    Unauthenticated = 401,
    /// The caller may not do this.
    Forbidden = 403,
    /// The method, or what the request names, does not exist.
    NotFound = 404,
    /// The thing is not in the state that the request needs.
    Conflict = 409,
    /// A defect of the gateway, or a tool that failed.
    Internal = 500,
    /// The node or part that would have to answer is gone.
    Unavailable = 503,
    /// It took too long.
    Timeout = 504,
}

impl Code {
    /// Every code there is.
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

    /// What it means, for the reference.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::NotConnected => "another request came before `connect`",
            Self::Version => "no protocol version that both sides speak",
            Self::BadConnect => "`connect` came twice, too late, or makes no sense",
            Self::BadRequest => "the request makes no sense",
            Self::Unauthenticated => {
                "the token is missing or wrong; the socket is closed with 4001"
            }
            Self::Forbidden => "the caller may not do this",
            Self::NotFound => "the method, or what the request names, does not exist",
            Self::Conflict => "the thing is not in the state that the request needs",
            Self::Internal => "a defect of the gateway, or a tool that failed",
            Self::Unavailable => "the node or part that would have to answer is gone",
            Self::Timeout => "it took too long",
        }
    }

    /// The code with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }
}

/// An error as it travels. The code is a number that may be one we do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorShape {
    /// One of the codes.
    pub code: u16,
    /// What was wrong and what would be right.
    pub message: String,
    /// More for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the same request may work later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl ErrorShape {
    /// An error with a code and a message.
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
