//! Talking to agents: what is sent, and what is told while an agent works on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatSendParams {
    /// The session; a plain name such as `main`, or `agent:NAME:REST`.
    pub session_key: String,
    /// What is said. `/help` lists what is a command.
    pub message: String,
    /// The asker's own id of the run: sent twice, it counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "status",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ChatSendResult {
    /// It is kept, and worked on when its place comes; `chat` events follow.
    Started {
        /// The run.
        run_id: String,
        /// Whether another message is before it.
        queued: bool,
        /// What was asked for this one message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directives: Option<Directives>,
    },
    /// It was a command, and is done.
    Command {
        /// Which one, without its slash.
        command: String,
        /// What came of it, in words.
        response: String,
        /// Why it was not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// It held directives and no message, so nothing was started.
    DirectiveOnly {
        /// What to do instead, in words.
        response: String,
        /// What was understood.
        directives: Directives,
    },
    /// It is kept, behind a run that waits for the owner.
    Paused {
        /// The run.
        run_id: String,
        /// What is waited for, in words.
        response: String,
        /// The question, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval_id: Option<String>,
    },
}

/// What counts for one message only: `/t:LEVEL` and `/m:PROVIDER/MODEL` at its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directives {
    /// How hard to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_level: Option<String>,
    /// Which model answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// A model, and who serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelName {
    /// Who serves it, as the settings name it.
    pub provider: String,
    /// The model, as its provider names it.
    pub id: String,
}

/// In which session to stop what is running.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatStopParams {
    /// The session.
    pub session_key: String,
}

/// Whether something was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatStopResult {
    /// Always true.
    pub ok: bool,
    /// Whether something was running.
    pub stopped: bool,
}

/// What an agent says while it works, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatEventPayload {
    /// The run it belongs to; null when it belongs to none.
    pub run_id: Option<String>,
    /// The session.
    pub session_key: String,
    /// What this is. After `final` and `error` nothing more comes of a run.
    pub state: ChatState,
    /// For `partial` and `final`: what the agent said, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<ChatMessage>,
    /// For `delta`: the next words. For `partial`, `final` and `paused`: the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// For `error`: why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For `delta`: the next words of what the model thinks; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// For `delta`: the deltas since the last `partial` are void, and this is why; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<String>,
    /// For `paused`: the question that waits for the owner; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// For `paused`: the tool that would run; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// For `paused`: its arguments; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// For `error`: whether somebody stopped the run; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// For `final`: what the run used up; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsage>,
    /// For `final`: why the model said no more, `end` or `length`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// For `error`: what sort of failure, a stable word such as `provider_rate_limited`; an
    /// addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// For `error`: the code that a refused request would have; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For `error`: how long to wait before asking again, where it is known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Which reply of a model this belongs to: a number that grows with every reply of the gateway,
    /// also when one begins anew. For `delta`, `partial` and `final`; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<u64>,
    /// For `delta`: how much of the reply's text came before `text`, in units of UTF-16; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// For `delta`: how much was thought before `thinking`, in units of UTF-16; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_offset: Option<u64>,
    /// For `paused`: the model's id of the call that is asked about, when it is one of this session;
    /// an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

impl ChatEventPayload {
    /// An event of which only the state is said.
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
            reply: None,
            offset: None,
            thinking_offset: None,
            call_id: None,
        }
    }
}

/// What a `chat` event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatState {
    /// The agent said something and goes on with its tools.
    Partial,
    /// The agent says more.
    Delta,
    /// It waits for the owner.
    Paused,
    /// The answer.
    Final,
    /// There is no answer.
    Error,
}

/// What a run used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ChatUsage {
    /// Replies of models.
    pub replies: u32,
    /// Tokens that went in.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar, as far as prices are known.
    pub cost_micros: u64,
    /// How long it took, in milliseconds, where it is known; an addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// Who said it.
    pub role: ChatRole,
    /// What was said.
    pub content: Vec<ChatBlock>,
    /// Its number in the session; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// When, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// For a tool's result: the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool's result: the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// For a tool's result: whether it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// In a history: what the run used up whose last message this is. Absent in all other messages,
    /// and where it is not known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsage>,
    /// For a tool's result: how long the call took, in milliseconds, where it is known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// For a tool's result: the call as the audit knows it, where it is known; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
}

impl ChatMessage {
    /// What somebody said.
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
        }
    }

    /// A text of the agent.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(ChatRole::Assistant, vec![ChatBlock::text(text)])
    }

    /// Its texts, one below the other.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ChatBlock::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChatRole {
    /// A person.
    User,
    /// The agent.
    Assistant,
    /// A tool that the agent called.
    ToolResult,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ChatBlock {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A tool that the agent calls.
    ToolCall {
        /// The model's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A picture; it stays in the session.
    Image {
        /// What kind of picture.
        mime_type: String,
        /// `SEQ/INDEX`: `GET /api/sessions/{key}/pictures/{seq}/{index}` gives its bytes; an addition.
        #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
}

impl ChatBlock {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A tool that an agent called began, printed something or ended.
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
    /// Whether it began, printed something or ended.
    pub state: ChatToolState,
    /// For `started`: its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// For `done`: whether it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// For `done`: the beginning of what it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// For `done`: how long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// For `output`: what it printed since, at most 4 KiB. Some may be left out; the result is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The call as the audit knows it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_call: Option<String>,
    /// For `output`: how much it printed before, in units of UTF-16; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// What somebody said became part of the conversation: its run began, or the run that was going on
/// took it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatTakenEvent {
    /// The run it was sent as.
    pub run_id: String,
    /// The session.
    pub session_key: String,
    /// The message, with its number.
    pub message: ChatMessage,
    /// The run that took it in; absent where it began its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

/// Events of chats were left out, because they came faster than they were read: what is missing
/// is in `session.history`, and the ends of the asker's own runs follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatGapEvent {
    /// How many, of all chats that this socket hears of.
    pub missed: u64,
}

/// Whether a tool began, printed something or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatToolState {
    /// It was asked for.
    Started,
    /// It printed something; an addition.
    Output,
    /// It gave something.
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
    fn what_became_of_a_message_has_its_golden_text() {
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
