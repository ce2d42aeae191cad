//! The subtask envelope, the result of every tool that delegates work.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Longest summary, in characters.
const MAX_SUMMARY: usize = 160;

/// The subtask envelope.
#[derive(Serialize, JsonSchema)]
pub struct Subtask<T> {
    /// Task id.
    pub task_id: String,
    /// `done` or `failed`.
    pub status: &'static str,
    /// One-line summary, at most 160 characters.
    pub summary: String,
    /// Type of `output`: `text` or `json`.
    pub output_kind: &'static str,
    /// Schema of `output`: its name or its JSON Schema; null for text.
    pub output_schema: Value,
    /// The result.
    pub output: T,
    /// Why it failed; empty on success.
    pub error: String,
}

/// The first line of a text, shortened to a summary.
pub fn summary(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_SUMMARY).collect()
}
