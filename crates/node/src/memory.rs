//! Which calls were taken already.

use std::collections::{HashSet, VecDeque};

/// How many calls are remembered.
const REMEMBERED: usize = 4_096;

/// Which calls were taken already. Outlives connections, so that no call runs twice.
#[derive(Default)]
pub(crate) struct Memory {
    order: VecDeque<String>,
    taken: HashSet<String>,
}

impl Memory {
    /// Whether the call is new; from here on it is not.
    pub(crate) fn take(&mut self, call: &str) -> bool {
        if !self.taken.insert(call.to_owned()) {
            return false;
        }
        self.order.push_back(call.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.taken.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_taken_once_and_memory_is_bounded() {
        let mut memory = Memory::default();
        assert!(memory.take("a"));
        assert!(!memory.take("a"));
        for number in 0..REMEMBERED * 2 {
            assert!(memory.take(&number.to_string()));
        }
        assert_eq!(
            (memory.order.len(), memory.taken.len()),
            (REMEMBERED, REMEMBERED)
        );
        assert!(!memory.take(&(REMEMBERED * 2 - 1).to_string()));
        assert!(
            !memory.take(&REMEMBERED.to_string()),
            "the oldest that is kept"
        );
    }
}
