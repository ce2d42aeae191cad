//! What `POST /api/chat` answers with where no stream of events is wanted.

use manyhands_agent::{SessionKey, TurnUsage};
use manyhands_core::ApprovalId;
use manyhands_llm::StopReason;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What came of a message.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ChatAnswer")]
pub enum Ended {
    /// The agent answered.
    Answered(Answered),
    /// It was a command.
    Command(Command),
    /// It waits for the owner.
    Paused(Paused),
}

/// The agent answered.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChatAnswered")]
pub struct Answered {
    /// It is done.
    pub(super) status: Done,
    /// What it said.
    pub(super) text: String,
    /// Why the model said no more.
    pub(super) stop_reason: StopReason,
    /// The id of the run.
    pub(super) run_id: String,
    /// The session.
    pub(super) session_key: SessionKey,
    /// What the turn used up.
    pub(super) usage: TurnUsage,
}

/// A command, and what came of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChatCommand")]
pub struct Command {
    /// It is done.
    pub(super) status: Done,
    /// What came of it, in words.
    pub(super) text: String,
    /// Which one, without its slash.
    pub(super) command: String,
    /// Why it was not done.
    pub(super) error: Option<String>,
    /// The session.
    pub(super) session_key: SessionKey,
}

/// A run that waits for the owner.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChatPaused")]
pub struct Paused {
    /// It waits.
    pub(super) status: Waits,
    /// The question.
    pub(super) approval_id: ApprovalId,
    /// The tool.
    pub(super) tool: String,
    /// With what it is called.
    pub(super) arguments: Value,
    /// The id of the run.
    pub(super) run_id: String,
    /// The session.
    pub(super) session_key: SessionKey,
}

/// It is done.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Done {
    /// The only word.
    Done,
}

/// It waits.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Waits {
    /// The only word.
    Paused,
}
