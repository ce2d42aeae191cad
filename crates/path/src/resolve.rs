//! Resolve: from the name that was asked for to the tool.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_core::{
    Catalogue, CatalogueEntry, ErrorCode, Forwarder, Question, ToolError, ToolSpec,
};

use crate::authorize::Authorizer;
use crate::layer::{Call, CallResult, Layer, Next};
use crate::validate::Validate;

/// Finds the tool by its canonical name or alias.
pub struct Resolve {
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    pub(crate) authorizer: Arc<ArcSwap<Authorizer>>,
    /// Validates the arguments of forwarded calls.
    pub(crate) validate: Arc<Validate>,
}

#[async_trait]
impl Layer for Resolve {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if call.found().is_some() {
            return next.run(call).await; // the interface brought it
        }
        // One snapshot for the forwarder and its target: the catalogue may change in between.
        let catalogue = self.catalogue.load_full();
        let tool = match self.find(&catalogue, call)? {
            CatalogueEntry::Tool(tool) => tool,
            CatalogueEntry::Forwarder(forwarder) => {
                self.forward(call, &**forwarder, &catalogue).await?;
                match self.find(&catalogue, call)? {
                    CatalogueEntry::Tool(tool) => tool,
                    // One step only: a chain of forwarders could be endless.
                    CatalogueEntry::Forwarder(_) => {
                        let message = "a forwarded call must name a tool that runs itself";
                        return Err(ToolError::new(ErrorCode::InvalidArguments, message));
                    }
                }
            }
        };
        call.resolved(tool.clone());
        next.run(call).await
    }
}

impl Resolve {
    /// Replaces a call of a forwarder by the call it stands for. Nothing before this layer looked at
    /// the call, so everything after it sees only what will run.
    async fn forward(
        &self,
        call: &mut Call,
        forwarder: &dyn Forwarder,
        catalogue: &Catalogue,
    ) -> Result<(), ToolError> {
        // The right to forward; the right to the target is checked by the layers that follow.
        let spec = forwarder.spec();
        let question = Question {
            effects: spec.effects,
            arguments: None,
            ..call.question(spec)
        };
        self.authorizer.load().authorize(question).refused(spec)?;
        let arguments = Arc::make_mut(&mut call.request.arguments);
        self.validate.check(spec, arguments, |_| Ok(())).await?;
        let meant = forwarder.forward(arguments, catalogue)?;
        call.request.tool = meant.tool;
        call.request.arguments = Arc::new(meant.arguments);
        if let Some((service, id)) = meant.connection {
            Arc::make_mut(&mut call.request.connections).insert(service, id);
        }
        // A program asked for all of it; a model in a turn would not bear that.
        call.request.full_result |= call.request.witness.is_none();
        Ok(())
    }

    fn find<'a>(
        &self,
        catalogue: &'a Catalogue,
        call: &Call,
    ) -> Result<&'a CatalogueEntry, ToolError> {
        if let Some(entry) = catalogue.resolve(&call.request.tool) {
            return Ok(entry);
        }
        if catalogue.is_disabled(&call.request.tool) {
            let message = format!("{} tool is disabled", call.request.tool);
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("the owner can switch it on in config.toml under tools"));
        }
        let authorizer = self.authorizer.load();
        let visible = |spec: &ToolSpec| {
            let question = Question::available(&call.request.caller, &call.request.agent, spec);
            let question = question.in_session(call.session());
            let verdict = authorizer.authorize(question.within(&call.request.reach));
            !verdict.is_denied()
        };
        let hint = match catalogue.suggest(&call.request.tool, visible) {
            Some(near) => format!("did you mean {near}? names are case-sensitive"),
            None => "list the tools you may call with `manyhands tools`".to_owned(),
        };
        let hint = match catalogue.missing_namespace(&call.request.tool) {
            Some(shelf) => format!("no node or server called {shelf} is connected now; {hint}"),
            None => hint,
        };
        let asked: String = call.request.tool.chars().take(100).collect();
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
    async fn an_unknown_tool_gets_a_suggestion() {
        let fixture = Fixture::new().await;
        let error = fixture.call("test::ecko", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::UnknownTool);
        assert!(error.text().contains("did you mean test::echo?"), "{error}");
    }

    #[tokio::test]
    async fn a_tool_of_a_disconnected_node_is_reported_as_that() {
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
