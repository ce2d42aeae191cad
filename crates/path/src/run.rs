//! Run: the one place a tool is called.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures_util::FutureExt;
use manyhands_core::{CallContext, ToolError};

use crate::layer::{Call, CallResult, Layer, Next};

/// Calls the tool. A tool that panics fails its call and nothing else.
pub struct Run;

#[async_trait]
impl Layer for Run {
    async fn handle(&self, call: &mut Call, _: Next<'_>) -> CallResult {
        let tool = call.tool()?.clone();
        let arguments = call.take_arguments();
        let context = CallContext {
            network: call.verdict.as_ref().is_some_and(|verdict| verdict.network),
            ..CallContext::new(call.request.clone(), call.id, call.cancel.clone())
        };
        let work = tool.call(arguments, &context);
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(result) => result,
            Err(_) => {
                tracing::error!(tool = %tool.spec().name, call = %call.id, "tool panicked");
                Err(ToolError::internal(format!(
                    "{}: internal error (a bug in manyhands)",
                    tool.spec().name
                ))
                .hint("see the gateway's log, and please report it"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Fixture;
    use manyhands_core::ErrorCode;
    use serde_json::json;

    #[tokio::test]
    async fn a_panicking_tool_fails_only_its_own_call() {
        let fixture = Fixture::new().await;
        let error = fixture.call("test::panic", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(
            fixture
                .call("test::echo", json!({ "text": "still here" }))
                .await
                .is_ok()
        );
    }
}
