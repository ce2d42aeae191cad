//! Notifications that records changed, without details.

use tokio::sync::watch;

/// Notifies subscribers that something changed. Clones share their subscribers.
// A counter rather than a queue of events: a slow subscriber sees one change instead of a thousand and reads the records
// again, so nothing has to be buffered for it.
#[derive(Debug, Clone)]
pub struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changes {
    /// Notifies all subscribers.
    pub fn note(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Subscribes to changes from now on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_in_a_row_are_told_as_one_and_none_is_told_before_it_happens() {
        let changes = Changes::default();
        let mut receiver = changes.listen();
        assert!(!receiver.has_changed().unwrap());
        changes.clone().note();
        changes.note();
        receiver.changed().await.unwrap();
        assert!(!receiver.has_changed().unwrap());
    }
}
