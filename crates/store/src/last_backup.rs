//! When the last backup of a home was made.

use std::io;
use std::path::{Path, PathBuf};

use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::home::{self, LAST_BACKUP};

/// When the last backup of a home was made, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackup {
    /// When.
    pub at: Timestamp,
    /// The file, which may have been moved since.
    pub file: PathBuf,
}

/// Records that a backup was made.
pub(crate) fn record_backup(home: &Path, file: &Path, now: Timestamp) -> io::Result<()> {
    let record = LastBackup {
        at: now,
        file: file.to_owned(),
    };
    let text = serde_json::to_vec(&record)?;
    home::replace_file(&home.join(LAST_BACKUP), &text)
}

/// The last backup that was made of a home, if any.
pub fn last_backup(home: &Path) -> Option<LastBackup> {
    let text = std::fs::read(home.join(LAST_BACKUP)).ok()?;
    serde_json::from_slice(&text).ok()
}
