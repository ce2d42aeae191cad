//! Chat with agents: messages, and the events of their turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::CallResult;

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendParams {
    /// The session: a plain name such as `main`, or `agent:NAME:REST`.
    pub session_key: String,
    /// The text. `/help` lists the slash commands.
    pub message: String,
    /// The client's id of the run; a repeated id is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// Result of sending a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "status",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ChatSendResult {
    /// It was persisted and will be processed in order; `chat` events follow.
    Started {
        /// The run.
        run_id: String,
        /// Whether it is queued behind another message.
        queued: bool,
        /// Directives for this message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directives: Option<Directives>,
    },
    /// It was a slash command, and is done.
    Command {
        /// The command, without its slash.
        command: String,
        /// The response.
        response: String,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// It contained only directives, so no run was started.
    DirectiveOnly {
        /// What to do instead.
        response: String,
        /// The directives that were recognised.
        directives: Directives,
    },
    /// It was persisted, behind a run that needs approval.
    Paused {
        /// The run.
        run_id: String,
        /// What the run is waiting for.
        response: String,
        /// The approval request, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval_id: Option<String>,
    },
}

/// Directives for one message: `/t:LEVEL` and `/m:PROVIDER/MODEL` at its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directives {
    /// Reasoning level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_level: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// A model and its provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelName {
    /// The provider's name in the settings.
    pub provider: String,
    /// The provider's model id.
    pub id: String,
}

/// Stops the run of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatStopParams {
    /// The session.
    pub session_key: String,
}

/// Whether a run was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatStopResult {
    /// Always true.
    pub ok: bool,
    /// Whether a run was active.
    pub stopped: bool,
}

/// Progress and result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatEventPayload {
    /// The run; null if it belongs to none.
    pub run_id: Option<String>,
    /// The session.
    pub session_key: String,
    /// Kind of event. `final` and `error` are the last events of a run.
    pub state: ChatState,
    /// For `partial` and `final`: the complete message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ChatMessage>,
    /// For `delta`: the next chunk of text. For `partial`, `final` and `paused`: the complete text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `error`: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For `delta`: the next chunk of reasoning; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// For `delta`: deltas since the last `partial` are void, for this reason; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// For `paused`: the approval request; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// For `paused`: the tool that would run; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// For `paused`: its arguments; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// For `error`: whether the run was stopped by a user; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// For `final`: usage of the run; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsage>,
    /// For `final`: why the model stopped, `end` or `length`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// For `error`: stable name of the failure, such as `provider_rate_limited`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// For `error`: the code a failed request would have; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For `error`: delay before a retry, if known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// For `error`: whether the same message may succeed later, without a change of it or of the settings; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The model reply this belongs to: a number that increases with every reply, including restarted ones. For `delta`,
    /// `partial` and `final`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<u64>,
    /// For `delta`: length of the reply's text before `text`, in UTF-16 units; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For `delta`: length of the reasoning before `thinking`, in UTF-16 units; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_offset: Option<u64>,
    /// For `paused`: the model's id of the call that needs approval, if it belongs to this session; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

impl ChatEventPayload {
    /// Creates an event with only a state.
    // One constructor for all states: the other fields are optional on the wire.
    pub fn new(run_id: Option<String>, session_key: impl Into<String>, state: ChatState) -> Self {
        Self {
            run_id,
            session_key: session_key.into(),
            state,
            message: None,
            text: None,
            error: None,
            thinking: None,
            restart: None,
            approval_id: None,
            tool: None,
            arguments: None,
            stopped: None,
            usage: None,
            stop_reason: None,
            failure: None,
            code: None,
            retry_after_ms: None,
            retryable: None,
            reply: None,
            offset: None,
            thinking_offset: None,
            call_id: None,
        }
    }
}

/// Kind of `chat` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatState {
    /// A complete message; the agent continues with tool calls.
    Partial,
    /// A chunk of text.
    Delta,
    /// The run needs approval.
    Paused,
    /// The reply.
    Final,
    /// The run failed.
    Error,
}

/// Usage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ChatUsage {
    /// Number of model replies.
    pub replies: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost in millionths of a dollar, as far as prices are known.
    pub cost_micros: u64,
    /// Duration in milliseconds, if known; an addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// Who sent it.
    pub role: ChatRole,
    /// Its contents.
    pub content: Vec<ChatBlock>,
    /// Its sequence number in the session; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// Time in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// For a tool result: id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool result: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// For a tool result: whether it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// In a history: usage of the run that ended with this message. Absent in all other messages and if it is
    /// unknown; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsage>,
    /// For a tool result: duration of its execution in milliseconds, without the time it waited for approval, if known;
    /// an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// For a tool result: id of the call in the audit log, if known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
    /// For a tool result: how the call went.
    #[serde(flatten)]
    pub call: CallResult,
    /// For a reply: whether its run was stopped here; its text is what had been written. An addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// For a reply without a text: why its run failed; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ChatError>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatError {
    /// The code a failed request would have.
    pub code: String,
    /// Stable name of the failure, such as `provider_rate_limited`.
    pub failure: String,
    /// The reason; its last line may be a hint.
    pub message: String,
    /// Whether the same message may succeed later, without a change of it or of the settings.
    pub retryable: bool,
    /// Delay before a retry, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ChatMessage {
    /// Creates a message.
    pub fn new(role: ChatRole, content: Vec<ChatBlock>) -> Self {
        Self {
            role,
            content,
            seq: None,
            timestamp: None,
            tool_call_id: None,
            tool_name: None,
            is_error: None,
            usage: None,
            duration_ms: None,
            audit_call: None,
            call: CallResult::default(),
            stopped: None,
            error: None,
        }
    }

    /// Creates a text message of the agent.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(ChatRole::Assistant, vec![ChatBlock::text(text)])
    }

    /// Its text blocks, one per line.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ChatBlock::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChatRole {
    /// A user.
    User,
    /// The agent.
    Assistant,
    /// A tool.
    ToolResult,
}

/// A block of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ChatBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning before a reply; an addition.
    Thinking {
        /// The text, or the provider's summary of it.
        thinking: String,
    },
    /// A tool call.
    ToolCall {
        /// The model's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// An image; it stays in the session.
    Image {
        /// MIME type.
        mime_type: String,
        /// `SEQ/INDEX`: its bytes are at `GET /api/sessions/{key}/pictures/{seq}/{index}`; an addition.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
}

impl ChatBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A tool call started, printed output or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatToolEvent {
    /// The run it belongs to.
    pub run_id: String,
    /// The session.
    pub session_key: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Kind of event.
    pub state: ChatToolState,
    /// For `started`: its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// For `done`: whether it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// For `done`: beginning of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// For `done`: duration of the execution in milliseconds, without the time it waited for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// For `output`: new output, at most 4 KiB. Some may be omitted; the result is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Id of the call in the audit log, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
    /// For `output`: length of the output before, in UTF-16 units; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For `done`: how the call went.
    #[serde(flatten)]
    pub result: CallResult,
}

/// A user's message became part of the session: its run started, or the active run included it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatTakenEvent {
    /// The run it was sent as.
    pub run_id: String,
    /// The session.
    pub session_key: String,
    /// The message, with its number.
    pub message: ChatMessage,
    /// The run that included it; absent if it started its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

/// Chat events were dropped because the client read too slowly: `session.history` has what is missing, and the final
/// events of the client's own runs follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatGapEvent {
    /// Number of dropped events, over all sessions this socket receives.
    pub missed: u64,
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatToolState {
    /// It was called.
    Started,
    /// It printed output; an addition.
    Output,
    /// It ended.
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{from_str, json, to_string};
    use std::fmt::Debug;

    #[track_caller]
    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T, text: &str) {
        assert_eq!(to_string(&value).unwrap(), text);
        assert_eq!(from_str::<T>(text).unwrap(), value);
    }

    #[test]
    fn delivery_reports_have_their_golden_text() {
        let directives = Directives {
            think_level: Some("high".into()),
            model: Some(ModelName {
                provider: "anthropic".into(),
                id: "claude".into(),
            }),
        };
        check(
            ChatSendResult::Started {
                run_id: "r".into(),
                queued: false,
                directives: None,
            },
            r#"{"status":"started","runId":"r","queued":false}"#,
        );
        check(
            ChatSendResult::Command {
                command: "status".into(),
                response: "fine".into(),
                error: None,
            },
            r#"{"status":"command","command":"status","response":"fine"}"#,
        );
        check(
            ChatSendResult::DirectiveOnly {
                response: "add a message".into(),
                directives,
            },
            r#"{"status":"directive-only","response":"add a message","directives":{"thinkLevel":"high","model":{"provider":"anthropic","id":"claude"}}}"#,
        );
        check(
            ChatSendResult::Paused {
                run_id: "r".into(),
                response: "wait".into(),
                approval_id: Some("a".into()),
            },
            r#"{"status":"paused","runId":"r","response":"wait","approvalId":"a"}"#,
        );
    }

    #[test]
    fn events_have_their_golden_text() {
        let mut delta = ChatEventPayload::new(None, "agent:main:main", ChatState::Delta);
        delta.text = Some("hel".into());
        check(
            delta,
            r#"{"runId":null,"sessionKey":"agent:main:main","state":"delta","text":"hel"}"#,
        );
        let mut last = ChatEventPayload::new(Some("r".into()), "k", ChatState::Final);
        last.message = Some(ChatMessage::assistant("hello"));
        check(
            last,
            r#"{"runId":"r","sessionKey":"k","state":"final","message":{"role":"assistant","content":[{"type":"text","text":"hello"}]}}"#,
        );
        check(
            ChatToolEvent {
                result: CallResult::default(),
                run_id: "r".into(),
                session_key: "k".into(),
                call_id: "c".into(),
                tool: "gsv__ReadFile".into(),
                state: ChatToolState::Started,
                args: Some(json!({ "path": "a" })),
                ok: None,
                shown: None,
                duration_ms: None,
                text: None,
                audit_call: None,
                offset: None,
            },
            r#"{"runId":"r","sessionKey":"k","callId":"c","tool":"gsv__ReadFile","state":"started","args":{"path":"a"}}"#,
        );
    }

    #[test]
    fn calls_and_results_have_their_golden_text() {
        let call = ChatBlock::ToolCall {
            id: "c".into(),
            name: "t".into(),
            arguments: json!({}),
        };
        check(
            ChatMessage::new(ChatRole::Assistant, vec![call]),
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"t","arguments":{}}]}"#,
        );
        let mut result = ChatMessage::new(ChatRole::ToolResult, vec![ChatBlock::text("x")]);
        result.tool_call_id = Some("c".into());
        result.is_error = Some(false);
        check(
            result,
            r#"{"role":"toolResult","content":[{"type":"text","text":"x"}],"toolCallId":"c","isError":false}"#,
        );
    }
}
