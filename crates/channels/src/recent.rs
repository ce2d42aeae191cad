//! A bounded map of recent values.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// A map that evicts its oldest entries.
pub(crate) struct RecentMap<V> {
    most: usize,
    inner: Mutex<Inner<V>>,
}

struct Inner<V> {
    by_name: HashMap<String, V>,
    order: VecDeque<String>,
}

impl<V: Clone> RecentMap<V> {
    /// A map of at most `most` entries.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::new(Inner {
                by_name: HashMap::new(),
                order: VecDeque::new(),
            }),
        }
    }

    /// Stores `value` as `name`, replacing an earlier one.
    pub(crate) fn put(&self, name: &str, value: V) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.by_name.insert(name.to_owned(), value).is_some() {
            return;
        }
        inner.order.push_back(name.to_owned());
        if inner.order.len() > self.most
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.by_name.remove(&oldest);
        }
    }

    /// The value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<V> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.by_name.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let recent = RecentMap::new(2);
        recent.put("a", 1);
        recent.put("b", 2);
        recent.put("a", 3);
        assert_eq!((recent.get("a"), recent.get("b")), (Some(3), Some(2)));
        recent.put("c", 4);
        assert_eq!(recent.get("a"), None);
        assert_eq!((recent.get("b"), recent.get("c")), (Some(2), Some(4)));
    }
}
