//! The one source of time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp as JiffTimestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, as every record stores time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The instant `after` later, saturating at the end of time.
    pub fn plus(self, after: Duration) -> Self {
        let millis = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// How long from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        // Zero instead of an error, because the wall clock can be set back.
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC, for people and for spec fields such as `lastModified`.
    pub fn rfc3339(self) -> String {
        JiffTimestamp::from_millisecond(self.0)
            .map_or_else(|_| "out-of-range".to_owned(), |t| t.to_string())
    }

    /// Midnight UTC of the day this instant falls in.
    pub fn day_start(self) -> Self {
        const DAY: i64 = 86_400_000;
        // Euclidean division rounds down before 1970 too.
        Self(self.0.div_euclid(DAY) * DAY)
    }
}

/// A source of time. Everything that needs the time gets one of these.
pub trait Clock: Send + Sync {
    /// Wall-clock time.
    fn now(&self) -> Timestamp;
    /// Time that never runs backwards, counted from an arbitrary start.
    fn monotonic(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    started: std::time::Instant,
}

impl Default for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place the machine's clock is read
    fn default() -> Self {
        Self {
            started: std::time::Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods)] // the one place the machine's clock is read
    fn now(&self) -> Timestamp {
        let since_epoch = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock for tests that moves only by [`advance`](Self::advance).
#[derive(Debug)]
pub struct ManualClock {
    millis: AtomicI64,
    start: i64,
}

impl ManualClock {
    /// A clock that stands at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self {
            millis: AtomicI64::new(start.0),
            start: start.0,
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.millis.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.now().since(Timestamp(self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_advanced() {
        let clock = ManualClock::at(Timestamp(1_000));
        assert_eq!(clock.now(), Timestamp(1_000));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Timestamp(3_000));
        assert_eq!(clock.monotonic(), Duration::from_secs(2));
    }

    #[test]
    fn timestamps_print_as_rfc3339() {
        assert_eq!(
            Timestamp(1_700_000_000_123).rfc3339(),
            "2023-11-14T22:13:20.123Z"
        );
    }

    #[test]
    fn a_day_starts_at_midnight_utc() {
        assert_eq!(
            Timestamp(1_700_000_000_123).day_start().rfc3339(),
            "2023-11-14T00:00:00Z"
        );
        assert_eq!(Timestamp(-1).day_start(), Timestamp(-86_400_000));
    }
}
