//! Reconnection delays.
//!
//! Not `backon`: delays depend on how long a connection lasted, and tests inject the randomness.

use std::time::Duration;

use manyhands_core::Ids;

/// Initial delay; it doubles from there.
const FIRST: Duration = Duration::from_secs(1);
/// Maximum delay.
const LONGEST: Duration = Duration::from_secs(300);
/// A connection that lasted this long resets the delay.
const HELD: Duration = Duration::from_secs(60);

/// Doubling delays, each shortened by up to a third at random so that clients do not all reconnect
/// at the same moment.
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    ids: Ids,
}

impl Backoff {
    /// Default bounds.
    pub(crate) fn new(ids: Ids) -> Self {
        Self::between(FIRST, LONGEST, ids)
    }

    /// Other bounds.
    pub(crate) fn between(first: Duration, longest: Duration, ids: Ids) -> Self {
        Self {
            first,
            longest,
            next: first,
            ids,
        }
    }

    /// Starts again from the initial delay.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Records the end of a connection that lasted for `lasted`.
    pub(crate) fn connected(&mut self, lasted: Duration) {
        if lasted >= HELD {
            self.reset();
        }
    }

    /// The next delay.
    pub(crate) fn wait(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(self.longest);
        let [random] = self.ids.random::<1>();
        full - full.mul_f64(f64::from(random) / 255.0 / 3.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use manyhands_core::{ManualClock, SeededEntropy, Timestamp};

    use super::*;

    #[test]
    fn waits_double_and_start_again_after_a_connection_that_held() {
        let clock = Arc::new(ManualClock::at(Timestamp(0)));
        let mut backoff = Backoff::new(Ids::new(clock, Arc::new(SeededEntropy::new(3))));
        let mut full = FIRST;
        for _ in 0..12 {
            let wait = backoff.wait();
            assert!(wait <= full && wait >= full.mul_f64(0.66), "{wait:?}");
            full = (full * 2).min(LONGEST);
        }
        backoff.connected(Duration::from_secs(59));
        assert!(backoff.wait() > Duration::from_secs(100));
        backoff.connected(HELD);
        assert!(backoff.wait() <= FIRST);
    }
}
