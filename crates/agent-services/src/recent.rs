//! Recently sent messages, so that a repeated call does not send a message twice.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use manyhands_core::Timestamp;

/// How long the same text to the same chat counts as one message.
const HOUR_MS: i64 = 3_600_000;
/// The most messages remembered.
const MOST: usize = 1_024;

/// Messages of the last hour, by text and recipient.
#[derive(Debug, Default)]
pub struct RecentMessages(Mutex<HashMap<String, Round>>);

/// When a message was first sent, and how often that failed since.
#[derive(Debug, Clone, Copy)]
struct Round {
    at: Timestamp,
    failures: u32,
}

impl RecentMessages {
    /// The idempotency key of a message, and whether it was sent within the hour. After a restart,
    /// the clock hour replaces the forgotten time.
    pub fn key(&self, said: &str, now: Timestamp) -> (String, bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, round| now.0.saturating_sub(round.at.0).abs() < HOUR_MS);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, round)| round.at)
        {
            let oldest = oldest.0.clone();
            all.remove(&oldest);
        }
        let repeated = all.contains_key(said);
        let (at, failures) = (now, 0);
        let round = all.entry(said.to_owned()).or_insert(Round { at, failures });
        let hour = round.at.0.div_euclid(HOUR_MS);
        let again = repeated && round.failures == 0;
        (format!("{said}:{hour}:{}", round.failures), again)
    }

    /// Records that sending failed: the next attempt gets a new key.
    pub fn failed(&self, said: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(round) = all.get_mut(said) {
            round.failures = round.failures.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_message_is_sent_once_an_hour_unless_it_failed() {
        let recent = RecentMessages::default();
        let at = |minutes: i64| Timestamp(1_770_800_000_000 + minutes * 60_000);
        let (first, again) = recent.key("a", at(0));
        assert!(!again);
        assert_eq!(recent.key("a", at(59)), (first.clone(), true));
        assert_ne!(recent.key("b", at(59)).0, first);
        recent.failed("a");
        let (other, again) = recent.key("a", at(59));
        assert!(other != first && !again);
        let (later, again) = recent.key("a", at(60));
        assert!(later != first && later != other && !again);
        // As after a restart: the hour of the clock.
        assert_eq!(RecentMessages::default().key("a", at(1)).0, first);
    }

    #[test]
    fn the_number_of_remembered_messages_is_bounded() {
        let recent = RecentMessages::default();
        for n in 0..(MOST as i64 + 10) {
            recent.key(&n.to_string(), Timestamp(n));
        }
        assert_eq!(recent.0.lock().unwrap().len(), MOST);
    }
}
