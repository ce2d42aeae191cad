//! Pending timers in order.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Due times of timers. Their callbacks are in the prelude.
#[derive(Debug, Default)]
pub(super) struct Timers {
    order: BTreeSet<(Duration, u64, u32)>,
    by_id: HashMap<u32, (Duration, u64)>,
    set: u64,
}

impl Timers {
    /// Sets timer `id`; timers due at the same time fire in the order they were set.
    pub(super) fn set(&mut self, id: u32, due: Duration) {
        self.clear(id);
        // A counter breaks ties, so that timers of the same millisecond keep their order.
        self.set += 1;
        self.order.insert((due, self.set, id));
        self.by_id.insert(id, (due, self.set));
    }

    pub(super) fn clear(&mut self, id: u32) {
        if let Some((due, turn)) = self.by_id.remove(&id) {
            self.order.remove(&(due, turn, id));
        }
    }

    /// Takes the next timer due at `now`.
    pub(super) fn due(&mut self, now: Duration) -> Option<u32> {
        let (due, _, id) = *self.order.first()?;
        if due > now {
            return None;
        }
        self.clear(id);
        Some(id)
    }

    /// Due time of the next timer.
    pub(super) fn next(&self) -> Option<Duration> {
        self.order.first().map(|(due, ..)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_in_order_and_only_when_due() {
        let ms = Duration::from_millis;
        let mut timers = Timers::default();
        for (id, due) in [(1, 20), (2, 10), (3, 10), (4, 5)] {
            timers.set(id, ms(due));
        }
        timers.clear(4);
        timers.clear(99);
        assert_eq!(timers.next(), Some(ms(10)));
        assert_eq!(timers.due(ms(9)), None);
        assert_eq!(timers.due(ms(10)), Some(2));
        assert_eq!(timers.due(ms(10)), Some(3));
        assert_eq!(timers.due(ms(10)), None);
        timers.set(1, ms(5));
        assert_eq!(timers.due(ms(10)), Some(1));
        assert_eq!(timers.next(), None);
    }
}
