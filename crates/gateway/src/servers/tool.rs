//! A tool of a server as the catalogue holds it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, ContentBlock, Effects, ErrorCode, Exposure, Group, Outcome, RunsOn, Tool,
    ToolError, ToolSpec,
};
use manyhands_upstream::REQUEST;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::offer::Offered;
use super::openapi::Request;
use super::server::Server;

/// How much longer than its own time a call is waited for, so that the server is told that the
/// time was up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest description that is shown.
const MAX_DESCRIPTION: usize = 20_000;

/// One tool of one server.
pub(super) struct ServerTool {
    spec: ToolSpec,
    /// Its name there.
    name: String,
    /// The request it stands for, where its server is an OpenAPI document: as it was accepted.
    request: Option<Request>,
    server: Arc<Server>,
}

impl ServerTool {
    /// The tool that `offered` describes, whose schema was checked when it was offered.
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
            request: Request::deserialize(&definition[REQUEST])
                .ok()
                .filter(|_| config.openapi.is_some()),
            server: server.clone(),
        }
    }
}

/// What a tool does to the world, as far as its server is believed: one that does not say that it
/// only reads may do anything there, and tell anybody.
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

/// A server's result as ours: the structured value where there is one, else what its texts say. The
/// unchanged result comes along only if `raw`, for a caller that forwards it.
pub(crate) fn outcome(result: Value, raw: bool) -> Result<Outcome, ToolError> {
    let content = result["content"].as_array().cloned().unwrap_or_default();
    if result["isError"] == true {
        let said = texts(&content).join("\n");
        let said = if said.is_empty() {
            "the server says that it failed".to_owned()
        } else {
            said
        };
        let mut error = ToolError::new(ErrorCode::Failed, said);
        if content.iter().any(|block| block["type"] != "text")
            || result.get("structuredContent").is_some()
        {
            error = error.details(json!({ "result": result }));
        }
        return Err(error);
    }
    let only_text = content.iter().all(|block| block["type"] == "text");
    let (value, blocks) = match result.get("structuredContent") {
        Some(structured) if !structured.is_null() => {
            let others = content.iter().filter(|block| block["type"] != "text");
            (structured.clone(), others.filter_map(known).collect())
        }
        _ if only_text => (plain(&texts(&content)), Vec::new()),
        _ => (json!({ "content": content }), Vec::new()),
    };
    Ok(Outcome {
        value,
        blocks,
        raw: raw.then_some(result),
        ..Outcome::default()
    })
}

fn known(block: &Value) -> Option<ContentBlock> {
    ContentBlock::deserialize(block).ok()
}

fn texts(content: &[Value]) -> Vec<&str> {
    content
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect()
}

/// What texts say: the value that a single one spells, else the text itself.
fn plain(texts: &[&str]) -> Value {
    match texts {
        [] => Value::Null,
        [text] if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        texts => json!(texts.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Effect;

    #[track_caller]
    fn check(result: Value, value: Value) {
        for (raw, expect) in [(true, Some(&result)), (false, None)] {
            let outcome = outcome(result.clone(), raw).unwrap();
            assert_eq!((&outcome.value, outcome.raw.as_ref()), (&value, expect));
        }
    }

    #[test]
    fn results_come_as_plain_values_and_keep_what_they_were() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        check(json!({ "content": [text("hello")] }), json!("hello"));
        check(
            json!({ "content": [text("{\"a\": 1}")] }),
            json!({ "a": 1 }),
        );
        check(
            json!({ "content": [text("{not json")] }),
            json!("{not json"),
        );
        check(json!({ "content": [text("a"), text("b")] }), json!("a\nb"));
        check(
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            json!({ "n": 1 }),
        );
        let picture = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        check(
            json!({ "content": [picture] }),
            json!({ "content": [picture] }),
        );
        check(json!({}), Value::Null);
    }

    #[test]
    fn an_error_says_what_the_server_said() {
        let error = outcome(
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such repo" }] }),
            false,
        );
        let error = error.unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Failed, "no such repo")
        );
    }

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
