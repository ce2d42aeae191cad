//! Errors of a patch, phrased so that its author can send a better one.

use std::fmt;

use manyhands_guard::{JailError, PathError, RelPath};

use super::files::{MAX_FILE_BYTES, MAX_TOTAL_BYTES};
use super::parse::{MAX_FILES, MAX_HUNKS, MAX_PATCH_BYTES};
use super::search::MAX_OFFSET;

/// Why a text is not an applicable patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is too long.
    #[error(
        "the patch is {size} bytes long, over the limit of {MAX_PATCH_BYTES}; send it in parts"
    )]
    TooLarge {
        /// Its length.
        size: usize,
    },
    /// It changes too many files.
    #[error("the patch changes more than {MAX_FILES} files; send it in parts")]
    TooManyFiles,
    /// It has too many hunks.
    #[error("the patch has more than {MAX_HUNKS} hunks; send it in parts")]
    TooManyHunks,
    /// It changes nothing.
    #[error(
        "there is no hunk in the patch\n\
         send a unified diff: a line such as @@ -1,3 +1,3 @@, then lines that begin with a space, - or +"
    )]
    NoHunks,
    /// It is another format, such as `*** Begin Patch` or a context diff.
    #[error(
        "line {line}: {what} is not a unified diff\n\
         send --- a/name, +++ b/name, @@ -1,3 +1,3 @@, then lines that begin with a space, - or +"
    )]
    OtherFormat {
        /// Line in the patch.
        line: usize,
        /// The recognised format.
        what: &'static str,
    },
    /// It changes a binary file.
    #[error("line {line}: binary patches are not applied; write the file whole instead")]
    Binary {
        /// Line in the patch.
        line: usize,
    },
    /// It changes a symbolic link or a submodule.
    #[error("line {line}: symbolic links and submodules are not patched; only regular files are")]
    NotRegular {
        /// Line in the patch.
        line: usize,
    },
    /// An invalid line.
    #[error("line {line}: {why}")]
    Malformed {
        /// Line in the patch.
        line: usize,
        /// What is wrong with it, and what would be right.
        why: &'static str,
    },
}

/// A hunk that does not apply. The text is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkError {
    /// Number of the hunk in its file, from 1.
    pub hunk: usize,
    /// Line of the file, from 1.
    pub line: usize,
    /// The problem.
    pub why: HunkProblem,
    /// The expected line, with its ending.
    pub expected: Option<String>,
    /// The actual line, with its ending; `None` at the end of the file.
    pub found: Option<String>,
}

/// Why a hunk does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkProblem {
    /// Its context or removed lines do not occur.
    NotFound,
    /// Its result is already there.
    AlreadyApplied,
    /// It matches at `line` and elsewhere equally well.
    Ambiguous {
        /// The other line.
        other: usize,
    },
    /// It matches only before the end of the previous hunk.
    OutOfOrder,
    /// It inserts after the end of the file.
    PastEnd,
    /// It ends a line without a newline although more lines follow.
    NewlineMissingInside,
    /// The lines are too repetitive to search in reasonable time.
    TooRepetitive,
}

impl fmt::Display for HunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        write!(f, "hunk {} ", self.hunk)?;
        match &self.why {
            HunkProblem::NotFound => {
                write!(f, "does not apply at line {line}")?;
                if let Some(expected) = &self.expected {
                    write!(f, ": the patch expects {expected:?}, ")?;
                    match &self.found {
                        Some(found) => write!(f, "the file has {found:?}")?,
                        None => f.write_str("the file ends there")?,
                    }
                }
                write!(
                    f,
                    "\nlooked up to {MAX_OFFSET} lines either way; read the file again and make the patch from what it says now"
                )
            }
            HunkProblem::AlreadyApplied => write!(
                f,
                "seems to be applied already: its result stands at line {line}"
            ),
            HunkProblem::Ambiguous { other } => write!(
                f,
                "fits at line {line} and at line {other}\ngive more context, or the right line number"
            ),
            HunkProblem::OutOfOrder => write!(
                f,
                "fits only at line {line}, before the end of the hunk that precedes it\n\
                 put hunks in the order of the file and join those that overlap"
            ),
            HunkProblem::PastEnd => write!(
                f,
                "inserts at line {line}, behind the end of the file\n\
                 give the lines before it as context"
            ),
            HunkProblem::NewlineMissingInside => write!(
                f,
                "leaves line {line} without a newline where more lines follow\n\
                 '\\ No newline at end of file' belongs to the last line only"
            ),
            HunkProblem::TooRepetitive => write!(
                f,
                "could not be looked for in reasonable time, since the lines around line {line} repeat\n\
                 give fewer lines of context and the right line number"
            ),
        }
    }
}

impl std::error::Error for HunkError {}

/// Why a patch was not applied to files. All files are unchanged, unless this is
/// [`NotPutBack`](Self::NotPutBack).
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The patch changes several files, but one was expected.
    #[error("the patch changes {count} files; send one patch for each")]
    SeveralFiles {
        /// How many.
        count: usize,
    },
    /// The patch renames or copies, but one existing file was expected.
    #[error(
        "the patch renames or copies a file; only a patch to one existing name can be applied here"
    )]
    NotInPlace,
    /// A part of the patch names no file.
    #[error(
        "part {part} of the patch names no file; put --- a/name and +++ b/name above its hunks"
    )]
    Unnamed {
        /// The part, from 1.
        part: usize,
    },
    /// A name in the patch is not a valid path.
    #[error("the name {name:?} in the patch {why}")]
    Name {
        /// The name as written.
        name: String,
        /// What is wrong with it.
        why: PathError,
    },
    /// The file to change does not exist.
    #[error("{path}: there is no such file\nto create it, put --- /dev/null above its hunks")]
    Missing {
        /// Which file.
        path: RelPath,
    },
    /// The file to create, or the target of a rename or copy, exists.
    #[error("{path}: already exists, and the patch would create it")]
    Exists {
        /// Which file.
        path: RelPath,
    },
    /// A file to delete has more content than the patch removes.
    #[error("{path}: the patch deletes the file but not all of its lines; read it again")]
    NotEmptied {
        /// Which file.
        path: RelPath,
    },
    /// A file is too large.
    #[error("{path}: is over the limit of {MAX_FILE_BYTES} bytes for a file to patch")]
    FileTooLarge {
        /// Which file.
        path: RelPath,
    },
    /// All files together are too large.
    #[error(
        "the files to patch are together over the limit of {MAX_TOTAL_BYTES} bytes; send the patch in parts"
    )]
    TotalTooLarge,
    /// A hunk does not apply.
    #[error("{path}: {error}")]
    Hunk {
        /// Which file.
        path: RelPath,
        /// The hunk and its problem.
        error: HunkError,
    },
    /// A file system error.
    #[error("{path}: {error}")]
    File {
        /// Which file.
        path: RelPath,
        /// The file system's error.
        error: JailError,
    },
    /// A write failed, and some files could not be restored.
    #[error("{path}: {error}\nthese were changed before that and could not be put back: {}", list(.left))]
    NotPutBack {
        /// Which file could not be written.
        path: RelPath,
        /// The file system's error.
        error: JailError,
        /// The files that remain changed.
        left: Vec<RelPath>,
    },
}

fn list(paths: &[RelPath]) -> String {
    let names: Vec<_> = paths.iter().map(RelPath::as_str).collect();
    names.join(", ")
}
