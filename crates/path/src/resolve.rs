//! Resolve: from the name that was asked for to the tool.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{Catalogue, ErrorCode, Face, ToolError, ViewContext};

use crate::layer::{Call, CallResult, Layer, Next};

/// Finds the tool by its canonical name or alias.
pub struct Resolve {
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
}

#[async_trait]
impl Layer for Resolve {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let catalogue = self.catalogue.load();
        let Some(tool) = catalogue.resolve(&call.asked) else {
            if catalogue.is_disabled(&call.asked) {
                let message = format!("{} tool is disabled", call.asked);
                return Err(ToolError::new(ErrorCode::Unavailable, message)
                    .hint("the owner can switch it on in config.toml under tools"));
            }
            let context = ViewContext {
                caller: &call.caller,
                face: Face::Program,
            };
            let hint = match catalogue.near(&call.asked, context) {
                Some(near) => format!("did you mean {near}? names are case-sensitive"),
                None => "list the tools you may call with `manyhands tools`".to_owned(),
            };
            let asked: String = call.asked.chars().take(100).collect();
            let message = format!("there is no tool named {asked:?}");
            return Err(ToolError::new(ErrorCode::UnknownTool, message).hint(hint));
        };
        call.tool = Some(tool.clone());
        drop(catalogue);
        next.run(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Fixture};
    use serde_json::json;

    #[tokio::test]
    async fn a_tool_is_found_by_name_and_by_alias() {
        let fixture = Fixture::new().await;
        for name in ["test::echo", "test__echo"] {
            let outcome = fixture.call(name, json!({ "text": "hi" })).await;
            assert_eq!(outcome.unwrap().value, json!({ "text": "hi" }), "{name}");
        }
    }

    #[tokio::test]
    async fn an_unknown_name_says_what_was_meant() {
        let fixture = Fixture::new().await;
        let error = fixture.call("test::ecko", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnknownTool);
        assert!(error.text().contains("did you mean test::echo?"), "{error}");
    }

    #[tokio::test]
    async fn a_suggestion_never_names_what_the_caller_may_not_see() {
        let fixture = Fixture::new().await;
        let stranger = testing::client("stranger", &["other__*"]);
        let error = fixture
            .call_as(stranger, "test::ecko", json!({}))
            .await
            .unwrap_err();
        assert!(!error.text().contains("test::echo"), "{error}");
    }
}
