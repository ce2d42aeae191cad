//! The part of a patch for one file, from its first header to its last hunk.

use super::error::PatchError;
use super::hunk::Hunk;
use super::name::{self, GitLine, Prefixes, Side};
use super::parse::{FileChange, FilePatch};

/// The part for one file while it is parsed.
#[derive(Default)]
pub(super) struct Section<'a> {
    /// Its first line, from 1.
    line: usize,
    git: Option<GitLine>,
    /// The names after `---` and `+++`.
    pub(super) sides: Option<(Side, Side)>,
    /// The change according to git's headers; `None` for a plain modification.
    change: Option<FileChange>,
    from: Option<String>,
    to: Option<String>,
    executable: Option<bool>,
    pub(super) hunks: Vec<Hunk<'a>>,
}

impl<'a> Section<'a> {
    pub(super) fn git(at: usize, line: GitLine) -> Self {
        Self {
            git: Some(line),
            ..Self::plain(at)
        }
    }

    pub(super) fn plain(at: usize) -> Self {
        Self {
            line: at + 1,
            ..Self::default()
        }
    }

    pub(super) fn takes_headers(&self) -> bool {
        self.git.is_some() && self.sides.is_none() && self.hunks.is_empty()
    }

    /// Whether names under git's headers refer to the same file; otherwise another part starts here.
    pub(super) fn takes(&self, (old, new): &(Side, Side)) -> bool {
        let known = self.git.as_ref().and_then(|git| git.name.as_ref());
        let same = |side: &Side, expected: Option<&String>| match (side, expected) {
            (Side::Named { name, .. }, Some(expected)) => name
                .strip_suffix(expected.as_str())
                .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('/')),
            _ => true,
        };
        self.takes_headers()
            && same(old, self.from.as_ref().or(known))
            && same(new, self.to.as_ref().or(known))
    }

    /// Processes one of git's extended headers; other lines are ignored.
    pub(super) fn header(&mut self, at: usize, line: &str) -> Result<(), PatchError> {
        let moved = |text: &str| match text.starts_with('"') {
            true => name::unquote(text).map(|(name, _)| name),
            false => Some(text.to_owned()),
        };
        if let Some(mode) = line.strip_prefix("old mode ") {
            file_mode(at, mode)?;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.executable = Some(file_mode(at, mode)?);
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            self.executable = Some(file_mode(at, mode)?);
            self.change = Some(FileChange::Create);
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            file_mode(at, mode)?;
            self.change = Some(FileChange::Delete);
        } else if let Some(ids) = line.strip_prefix("index ") {
            if let Some((_, mode)) = ids.split_once(' ') {
                file_mode(at, mode)?;
            }
        } else if let Some(name) = line.strip_prefix("rename from ") {
            self.change = Some(FileChange::Rename);
            self.from = moved(name);
        } else if let Some(name) = line.strip_prefix("rename to ") {
            self.to = moved(name);
        } else if let Some(name) = line.strip_prefix("copy from ") {
            self.change = Some(FileChange::Copy);
            self.from = moved(name);
        } else if let Some(name) = line.strip_prefix("copy to ") {
            self.to = moved(name);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<FilePatch<'a>, PatchError> {
        let malformed = |why| PatchError::Malformed {
            line: self.line,
            why,
        };
        if self.hunks.is_empty() && self.sides.is_some() {
            return Err(malformed(
                "there is no hunk under this file header; a hunk begins with @@ -1,3 +1,3 @@",
            ));
        }
        let changes = self.hunks.iter().any(Hunk::changes);
        if !changes && self.change.is_none() && self.executable.is_none() {
            return Err(malformed(
                "this part changes nothing; it has no + and no - line",
            ));
        }
        let (change, old, new) = match self.change {
            Some(change @ (FileChange::Rename | FileChange::Copy)) => {
                let names = (self.from.take(), self.to.take());
                let (Some(from), Some(to)) = names else {
                    return Err(malformed(
                        "a rename or copy needs both a 'from' and a 'to' line",
                    ));
                };
                (change, Some(from), Some(to))
            }
            change => self.names(change)?,
        };
        Ok(FilePatch {
            change,
            old,
            new,
            executable: self.executable,
            hunks: self.hunks,
        })
    }

    /// The change and names, for anything but a rename or copy.
    fn names(&self, change: Option<FileChange>) -> Result<FileNames, PatchError> {
        let Some((old, new)) = &self.sides else {
            let name = self.git.as_ref().and_then(|git| git.name.clone());
            return Ok(named(
                change.unwrap_or(FileChange::Modify),
                name.clone(),
                name,
            ));
        };
        // Only a single hunk can create or delete a whole file.
        let lone = match self.hunks.as_slice() {
            [hunk] => Some(hunk),
            _ => None,
        };
        let old = present(old, || lone.is_some_and(|hunk| hunk.old().is_empty()));
        let new = present(new, || lone.is_some_and(|hunk| hunk.new_side().is_empty()));
        let change = match (&old, &new) {
            (None, None) => {
                return Err(PatchError::Malformed {
                    line: self.line,
                    why: "both names are /dev/null; one must name the file",
                });
            }
            (None, _) => FileChange::Create,
            (_, None) => FileChange::Delete,
            _ => change.unwrap_or(FileChange::Modify),
        };
        let (a, b) = self
            .prefixes(old.as_deref(), new.as_deref())
            .unwrap_or_default();
        Ok(named(change, strip(old, a), strip(new, b)))
    }

    /// The prefixes of the two names: from git's own line, otherwise from the names.
    fn prefixes(&self, old: Option<&str>, new: Option<&str>) -> Prefixes {
        match (&self.git, old, new) {
            (Some(git), _, _) if git.prefixes.is_some() || git.name.is_some() => git.prefixes,
            (_, Some(old), Some(new)) => name::prefixes(old, new),
            (_, Some(name), None) => name::lone_prefix(name),
            (_, None, Some(name)) => name::lone_prefix(name).map(|(a, b)| (b, a)),
            (_, None, None) => None,
        }
    }
}

/// The change, the old name and the new name.
type FileNames = (FileChange, Option<String>, Option<String>);

/// A created file has no old name, a deleted one no new name.
fn named(change: FileChange, old: Option<String>, new: Option<String>) -> FileNames {
    match change {
        FileChange::Create => (change, None, new),
        FileChange::Delete => (change, old, None),
        FileChange::Modify | FileChange::Rename | FileChange::Copy => (change, old, new),
    }
}

fn strip(name: Option<String>, prefix: &str) -> Option<String> {
    name.map(|name| match name.strip_prefix(prefix) {
        Some(stripped) => stripped.to_owned(),
        None => name,
    })
}

/// The name on one side; `None` if there is no file.
fn present(side: &Side, hunk_side_is_empty: impl FnOnce() -> bool) -> Option<String> {
    match side {
        Side::Nothing => None,
        Side::Named { epoch: true, .. } if hunk_side_is_empty() => None,
        Side::Named { name, .. } => Some(name.clone()),
    }
}

/// Whether a file mode is executable; only regular files are supported.
fn file_mode(at: usize, text: &str) -> Result<bool, PatchError> {
    match u32::from_str_radix(text.trim(), 8) {
        Ok(mode) if mode & 0o170_000 == 0o100_000 => Ok(mode & 0o111 != 0),
        Ok(_) => Err(PatchError::NotRegular { line: at + 1 }),
        Err(_) => Err(PatchError::Malformed {
            line: at + 1,
            why: "is not a file mode; write 100644 or 100755",
        }),
    }
}
