//! What commands share at a terminal: results and notes, prompts, progress, and how a failure is reported.

pub mod editor;
pub mod output;
pub mod progress;
