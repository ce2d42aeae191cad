//! Free space of the file system that holds the home.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use manyhands_core::Clock;

use super::human_size;
use crate::error::StoreError;

/// How old a measurement may be. A call is a few microseconds, asking the kernel about one; at most
/// this much time's worth of writes goes unnoticed.
const FRESH_MS: u64 = 100;
/// The part of `min_free_bytes` that is kept even from the owner, so that the audit and deletions
/// still find room.
const RESERVE: u64 = 8;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that can still be written.
    pub free: u64,
    /// Below this only the owner may write.
    pub min_free: u64,
}

impl DiskSpace {
    /// Whether only the owner may write.
    pub fn is_low(&self) -> bool {
        self.free < self.min_free
    }

    /// Whether not even the owner may write.
    pub fn is_reserved(&self) -> bool {
        self.free < self.min_free / RESERVE
    }
}

/// Watches free disk space. Cheap to clone.
#[derive(Clone)]
pub struct DiskWatch {
    inner: Arc<Inner>,
}

struct Inner {
    home: PathBuf,
    clock: Arc<dyn Clock>,
    min_free: AtomicU64,
    free: AtomicU64,
    /// When `free` was measured, in milliseconds, plus one; zero is never.
    measured: AtomicU64,
}

impl std::fmt::Debug for DiskWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DiskWatch")
    }
}

impl DiskWatch {
    pub(crate) fn new(home: &Path, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner: Arc::new(Inner {
                home: home.to_owned(),
                clock,
                min_free: AtomicU64::new(0),
                free: AtomicU64::new(u64::MAX),
                measured: AtomicU64::new(0),
            }),
        }
    }

    pub(crate) fn set_min_free(&self, bytes: u64) {
        self.inner.min_free.store(bytes, Ordering::Relaxed);
    }

    /// How much room there is, measured at most a tenth of a second ago.
    pub fn space(&self) -> DiskSpace {
        let inner = &self.inner;
        let now = u64::try_from(inner.clock.monotonic().as_millis()).unwrap_or(u64::MAX - 1);
        let measured = inner.measured.load(Ordering::Acquire);
        if measured == 0 || now >= measured - 1 + FRESH_MS {
            // Measuring twice at once is harmless.
            match rustix::fs::statvfs(&inner.home) {
                Ok(disk) => {
                    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
                    inner.free.store(free, Ordering::Relaxed);
                    inner.measured.store(now + 1, Ordering::Release);
                }
                // The write itself will say what is wrong with the disk.
                Err(error) => {
                    tracing::debug!(event = "disk_space_unknown", %error, "cannot measure free disk space")
                }
            }
        }
        DiskSpace {
            free: inner.free.load(Ordering::Relaxed),
            min_free: inner.min_free.load(Ordering::Relaxed),
        }
    }

    /// Refuses a write while space is too low for this writer: `owner` when the owner asks directly.
    pub fn admit(&self, owner: bool) -> Result<(), StoreError> {
        if self.inner.min_free.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let space = self.space();
        let refused = match owner {
            true => space.is_reserved(),
            false => space.is_low(),
        };
        if !refused {
            return Ok(());
        }
        let (free, least) = (human_size(space.free), human_size(space.min_free));
        let what = match owner {
            true => format!(
                "disk space is nearly used up: {free} are free, and an eighth of limits.min_free_bytes ({least}) is reserved; delete something or free space on the disk, then retry"
            ),
            false => format!(
                "disk space is low: {free} are free, less than limits.min_free_bytes ({least}), so only the owner can write; the owner can free space or lower the limit"
            ),
        };
        Err(StoreError::LowSpace { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, Timestamp};
    use std::time::Duration;

    fn watch() -> (DiskWatch, Arc<ManualClock>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp(0)));
        (DiskWatch::new(dir.path(), clock.clone()), clock, dir)
    }

    #[test]
    fn other_callers_stop_writing_before_the_owner_does() {
        let (watch, _, _dir) = watch();
        let free = watch.space().free;
        assert!(free > 0, "measured");
        for (min_free, others, owner) in [
            (0, true, true),
            (1, true, true),
            (free, true, true),
            (free + 1, false, true),
            (free.saturating_mul(8), false, true),
            (free.saturating_mul(8) + 8, false, false),
            (u64::MAX, false, false),
        ] {
            watch.set_min_free(min_free);
            assert_eq!(watch.admit(false).is_ok(), others, "others at {min_free}");
            assert_eq!(watch.admit(true).is_ok(), owner, "owner at {min_free}");
        }
        let refused = watch.admit(false).unwrap_err().to_string();
        assert!(refused.contains("limits.min_free_bytes"), "{refused}");
    }

    #[test]
    fn space_is_measured_again_after_a_while_and_survives_a_lost_home() {
        let (watch, clock, dir) = watch();
        let first = watch.space();
        watch.inner.free.store(7, Ordering::Relaxed);
        assert_eq!(watch.space().free, 7, "fresh enough");
        clock.advance(Duration::from_millis(FRESH_MS));
        assert_ne!(watch.space().free, 7, "measured again");
        drop(dir);
        clock.advance(Duration::from_secs(1));
        watch.set_min_free(1);
        assert!(watch.admit(false).is_ok(), "{first:?}");
    }
}
