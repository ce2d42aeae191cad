//! Callbacks and options of a request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::error::RpcError;

/// Handles requests that a server sends while it processes ours.
#[async_trait]
pub trait ServerRequestHandler: Send + Sync {
    /// The client capabilities it supports, such as `{"elicitation": {}}`.
    fn capabilities(&self) -> Map<String, Value>;

    /// Handles one request: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    /// Dropped if the call it belongs to ends first.
    async fn handle(&self, method: &str, params: Value) -> Result<Value, RpcError>;
}

/// Declares every capability and declines every request.
pub(crate) struct DeclineAll;

#[async_trait]
impl ServerRequestHandler for DeclineAll {
    fn capabilities(&self) -> Map<String, Value> {
        all_capabilities()
    }

    async fn handle(&self, method: &str, _: Value) -> Result<Value, RpcError> {
        match method {
            "elicitation/create" => Ok(json!({ "action": "cancel" })),
            "roots/list" => Ok(json!({ "roots": [] })),
            _ => Err(RpcError::new(RpcError::INTERNAL, "no user is available")),
        }
    }
}

/// Every client capability that a server's request may need.
pub fn all_capabilities() -> Map<String, Value> {
    let names = ["elicitation", "roots", "sampling"];
    names
        .map(|name| (name.to_owned(), json!({})))
        .into_iter()
        .collect()
}

/// Called with a notification's parameters on the reading task: it must not block.
pub type NotificationCallback = Arc<dyn Fn(Map<String, Value>) + Send + Sync>;

/// Options of a request.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Called with progress notifications, without their token.
    pub progress: Option<NotificationCallback>,
    /// Called with log messages.
    pub log: Option<NotificationCallback>,
    /// Handles the server's requests. Without one, a result that asks for input is returned as is, for
    /// the caller to answer with another request.
    pub handler: Option<Arc<dyn ServerRequestHandler>>,
    /// Capabilities to declare with this request if there is no `handler`; only the modern era declares
    /// them per request.
    pub capabilities: Option<Map<String, Value>>,
    /// Cancels the request.
    pub cancel: CancellationToken,
    /// Overrides the server's timeout.
    pub timeout: Option<Duration>,
    /// Added to the request's `_meta`.
    pub meta: Map<String, Value>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("timeout", &self.timeout)
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}
