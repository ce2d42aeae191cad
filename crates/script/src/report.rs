//! The result of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum length of an error message, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// Maximum length of a stack trace, in bytes.
const MAX_STACK: usize = 4 << 10;

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The returned value, or the error.
    pub outcome: Result<Value, Fault>,
    /// Console output, also of a failed run.
    pub logs: Vec<LogLine>,
    /// Whether console output was truncated.
    pub logs_cut: bool,
    /// Number of requests to the host.
    pub calls: u32,
    /// Duration.
    pub elapsed: Duration,
}

/// Level of a console line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// `console.debug`.
    Debug,
    /// `console.log`.
    Log,
    /// `console.info`.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`.
    Error,
}

/// One console line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Level.
    pub level: Level,
    /// Text.
    pub text: String,
    /// Milliseconds after the start of the run.
    pub at_ms: u64,
}

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Invalid JavaScript, or too much of it.
    Syntax,
    /// An uncaught exception.
    Thrown,
    /// The timeout expired.
    Timeout,
    /// Memory limit exceeded.
    Memory,
    /// CPU limit exceeded.
    Cpu,
    /// Too many calls.
    Calls,
    /// The returned value cannot be serialised.
    Output,
    /// The process crashed or violated the protocol.
    Crashed,
    /// The run was cancelled.
    Cancelled,
    /// No process could be started.
    Unavailable,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message}", if name.is_empty() { String::new() } else { format!("{name}: ") })]
pub struct Fault {
    /// Kind of failure.
    pub kind: FaultKind,
    /// Name of the thrown error, such as `TypeError`.
    pub name: String,
    /// Message.
    pub message: String,
    /// Line in the script (1-based).
    pub line: Option<u32>,
    /// Column in that line (1-based).
    pub column: Option<u32>,
    /// That line with a mark below the column.
    pub excerpt: Option<String>,
    /// Stack trace, innermost call first, without frames outside of the script.
    pub stack: Option<String>,
}

impl Fault {
    /// Creates a failure without a line.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            name: String::new(),
            message: message.into(),
            line: None,
            column: None,
            excerpt: None,
            stack: None,
        }
    }

    /// Adds an excerpt of `code` and limits all lengths. A worker may only report failures that it can know about.
    pub(crate) fn located_in(mut self, code: &str) -> Self {
        use FaultKind::{Calls, Cpu, Memory, Output, Syntax, Thrown};
        if !matches!(self.kind, Syntax | Thrown | Memory | Cpu | Calls | Output) {
            self.kind = FaultKind::Crashed;
        }
        // Everything in here was chosen by the script, and ends up in a model's context.
        cut(&mut self.name, 128);
        cut(&mut self.message, MAX_MESSAGE);
        if let Some(stack) = &mut self.stack {
            cut(stack, MAX_STACK);
        }
        self.excerpt = self
            .line
            .and_then(|line| crate::excerpt::excerpt(code, line, self.column));
        self
    }
}

/// Truncates `text` to `most` bytes at a character boundary; returns whether it was longer.
pub(crate) fn cut(text: &mut String, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    text.truncate(text.floor_char_boundary(most));
    true
}
