//! How long to wait before connecting again.

use std::time::Duration;

use manyhands_core::Ids;

/// The first wait; it doubles from there.
const FIRST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(300);
/// How long a connection must hold for the next outage to start from the beginning.
const HELD: Duration = Duration::from_secs(60);

/// Waits that double, each shortened by up to a third at random so that not everybody comes back
/// in the same moment.
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    ids: Ids,
}

impl Backoff {
    /// From the beginning.
    pub(crate) fn new(ids: Ids) -> Self {
        Self::between(FIRST, LONGEST, ids)
    }

    /// The same with bounds of its own.
    pub(crate) fn between(first: Duration, longest: Duration, ids: Ids) -> Self {
        Self {
            first,
            longest,
            next: first,
            ids,
        }
    }

    /// It works again: the next outage starts from the beginning.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// A connection has ended that lasted for `lasted`.
    pub(crate) fn connected(&mut self, lasted: Duration) {
        if lasted >= HELD {
            self.reset();
        }
    }

    /// The next wait.
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
