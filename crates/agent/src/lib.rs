//! Minds: durable conversations, the turns in them, and what a model is shown.
//!
//! - [`Minds`] takes inputs, works on them one at a time per session, and tells what happens
//! - a turn is a state machine on disk: each reply and each call is kept before the next step,
//!   so that after a crash it goes on where it was, and no tool runs twice

mod archive;
mod asking;
mod client;
mod commands;
pub mod contacts;
mod conversation;
mod delete;
mod event;
pub mod fence;
mod key;
mod lines;
mod listening;
mod memory;
mod minds;
mod outcome;
mod outside;
mod pages;
mod passing;
mod pictures;
mod plan;
mod prompt;
mod recent;
mod retention;
mod rewind;
mod running;
mod sessions;
mod settings;
mod shape;
pub mod skill;
mod subtask;
pub mod template;
#[cfg(test)]
mod tests;
pub mod todo;
mod turn;

pub use asking::{Answer, Asked, End};
pub use client::{ClientRequest, ClientTool, Handover};
pub use commands::{CommandReply, Directives, Heard, slash_commands};
pub use contacts::{Contacts, Seen};
pub use delete::{Closed, Gone};
pub use event::{ChatEvent, Mark, TurnUsage, What};
pub use key::{Addressing, Correspondent, InvalidKey, SessionKey};
pub use listening::{Listener, Missed, Whose};
pub use memory::{MAX_QUESTION, Recollection, Remembered, TOOL as MEMORY_TOOL};
pub use minds::{MindParts, Minds, Sent};
pub use outcome::{Failure, FailureKind, ended};
pub use outside::{House, LocalTime, Origin, SkillNote, Think, Verdict};
pub use pictures::{Picture, PictureRef};
pub use plan::{Plan, PlanStep, PlanTask, json_in};
pub use rewind::Rewound;
pub use running::{Running, RunningCall, RunningDone, Tail, Waiting};
pub use sessions::{Compacted, Kept, Reset, Spoken};
pub use settings::{AgentSettings, ResetPolicy, SessionSettings, TurnLimits};
pub use shape::{Given, Made, Reach, Shape, chosen, reach, toolset};
pub use subtask::Leash;
pub use turn::Input;
