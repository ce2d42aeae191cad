//! A server that is an OpenAPI document: how its operations are known, and how one is called.

use std::sync::atomic::Ordering;
use std::time::Duration;

use manyhands_core::{CallContext, ErrorCode, ToolError};
use manyhands_store::Pin;
use manyhands_upstream::REQUEST;
use serde_json::Value;
use tokio::sync::broadcast;

use super::Choice;
use super::openapi::{self, Call, Request};
use super::server::Server;

impl Server {
    /// Sends the request that the owner accepted for a tool. The document is not looked at.
    pub(super) async fn call_operation(
        &self,
        request: Option<&Request>,
        arguments: &Value,
        context: &CallContext,
        choice: Option<&Choice>,
    ) -> Result<Value, ToolError> {
        let request = request.ok_or_else(|| {
            let message = "it is not on record where this tool sends its requests";
            ToolError::new(ErrorCode::Unavailable, message).hint(format!(
                "the owner looks at what the document says and accepts it with `manyhands mcp accept {}`",
                self.name()
            ))
        })?;
        self.look_on_first_use();
        let credentials = self.credentials(choice).await?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let egress = self.ground().web.egress();
        let call = Call {
            request,
            url: self.config().url.as_deref(),
            arguments: &arguments,
            credentials: &credentials,
            timeout: Duration::from_secs(self.config().timeout),
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled")),
            result = call.send(&egress) => result,
        }
    }

    /// Has the document read once in the background, as a new connection to an MCP server has its tools
    /// listed: a change is held and shown without waiting for the owner to look.
    fn look_on_first_use(&self) {
        if self.looked.swap(true, Ordering::Relaxed) {
            return;
        }
        // Nothing is announced by a document, so the channel is closed from the start: one look.
        let (_, closed) = broadcast::channel(1);
        let _ = self.ground().opened.try_send((self.name().clone(), closed));
    }

    /// Reads the document.
    pub(super) async fn document(&self) -> Result<openapi::Listed, ToolError> {
        self.looked.store(true, Ordering::Relaxed);
        openapi::list(self.name(), self.config(), &self.ground().web.egress()).await
    }

    /// Whether tools are on record without where they send their requests: those that an earlier
    /// version accepted.
    pub(super) fn lacks_requests(&self) -> bool {
        let lacks = |pin: &Pin| {
            let taken = pin.taken.as_ref().filter(|_| pin.present);
            taken.is_some_and(|taken| {
                let read = serde_json::from_str::<Value>(&taken.definition);
                read.is_ok_and(|definition| definition.get(REQUEST).is_none())
            })
        };
        self.config().openapi.is_some() && self.pins().iter().any(lacks)
    }
}
