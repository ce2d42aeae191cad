//! Write and Edit.

use std::io::Read;

use manyhands_guard::WriteMode;
use serde::Serialize;

use super::atomic::{self, Demand};
use super::location::LocalPath;
use super::{LocalError, LocalFiles};
use crate::edit::{EditError, Matches, replace_exact};

/// Maximum size of a file to edit, in bytes.
pub const EDIT_LIMIT: u64 = 64 << 20;

/// Result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WriteResult {
    /// The absolute path.
    pub path: String,
    /// The new size of the file.
    pub bytes: u64,
}

/// Result of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditResult {
    /// The absolute path.
    pub path: String,
    /// Number of replacements.
    pub replacements: usize,
}

impl LocalFiles {
    /// Writes a file atomically, creating missing directories. The mode of an existing file is kept, and a
    /// link is written through.
    pub fn write(&self, path: &str, content: &str) -> Result<WriteResult, LocalError> {
        let place = self.locate(path)?;
        // An explicit write replaces whatever is there; only edits have a precondition.
        self.put(&place, content.as_bytes(), Demand::Nothing, || {
            WriteMode::Overwrite
        })?;
        Ok(WriteResult {
            path: place.path.display().to_string(),
            bytes: content.len() as u64,
        })
    }

    /// Replaces `old` by `new`, both literal; line endings and a missing final newline are kept. Fails,
    /// changing nothing, if the file is changed meanwhile.
    pub fn edit(
        &self,
        path: &str,
        old: &str,
        new: &str,
        matches: Matches,
    ) -> Result<EditResult, LocalError> {
        self.edit_with(path, old, new, matches, || {})
    }

    /// `meanwhile` runs between the read and the write.
    pub(super) fn edit_with(
        &self,
        path: &str,
        old: &str,
        new: &str,
        matches: Matches,
        meanwhile: impl FnOnce(),
    ) -> Result<EditResult, LocalError> {
        let place = self.locate(path)?;
        let (bytes, version) = self.whole(&place)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| LocalError::NotText(place.path.clone()))?;
        let edited =
            replace_exact(text, old, new, matches).map_err(|error| refusal(&place, &error))?;
        meanwhile();
        self.put(
            &place,
            edited.text.as_bytes(),
            Demand::Holds(&bytes),
            || version.map_or(WriteMode::Overwrite, WriteMode::IfVersion),
        )?;
        Ok(EditResult {
            path: place.path.display().to_string(),
            replacements: edited.replacements,
        })
    }

    fn put(
        &self,
        place: &LocalPath,
        bytes: &[u8],
        demand: Demand<'_>,
        mode: impl FnOnce() -> WriteMode,
    ) -> Result<(), LocalError> {
        let (Some(root), Some(kept)) = (self.root(), &place.relative) else {
            return atomic::write(&place.path, bytes, demand);
        };
        let failed = |error| LocalError::jailed(&place.path, root.folder(), error);
        // Two writes may fall into one tick of the file system's clock and look like one version.
        if let Demand::Holds(expect) = demand
            && let Ok((now, _)) = root.jail().read(kept, EDIT_LIMIT)
            && now != expect
        {
            return Err(LocalError::Changed(place.path.clone()));
        }
        root.jail()
            .write(kept, bytes, mode())
            .map(drop)
            .map_err(failed)
    }

    /// The whole file and, inside a jail, its version.
    fn whole(
        &self,
        place: &LocalPath,
    ) -> Result<(Vec<u8>, Option<manyhands_guard::Version>), LocalError> {
        let too_large = |size| LocalError::LargeEdit {
            path: place.path.clone(),
            size,
            limit: EDIT_LIMIT,
        };
        let (file, size, version) = match (self.root(), &place.relative) {
            (Some(root), Some(kept)) => {
                let opened = root.jail().open_file(kept);
                let (file, meta) = opened
                    .map_err(|error| LocalError::jailed(&place.path, root.folder(), error))?;
                (file, meta.size, Some(meta.version))
            }
            _ => {
                let (file, size) = self.open_file(place)?;
                (file, size, None)
            }
        };
        if size > EDIT_LIMIT {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        // The file may grow between the check and the read.
        file.take(EDIT_LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| LocalError::io(&place.path, error))?;
        // Read one byte further than allowed, which shows that the file has grown.
        if bytes.len() as u64 > EDIT_LIMIT {
            return Err(too_large(bytes.len() as u64));
        }
        Ok((bytes, version))
    }
}

fn refusal(place: &LocalPath, error: &EditError) -> LocalError {
    match *error {
        EditError::EmptyOldString => LocalError::parameter("oldString", error.to_string()),
        EditError::NotFound => LocalError::OldStringNotFound(place.path.clone()),
        EditError::Ambiguous { count } => LocalError::Ambiguous {
            path: place.path.clone(),
            count,
        },
    }
}
