//! The Agent Client Protocol, in both directions: driving an external agent, and serving an editor.
//!
//! The only crate that depends on the protocol's library. Both sides exchange JSON lines over pipes; the peer is not
//! trusted to keep lines short, to read what it is sent, or to exit.
//!
//! - [`drive`]: runs a task with an external agent; its requests are answered by a [`AgentHost`].
//! - [`serve`]: serves an editor over a pair of pipes; the agents behind it are a [`AgentBackend`].

mod agent;
mod client;
mod host;
mod lines;
mod prompt;
mod terminals;
mod transcript;
mod translate;

#[cfg(test)]
mod tests;

pub use agent::{
    AgentBackend, ApprovalAnswer, McpProgram, SessionPage, SessionSummary, SlashCommand, TurnEvent,
    TurnOutcome, serve,
};
pub use client::{AcpError, Reply, Session, SessionOptions, drive};
pub use host::{
    AgentEvent, AgentHost, CommandLine, ExitStatus, HostCapabilities, Permission,
    PermissionRequest, Terminal, TerminalOutput,
};
pub use lines::Bounds;
