//! What can go wrong with files on this machine, in words a caller can act on.

use std::io;
use std::path::{Path, PathBuf};

use manyhands_core::{ErrorCode, ToolError};
use manyhands_guard::JailError;

/// Why a file tool did not do what was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Nothing is there.
    #[error("{}: there is no such file or directory", .0.display())]
    NotFound(PathBuf),
    /// A file was expected.
    #[error("{}: is a directory; name a file inside it", .0.display())]
    IsDirectory(PathBuf),
    /// A name on the way, or the one to search, is no directory.
    #[error("{}: a file stands where a directory was expected", .0.display())]
    NotDirectory(PathBuf),
    /// A fifo, socket or device.
    #[error("{}: is not a regular file; pipes, sockets and devices are refused", .0.display())]
    NotRegular(PathBuf),
    /// The system does not let this user.
    #[error("{}: permission denied", .0.display())]
    Denied(PathBuf),
    /// It leads out of the jail.
    #[error("{}: is outside {}, where the node's owner keeps this node", .path.display(), .jail.display())]
    Outside {
        /// What was asked for.
        path: PathBuf,
        /// The folder nothing leaves.
        jail: PathBuf,
    },
    /// No room left.
    #[error("{}: the disk or the quota is full", .0.display())]
    Full(PathBuf),
    /// Somebody else wrote it between our read and our write.
    #[error("{}: changed while it was being edited; read it again and repeat the edit", .0.display())]
    Changed(PathBuf),
    /// It is not any more what was announced.
    #[error("{}: changed while it was being sent; send it again", .0.display())]
    ChangedOnTheWay(PathBuf),
    /// More came than was announced.
    #[error("{}: more than the {size} bytes came that were announced", .path.display())]
    Surplus {
        /// Where it was to go.
        path: PathBuf,
        /// What was announced.
        size: u64,
    },
    /// More is on its way than was asked for.
    #[error("{}: bytes came faster than they were acknowledged", .0.display())]
    Flooded(PathBuf),
    /// Somebody else is sending the same there.
    #[error("{}: is being received already; wait for that to end", .0.display())]
    Busy(PathBuf),
    /// A text too long to be read at once.
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
        /// What it is.
        mime: &'static str,
        /// Its size in bytes.
        size: u64,
    },
    /// Neither text nor image.
    #[error("Binary file: {name} ({mime}, {size} bytes) — not a text or image file")]
    Binary {
        /// The file's name.
        name: String,
        /// What it is, as far as its first bytes tell.
        mime: &'static str,
        /// Its size in bytes.
        size: u64,
    },
    /// Only UTF-8 text can be edited.
    #[error("{}: is not UTF-8 text and cannot be edited", .0.display())]
    NotText(PathBuf),
    /// More than an edit takes.
    #[error("{}: is {size} bytes, over the {limit} that can be edited", .path.display())]
    LargeEdit {
        /// The file.
        path: PathBuf,
        /// Its size in bytes, as far as it was read.
        size: u64,
        /// The most.
        limit: u64,
    },
    /// The text to replace is not there.
    #[error("oldString not found in {}", .0.display())]
    OldStringNotFound(PathBuf),
    /// The text to replace is there more than once, and one was meant.
    #[error(
        "oldString found {count} times in {}; give more of the text around it, or set replaceAll: true",
        .path.display()
    )]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// How often it is there.
        count: usize,
    },
    /// A parameter cannot be used.
    #[error("{name}: {message}")]
    Parameter {
        /// Its name on the wire.
        name: &'static str,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The caller took it back.
    #[error("cancelled")]
    Cancelled,
    /// Anything else the system says.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl LocalError {
    /// What the system said about `path`.
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

    /// What the jail around `jail` said about `path`.
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
