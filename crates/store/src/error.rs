//! The error of this crate. Each variant is one that callers treat differently.

use std::fmt::Display;
use std::io;

use manyhands_core::{ErrorCode, ToolError};

/// What went wrong in the store. Cloneable, because one failed group commit is reported to every
/// caller whose write was in the group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No room is left on the disk; nothing was written.
    #[error("the disk is full: free some space and try again")]
    Full,
    /// A configured limit is exceeded; nothing was written.
    #[error("{what}")]
    Limit {
        /// Which limit, and what to do.
        what: String,
    },
    /// A quota of an agent or a caller is used up; nothing was written.
    #[error("{what}")]
    Quota {
        /// Which quota, how much of it is used, and what to do.
        what: String,
    },
    /// Too little disk space is left for this writer; nothing was written.
    #[error("{what}")]
    LowSpace {
        /// How much is left, which setting decides, and what to do.
        what: String,
    },
    /// It was changed concurrently.
    #[error("{what} changed meanwhile: read it again and repeat the change")]
    Changed {
        /// What changed.
        what: String,
    },
    /// It does not exist.
    #[error("{what} does not exist")]
    NotFound {
        /// What is missing.
        what: String,
    },
    /// It already exists.
    #[error("{what} already exists")]
    Exists {
        /// What is in the way.
        what: String,
    },
    /// An approval is no longer in the state that the operation needs.
    #[error("{what} is already {state}")]
    Settled {
        /// Which approval.
        what: String,
        /// The state it is in.
        state: String,
    },
    /// What is stored is damaged or was tampered with.
    #[error("{what}")]
    Corrupt {
        /// What is damaged, and what to do.
        what: String,
    },
    /// Another process holds the home.
    #[error("this home is in use by {by}: stop it first or choose another --home")]
    Locked {
        /// The holder: its process id and address.
        by: String,
    },
    /// The database was made by a newer version, or by a changed one.
    #[error("{what}")]
    Schema {
        /// What does not fit, and what to do.
        what: String,
    },
    /// The passphrase is missing, wrong or unexpected.
    #[error("{what}")]
    Passphrase {
        /// Which of these, and what to do.
        what: String,
    },
    /// What was given cannot be stored.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A path leads outside its folder, or through a link.
    #[error("{what}")]
    Escape {
        /// Which path.
        what: String,
    },
    /// The database did not answer in time.
    #[error("the database is busy: try again in a moment")]
    Busy,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A file system operation failed.
    #[error("{what}: {detail}")]
    Io {
        /// What was attempted.
        what: String,
        /// The kind of error.
        kind: io::ErrorKind,
        /// The operating system's message.
        detail: String,
    },
    /// A database operation failed.
    #[error("database error: {0}")]
    Database(String),
    /// A blob operation failed.
    #[error("blob store error: {0}")]
    Blobs(String),
}

impl StoreError {
    /// An I/O error met while doing `what`; a full disk stays recognisable.
    pub(crate) fn io(what: impl Display, error: &io::Error) -> Self {
        if is_full(error) {
            return Self::Full;
        }
        Self::Io {
            what: what.to_string(),
            kind: error.kind(),
            detail: error.to_string(),
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound { what: what.into() }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }
}

/// The one mapping from storage failures to tool errors: every interface reports the same failure
/// with the same code.
impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        Self::new(code(&error), error.to_string())
    }
}

fn code(error: &StoreError) -> ErrorCode {
    match error {
        StoreError::Full | StoreError::LowSpace { .. } => ErrorCode::StorageFull,
        StoreError::Quota { .. } => ErrorCode::BudgetExceeded,
        StoreError::Limit { .. } => ErrorCode::TooLarge,
        StoreError::NotFound { .. } => ErrorCode::NotFound,
        StoreError::Changed { .. } | StoreError::Exists { .. } | StoreError::Settled { .. } => {
            ErrorCode::Conflict
        }
        StoreError::Invalid { .. } | StoreError::Escape { .. } => ErrorCode::InvalidArguments,
        // Nothing is wrong with the call: chats and agents retry it, as they do while the database is busy.
        StoreError::Busy
        | StoreError::Closed
        | StoreError::Locked { .. }
        | StoreError::Io { .. }
        | StoreError::Database(_)
        | StoreError::Blobs(_) => ErrorCode::Unavailable,
        // Retrying cannot help: somebody has to repair the home first.
        StoreError::Corrupt { .. } | StoreError::Schema { .. } | StoreError::Passphrase { .. } => {
            ErrorCode::Internal
        }
    }
}

/// Whether the disk or the quota is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_other_failures() {
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(StoreError::io("writing a.md", &full), StoreError::Full);
        let other = io::Error::from_raw_os_error(13);
        let shown = StoreError::io("writing a.md", &other).to_string();
        assert!(shown.starts_with("writing a.md: "), "{shown}");
        let over_quota = io::Error::from_raw_os_error(122); // EDQUOT
        assert_eq!(
            StoreError::io("writing a.md", &over_quota),
            StoreError::Full
        );
    }

    #[test]
    fn every_failure_has_one_code() {
        let what = || "x".to_owned();
        for (error, code) in [
            (StoreError::Full, ErrorCode::StorageFull),
            (
                StoreError::LowSpace { what: what() },
                ErrorCode::StorageFull,
            ),
            (
                StoreError::Quota { what: what() },
                ErrorCode::BudgetExceeded,
            ),
            (StoreError::Limit { what: what() }, ErrorCode::TooLarge),
            (StoreError::NotFound { what: what() }, ErrorCode::NotFound),
            (StoreError::Changed { what: what() }, ErrorCode::Conflict),
            (StoreError::Exists { what: what() }, ErrorCode::Conflict),
            (
                StoreError::Settled {
                    what: what(),
                    state: what(),
                },
                ErrorCode::Conflict,
            ),
            (
                StoreError::Invalid { what: what() },
                ErrorCode::InvalidArguments,
            ),
            (
                StoreError::Escape { what: what() },
                ErrorCode::InvalidArguments,
            ),
            (StoreError::Busy, ErrorCode::Unavailable),
            (StoreError::Closed, ErrorCode::Unavailable),
            (StoreError::Locked { by: what() }, ErrorCode::Unavailable),
            (
                StoreError::Io {
                    what: what(),
                    kind: io::ErrorKind::Other,
                    detail: what(),
                },
                ErrorCode::Unavailable,
            ),
            (StoreError::Database(what()), ErrorCode::Unavailable),
            (StoreError::Blobs(what()), ErrorCode::Unavailable),
            (StoreError::Corrupt { what: what() }, ErrorCode::Internal),
            (StoreError::Schema { what: what() }, ErrorCode::Internal),
            (StoreError::Passphrase { what: what() }, ErrorCode::Internal),
        ] {
            let message = error.to_string();
            let told = ToolError::from(error);
            assert_eq!((told.code, told.message), (code, message));
        }
    }
}
