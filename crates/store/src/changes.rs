//! News that something on record changed, without saying what.

use tokio::sync::watch;

/// Tells whoever listens that something changed. Changes in a row may be told as one, so that nobody
/// has to keep up. Clones tell the same.
#[derive(Debug, Clone)]
pub struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changes {
    /// Something changed.
    pub fn note(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Hears of what changes from now on.
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
        let mut heard = changes.listen();
        assert!(!heard.has_changed().unwrap());
        changes.clone().note();
        changes.note();
        heard.changed().await.unwrap();
        assert!(!heard.has_changed().unwrap());
    }
}
