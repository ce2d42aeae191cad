//! Tool behaviour that runs on any machine, implemented once and offered under several names.

pub mod documents;
mod edit;
pub mod files;
pub mod jobs;
pub mod local;
pub mod patch;
mod root;
pub mod shell;
pub mod web;

pub use edit::{EditError, Edited, Matches, replace_exact};
pub use root::{LocateError, Root};
