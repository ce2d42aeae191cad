//! Minds: durable conversations, the turns in them, and what a model is shown.
//!
//! - [`Minds`] takes inputs, works on them one at a time per session, and tells what happens
//! - a turn is a state machine on disk: each reply and each call is kept before the next step,
//!   so that after a crash it goes on where it was, and no tool runs twice

mod archive;
mod asking;
mod commands;
mod conversation;
mod event;
pub mod fence;
mod key;
mod minds;
mod outside;
mod passing;
mod plan;
mod prompt;
mod sessions;
mod settings;
mod shape;
pub mod skill;
mod subtask;
pub mod template;
#[cfg(test)]
mod tests;
mod turn;

pub use asking::{Answer, Asked, End};
pub use commands::{CommandReply, Directives, Heard};
pub use event::{ChatEvent, TurnUsage, What};
pub use key::{InvalidKey, SessionKey};
pub use minds::{MindParts, Minds, Sent};
pub use outside::{House, LocalTime, Origin, SkillNote, Think, Verdict};
pub use plan::{Plan, PlanStep, PlanTask, json_in};
pub use sessions::{Compacted, Reset, Spoken};
pub use settings::{AgentSettings, ResetPolicy, SessionSettings, TurnLimits};
pub use shape::{Given, Shape, chosen, toolset};
pub use subtask::Leash;
pub use turn::Input;
