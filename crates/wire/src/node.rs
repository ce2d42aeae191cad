//! What gateway and nodes tell each other: calls, logs, news of programs in the background.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a node can be able to do.
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
    /// The call; a node runs each once.
    pub call_id: String,
    /// The tool, without the node's name before it.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// Whether somebody watches, and is to be told by `tool.output` what it prints; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<bool>,
    /// Whether the result may hold all of a long output, as `fullOutput`; an addition: `tool.fullOutput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output: Option<bool>,
}

/// What a call printed since the last of these, from the node that runs it: at most 4 KiB of text,
/// about ten times a second, 256 KiB in all. Some may be left out. An addition: `tool.output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputEvent {
    /// The call.
    pub call_id: String,
    /// The next piece.
    pub text: String,
}

/// Tells a node that nobody waits for a call any more. An addition: `tool.cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCancelEvent {
    /// The call.
    pub call_id: String,
}

/// What came of a call; exactly one of result and error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultParams {
    /// The call.
    pub call_id: String,
    /// What the tool gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it gave nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of the error, such as `not_found`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// It was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Always true.
    pub ok: bool,
    /// Nobody waited for it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<bool>,
}

impl Taken {
    /// Somebody waited for it, or not.
    pub fn new(wanted: bool) -> Self {
        Self {
            ok: true,
            dropped: (!wanted).then_some(true),
        }
    }
}

/// Asks a node for the end of its log; it answers with `logs.result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetEvent {
    /// The question; the answer carries it.
    pub call_id: String,
    /// How many lines.
    pub lines: u32,
}

/// The end of a node's log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsResultParams {
    /// The question.
    pub call_id: String,
    /// The lines, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// Whether there were more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// News of a program that a node runs in the background. Told until it is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeExecEventParams {
    /// This piece of news; the same id is the same news.
    pub event_id: String,
    /// The program's session, as `Bash` answered it.
    pub session_id: String,
    /// What happened.
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
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// When it started, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it ended, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

/// What happened to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// It runs.
    Started,
    /// It ended by itself with exit code 0.
    Finished,
    /// It ended in another way.
    Failed,
    /// It was stopped because its time was up.
    TimedOut,
}

impl ExecEvent {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}

/// Tells whoever started a program in the background how it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeExecNotice {
    /// Where it runs.
    pub node_id: String,
    /// On whose behalf it was started, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What the node told.
    #[serde(flatten)]
    pub news: NodeExecEventParams,
}

/// Which node's log, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetParams {
    /// The node; the only one that is connected when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// How many lines; 100 when left out, 5000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

/// The end of a node's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsGetResult {
    /// The node.
    pub node_id: String,
    /// The lines, oldest first.
    pub lines: Vec<String>,
    /// How many these are.
    pub count: usize,
    /// Whether there were more.
    pub truncated: bool,
}

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodesListParams {}

/// Every node on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodesListResult {
    /// The nodes, by name.
    pub nodes: Vec<NodeEntry>,
    /// How many these are.
    pub count: usize,
}

/// A node on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEntry {
    /// Its name.
    pub node_id: String,
    /// Whether it is connected now.
    pub online: bool,
    /// Its system, as it said itself.
    pub client_platform: String,
    /// Its version, as it said itself.
    pub client_version: String,
    /// What the machine can do.
    pub host_capabilities: Vec<String>,
    /// Its tools, without its name before them.
    pub tools: Vec<String>,
    /// When it was first seen, as RFC 3339.
    pub first_seen_at: String,
    /// When it last connected or went, as RFC 3339.
    pub last_seen_at: String,
    /// The names it had before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_ids: Vec<String>,
    /// Tools it sent that are not offered, while it is connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutTool>,
}

/// A tool that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutTool {
    /// Its name, as its node or server calls it.
    pub tool: String,
    /// Why it is not offered.
    pub reason: String,
}

/// Which node to forget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeForgetParams {
    /// The node.
    pub node_id: String,
    /// Also when it is connected: its connection is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// The node is forgotten, and its own token taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeForgetResult {
    /// Always true.
    pub ok: bool,
    /// The node.
    pub node_id: String,
    /// Whether it was on record.
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
    fn news_are_flat_beside_the_name_of_the_node() {
        let text = r#"{"nodeId":"n","agentId":"main","eventId":"e","sessionId":"s","event":"timed_out","startedAt":1}"#;
        let notice: NodeExecNotice = from_str(text).unwrap();
        assert_eq!(notice.news.event, ExecEvent::TimedOut);
        assert_eq!(to_string(&notice).unwrap(), text);
    }
}
