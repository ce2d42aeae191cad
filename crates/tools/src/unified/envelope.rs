//! The subtask envelope, in which every tool answers that has a piece of work done.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The longest summary, in characters.
const MAX_SUMMARY: usize = 160;

/// The subtask envelope.
#[derive(Serialize, JsonSchema)]
pub struct Subtask<T> {
    /// The id of this run.
    pub task_id: String,
    /// `done` or `failed`.
    pub status: &'static str,
    /// One line about it, at most 160 characters.
    pub summary: String,
    /// What `output` is: `text` or `json`.
    pub output_kind: &'static str,
    /// The shape of `output`: its name, or its JSON Schema; null for a text.
    pub output_schema: Value,
    /// What came of it.
    pub output: T,
    /// Why it failed; empty when it did not.
    pub error: String,
}

/// The first line of a text, as long as a summary may be.
pub fn summary(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_SUMMARY).collect()
}
