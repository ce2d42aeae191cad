//! Delays between reconnects.

use std::time::Duration;

use manyhands_core::Ids;

/// Delays between reconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffPlan {
    /// First delay; it doubles from there.
    pub first: Duration,
    /// Longest delay.
    pub longest: Duration,
    /// Minimum delay after another process has replaced this node: two nodes with one name must not displace each
    /// other continuously.
    pub replaced: Duration,
    /// How long a connection must last for the delay to be reset.
    pub stable_after: Duration,
}

impl Default for BackoffPlan {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(3),
            longest: Duration::from_secs(300),
            replaced: Duration::from_secs(60),
            stable_after: Duration::from_secs(60),
        }
    }
}

/// Doubling delays, each shortened by up to a third at random, so that many nodes do not reconnect at once.
pub(crate) struct Backoff {
    plan: BackoffPlan,
    next: Duration,
    ids: Ids,
}

impl Backoff {
    pub(crate) fn new(plan: BackoffPlan, ids: Ids) -> Self {
        Self {
            next: plan.first,
            plan,
            ids,
        }
    }

    /// Records the end of a connection that lasted for `lasted`.
    pub(crate) fn connected(&mut self, lasted: Duration) {
        // A gateway that accepts and drops connections must not be dialed at the shortest delay forever.
        if lasted >= self.plan.stable_after {
            self.next = self.plan.first;
        }
    }

    pub(crate) fn wait(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(self.plan.longest);
        let [random] = self.ids.random::<1>();
        full - full.mul_f64(f64::from(random) / 255.0 / 3.0)
    }

    pub(crate) fn wait_after_replacement(&mut self) -> Duration {
        self.wait().max(self.plan.replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, SeededEntropy, Timestamp};
    use std::sync::Arc;

    fn backoff(plan: BackoffPlan) -> Backoff {
        let clock = Arc::new(ManualClock::at(Timestamp(0)));
        Backoff::new(plan, Ids::new(clock, Arc::new(SeededEntropy::new(3))))
    }

    #[test]
    fn waits_double_up_to_five_minutes_and_are_jittered() {
        let plan = BackoffPlan::default();
        let mut backoff = backoff(plan);
        let mut full = Duration::from_secs(3);
        let mut jittered = 0;
        for _ in 0..12 {
            let wait = backoff.wait();
            assert!(wait <= full && wait >= full.mul_f64(0.66), "{wait:?}");
            jittered += usize::from(wait < full);
            full = (full * 2).min(Duration::from_secs(300));
        }
        assert!(jittered > 6);
        backoff.connected(plan.stable_after / 2);
        assert!(backoff.wait() > Duration::from_secs(100), "it did not hold");
        backoff.connected(plan.stable_after);
        assert!(backoff.wait() <= plan.first);
    }

    #[test]
    fn a_node_that_was_replaced_waits_a_minute_at_least() {
        let mut backoff = backoff(BackoffPlan::default());
        assert_eq!(backoff.wait_after_replacement(), Duration::from_secs(60));
        assert!(backoff.wait() <= Duration::from_secs(6));
    }
}
