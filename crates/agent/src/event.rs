//! Events of sessions.

use manyhands_core::{ApprovalId, CallId, Timestamp};
use manyhands_llm::{Message, StopReason};
use serde_json::Value;

use crate::call_output::CallStats;
use crate::failure::Failure;
use crate::key::SessionKey;
use crate::picture_ref::PictureRef;
use crate::usage::TurnUsage;

/// An event of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatEvent {
    /// The session.
    pub session: SessionKey,
    /// The run it belongs to.
    pub run_id: String,
    /// The event.
    pub what: TurnEvent,
    /// Its position in the session.
    pub mark: EventPosition,
}

/// The position of an event, so that a subscriber who starts with a snapshot of the running turn can tell which events
/// are new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventPosition {
    /// Number of the reply it belongs to, counted since the gateway started; 0 if none.
    pub reply: u64,
    /// Length in UTF-16 units of what came before: of the reply's text, of its reasoning, or of the call's output.
    pub offset: u64,
    /// Number of the message it became.
    pub seq: Option<i64>,
    /// The model's id of the call that needs approval.
    pub call_id: Option<String>,
}

/// An event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// More text of the reply.
    Delta(String),
    /// More reasoning of the reply.
    Thinking(String),
    /// The reply starts over: everything since the last `Partial` is void.
    Restart {
        /// The reason.
        because: String,
    },
    /// Text of a reply that continues with tool calls.
    Partial(String),
    /// A tool call begins.
    ToolStarted {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The call's audit id, if known.
        call: Option<CallId>,
    },
    /// Output of a running tool.
    ToolOutput {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The new output.
        text: String,
    },
    /// A tool call ended.
    ToolDone {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it succeeded.
        ok: bool,
        /// The beginning of its result.
        shown: String,
        /// How it went.
        stats: Box<CallStats>,
        /// Its pictures.
        pictures: Vec<PictureRef>,
    },
    /// A call needs the owner's approval.
    Paused {
        /// The approval request.
        approval: ApprovalId,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// The owner decided, and the turn continues.
    Resumed,
    /// The answer.
    Final {
        /// The text.
        text: String,
        /// Why the model stopped.
        stop: StopReason,
        /// Usage of the turn.
        usage: TurnUsage,
    },
    /// The turn failed.
    Error(Failure),
    /// The user stopped the turn.
    Stopped,
    /// An input became part of the conversation: its turn began, or the running turn merged it.
    Taken {
        /// When.
        at: Timestamp,
        /// The message as the model sees it.
        message: Message,
        /// The run it was merged into; `None` if it began its own.
        into: Option<String>,
    },
    /// The session was deleted; belongs to no run.
    Deleted,
    /// The session was created, or its title, its label or its place in lists changed; belongs to no run.
    Changed,
}

impl TurnEvent {
    /// Whether this ends the run.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Final { .. } | Self::Error(_) | Self::Stopped)
    }
}
