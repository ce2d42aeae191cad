//! Plans all changes before any file is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use manyhands_guard::{Jail, JailError, RelPath, Version};

use super::apply::{Applied, HunkReport, apply};
use super::error::ApplyError;
use super::files::{FileAction, MAX_FILE_BYTES, MAX_TOTAL_BYTES};
use super::parse::FilePatch;

/// A part of a patch with its files; both are the same unless it renames or copies.
#[derive(Debug, Clone)]
pub(super) struct PlannedChange {
    pub(super) action: FileAction,
    pub(super) from: RelPath,
    pub(super) to: RelPath,
}

/// A file as found.
#[derive(Debug, Clone)]
pub(super) struct Original {
    pub(super) bytes: Vec<u8>,
    pub(super) version: Version,
    pub(super) mode: u32,
}

/// A file's planned content.
#[derive(Debug, Clone)]
pub(super) struct NewContents {
    pub(super) bytes: Vec<u8>,
    /// Its permissions; `None` for the default of a new file.
    pub(super) mode: Option<u32>,
    /// Whether it becomes executable, if specified.
    pub(super) executable: Option<bool>,
}

/// A path with its current and planned content; `None` means no file.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) path: RelPath,
    pub(super) before: Option<Original>,
    pub(super) after: Option<NewContents>,
}

pub(super) struct PatchPlan<'j> {
    jail: &'j Jail,
    before: BTreeMap<RelPath, Option<Original>>,
    after: BTreeMap<RelPath, Option<NewContents>>,
    /// Names that some part of the patch frees, so that another may use them.
    freed: BTreeSet<RelPath>,
    held: u64,
}

impl<'j> PatchPlan<'j> {
    pub(super) fn new(jail: &'j Jail, steps: &[PlannedChange]) -> Self {
        let frees = |step: &&PlannedChange| {
            matches!(step.action, FileAction::Renamed | FileAction::Deleted)
        };
        Self {
            jail,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            freed: steps.iter().filter(frees).map(|s| s.from.clone()).collect(),
            held: 0,
        }
    }

    /// Plans one part of the patch.
    pub(super) fn add(
        &mut self,
        step: &PlannedChange,
        part: &FilePatch<'_>,
    ) -> Result<Vec<HunkReport>, ApplyError> {
        let source = match step.action {
            FileAction::Created => NewContents {
                bytes: Vec::new(),
                mode: None,
                executable: None,
            },
            FileAction::Modified | FileAction::Deleted => self.now(&step.from)?,
            FileAction::Renamed | FileAction::Copied => self.original(&step.from)?,
        };
        if matches!(
            step.action,
            FileAction::Created | FileAction::Renamed | FileAction::Copied
        ) {
            self.check_free(&step.to)?;
        }
        let Applied { content, hunks } =
            apply(&source.bytes, part).map_err(|error| ApplyError::Hunk {
                path: step.to.clone(),
                error,
            })?;
        self.hold(content.len() as u64)?;
        match step.action {
            FileAction::Deleted if !content.is_empty() => {
                let path = step.to.clone();
                return Err(ApplyError::NotEmptied { path });
            }
            FileAction::Deleted => {
                self.after.insert(step.to.clone(), None);
                return Ok(hunks);
            }
            // Another part may have moved its own file here already.
            FileAction::Renamed => {
                self.after.entry(step.from.clone()).or_insert(None);
            }
            FileAction::Created | FileAction::Modified | FileAction::Copied => {}
        }
        let expected = NewContents {
            bytes: content,
            mode: source.mode,
            executable: part.executable.or(source.executable),
        };
        self.after.insert(step.to.clone(), Some(expected));
        Ok(hunks)
    }

    /// All planned changes.
    pub(super) fn finish(mut self) -> Vec<Move> {
        let after = std::mem::take(&mut self.after);
        let moves = after.into_iter().map(|(path, after)| Move {
            before: self.before.remove(&path).flatten(),
            path,
            after,
        });
        moves.collect()
    }

    /// The file after the earlier parts.
    fn now(&mut self, path: &RelPath) -> Result<NewContents, ApplyError> {
        match self.after.get(path) {
            Some(Some(expected)) => Ok(expected.clone()),
            Some(None) => Err(ApplyError::Missing { path: path.clone() }),
            None => self.original(path),
        }
    }

    /// The file before the patch.
    fn original(&mut self, path: &RelPath) -> Result<NewContents, ApplyError> {
        self.inspect(path)?;
        match self.before.get(path) {
            Some(Some(original)) => Ok(NewContents {
                bytes: original.bytes.clone(),
                mode: Some(original.mode),
                executable: None,
            }),
            _ => Err(ApplyError::Missing { path: path.clone() }),
        }
    }

    /// Fails if something exists at `path`, where a file is to be created.
    fn check_free(&mut self, path: &RelPath) -> Result<(), ApplyError> {
        let taken = match self.after.get(path) {
            Some(after) => after.is_some(),
            None if self.freed.contains(path) => {
                self.inspect(path)?;
                false
            }
            None => {
                let found = self.jail.metadata(path);
                found.map_err(|error| failed(path, error))?.is_some()
            }
        };
        match taken {
            true => Err(ApplyError::Exists { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// Reads the file at `path`, once.
    fn inspect(&mut self, path: &RelPath) -> Result<(), ApplyError> {
        if !self.before.contains_key(path) {
            let found = self.read(path)?;
            self.before.insert(path.clone(), found);
        }
        Ok(())
    }

    fn read(&mut self, path: &RelPath) -> Result<Option<Original>, ApplyError> {
        let (file, meta) = match self.jail.open_file(path) {
            Err(JailError::NotFound | JailError::NotDirectory) => return Ok(None),
            opened => opened.map_err(|error| failed(path, error))?,
        };
        if meta.size > MAX_FILE_BYTES {
            return Err(ApplyError::FileTooLarge { path: path.clone() });
        }
        self.hold(meta.size)?;
        let mut bytes = Vec::new();
        let mode = file
            .metadata()
            .and_then(|found| {
                // It may be growing: read one byte past the limit to notice.
                file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
                Ok(found.permissions().mode() & 0o777)
            })
            .map_err(|error| failed(path, error.into()))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ApplyError::FileTooLarge { path: path.clone() });
        }
        Ok(Some(Original {
            bytes,
            version: meta.version,
            mode,
        }))
    }

    fn hold(&mut self, bytes: u64) -> Result<(), ApplyError> {
        self.held += bytes;
        match self.held > MAX_TOTAL_BYTES {
            true => Err(ApplyError::TotalTooLarge),
            false => Ok(()),
        }
    }
}

pub(super) fn failed(path: &RelPath, error: JailError) -> ApplyError {
    ApplyError::File {
        path: path.clone(),
        error,
    }
}
