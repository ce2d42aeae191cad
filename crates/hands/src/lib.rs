//! Behaviour that runs on any machine, written once and offered under several names.

mod edit;

pub use edit::{EditError, Edited, Matches, replace_exact};
