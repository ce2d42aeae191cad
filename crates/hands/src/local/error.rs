//! Errors of file tools on this machine, phrased so that a caller can act on them.

use std::io;
use std::path::{Path, PathBuf};

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::JailError;

/// Why a file tool failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// No such file or directory.
    #[error("{}: there is no such file or directory", .0.display())]
    NotFound(PathBuf),
    /// A file was expected.
    #[error("{}: is a directory; name a file inside it", .0.display())]
    IsDirectory(PathBuf),
    /// A component of the path, or the one to search, is not a directory.
    #[error("{}: a file stands where a directory was expected", .0.display())]
    NotDirectory(PathBuf),
    /// A fifo, socket or device.
    #[error("{}: is not a regular file; pipes, sockets and devices are refused", .0.display())]
    NotRegular(PathBuf),
    /// Permission denied.
    #[error("{}: permission denied", .0.display())]
    Denied(PathBuf),
    /// The path leads out of the jail.
    #[error("{}: is outside {}, where the node's owner keeps this node", .path.display(), .jail.display())]
    Outside {
        /// The requested path.
        path: PathBuf,
        /// The jail's folder.
        jail: PathBuf,
    },
    /// No space left.
    #[error("{}: the disk or the quota is full", .0.display())]
    Full(PathBuf),
    /// Someone else changed it between our read and our write.
    #[error("{}: changed while it was being edited; read it again and repeat the edit", .0.display())]
    Changed(PathBuf),
    /// The file changed while being sent.
    #[error("{}: changed while it was being sent; send it again", .0.display())]
    ChangedOnTheWay(PathBuf),
    /// More data than announced.
    #[error("{}: more than the {size} bytes came that were announced", .path.display())]
    Surplus {
        /// The destination.
        path: PathBuf,
        /// The announced size.
        size: u64,
    },
    /// More data in flight than acknowledged.
    #[error("{}: bytes came faster than they were acknowledged", .0.display())]
    Flooded(PathBuf),
    /// Another transfer to the same destination is running.
    #[error("{}: is being received already; wait for that to end", .0.display())]
    Busy(PathBuf),
    /// A text too large to be read at once.
    #[error("{}: is a text of {size} bytes, over 10 MB; read it in parts with offset and limit", .path.display())]
    LongText {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// An image over the cap.
    #[error("Image file: {name} ({mime}, {size} bytes) is over the limit of 10 MB")]
    LargeImage {
        /// The file's name.
        name: String,
        /// Its MIME type.
        mime: &'static str,
        /// Its size in bytes.
        size: u64,
    },
    /// Neither text nor image.
    #[error("Binary file: {name} ({mime}, {size} bytes) — not a text or image file")]
    Binary {
        /// The file's name.
        name: String,
        /// Its MIME type, judged by its first bytes.
        mime: &'static str,
        /// Its size in bytes.
        size: u64,
    },
    /// Only UTF-8 text can be edited.
    #[error("{}: is not UTF-8 text and cannot be edited", .0.display())]
    NotText(PathBuf),
    /// Too large to be edited.
    #[error("{}: is {size} bytes, over the {limit} that can be edited", .path.display())]
    LargeEdit {
        /// The file.
        path: PathBuf,
        /// Its size in bytes, as far as it was read.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The search text does not occur.
    #[error("oldString not found in {}", .0.display())]
    OldStringNotFound(PathBuf),
    /// The search text occurs more than once, but one match was expected.
    #[error(
        "oldString found {count} times in {}; give more of the text around it, or set replaceAll: true",
        .path.display()
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// Number of occurrences.
        count: usize,
    },
    /// An invalid parameter.
    #[error("{name}: {message}")]
    Parameter {
        /// Its name on the wire.
        name: &'static str,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Any other system error.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl LocalError {
    /// Converts a system error about `path`.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            io::ErrorKind::IsADirectory => Self::IsDirectory(path),
            io::ErrorKind::NotADirectory => Self::NotDirectory(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full(path),
            _ => Self::Io { path, source },
        }
    }

    /// Converts an error of the jail at `jail` about `path`.
    pub(super) fn jailed(path: &Path, jail: &Path, error: JailError) -> Self {
        let path = path.to_owned();
        match error {
            JailError::Escapes => Self::Outside {
                path,
                jail: jail.to_owned(),
            },
            JailError::NotFound => Self::NotFound(path),
            JailError::IsDirectory => Self::IsDirectory(path),
            JailError::NotRegular => Self::NotRegular(path),
            JailError::NotDirectory => Self::NotDirectory(path),
            JailError::Changed => Self::Changed(path),
            JailError::Full => Self::Full(path),
            JailError::Io(source) => Self::io(&path, source),
            other @ (JailError::TooLarge { .. } | JailError::Exists) => Self::Io {
                path,
                source: io::Error::other(other),
            },
        }
    }

    pub(super) fn parameter(name: &'static str, message: impl Into<String>) -> Self {
        Self::Parameter {
            name,
            message: message.into(),
        }
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::Outside { .. } | Self::Denied(_) => ErrorCode::Forbidden,
            Self::Full(_) => ErrorCode::StorageFull,
            Self::Busy(_) => ErrorCode::Unavailable,
            Self::Changed(_) | Self::ChangedOnTheWay(_) | Self::Surplus { .. } => {
                ErrorCode::Conflict
            }
            Self::LongText { .. } | Self::LargeImage { .. } | Self::LargeEdit { .. } => {
                ErrorCode::TooLarge
            }
            Self::IsDirectory(_)
            | Self::NotDirectory(_)
            | Self::NotRegular(_)
            | Self::OldStringNotFound(_)
            | Self::Ambiguous { .. }
            | Self::Parameter { .. } => ErrorCode::InvalidArguments,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Binary { .. } | Self::NotText(_) | Self::Flooded(_) | Self::Io { .. } => {
                ErrorCode::Failed
            }
        }
    }
}

impl From<LocalError> for ToolError {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::Parameter { name, message } => Self::parameter(name, message),
            other => Self::new(other.code(), other.to_string()),
        }
    }
}
