//! Retention of old messages, and metrics.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use manyhands_channels::ConnectionStatus;
use manyhands_core::Timestamp;
use manyhands_path::Metrics;
use manyhands_store::StoreError;

use super::{Chats, Status};

/// How many batches of a thousand old messages are removed at once; the rest follows next time.
const ROUNDS: usize = 20;

impl Chats {
    /// Removes old settled messages and unanswered pairing requests, and returns how many. Bounded,
    /// in batches, so that others get at the database in between.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        let days = i64::from(self.0.settings.current().channels.kept_days);
        let before = Timestamp(self.0.clock.now().0 - days * 86_400_000);
        let records = &self.0.records;
        let mut gone = records.sweep_senders(before).await?;
        for _ in 0..ROUNDS {
            let now = records.sweep_inbox(before).await? + records.sweep_outbox(before).await?;
            gone += now;
            if now == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(gone)
    }

    /// Updates the metrics of queues and accounts.
    pub async fn measure(&self, metrics: &Metrics) {
        let records = &self.0.records;
        if let (Ok(heard), Ok(said)) = (records.backlog().await, records.undelivered().await) {
            let counts = [
                ("inbox_messages", "waiting", heard.waiting),
                ("inbox_messages", "failed", heard.failed),
                ("outbox_messages", "waiting", said.waiting),
                ("outbox_messages", "failed", said.failed),
                ("outbox_messages", "unknown", said.unknown),
            ];
            for (name, state, count) in counts {
                #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
                metrics
                    .gauge_of(name, &[("state", state)])
                    .set(count as f64);
            }
        }
        let up = |one: Status| {
            let up = one.standing == Some(ConnectionStatus::Connected);
            ((one.channel, one.account), up)
        };
        let now: BTreeMap<_, _> = self.status().await.into_iter().map(up).collect();
        let measured = self.0.measured.lock();
        let mut measured = measured.unwrap_or_else(PoisonError::into_inner);
        measured.extend(now.keys().cloned());
        for key in measured.iter() {
            // A removed account is reported as disconnected, or its last value would stay.
            let up = now.get(key).copied().unwrap_or_default();
            let labels = [("channel", key.0.as_str()), ("account", key.1.as_str())];
            let gauge = metrics.gauge_of("channel_connected", &labels);
            gauge.set(if up { 1.0 } else { 0.0 });
        }
    }
}
