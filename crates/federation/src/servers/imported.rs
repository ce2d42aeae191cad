//! Servers that are OpenAPI documents: reading the document, and calling an operation.

use std::sync::atomic::Ordering;
use std::time::Duration;

use manyhands_core::{CallContext, ErrorCode, ToolError};
use manyhands_store::Pin;
use manyhands_upstream::REQUEST;
use serde_json::Value;
use tokio::sync::broadcast;

use super::ChosenConnection;
use super::openapi::{self, OperationCall, OperationRequest};
use super::server::Server;

impl Server {
    /// Sends the accepted request of a tool. The current document plays no part.
    pub(super) async fn call_operation(
        &self,
        request: Option<&OperationRequest>,
        arguments: &Value,
        context: &CallContext,
        choice: Option<&ChosenConnection>,
    ) -> Result<Value, ToolError> {
        let request = request.ok_or_else(|| {
            let message = "the address that this tool sends requests to is not stored";
            ToolError::new(ErrorCode::Unavailable, message).hint(format!(
                "the owner can review the document and accept it with `manyhands mcp accept {}`",
                self.name()
            ))
        })?;
        self.read_on_first_use();
        let credentials = self.credentials(choice).await?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let egress = self.deps().web.egress();
        let call = OperationCall {
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

    /// Reads the document once in the background on first use, like listing the tools of a new MCP
    /// connection: a change is held and shown without the owner having to look.
    fn read_on_first_use(&self) {
        if self.looked.swap(true, Ordering::Relaxed) {
            return;
        }
        // A document sends no notifications: the channel is closed from the start, which means one
        // read.
        let (_, closed) = broadcast::channel(1);
        let _ = self.deps().opened.try_send((self.name().clone(), closed));
    }

    /// Reads the document.
    pub(super) async fn document(&self) -> Result<openapi::ListedTools, ToolError> {
        self.looked.store(true, Ordering::Relaxed);
        openapi::list(self.name(), self.config(), &self.deps().web.egress()).await
    }

    /// Returns whether stored definitions lack their request, because an earlier version accepted
    /// them.
    pub(super) fn lacks_requests(&self) -> bool {
        let lacks = |pin: &Pin| {
            let taken = pin.approved.as_ref().filter(|_| pin.present);
            taken.is_some_and(|taken| {
                let read = serde_json::from_str::<Value>(&taken.definition);
                read.is_ok_and(|definition| definition.get(REQUEST).is_none())
            })
        };
        self.config().openapi.is_some() && self.pins().iter().any(lacks)
    }
}
