//! What an external agent may ask of its host.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::Error;
use async_trait::async_trait;
use serde_json::Value;

/// What an agent may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCapabilities {
    /// `fs/read_text_file`.
    pub read: bool,
    /// `fs/write_text_file`.
    pub write: bool,
    /// `terminal/*`.
    pub terminal: bool,
}

/// An event of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// It started one of its own tools.
    ToolStarted {
        /// Title of the call.
        title: String,
        /// Kind of tool.
        kind: &'static str,
        /// Arguments.
        input: Value,
    },
    /// The tool ended.
    ToolDone {
        /// Title of the call.
        title: String,
        /// Kind of tool.
        kind: &'static str,
        /// Whether it succeeded.
        ok: bool,
        /// Duration.
        took: Duration,
    },
}

/// A permission request of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Title of the call.
    pub title: String,
    /// Kind of tool.
    pub kind: &'static str,
    /// Arguments.
    pub input: Value,
}

/// ApprovalAnswer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Allow once.
    Allow,
    /// Deny.
    Deny,
}

/// A command an agent wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// A program, or a complete command line if there are no arguments.
    pub command: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: Option<PathBuf>,
    /// How much output to keep, from the end.
    pub output_bytes: Option<u64>,
}

/// Output of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalOutput {
    /// The output, possibly only its end.
    pub text: String,
    /// Whether the beginning is missing.
    pub cut: bool,
    /// Exit status, once it has exited.
    pub exited: Option<ExitStatus>,
}

/// How a command exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(String),
}

/// A command started for an agent. Stopped when dropped.
#[async_trait]
pub trait Terminal: Send + Sync {
    /// Its current output.
    fn output(&self) -> TerminalOutput;
    /// Waits for it to exit.
    async fn exited(&self) -> ExitStatus;
    /// Stops it.
    fn kill(&self);
}

/// Answers an agent's requests. Requests for something that was not offered never arrive here.
#[async_trait]
pub trait AgentHost: Send + Sync + 'static {
    /// Reports an event; must not block.
    fn on_event(&self, event: AgentEvent);
    /// Decides a permission request.
    async fn request_permission(&self, question: PermissionRequest) -> Permission;
    /// Reads a text file; the error is the reason.
    async fn read(&self, path: PathBuf) -> Result<String, String>;
    /// Writes a text file; the error is the reason.
    async fn write(&self, path: PathBuf, content: String) -> Result<(), String>;
    /// Starts a command; the error is the reason.
    async fn run(&self, command: CommandLine) -> Result<Arc<dyn Terminal>, String>;
}

/// The error sent to an agent.
pub(crate) fn refused(why: &str) -> Error {
    Error::invalid_request().data(Value::from(why))
}
