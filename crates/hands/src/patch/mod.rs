//! Unified diffs, applied whole or not at all.
//!
//! What a patch may be:
//!
//! - one file or many, one hunk or many, as `git diff`, `diff -u` and people write them: git
//!   headers, `a/` and `b/` prefixes, time stamps, quoted names, `/dev/null` for a file that is
//!   created or deleted, renames, copies, the executable bit; text around it is skipped
//! - hunks alone, without `---` and `+++`, when the file is named beside it
//! - line counts in `@@ -1,3 +1,3 @@` that are wrong are counted again from the hunk itself
//! - binary patches, symbolic links, submodules and other patch formats are refused
//!
//! How a hunk finds its place:
//!
//! - its context and removed lines must stand in the file exactly; there is no fuzz
//! - it is looked for at its line number, moved by as much as the hunk before it moved, and from
//!   there outwards, at most [`MAX_OFFSET`] (1,000) lines either way; a number past the end of the file
//!   means its last lines
//! - the nearest place wins, of two equally near the later one; without file headers two equally
//!   near places are an error, and so are two places of any kind when the line number is 0
//! - hunks stand in order and never overlap; lines inserted without any context go exactly
//!   where the number says
//! - a hunk whose result is already there is refused as already applied
//!
//! Line endings belong to the file: a patch whose lines all end alike (all LF or all CRLF) fits
//! a file that ends its lines otherwise, and new lines take the file's ending. A patch with both
//! kinds is taken to the letter. A missing final newline stays missing unless the
//! patch speaks of it (`\ No newline at end of file`); if it does, it must be right.
//!
//! Files are bytes: what is not UTF-8 and not touched passes through unharmed.
//!
//! Limits: a patch of 4 MiB, 1,000 files and 10,000 hunks; files of 16 MiB each, 128 MiB together.

mod apply;
mod commit;
mod error;
mod files;
mod hunk;
mod lines;
mod name;
mod parse;
mod plan;
mod search;
mod section;
#[cfg(test)]
mod tests;

pub use apply::{Applied, HunkReport, apply};
pub use error::{ApplyError, HunkError, HunkProblem, PatchError};
pub use files::{
    FileAction, FileReport, MAX_FILE_BYTES, MAX_TOTAL_BYTES, apply_to_dir, apply_to_file,
};
pub use parse::{FileChange, FilePatch, MAX_FILES, MAX_HUNKS, MAX_PATCH_BYTES, Patch, parse};
pub use search::MAX_OFFSET;
