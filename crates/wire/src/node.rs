//! Messages between gateway and nodes: calls, logs, events of background processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All capabilities of nodes.
pub const CAPABILITIES: [&str; 6] = [
    "filesystem.list",
    "filesystem.read",
    "filesystem.write",
    "filesystem.edit",
    "text.search",
    "shell.exec",
];

/// Asks a node to run one of its tools; it answers with `tool.result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeEvent {
    /// The call; a node runs each id once.
    pub call_id: String,
    /// The tool, without the node's prefix.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// Whether to send output as `tool.output`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<bool>,
    /// Whether the result may contain the complete output as `fullOutput`; an addition: `tool.fullOutput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output: Option<bool>,
    /// W3C trace context that the call belongs to; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// W3C trace state, if there is a `traceparent`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// New output of a call, from its node: at most 4 KiB, about ten times a second, 256 KiB in total. Some may be
/// omitted. An addition: `tool.output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputEvent {
    /// The call.
    pub call_id: String,
    /// The next chunk.
    pub text: String,
}

/// Cancels a call on a node. An addition: `tool.cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCancelEvent {
    /// The call.
    pub call_id: String,
}

/// Result of a call; exactly one of result and error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultParams {
    /// The call.
    pub call_id: String,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error, such as `not_found`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // As text, because a newer node may send a code that this version does not know.
    pub code: Option<String>,
}

/// Acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Always true.
    pub ok: bool,
    /// Whether nobody was waiting for it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<bool>,
}

impl Taken {
    /// Creates one; `wanted` is whether somebody was waiting.
    pub fn new(wanted: bool) -> Self {
        Self {
            ok: true,
            dropped: (!wanted).then_some(true),
        }
    }
}

/// Asks a node for its last log lines; answered by `logs.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetEvent {
    /// Id of the request; the response has the same.
    pub call_id: String,
    /// Number of lines.
    pub lines: u32,
}

/// Log lines of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsResultParams {
    /// Id of the request.
    pub call_id: String,
    /// The lines, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Event of a background process on a node. Resent until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeExecEventParams {
    /// Id of the event; a repeated id is the same event.
    // Chosen by the node: the event is resent until it is acknowledged, also after a reconnect.
    pub event_id: String,
    /// The process's session id, from the result of `Bash`.
    pub session_id: String,
    /// Kind of event.
    pub event: ExecEvent,
    /// The call that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// End of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// When it started, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it ended, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

/// Kind of process event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// It started.
    Started,
    /// It exited with code 0.
    Finished,
    /// It ended otherwise.
    Failed,
    /// It was stopped by its timeout.
    TimedOut,
}

impl ExecEvent {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}

/// Reports an event of a background process to the client that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeExecNotice {
    /// The node.
    pub node_id: String,
    /// The agent on whose behalf it was started, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The event.
    #[serde(flatten)]
    pub event: NodeExecEventParams,
}

/// Selects log lines of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetParams {
    /// The node; default: the only connected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// Number of lines; default 100, at most 5000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

/// Log lines of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetResult {
    /// The node.
    pub node_id: String,
    /// The lines, oldest first.
    pub lines: Vec<String>,
    /// Number of returned lines.
    pub count: usize,
    /// Whether there are more.
    pub truncated: bool,
}

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodesListParams {}

/// All registered nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodesListResult {
    /// The nodes, by name.
    pub nodes: Vec<NodeEntry>,
    /// Number of nodes.
    pub count: usize,
}

/// A registered node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEntry {
    /// Its name.
    pub node_id: String,
    /// Whether it is connected.
    pub online: bool,
    /// Its operating system, as it reported.
    pub client_platform: String,
    /// Its version, as it reported.
    pub client_version: String,
    /// Capabilities of the machine.
    pub host_capabilities: Vec<String>,
    /// Its tools, without prefix.
    pub tools: Vec<String>,
    /// First connection (RFC 3339).
    pub first_seen_at: String,
    /// Last connect or disconnect (RFC 3339).
    pub last_seen_at: String,
    /// Former names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_ids: Vec<String>,
    /// Tools it sent that are not available, while it is connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutTool>,
    /// Whether the owner may open terminals on it, while it is connected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
}

/// A tool that is not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutTool {
    /// Its name on the node or server.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

/// Selects the node to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeForgetParams {
    /// The node.
    pub node_id: String,
    /// Remove it even if it is connected, closing its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// The node was removed and its token revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeForgetResult {
    /// Always true.
    pub ok: bool,
    /// The node.
    pub node_id: String,
    /// Whether it was registered.
    pub removed: bool,
    /// Whether a connection was closed.
    pub disconnected: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_str, json, to_string};

    #[test]
    fn a_call_and_its_answer_have_their_golden_text() {
        let ask = ToolInvokeEvent {
            call_id: "c".into(),
            tool: "Read".into(),
            args: json!({ "path": "a" }),
            output: None,
            full_output: None,
            traceparent: None,
            tracestate: None,
        };
        assert_eq!(
            to_string(&ask).unwrap(),
            r#"{"callId":"c","tool":"Read","args":{"path":"a"}}"#
        );
        let answer: ToolResultParams =
            from_str(r#"{"callId":"c","error":"no","theirs":1}"#).unwrap();
        assert_eq!(answer.error.as_deref(), Some("no"));
        assert_eq!(to_string(&Taken::new(true)).unwrap(), r#"{"ok":true}"#);
        assert_eq!(
            to_string(&Taken::new(false)).unwrap(),
            r#"{"ok":true,"dropped":true}"#
        );
    }

    #[test]
    fn a_process_event_is_flattened_beside_its_node() {
        let text = r#"{"nodeId":"n","agentId":"main","eventId":"e","sessionId":"s","event":"timed_out","startedAt":1}"#;
        let notice: NodeExecNotice = from_str(text).unwrap();
        assert_eq!(notice.event.event, ExecEvent::TimedOut);
        assert_eq!(to_string(&notice).unwrap(), text);
    }
}
