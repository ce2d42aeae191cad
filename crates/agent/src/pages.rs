//! Text files that people and programs edit too: read with their version, and written only if nobody
//! else wrote meanwhile.

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::{Jail, JailError, RelPath, WriteMode};

/// How often a change is tried again when somebody else was quicker.
const TRIES: usize = 32;

/// A file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its text; `None` when it is not there.
    pub(crate) text: Option<String>,
    mode: WriteMode,
}

/// Why a file was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The file system refused.
    #[error("{file}: {source}")]
    Jail {
        /// Which file.
        file: String,
        /// What it said.
        source: JailError,
    },
    /// It holds bytes that are no text.
    #[error("{file}: is not UTF-8 text; mend it or move it aside")]
    NotText {
        /// Which file.
        file: String,
    },
}

impl PageError {
    /// Whether somebody else wrote between reading and writing.
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

impl From<PageError> for ToolError {
    fn from(error: PageError) -> Self {
        let message = error.to_string();
        let PageError::Jail { source, .. } = error else {
            return Self::new(ErrorCode::Failed, message);
        };
        let (code, hint) = match source {
            JailError::TooLarge { .. } => (
                ErrorCode::TooLarge,
                "move the file aside, or take out what is no longer needed",
            ),
            JailError::Full => (
                ErrorCode::StorageFull,
                "free some space and call again; nothing was changed",
            ),
            JailError::Changed | JailError::Exists => (
                ErrorCode::Conflict,
                "somebody else keeps writing this file; call again",
            ),
            _ => (ErrorCode::Failed, "see what is there with read_file"),
        };
        Self::new(code, message).hint(hint)
    }
}

/// One file beneath a folder, no larger than its limit.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    jail: Jail,
    path: RelPath,
    limit: u64,
}

impl Sheet {
    /// The file at `path`, a literal.
    pub(crate) fn new(jail: &Jail, path: &str, limit: u64) -> Self {
        Self {
            jail: jail.clone(),
            path: RelPath::parse(path).expect("a literal path"),
            limit,
        }
    }

    fn failed(&self, source: JailError) -> PageError {
        PageError::Jail {
            file: self.path.as_str().to_owned(),
            source,
        }
    }

    /// What is there now.
    pub(crate) fn read(&self) -> Result<Page, PageError> {
        match self.jail.read(&self.path, self.limit) {
            Ok((bytes, meta)) => {
                let text = String::from_utf8(bytes).map_err(|_| PageError::NotText {
                    file: self.path.as_str().to_owned(),
                })?;
                Ok(Page {
                    text: Some(text),
                    mode: WriteMode::IfVersion(meta.version),
                })
            }
            Err(JailError::NotFound) => Ok(Page {
                text: None,
                mode: WriteMode::CreateNew,
            }),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Puts `text` there, if it is still as it was read. On disk when this returns.
    pub(crate) fn write(&self, read: &Page, text: &str) -> Result<(), PageError> {
        if read.text.as_deref() == Some(text) {
            return Ok(());
        }
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

/// Does `work` again as long as somebody else was quicker.
pub(crate) fn again<T, E: From<PageError>>(
    mut work: impl FnMut() -> Result<T, E>,
    is_race: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut tries = 0;
    loop {
        tries += 1;
        match work() {
            Err(error) if tries < TRIES && is_race(&error) => {}
            done => return done,
        }
    }
}
