//! What goes with a request besides its parameters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::error::RpcError;

/// Answers what a server asks back while it works on a request.
#[async_trait]
pub trait Ask: Send + Sync {
    /// Which capabilities of a client it can live up to, such as `{"elicitation": {}}`.
    fn capabilities(&self) -> Map<String, Value>;

    /// Answers one question: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    /// Dropped when the request it belongs to ends first.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError>;
}

/// Somebody who could be asked everything, if they were there: what is asked is dismissed.
pub(crate) struct Nobody;

#[async_trait]
impl Ask for Nobody {
    fn capabilities(&self) -> Map<String, Value> {
        all_capabilities()
    }

    async fn ask(&self, method: &str, _: Value) -> Result<Value, RpcError> {
        match method {
            "elicitation/create" => Ok(json!({ "action": "cancel" })),
            "roots/list" => Ok(json!({ "roots": [] })),
            _ => Err(RpcError::new(
                RpcError::INTERNAL,
                "nobody is there to answer",
            )),
        }
    }
}

/// Every capability of a client that a question of a server may need.
pub fn all_capabilities() -> Map<String, Value> {
    let names = ["elicitation", "roots", "sampling"];
    names
        .map(|name| (name.to_owned(), json!({})))
        .into_iter()
        .collect()
}

/// Told what a server says meanwhile. Called where messages are read: it must not wait.
pub type Told = Arc<dyn Fn(Map<String, Value>) + Send + Sync>;

/// What goes with a request.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Told of progress, with the parameters of the notification except its token.
    pub progress: Option<Told>,
    /// Told of log messages.
    pub log: Option<Told>,
    /// Answers what the server asks back. Without one, a result that asks for more is handed
    /// out as it is, for the caller to answer with a request of its own.
    pub ask: Option<Arc<dyn Ask>>,
    /// Capabilities to declare with this request where there is no `ask`; only the modern
    /// era declares them with requests.
    pub capabilities: Option<Map<String, Value>>,
    /// Takes the request back.
    pub cancel: CancellationToken,
    /// How long to wait instead of the server's usual time.
    pub timeout: Option<Duration>,
    /// Put into the request's `_meta`.
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
