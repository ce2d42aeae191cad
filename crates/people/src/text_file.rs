//! Text files with optimistic concurrency: a write succeeds only if the file is still the version that was read.
//!
//! People edit these files with editors that know nothing of locks, so a lock would protect nothing.

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::{Jail, JailError, RelPath, WriteMode};

/// Attempts before a change gives up because other writers keep winning.
const TRIES: usize = 32;

/// A file's text at one version.
#[derive(Debug, Clone)]
pub(crate) struct FileVersion {
    /// `None` if the file does not exist.
    pub(crate) text: Option<String>,
    mode: WriteMode,
}

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TextFileError {
    /// The file system refused the operation.
    #[error("{file}: {source}")]
    Jail {
        /// The file's path.
        file: String,
        /// The cause.
        source: JailError,
    },
    /// The file is not UTF-8.
    #[error("{file}: is not UTF-8 text; fix it or move it aside")]
    NotText {
        /// The file's path.
        file: String,
    },
}

impl TextFileError {
    /// Whether another writer changed the file between our read and our write.
    pub(crate) fn is_race(&self) -> bool {
        matches!(
            self,
            Self::Jail {
                source: JailError::Changed | JailError::Exists,
                ..
            }
        )
    }
}

impl From<TextFileError> for ToolError {
    fn from(error: TextFileError) -> Self {
        let message = error.to_string();
        let TextFileError::Jail { source, .. } = error else {
            return Self::new(ErrorCode::Failed, message);
        };
        let (code, hint) = match source {
            JailError::TooLarge { .. } => (
                ErrorCode::TooLarge,
                "move the file aside, or remove entries that are no longer needed",
            ),
            JailError::Full => (
                ErrorCode::StorageFull,
                "free some space and call again; nothing was changed",
            ),
            JailError::Changed | JailError::Exists => (
                ErrorCode::Conflict,
                "another program keeps writing this file; call again",
            ),
            _ => (ErrorCode::Failed, "inspect the file with read_file"),
        };
        Self::new(code, message).hint(hint)
    }
}

/// One text file in a folder, with a size limit.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    jail: Jail,
    path: RelPath,
    limit: u64,
}

impl TextFile {
    /// The file at `path`, which must be a literal.
    pub(crate) fn new(jail: &Jail, path: &str, limit: u64) -> Self {
        Self {
            jail: jail.clone(),
            path: RelPath::parse(path).expect("a literal path"),
            limit,
        }
    }

    fn failed(&self, source: JailError) -> TextFileError {
        TextFileError::Jail {
            file: self.path.as_str().to_owned(),
            source,
        }
    }

    /// Reads the current version.
    pub(crate) fn read(&self) -> Result<FileVersion, TextFileError> {
        match self.jail.read(&self.path, self.limit) {
            Ok((bytes, meta)) => {
                let text = String::from_utf8(bytes).map_err(|_| TextFileError::NotText {
                    file: self.path.as_str().to_owned(),
                })?;
                Ok(FileVersion {
                    text: Some(text),
                    mode: WriteMode::IfVersion(meta.version),
                })
            }
            Err(JailError::NotFound) => Ok(FileVersion {
                text: None,
                mode: WriteMode::CreateNew,
            }),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Writes `text` if the file is still the version `read`; it is on disk when this returns.
    pub(crate) fn write(&self, read: &FileVersion, text: &str) -> Result<(), TextFileError> {
        if read.text.as_deref() == Some(text) {
            return Ok(());
        }
        // Checked before writing: a file above the limit could never be read again.
        let size = text.len() as u64;
        if size > self.limit {
            let limit = self.limit;
            return Err(self.failed(JailError::TooLarge { limit, size }));
        }
        let written = self
            .jail
            .write(&self.path, text.as_bytes(), read.mode.clone());
        written.map(drop).map_err(|source| self.failed(source))
    }
}

/// Repeats a read-modify-write while it loses the race against other writers.
pub(crate) fn again<T, E: From<TextFileError>>(
    mut work: impl FnMut() -> Result<T, E>,
    is_race: impl Fn(&E) -> bool,
) -> Result<T, E> {
    // No backoff: `work` reads the file again, and losing twice in a row needs two other writers within milliseconds.
    let mut tries = 0;
    loop {
        tries += 1;
        match work() {
            Err(error) if tries < TRIES && is_race(&error) => {}
            done => return done,
        }
    }
}
