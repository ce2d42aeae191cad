//! What commands share at a terminal: results and notes, Markdown, prompts, progress, and how a failure is reported.

pub mod assist;
pub mod diff;
pub mod editor;
mod highlight;
mod inline;
pub mod live;
pub mod markdown;
pub mod output;
pub mod progress;
pub mod style;
mod table;
pub mod wrap;
