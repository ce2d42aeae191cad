//! Doors for `make fuzz` and for the replay of its corpora; not an interface.

use crate::backup::{Restore, RestoreSummary, restore_now};
use crate::error::StoreError;

/// Restores a backup on this thread.
pub fn restore(what: &Restore) -> Result<RestoreSummary, StoreError> {
    restore_now(what)
}
