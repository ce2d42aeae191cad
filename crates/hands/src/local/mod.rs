//! File tools of a node on its own machine: reading, writing, editing, finding and searching, and file
//! transfers.
//!
//! Relative paths start at the node's workspace. Absolute paths are used as they are, unless the node's
//! owner set a jail: then every open goes beneath its handle and everything else is refused.
//! All calls block; asynchronous callers use `spawn_blocking`. Long operations take a
//! [`CancellationToken`](tokio_util::sync::CancellationToken) and return soon after it is cancelled.

mod atomic;
mod beneath;
mod error;
mod glob;
mod grep;
mod ignored;
mod incoming;
mod location;
mod outgoing;
mod read;
mod text_only;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use error::LocalError;
pub use glob::{GlobRequest, GlobResult, MAX_GLOB_MATCHES};
pub use grep::{
    DEFAULT_GREP_LIMIT, GrepMatch, GrepRequest, GrepResult, MAX_GREP_CONTEXT, MAX_GREP_LIMIT,
};
pub use incoming::IncomingFile;
pub use location::LocalFiles;
pub use outgoing::{OutgoingFile, mime_of};
pub use read::{ImageFile, READ_LIMIT, ReadRequest, ReadResult, TextPart};
pub use walk::Skipped;
pub use write::{EDIT_LIMIT, EditResult, WriteResult};
