//! Parses a patch.

use super::error::PatchError;
use super::hunk::{self, Hunk};
use super::lines::{Endings, TextLine};
use super::name;
use super::section::Section;

/// Maximum patch length, in bytes.
pub const MAX_PATCH_BYTES: usize = 4 * 1024 * 1024;
/// Maximum files per patch.
pub const MAX_FILES: usize = 1_000;
/// Maximum hunks per patch.
pub const MAX_HUNKS: usize = 10_000;

/// A parsed patch, not yet compared with any file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch<'a> {
    /// The changes by file, in order; at least one.
    pub files: Vec<FilePatch<'a>>,
}

/// The kind of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// Its content changes, or its executable bit.
    Modify,
    /// It is created.
    Create,
    /// It is deleted.
    Delete,
    /// It is renamed, and may change.
    Rename,
    /// It is copied to another.
    Copy,
}

/// The part of a patch for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'a> {
    pub(super) change: FileChange,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    /// Whether the file becomes executable, if specified.
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk<'a>>,
}

impl FilePatch<'_> {
    /// The kind of change.
    pub fn change(&self) -> FileChange {
        self.change
    }

    /// The old name without prefix; `None` if created or not named.
    pub fn old_name(&self) -> Option<&str> {
        self.old.as_deref()
    }

    /// The new name without prefix; `None` if deleted or not named.
    pub fn new_name(&self) -> Option<&str> {
        self.new.as_deref()
    }

    /// Number of hunks.
    pub fn hunk_count(&self) -> usize {
        self.hunks.len()
    }

    pub(super) fn is_named(&self) -> bool {
        self.old.is_some() || self.new.is_some()
    }

    pub(super) fn endings(&self) -> Endings {
        Endings::of(self.lines().map(TextLine::ending_with_cr))
    }

    /// Whether it mentions a missing final newline.
    pub(super) fn has_marker(&self) -> bool {
        self.lines().any(|line| !line.ending.is_newline())
    }

    fn lines(&self) -> impl Iterator<Item = TextLine<'_>> {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.map(|line| line.line)
    }
}

/// Parses a unified diff. See the [module](super) for what is supported.
pub fn parse(text: &str) -> Result<Patch<'_>, PatchError> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(PatchError::TooLarge { size: text.len() });
    }
    let mut parser = Parser {
        lines: text.split_inclusive('\n').collect(),
        files: Vec::new(),
        open: None,
        hunks: 0,
    };
    let mut at = 0;
    while at < parser.lines.len() {
        at = parser.step(at)?;
    }
    parser.close()?;
    if parser.files.is_empty() {
        return Err(PatchError::NoHunks);
    }
    Ok(Patch {
        files: parser.files,
    })
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    files: Vec<FilePatch<'a>>,
    open: Option<Section<'a>>,
    hunks: usize,
}

impl<'a> Parser<'a> {
    /// Processes what starts at line `at`, and returns the next line.
    fn step(&mut self, at: usize) -> Result<usize, PatchError> {
        let line = self.lines[at].trim_end_matches(['\r', '\n']);
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.close()?;
            self.open = Some(Section::git(at, name::git_line(names)));
        } else if hunk::is_file_header(&self.lines, at) {
            self.file_header(at)?;
            return Ok(at + 2);
        } else if line.starts_with("@@") {
            return self.hunk(at);
        } else if let Some(section) = self.open.as_mut().filter(|s| s.takes_headers()) {
            section.header(at, line)?;
        }
        // Refused explicitly: skipping an unknown format as prose would apply half of a patch.
        self.refuse_other_formats(at, line)?;
        Ok(at + 1)
    }

    fn refuse_other_formats(&self, at: usize, line: &str) -> Result<(), PatchError> {
        let next = self.lines.get(at + 1);
        let other = |what| Err(PatchError::OtherFormat { line: at + 1, what });
        if line == "GIT binary patch"
            || (line.starts_with("Binary files ") && line.ends_with(" differ"))
        {
            Err(PatchError::Binary { line: at + 1 })
        } else if line == "*** Begin Patch" {
            other("the '*** Begin Patch' format")
        } else if line.starts_with("*** ") && next.is_some_and(|next| next.starts_with("--- ")) {
            other("a context diff")
        } else if line.starts_with("diff --cc ") || line.starts_with("diff --combined ") {
            other("a combined diff of a merge")
        } else {
            Ok(())
        }
    }

    fn file_header(&mut self, at: usize) -> Result<(), PatchError> {
        let side = |at: usize| {
            let text = self.lines[at][4..].trim_end_matches(['\r', '\n']);
            name::side(text).ok_or(PatchError::Malformed {
                line: at + 1,
                why: "the file name cannot be read; write it plainly, or in double quotes with C escapes",
            })
        };
        let sides = (side(at)?, side(at + 1)?);
        // `---` and `+++` either complete git's headers or start a plain part.
        if !self.open.as_ref().is_some_and(|open| open.takes(&sides)) {
            self.close()?;
        }
        let section = self.open.get_or_insert_with(|| Section::plain(at));
        section.sides = Some(sides);
        Ok(())
    }

    fn hunk(&mut self, at: usize) -> Result<usize, PatchError> {
        self.hunks += 1;
        if self.hunks > MAX_HUNKS {
            return Err(PatchError::TooManyHunks);
        }
        let (hunk, end) = hunk::read(&self.lines, at)?;
        let section = self.open.get_or_insert_with(|| Section::plain(at));
        section.hunks.push(hunk);
        Ok(end)
    }

    fn close(&mut self) -> Result<(), PatchError> {
        let Some(section) = self.open.take() else {
            return Ok(());
        };
        if self.files.len() == MAX_FILES {
            return Err(PatchError::TooManyFiles);
        }
        // Validated when complete: headers and hunks together decide what a part means.
        self.files.push(section.finish()?);
        Ok(())
    }
}
