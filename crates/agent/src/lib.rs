//! Agents: durable conversations, the turns in them, and what a model sees.
//!
//! - [`Minds`] queues inputs, works on them one at a time per session, and publishes events
//! - a turn is a state machine on disk: every reply and every call is stored before the next step, so that a turn resumes
//!   after a crash and no tool call runs twice
//!
//! The modules form layers. At the bottom is plain data (keys, inputs, events, plans, call outputs); on it `runtime` holds
//! the shared state; `slots` gives exclusive access to sessions; `turn` runs one turn; `worker` runs the queue of a
//! session; above are the operations on sessions (`ask`, `commands`, `delete`, `rewind`, ...). Each extends [`Minds`] with
//! its own methods and uses only modules below it.
//!
//! # Design
//!
//! - **A turn is a state machine on disk.** Each model reply with its calls, the start of each call and each outcome is one
//!   transaction, committed before the next step. The start is recorded by the path itself, through a `Witness`, at the moment the tool
//!   would run. After a crash the turn resumes; a call that had started and has no outcome is reported to the model as *interrupted,
//!   outcome unknown* and never repeated. A tool whose machine or server connects later than the gateway starts is waited for.
//! - **One turn at a time per session.** Further input of the same person joins after the next results; input of someone else is a turn of its
//!   own. In a shared chat, a turn that waits for an approval is parked once somebody else's message is queued (`turn/parking.rs`): its
//!   question and state stay on disk, and it is retried after each other turn.
//! - **Subscribers can join a running turn**: they receive its current state, and every event carries its position, so that state and events overlap
//!   without loss or duplicates.
//! - **Rights follow the person who wrote**: a call in a turn is made with the current rights of their token, for the session's agent.
//! - **Text from outside is data.** Tool results and messages of people other than the owner are fenced and taint the turn (`core::Taint`). Taint is stored
//!   with what the turn creates (files, spawned agents, jobs, messages, the conversation); reading such an object taints the reader
//!   until the owner trusts it.
//! - **Client-side tools** (`/v1`): a turn whose model calls one ends with that call; what it did before, which the client does not see, is persisted
//!   for a day under the ids of the calls and inserted when the results arrive.
//! - **Nothing is deleted without an archive.** A conversation that outgrows its window is summarized, never between a call and its result; the
//!   removed part is stored as gzipped lines. A conversation that its owner deletes is removed in one transaction, its archives after it.
//! - **Spend is reserved first**: a model call reserves its maximum cost per call, turn, session, agent and day.

mod archive;
mod ask;
mod branch;
mod cache;
mod call_diff;
mod call_output;
mod client;
mod commands;
mod compaction;
mod conversation;
mod delete;
mod env;
mod event;
mod failure;
pub mod fence;
mod handover;
mod input;
mod key;
mod listener;
mod memory;
mod origin;
mod outcome;
mod picture_ref;
mod pictures;
mod plan;
mod planning;
mod progress;
mod prompt;
mod reset;
mod retention;
mod rewind;
mod running;
mod runtime;
mod search;
mod send;
mod sessions;
mod settings;
pub mod skill;
mod slot;
mod slots;
mod subtask;
pub mod template;
mod temporary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod title;
mod toolset;
mod trace;
mod transcript;
mod tree;
mod turn;
mod turn_counts;
mod turn_note;
mod usage;
mod wait_graph;
mod worker;

pub use ask::{PendingAnswer, TurnAnswer, TurnOutcome};
pub use call_output::{CallOutput, CallStats, CallVerdict};
pub use client::{ClientRequest, ClientTool, Handover};
pub use commands::{CommandReply, Directives, ParsedMessage, slash_commands};
pub use delete::{ClosedSession, DeletedSession};
pub use env::{AgentEnv, ApprovalReply, LocalTime, ModelClient, SkillNote};
pub use event::{ChatEvent, EventPosition, TurnEvent};
pub use failure::{Failure, FailureKind};
pub use input::Input;
pub use key::{Addressing, Correspondent, InvalidKey, SessionKey};
pub use listener::{ChatListener, Lagged, Subscription};
pub use memory::{MAX_QUESTION, MemoryHit, MemoryResults, TOOL as MEMORY_TOOL};
pub use origin::Origin;
pub use outcome::ended;
pub use picture_ref::{PictureRef, result_pictures};
pub use pictures::Picture;
pub use plan::{PlanStep, TaskPlan, json_in};
pub use planning::PlanTask;
pub use reset::SessionReset;
pub use rewind::Rewound;
pub use running::{RunningCall, RunningDone, RunningTurn, TextTail};
pub use runtime::{MindParts, Minds};
pub use search::{MessageMatch, MessageMatches};
pub use send::{InputReceipt, QueuedInput};
pub use sessions::Compacted;
pub use settings::{AgentSettings, ResetPolicy, SessionSettings, TurnLimits};
pub use subtask::StopOnDrop;
pub use toolset::{ToolAccess, ToolScope, chosen, tool_access, toolset};
pub use transcript::{MessagePage, MessageWindow, SessionMessage, StoredMessage};
pub use tree::SubSession;
pub use turn_note::{TurnFailure, TurnNote};
pub use usage::TurnUsage;
