//! How many turns have ended, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Turns that ended since the start.
#[derive(Default)]
pub(crate) struct TurnCounts {
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) stopped: AtomicU64,
}

impl TurnCounts {
    /// The counts, by how the turns ended.
    pub(crate) fn all(&self) -> [(&'static str, u64); 3] {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("done", count(&self.done)),
            ("failed", count(&self.failed)),
            ("stopped", count(&self.stopped)),
        ]
    }
}
