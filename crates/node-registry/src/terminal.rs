//! A terminal on a node: one call from opening to closing, with output, input and size beside it.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{
    CallContext, CallId, Effects, ErrorCode, Outcome, RunsOn, Tool, ToolError, ToolSpec,
    input_schema,
};
use manyhands_wire::{
    TERMINAL_TOOL, TerminalArgs, TerminalCloseEvent, TerminalEnd, TerminalInputEvent,
    TerminalOutputEvent, TerminalReadEvent, TerminalResizeEvent,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::names::{full_name, plain_path};
use super::node::ConnectedNode;
use super::tool::failure;

/// How long a terminal may stay open: calls need a limit.
const DEADLINE: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Largest accepted piece of output, in bytes: 16 KiB of which each may have become a replacement character.
const MAX_PIECE: usize = 3 * 16 * 1024;

/// Shared by all terminals, so that it is compiled once.
static SCHEMA: LazyLock<Arc<Value>> = LazyLock::new(|| Arc::new(input_schema::<TerminalArgs>()));

/// A terminal that was or will be opened by the call of its id. Dropping it closes nothing: dropping the call does.
pub struct NodeTerminal {
    node: Arc<ConnectedNode>,
    id: CallId,
    output: mpsc::Receiver<String>,
}

/// The keyboard and the size of a terminal.
#[derive(Clone)]
pub struct TerminalControls {
    node: Arc<ConnectedNode>,
    id: CallId,
}

impl ConnectedNode {
    /// Prepares a terminal for the call `id`, before the call is made.
    pub fn terminal(self: &Arc<Self>, id: CallId) -> Result<NodeTerminal, ToolError> {
        if !self.allows_terminals() {
            let name = self.id();
            let message = format!("node {name} does not allow terminals");
            return Err(ToolError::new(ErrorCode::Forbidden, message).hint(
                "start it with `manyhands node --terminal`; for the gateway's own machine set `node.terminal = true` in config.toml",
            ));
        }
        // One piece at a time is asked for; the second place is for the first, empty one.
        let (sender, output) = mpsc::channel(2);
        self.add_terminal(id.to_string(), sender);
        Ok(NodeTerminal {
            node: self.clone(),
            id,
            output,
        })
    }

    /// Accepts output of a terminal; drops output that was not requested.
    pub fn on_terminal_output(&self, output: TerminalOutputEvent) {
        if output.data.len() > MAX_PIECE {
            return;
        }
        if let Some(reader) = self.terminal_reader(&output.terminal_id) {
            let _ = reader.try_send(output.data);
        }
    }
}

impl NodeTerminal {
    /// The tool whose call opens it.
    pub fn tool(&self) -> Arc<dyn Tool> {
        let id = self.node.id();
        let mut spec = ToolSpec::new(&full_name(id, TERMINAL_TOOL), "node")
            .effects(Effects::READS.and(Effects::WRITES).and(Effects::RUNS))
            .deadline(DEADLINE)
            // It lasts as long as somebody works in it, and must not take a place from calls meanwhile.
            .waits_for_turns()
            .runs_on(RunsOn::Node { id: id.to_string() });
        spec.description = "A terminal with the login shell of the node's user.".into();
        spec.input_schema = SCHEMA.clone();
        spec.sandboxed = self.node.is_sandboxed();
        Arc::new(TerminalTool {
            spec,
            node: self.node.clone(),
        })
    }

    /// Waits for the shell to run.
    pub async fn opened(&mut self) {
        self.received().await;
    }

    /// Asks for the next output and returns it, as soon as there is some. Nothing more is sent meanwhile, so a slow
    /// reader holds back nothing but the program.
    pub async fn next(&mut self) -> String {
        let request = TerminalReadEvent {
            terminal_id: self.id.to_string(),
        };
        // Of a node that is gone the call reports the end.
        let _ = self.node.send_message(&request).await;
        self.received().await
    }

    /// Output that came before the call ended.
    pub fn rest(&mut self) -> Option<String> {
        self.output.try_recv().ok()
    }

    async fn received(&mut self) -> String {
        match self.output.recv().await {
            Some(output) => output,
            None => std::future::pending().await,
        }
    }

    /// Its keyboard and its size.
    pub fn controls(&self) -> TerminalControls {
        TerminalControls {
            node: self.node.clone(),
            id: self.id,
        }
    }
}

impl Drop for NodeTerminal {
    fn drop(&mut self) {
        self.node.remove_terminal(&self.id.to_string());
    }
}

impl TerminalControls {
    /// Types into it.
    pub async fn input(&self, data: String) -> Result<(), ToolError> {
        let terminal_id = self.id.to_string();
        let event = TerminalInputEvent { terminal_id, data };
        self.node.send_message(&event).await
    }

    /// Tells the node to end what runs in it.
    pub async fn close(&self) -> Result<(), ToolError> {
        let terminal_id = self.id.to_string();
        let event = TerminalCloseEvent { terminal_id };
        self.node.send_message(&event).await
    }

    /// Changes its size.
    pub async fn resize(&self, cols: u16, rows: u16) -> Result<(), ToolError> {
        let event = TerminalResizeEvent {
            terminal_id: self.id.to_string(),
            cols,
            rows,
        };
        self.node.send_message(&event).await
    }
}

/// The call that a terminal is. It is in no catalogue: only an interface that shows a terminal can make it.
struct TerminalTool {
    spec: ToolSpec,
    node: Arc<ConnectedNode>,
}

#[async_trait]
impl Tool for TerminalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn canonical(&self, mut arguments: Value) -> Value {
        if let Some(Value::String(path)) = arguments.get_mut("cwd") {
            *path = plain_path(path);
        }
        arguments
    }

    async fn call(&self, arguments: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let answer = self.node.call(TERMINAL_TOOL, arguments, context).await?;
        match answer.error {
            Some(error) => Err(failure(answer.code.as_deref(), error)),
            None => {
                let mut outcome = Outcome::value(answer.result.unwrap_or_default());
                outcome.exit = exit(&outcome.value);
                Ok(outcome)
            }
        }
    }
}

/// How the shell ended, in a word or two.
fn exit(end: &Value) -> Option<String> {
    let TerminalEnd { exit_code, signal } = serde_json::from_value(end.clone()).ok()?;
    // The node's own words, which must not become a text in the audit.
    let named =
        |signal: &String| signal.len() <= 16 && signal.bytes().all(|b| b.is_ascii_graphic());
    match exit_code {
        Some(code) => Some(format!("exit {code}")),
        None => signal.filter(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_end_is_a_word_or_two_whatever_a_node_claims() {
        assert_eq!(exit(&json!({ "exitCode": 3 })).as_deref(), Some("exit 3"));
        assert_eq!(
            exit(&json!({ "signal": "SIGHUP" })).as_deref(),
            Some("SIGHUP")
        );
        for claimed in [
            json!({ "signal": "all is well" }),
            json!({ "exitCode": "3" }),
            json!(null),
        ] {
            assert_eq!(exit(&claimed), None, "{claimed}");
        }
    }
}
