//! The Agent Client Protocol, both ways: driving somebody else's agent, and being one for an editor.
//!
//! The one place that knows the protocol's crate. Both ends speak JSON lines over pipes; whoever is
//! at the other end is not trusted to keep lines short, to read what it is sent, or to end.
//!
//! - [`drive`]: a task for an agent that was started elsewhere; what it asks is put to a [`Desk`].
//! - [`serve`]: an agent on a pair of pipes; what stands behind it is a [`House`].

mod agent;
mod client;
mod lines;
mod prompt;
mod said;
mod terminals;
mod translate;

#[cfg(test)]
mod tests;

pub use agent::{Answer, Command, House, Listed, McpProgram, Page, Sent, Told, serve};
pub use client::{
    AcpError, CommandLine, Desk, Exited, News, Offer, Opening, Permit, Question, Reply, Screen,
    Session, Terminal, drive,
};
pub use lines::Bounds;
