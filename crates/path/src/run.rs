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
            // Cheap: the arguments were moved out above, and what remains is small or shared.
            ..CallContext::new(call.request.clone(), call.id, call.cancel.clone())
        };
        let work = tool.call(arguments, &context);
        // Sound, because the future is not polled again after a panic.
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(result) => result,
            Err(_) => {
                tracing::error!(event = "tool_panicked", tool = %tool.spec().name, call = %call.id, "tool panicked");
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
    use manyhands_core::{CallRequest, ErrorCode, Invoke as _};
    use serde_json::{Map, Value, json};

    #[tokio::test]
    async fn arguments_reach_the_tool_without_being_copied() {
        let fixture = Fixture::with_limits(|limits| limits.result_bytes = 4_000_000).await;
        for bytes in [10, 1_000_000] {
            let text = "x".repeat(bytes);
            let address = text.as_ptr();
            let arguments = Map::from_iter([("text".to_owned(), Value::String(text))]);
            let request = CallRequest::new(
                "test::post",
                Value::Object(arguments),
                fixture.owner.clone(),
            );
            // The tool gives its arguments back.
            let outcome = fixture.path.invoke(request).await.unwrap();
            let given = outcome.value["text"].as_str().unwrap();
            assert_eq!((given.len(), given.as_ptr()), (bytes, address));
            let record = fixture.last_audit_of("test::post").await;
            assert!(record.summary.starts_with(r#"{"text":"xxx"#), "{record:?}");
        }
    }

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
