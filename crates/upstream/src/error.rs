//! Errors of requests to a server.

use std::time::Duration;

use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// The error code.
    #[serde(default = "RpcError::internal")]
    pub code: i64,
    /// The error message.
    #[serde(default)]
    pub message: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Unknown method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Invalid parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Internal error.
    pub const INTERNAL: i64 = -32603;
    /// A header contradicts the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The server does not support the protocol version.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error without further data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    fn internal() -> i64 {
        Self::INTERNAL
    }
}

/// Why a request to a server failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpstreamError {
    /// It replied with an error.
    #[error("{} (code {})", .0.message, .0.code)]
    Rpc(RpcError),
    /// It could not be started or reached.
    #[error("{0}")]
    Unreachable(String),
    /// It failed recently; the next attempt is scheduled.
    #[error("failed {attempts} times, last error: {error}\nnext attempt at {}", next_try.rfc3339())]
    Failing {
        /// The last error.
        error: String,
        /// Consecutive failures.
        attempts: u32,
        /// Time of the next attempt.
        next_try: Timestamp,
    },
    /// The connection broke before the reply. Whether the request was executed is unknown.
    #[error("connection lost before the reply: {0}")]
    Lost(String),
    /// The connection had already ended, so the request was not executed.
    #[error("connection closed: {0}")]
    Gone(String),
    /// No reply in time.
    #[error("no reply within {} seconds", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
    /// A size limit was exceeded.
    #[error("{what} exceeds the limit of {limit} bytes")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Missing or insufficient credentials.
    #[error("missing or insufficient credentials (HTTP {status})")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// The server's authentication challenge.
        www_authenticate: Option<String>,
    },
    /// The login used there has expired or was revoked.
    #[error("{0}")]
    Login(String),
    /// It replied with an HTTP error.
    #[error("HTTP error {status}: {message}")]
    Http {
        /// The status code.
        status: u16,
        /// The beginning of its body.
        message: String,
    },
    /// It violated the protocol.
    #[error("not a valid MCP server: {0}")]
    Garbage(String),
    /// The maximum number of private connections is open.
    #[error("{max} private connections are already open; close one")]
    Busy {
        /// The maximum.
        max: usize,
    },
    /// Its owner stopped it.
    #[error("the server was stopped")]
    Stopped,
}

impl UpstreamError {
    /// Whether the same request may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::Failing { .. }
            | Self::Lost(_)
            | Self::Gone(_)
            | Self::TimedOut(_)
            | Self::Busy { .. } => true,
            Self::Http { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

impl From<RpcError> for UpstreamError {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}
