//! A tool of a server as a catalogue entry.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, ContentBlock, Effects, Exposure, Group, Outcome, RunsOn, Tool, ToolError, ToolSpec,
};
use manyhands_upstream::{REQUEST, outcome};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::offer::Offered;
use super::openapi::OperationRequest;
use super::server::Server;

/// How much longer than its own timeout a call may take, so that the server is still told that it
/// timed out.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest description shown.
const MAX_DESCRIPTION: usize = 20_000;

/// One tool of one server.
pub(super) struct ServerTool {
    spec: ToolSpec,
    /// Its name on the server.
    name: String,
    /// The accepted request of an OpenAPI tool.
    request: Option<OperationRequest>,
    server: Arc<Server>,
}

impl ServerTool {
    /// A tool from its published definition, whose schema is already checked.
    pub(super) fn new(server: &Arc<Server>, offered: &Offered) -> Self {
        let (config, definition) = (server.config(), &offered.definition);
        let schema = match &definition["inputSchema"] {
            Value::Object(schema) => Value::Object(schema.clone()),
            _ => json!({ "type": "object" }),
        };
        let said = definition["description"].as_str();
        let said = said
            .or_else(|| definition["title"].as_str())
            .unwrap_or_default();
        let mut spec = ToolSpec::new("server", "server");
        spec.name = offered.name.clone();
        spec.family = server.name().to_string();
        spec.group = Group::Extra;
        spec.exposure = Exposure::Discoverable;
        spec.audience = server.audience();
        spec.effects = effects(&definition["annotations"]);
        spec.runs_on = RunsOn::Server {
            name: server.path(),
        };
        spec.deadline = Duration::from_secs(config.timeout) + PATIENCE;
        spec.description = said
            .chars()
            .take(MAX_DESCRIPTION)
            .collect::<String>()
            .into();
        spec.input_schema = Arc::new(schema);
        spec.output_schema = definition
            .get("outputSchema")
            .filter(|s| s.is_object())
            .cloned();
        Self {
            spec,
            name: offered.there.clone(),
            request: OperationRequest::deserialize(&definition[REQUEST])
                .ok()
                .filter(|_| config.openapi.is_some()),
            server: server.clone(),
        }
    }
}

/// The effects of a tool, as far as its server is trusted: without `readOnlyHint` it may do
/// anything there and send anything anywhere.
fn effects(annotations: &Value) -> Effects {
    let reads = Effects::READS.and(Effects::LEAVES);
    match annotations["readOnlyHint"] == true {
        true => reads,
        false => reads.and(Effects::WRITES).and(Effects::SENDS),
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let request = self.request.as_ref();
        let called = self.server.call(&self.name, request, arguments, context);
        let (result, note) = called.await?;
        let mut outcome = outcome(result, context.wants_raw)?;
        outcome
            .blocks
            .extend(note.map(|text| ContentBlock::Text { text }));
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Effect;

    #[test]
    fn only_what_says_so_only_reads() {
        assert!(!effects(&json!({ "readOnlyHint": true })).has(Effect::Writes));
        for other in [
            json!(null),
            json!({ "readOnlyHint": "yes" }),
            json!({ "destructiveHint": false }),
        ] {
            assert!(
                effects(&other).has(Effect::Writes) && effects(&other).has(Effect::Sends),
                "{other}"
            );
        }
    }
}
