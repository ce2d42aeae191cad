//! Authorise: may this caller call this tool at all?

use async_trait::async_trait;
use manyhands_core::{ErrorCode, ToolError};

use crate::layer::{Call, CallResult, Layer, Next};

/// Holds the caller's rights, as the gateway recorded them, against the tool.
pub struct Authorise;

#[async_trait]
impl Layer for Authorise {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if let Err(why) = call.caller.rights.permit(call.spec()?) {
            return Err(ToolError::new(ErrorCode::Forbidden, why)
                .hint("ask the owner for a token that includes this tool: `manyhands token create --tools PATTERN`"));
        }
        next.run(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Fixture};
    use manyhands_core::Role;
    use serde_json::json;

    #[tokio::test]
    async fn patterns_and_roles_decide_and_a_refused_tool_does_not_run() {
        let fixture = Fixture::new().await;
        for (caller, allowed) in [
            (testing::client("a", &["test::*"]), true),
            (testing::client("b", &["test__count"]), true),
            (testing::client("c", &["gsv__*"]), false),
            (testing::caller(Role::ReadOnly, "d", &["*"]), false),
            (testing::caller(Role::Node, "e", &["*"]), false),
        ] {
            let before = fixture.count();
            let outcome = fixture.call_as(caller, "test::count", json!({})).await;
            assert_eq!(outcome.is_ok(), allowed);
            assert_eq!(fixture.count(), before + usize::from(allowed));
            if let Err(error) = outcome {
                assert_eq!(error.code, ErrorCode::Forbidden);
            }
        }
    }
}
