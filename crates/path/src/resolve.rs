//! Resolve: from the name that was asked for to the tool.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{Catalogue, ErrorCode, Question, Tool, ToolError, ToolSpec};

use crate::authorize::Authorizer;
use crate::layer::{Call, CallResult, Layer, Next};
use crate::validate::Validate;

/// Finds the tool by its canonical name or alias.
pub struct Resolve {
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    pub(crate) authorizer: Arc<ArcSwap<Authorizer>>,
    /// Checks what is said to a tool that is only a door to others.
    pub(crate) validate: Arc<Validate>,
}

#[async_trait]
impl Layer for Resolve {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if call.tool.is_some() {
            return next.run(call).await; // the interface brought it
        }
        let catalogue = self.catalogue.load_full();
        let tool = self.find(&catalogue, call)?.clone();
        if !tool.is_door() {
            call.tool = Some(tool);
            return next.run(call).await;
        }
        // The right to the door itself; that to the tool behind it is checked further on.
        let spec = tool.spec();
        let question = Question {
            arguments: None,
            ..call.question(spec, spec.effects)
        };
        self.authorizer.load().authorize(question).refused(spec)?;
        self.validate.check(&tool, &mut call.arguments).await?;
        let meant = tool.forward(&call.arguments, &catalogue)?;
        call.asked = meant.tool;
        call.arguments = meant.arguments;
        if let Some((service, id)) = meant.connection {
            Arc::make_mut(&mut call.connections).insert(service, id);
        }
        // A program asked for all of it; a model in a turn would not bear that.
        call.whole |= call.witness.is_none();
        let tool = self.find(&catalogue, call)?.clone();
        call.tool = Some(tool);
        next.run(call).await
    }
}

impl Resolve {
    fn find<'a>(
        &self,
        catalogue: &'a Catalogue,
        call: &Call,
    ) -> Result<&'a Arc<dyn Tool>, ToolError> {
        if let Some(tool) = catalogue.resolve(&call.asked) {
            return Ok(tool);
        }
        if catalogue.is_disabled(&call.asked) {
            let message = format!("{} tool is disabled", call.asked);
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("the owner can switch it on in config.toml under tools"));
        }
        let authorizer = self.authorizer.load();
        let visible = |spec: &ToolSpec| {
            let question = Question::available(&call.caller, &call.agent, spec);
            let question = question.in_session(call.session());
            let verdict = authorizer.authorize(question.within(&call.reach));
            !verdict.is_denied()
        };
        let hint = match catalogue.near(&call.asked, visible) {
            Some(near) => format!("did you mean {near}? names are case-sensitive"),
            None => "list the tools you may call with `manyhands tools`".to_owned(),
        };
        let hint = match catalogue.away(&call.asked) {
            Some(shelf) => format!("no node or server called {shelf} is connected now; {hint}"),
            None => hint,
        };
        let asked: String = call.asked.chars().take(100).collect();
        let message = format!("there is no tool named {asked:?}");
        Err(ToolError::new(ErrorCode::UnknownTool, message).hint(hint))
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
    async fn a_tool_of_something_that_is_not_connected_is_said_to_be_that() {
        let fixture = Fixture::new().await;
        let error = fixture.call("laptop__Bash", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnknownTool);
        let text = error.text();
        assert!(text.contains("called laptop is connected now"), "{text}");
        let error = fixture.call("test__nothing", json!({})).await.unwrap_err();
        assert!(!error.text().contains("is connected"), "{error}");
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
