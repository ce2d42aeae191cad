//! Contacts and to-dos, stored as Markdown files that people edit by hand too.
//!
//! - [`contacts`] keeps who can be messaged and where (`contacts/ACTIVE.md`, `contacts/INACTIVE.md`)
//! - [`todo`] keeps what is to be done (`TODO.md`, `TODO.DONE.md`, `TODO.RECUR.md`)
//!
//! Nobody locks these files: an editor or another process may write them at any time. So every change is a
//! read-modify-write that fails and is retried when the file changed in between ([`text_file`]), it rewrites
//! only the lines it is about ([`text_lines`]), and changes that span two files are ordered so that a crash between
//! the writes loses nothing.

pub mod contacts;
mod reference_id;
mod text_file;
mod text_lines;
pub mod todo;

pub use reference_id::ReferenceId;
pub use text_file::TextFileError;
