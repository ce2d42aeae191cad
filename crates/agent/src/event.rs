//! What a session tells while it works.

use manyhands_core::{ApprovalId, CallId, Timestamp};
use manyhands_llm::{Message, StopReason};
use serde_json::Value;

use crate::key::SessionKey;
use crate::outcome::Failure;

/// Something happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatEvent {
    /// The session.
    pub session: SessionKey,
    /// The run it belongs to.
    pub run_id: String,
    /// What happened.
    pub what: What,
    /// Where in the session this stands.
    pub mark: Mark,
}

/// Where in its session something stands, so that whoever comes to a reply that is being made can
/// tell what of it is new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mark {
    /// Which reply it belongs to, counted since the gateway began; 0 where it is of none.
    pub reply: u64,
    /// How much came before: of the reply's text, of its thoughts, or of what the call printed, in
    /// units of UTF-16.
    pub offset: u64,
    /// The number of the message that it became.
    pub seq: Option<i64>,
    /// The model's id of the call that is asked about.
    pub call_id: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The model says more.
    Delta(String),
    /// The model thinks more.
    Thinking(String),
    /// What was told since the last `Partial` is void: the reply begins anew.
    Restart {
        /// Why, in words.
        because: String,
    },
    /// The model said something and goes on with its tools.
    Partial(String),
    /// A tool was asked for.
    ToolStarted {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The call as the audit knows it, where it is known.
        call: Option<CallId>,
    },
    /// It printed something.
    ToolOutput {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it printed since.
        text: String,
    },
    /// It gave something.
    ToolDone {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it worked.
        ok: bool,
        /// The beginning of what it gave.
        shown: String,
        /// How long it took.
        took_ms: u64,
        /// The call as the audit knows it, unless it was made before a restart.
        call: Option<CallId>,
    },
    /// It waits for the owner.
    Paused {
        /// The question.
        approval: ApprovalId,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// The owner answered, and it goes on.
    Resumed,
    /// The answer.
    Final {
        /// The text.
        text: String,
        /// Why the model said no more.
        stop: StopReason,
        /// What the turn used up.
        usage: TurnUsage,
    },
    /// There is no answer.
    Error(Failure),
    /// Somebody stopped it.
    Stopped,
    /// What somebody said became part of the conversation: its turn began, or the turn that was
    /// running took it in.
    Taken {
        /// When.
        at: Timestamp,
        /// The message, as a model is shown it.
        message: Message,
        /// The run that took it in; absent where it began one of its own.
        into: Option<String>,
    },
    /// The session was deleted, with all that was said in it; this is of no run.
    Deleted,
}

impl What {
    /// Whether the run ends with this.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Final { .. } | Self::Error(_) | Self::Stopped)
    }
}

/// What a turn used up.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnUsage {
    /// Replies of models.
    pub replies: u32,
    /// Tokens that went in.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar, as far as prices are known.
    pub cost_micros: u64,
    /// How long it took, from its beginning to its end; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}
