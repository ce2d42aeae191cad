//! What goes with a call of a server, and what its failure means here.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Answers, CallContext, ErrorCode, ServerName, Step, ToolError};
use manyhands_upstream::{Ask, Hooks, RpcError, UpstreamError};
use serde_json::{Map, Value, json};

/// What goes with a call: progress, questions, its end.
pub(super) fn hooks(context: &CallContext, timeout: Duration) -> Hooks {
    let progress = context.progress.clone();
    let whole = |value: &Value| value.as_f64().map(|number| number.max(0.0) as u64);
    Hooks {
        progress: Some(Arc::new(move |told: Map<String, Value>| {
            progress.tell(Step {
                done: told.get("progress").and_then(whole).unwrap_or(0),
                total: told.get("total").and_then(whole),
                message: told
                    .get("message")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            });
        })),
        log: context.answers.clone().map(|answers| {
            let heard: Arc<dyn Fn(Map<String, Value>) + Send + Sync> =
                Arc::new(move |notice| answers.heard(Value::Object(notice)));
            heard
        }),
        cancel: context.cancel.clone(),
        timeout: Some(timeout),
        ..Hooks::default()
    }
}

/// Hands what a server asks on to whoever made the call.
pub(super) struct Asker(pub(super) Arc<dyn Answers>);

#[async_trait]
impl Ask for Asker {
    fn capabilities(&self) -> Map<String, Value> {
        self.0
            .capabilities()
            .as_object()
            .cloned()
            .unwrap_or_default()
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let answer = self.0.answer(method, params).await;
        answer.map_err(|error| RpcError::new(RpcError::INTERNAL, error.text()))
    }
}

/// Why a server was of no use, as our callers hear it.
pub(super) fn failure(server: &ServerName, error: UpstreamError) -> ToolError {
    let code = match &error {
        UpstreamError::Rpc(rpc) if rpc.code == RpcError::INVALID_PARAMS => {
            ErrorCode::InvalidArguments
        }
        UpstreamError::Rpc(_) => ErrorCode::Failed,
        UpstreamError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        UpstreamError::Cancelled => ErrorCode::Cancelled,
        UpstreamError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::Unavailable,
    };
    let message = format!("server {server}: {error}");
    let told = ToolError::new(code, message);
    match &error {
        UpstreamError::Rpc(rpc) => told.details(json!({ "rpc": rpc })),
        UpstreamError::Lost(_) => told.hint("it may have taken effect there: look before calling again"),
        UpstreamError::Unauthorized { .. } => told.hint(format!(
            "log in with `manyhands mcp login {server}`, or add a connection with `manyhands connection add {server}`"
        )),
        _ => told,
    }
}
