//! Remembers received calls.

use std::collections::{HashSet, VecDeque};

/// Number of remembered calls.
const REMEMBERED: usize = 4_096;

/// Ids of received calls. Outlives connections, so that no call runs twice.
#[derive(Default)]
pub(crate) struct SeenCalls {
    order: VecDeque<String>,
    seen: HashSet<String>,
}

impl SeenCalls {
    /// Records a call; returns whether it is new.
    pub(crate) fn insert_new(&mut self, call: &str) -> bool {
        if !self.seen.insert(call.to_owned()) {
            return false;
        }
        self.order.push_back(call.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_is_accepted_once_and_memory_is_bounded() {
        let mut seen_calls = SeenCalls::default();
        assert!(seen_calls.insert_new("a"));
        assert!(!seen_calls.insert_new("a"));
        for number in 0..REMEMBERED * 2 {
            assert!(seen_calls.insert_new(&number.to_string()));
        }
        assert_eq!(
            (seen_calls.order.len(), seen_calls.seen.len()),
            (REMEMBERED, REMEMBERED)
        );
        assert!(!seen_calls.insert_new(&(REMEMBERED * 2 - 1).to_string()));
        assert!(
            !seen_calls.insert_new(&REMEMBERED.to_string()),
            "the oldest that is kept"
        );
    }
}
