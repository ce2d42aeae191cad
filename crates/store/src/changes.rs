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
    pub fn notify(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn consecutive_changes_are_one_notification_and_none_comes_early() {
        let changes = Changes::default();
        let mut receiver = changes.subscribe();
        assert!(!receiver.has_changed().unwrap());
        changes.clone().notify();
        changes.notify();
        receiver.changed().await.unwrap();
        assert!(!receiver.has_changed().unwrap());
    }
}
