//! Responses of `POST /api/chat` without a stream.

use manyhands_agent::{SessionKey, TurnUsage};
use manyhands_core::ApprovalId;
use manyhands_llm::StopReason;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The outcome of a message.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ChatAnswer")]
pub enum ChatResult {
    /// The agent replied.
    Answered(ChatAnswered),
    /// It was a slash command.
    Command(ChatCommand),
    /// It is waiting for the owner's approval.
    Paused(ChatPaused),
}

/// A reply of the agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatAnswered {
    /// It is done.
    pub(super) status: DoneStatus,
    /// Text of the reply.
    pub(super) text: String,
    /// Why the model stopped.
    pub(super) stop_reason: StopReason,
    /// Run id.
    pub(super) run_id: String,
    /// The session.
    pub(super) session_key: SessionKey,
    /// Usage of the turn.
    pub(super) usage: TurnUsage,
}

/// A slash command and its result.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatCommand {
    /// It is done.
    pub(super) status: DoneStatus,
    /// Result as text.
    pub(super) text: String,
    /// Name without its slash.
    pub(super) command: String,
    /// Why it failed.
    pub(super) error: Option<String>,
    /// The session.
    pub(super) session_key: SessionKey,
}

/// A run that needs the owner's approval.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatPaused {
    /// It waits.
    pub(super) status: PausedStatus,
    /// Id of the approval request.
    pub(super) approval_id: ApprovalId,
    /// The tool.
    pub(super) tool: String,
    /// Arguments of the call.
    pub(super) arguments: Value,
    /// Run id.
    pub(super) run_id: String,
    /// The session.
    pub(super) session_key: SessionKey,
}

/// It is done.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DoneStatus {
    /// The only value.
    Done,
}

/// It waits.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PausedStatus {
    /// The only value.
    Paused,
}
