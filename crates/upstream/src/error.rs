//! Why a server did not do what it was asked.

use std::time::Duration;

use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An error as JSON-RPC says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// What kind, as a number.
    #[serde(default = "RpcError::internal")]
    pub code: i64,
    /// What went wrong.
    #[serde(default)]
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something broke.
    pub const INTERNAL: i64 = -32603;
    /// A header and the body do not say the same.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The server does not speak that version.
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

/// Why a server did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpstreamError {
    /// It answered with an error.
    #[error("{} (code {})", .0.message, .0.code)]
    Rpc(RpcError),
    /// It could not be started or reached.
    #[error("{0}")]
    Unreachable(String),
    /// It failed lately and is given time.
    #[error("it failed {attempts} times, the last time because: {error}\nit is tried again at {}", next_try.rfc3339())]
    Failing {
        /// What went wrong last.
        error: String,
        /// How often in a row.
        attempts: u32,
        /// When it is tried again.
        next_try: Timestamp,
    },
    /// The connection broke before the answer came. Whether the request was carried out is not known.
    #[error("the connection was lost before the answer came: {0}")]
    Lost(String),
    /// The connection had ended, so the request was surely not carried out.
    #[error("the connection had ended: {0}")]
    Gone(String),
    /// No answer in time.
    #[error("no answer came within {} seconds", .0.as_secs_f32())]
    TimedOut(Duration),
    /// Whoever asked no longer wants it.
    #[error("cancelled")]
    Cancelled,
    /// More than is taken.
    #[error("{what} is larger than {limit} bytes, the most that is taken")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// The most.
        limit: usize,
    },
    /// It wants to know who asks, or allows them less than this.
    #[error("it refuses to serve without other credentials (HTTP {status})")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// How to come by credentials, as the server says it.
        www_authenticate: Option<String>,
    },
    /// The login that is used there no longer holds.
    #[error("{0}")]
    Login(String),
    /// It answered with an error of HTTP.
    #[error("it answered with HTTP {status}: {message}")]
    Http {
        /// Which.
        status: u16,
        /// The beginning of what it said.
        message: String,
    },
    /// It answered with something that is not MCP.
    #[error("it does not speak MCP: {0}")]
    Garbage(String),
    /// As many as allowed are open already.
    #[error("{max} connections of one's own are open already; close one")]
    Busy {
        /// The ceiling.
        max: usize,
    },
    /// It was stopped by its owner.
    #[error("it was stopped")]
    Stopped,
}

impl UpstreamError {
    /// Whether the same request may do better a little later.
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
