//! What is left of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest message of a fault, in bytes.
const LONGEST_MESSAGE: usize = 8 << 10;

/// The longest stack of a fault, in bytes.
const LONGEST_STACK: usize = 4 << 10;

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What the script returned, or why it did not come to that.
    pub outcome: Result<Value, Fault>,
    /// What it said on the console, also when it failed.
    pub logs: Vec<LogLine>,
    /// Whether it said more than was kept.
    pub logs_cut: bool,
    /// How often it asked its host for something.
    pub calls: u32,
    /// How long it took.
    pub elapsed: Duration,
}

/// How loud a line of the console is.
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

/// What one call of `console` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How loud.
    pub level: Level,
    /// The words.
    pub text: String,
    /// Milliseconds after the start of the run.
    pub at_ms: u64,
}

/// What kind of end it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It is no JavaScript, or there is too much of it.
    Syntax,
    /// It threw, and nobody caught that.
    Thrown,
    /// Its time was up.
    Timeout,
    /// It wanted more memory than it may have.
    Memory,
    /// It used up its time on the processor.
    Cpu,
    /// It made more calls than it may.
    Calls,
    /// What it returned cannot be handed over.
    Output,
    /// Its process ended, or did not keep to the protocol.
    Crashed,
    /// Whoever started it took that back.
    Cancelled,
    /// No process could be started for it.
    Unavailable,
}

/// Why a run came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message}", if name.is_empty() { String::new() } else { format!("{name}: ") })]
pub struct Fault {
    /// What kind of end it was.
    pub kind: FaultKind,
    /// The name of the error that was thrown, such as `TypeError`.
    pub name: String,
    /// What went wrong, in words.
    pub message: String,
    /// The line of the script, from 1.
    pub line: Option<u32>,
    /// The column of that line, from 1.
    pub column: Option<u32>,
    /// That line with a mark below the column.
    pub excerpt: Option<String>,
    /// The calls that led there, the last first, as far as they are the script's.
    pub stack: Option<String>,
}

impl Fault {
    /// An end that belongs to no line.
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

    /// The same with an excerpt of `code`, and with nothing too long in it. A worker may say of its own
    /// end only what it can know.
    pub(crate) fn told_by_worker(mut self, code: &str) -> Self {
        use FaultKind::{Calls, Cpu, Memory, Output, Syntax, Thrown};
        if !matches!(self.kind, Syntax | Thrown | Memory | Cpu | Calls | Output) {
            self.kind = FaultKind::Crashed;
        }
        cut(&mut self.name, 128);
        cut(&mut self.message, LONGEST_MESSAGE);
        if let Some(stack) = &mut self.stack {
            cut(stack, LONGEST_STACK);
        }
        self.excerpt = self
            .line
            .and_then(|line| crate::excerpt::excerpt(code, line, self.column));
        self
    }
}

/// Shortens `text` to `most` bytes, at the end of a character.
pub(crate) fn cut(text: &mut String, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    text.truncate(text.floor_char_boundary(most));
    true
}
