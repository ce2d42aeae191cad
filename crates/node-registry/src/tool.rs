//! A node's tool as a catalogue entry.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, Effects, ErrorCode, Group, Outcome, RunsOn, Tool, ToolError, ToolSpec,
};
use serde_json::Value;

use super::names::{full_name, plain_path};
use super::node::ConnectedNode;
use super::{Definition, Origins};

/// The default deadline of a call: the default timeout of `Bash`.
const DEADLINE: Duration = Duration::from_secs(300);
/// How much longer than its own timeout a call may take, so that the node itself reports the
/// timeout.
const RESULT_GRACE: Duration = Duration::from_secs(10);

/// One tool of one connected node.
pub(super) struct NodeTool {
    spec: ToolSpec,
    /// Its name on the node.
    name: String,
    runs: bool,
    /// Keeps the shared definition alive for other nodes with the same tool.
    _definition: Arc<Definition>,
    node: Arc<ConnectedNode>,
    origins: Arc<Origins>,
}

impl NodeTool {
    /// The tool `name` of `node`; the name must be a valid tool name.
    pub(super) fn new(
        node: &Arc<ConnectedNode>,
        name: &str,
        definition: Arc<Definition>,
        capabilities: &[String],
        origins: &Arc<Origins>,
    ) -> Self {
        let id = node.id();
        let mut spec = ToolSpec::new(&full_name(id, name), "node")
            .effects(effects(capabilities))
            .deadline(DEADLINE + RESULT_GRACE)
            .runs_on(RunsOn::Node { id: id.to_string() });
        spec.group = Group::Extra;
        spec.description = definition.description.clone();
        spec.input_schema = definition.schema.clone();
        spec.sandboxed = node.is_sandboxed();
        Self {
            spec,
            name: name.to_owned(),
            _definition: definition,
            runs: capabilities.iter().any(|able| able == "shell.exec"),
            node: node.clone(),
            origins: origins.clone(),
        }
    }
}

/// The effects of a tool with these capabilities.
fn effects(capabilities: &[String]) -> Effects {
    let one = |capability: &String| match capability.as_str() {
        "filesystem.list" | "filesystem.read" | "text.search" => Effects::READS,
        "filesystem.write" => Effects::WRITES,
        "filesystem.edit" => Effects::READS.and(Effects::WRITES),
        // An unknown capability is treated as the most powerful one.
        _ => Effects::READS.and(Effects::WRITES).and(Effects::RUNS),
    };
    capabilities
        .iter()
        .map(one)
        .fold(Effects::default(), Effects::and)
}

#[async_trait]
impl Tool for NodeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The node gets the same spelling of a path that the rules have seen.
    fn canonical(&self, mut arguments: Value) -> Value {
        for name in ["path", "workdir"] {
            if let Some(Value::String(path)) = arguments.get_mut(name) {
                *path = plain_path(path);
            }
        }
        arguments
    }

    /// The call's own `timeout` (milliseconds) counts for tools that run programs.
    fn deadline_of(&self, arguments: &Value) -> Duration {
        let requested = arguments["timeout"].as_u64().filter(|_| self.runs);
        requested.map_or(DEADLINE, Duration::from_millis) + RESULT_GRACE
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        // Recorded before the call, since a notice about the process may arrive before the result.
        if self.runs {
            self.origins.note(self.node.id(), context);
        }
        let harmless = self.spec.effects.only_reads();
        let answer = self.node.call(&self.name, arguments, context).await;
        let answer = answer.map_err(|lost| match harmless {
            true => lost,
            false => lost.hint(
                "the call may have taken effect; check before calling again once the node is back",
            ),
        })?;
        match (answer.result, answer.error) {
            (Some(mut result), None) => {
                // The full output goes to the artifact store and not into the result.
                let full = result
                    .as_object_mut()
                    .and_then(|all| all.remove("fullOutput"));
                let mut outcome = Outcome::value(result);
                if let (Some(Value::String(text)), true) = (full, self.runs) {
                    outcome.full_texts.push(("output".to_owned(), text));
                }
                Ok(outcome)
            }
            (_, Some(error)) => Err(failure(answer.code.as_deref(), error)),
            (None, None) => Ok(Outcome::value(Value::Null)),
        }
    }
}

/// The error of a node, with its code if it is one that nodes may use.
pub(super) fn failure(code: Option<&str>, message: String) -> ToolError {
    // Codes that decide about retries and logins are the gateway's own; a node must not forge them.
    let sayable = [
        ErrorCode::InvalidArguments,
        ErrorCode::Forbidden,
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::TooLarge,
        ErrorCode::StorageFull,
        ErrorCode::Unavailable,
        ErrorCode::DeadlineExceeded,
        ErrorCode::Cancelled,
    ];
    let known = sayable
        .into_iter()
        .find(|known| Some(known.as_str()) == code);
    match message.split_once("\nhint: ") {
        Some((message, hint)) => {
            ToolError::new(known.unwrap_or(ErrorCode::Failed), message).hint(hint)
        }
        None => ToolError::new(known.unwrap_or(ErrorCode::Failed), message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Effect;

    #[test]
    fn effects_follow_from_capabilities() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            effects(&names)
        };
        assert!(of(&["filesystem.read", "text.search"]).only_reads());
        assert!(of(&["filesystem.write"]).has(Effect::Writes));
        assert!(of(&["shell.exec"]).has(Effect::Runs));
        assert!(of(&["filesystem.read", "shell.exec"]).has(Effect::Runs));
    }

    #[test]
    fn a_node_cannot_claim_codes_of_the_gateway() {
        let code = |code| failure(Some(code), "x".to_owned()).code;
        assert_eq!(code("not_found"), ErrorCode::NotFound);
        for unknown in [
            "approval_required",
            "unauthenticated",
            "internal",
            "nonsense",
        ] {
            assert_eq!(code(unknown), ErrorCode::Failed, "{unknown}");
        }
        assert_eq!(
            failure(None, "a\nhint: b".to_owned()).hint.as_deref(),
            Some("b")
        );
    }
}
