//! How much may be stored: by each agent, by each caller, and at all while disk space is low.
//!
//! - [`Ledger`]: bytes and files in each agent's workspace, reserved before they are written
//! - [`DiskWatch`]: free space of the file system that holds the home
//! - [`Charge`]: charges a caller for the bytes that its call writes, however deep in the store

mod charge;
mod disk;
mod ledger;

pub(crate) use charge::Charged;
pub use charge::{Charge, charged_to};
pub use disk::{DiskSpace, DiskWatch};
pub(crate) use ledger::{Ledger, Reservation, WorkspaceAccount};

use crate::error::StoreError;

/// Limits on what is stored. 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quotas {
    /// Bytes in one agent's workspace.
    pub workspace_bytes: u64,
    /// Files in one agent's workspace.
    pub workspace_files: u64,
    /// Free disk space below which only the owner may write, in bytes.
    pub min_free_bytes: u64,
}

/// Carries a refusal through `object_store`, whose errors are its own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Refused(pub(crate) StoreError);

impl From<Refused> for object_store::Error {
    fn from(refused: Refused) -> Self {
        Self::Generic {
            store: "disk",
            source: Box::new(refused),
        }
    }
}

/// A number of bytes for people: `1.5 GiB`, and exact below 1 KiB.
pub(crate) fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    format!("{text} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (2 * 1024 * 1024 * 1024, "2 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(human_size(bytes), text);
        }
    }
}
