//! Stores incoming events before the platform is acknowledged, so that a crash loses none.

use async_trait::async_trait;
use manyhands_channels::{ChannelError, ConnectionStatus, EventSink, Inbound};
use manyhands_core::ToolError;
use manyhands_store::NewInbound;

use super::Chats;

/// The largest event stored, in bytes.
const MAX_EVENT: usize = 1024 * 1024;

/// The event sink of one account.
pub(super) struct AccountSink {
    pub(super) chats: Chats,
    pub(super) channel: String,
    pub(super) account: String,
}

impl Chats {
    /// Stores events of an account. They are on disk when this returns.
    pub async fn keep(
        &self,
        channel: &str,
        account: &str,
        events: Vec<Inbound>,
    ) -> Result<(), ToolError> {
        let mut rows = Vec::with_capacity(events.len());
        for mut event in events {
            // Never trust the platform's own idea of channel and account: they decide rights and
            // replies.
            channel.clone_into(&mut event.place.channel);
            account.clone_into(&mut event.place.account);
            if event.place.sender_handle.is_none() {
                event.place.sender_handle = event.handle.clone();
            }
            let body =
                serde_json::to_string(&event).map_err(|e| ToolError::internal(e.to_string()))?;
            if body.len() > MAX_EVENT {
                tracing::warn!(
                    event = "inbound_event_too_large",
                    channel,
                    account,
                    platform_event = event.event,
                    "dropped an incoming event: too large to store"
                );
                continue;
            }
            rows.push(NewInbound {
                channel: channel.to_owned(),
                account: account.to_owned(),
                event: event.event,
                lane: event.place.lane(),
                body,
            });
        }
        if rows.is_empty() {
            return Ok(());
        }
        let kept = self.0.records.receive(rows).await;
        let new = kept?;
        if new > 0 {
            self.0.heard.notify_one();
        }
        Ok(())
    }
}

#[async_trait]
impl EventSink for AccountSink {
    async fn receive(&self, events: Vec<Inbound>) -> Result<(), ChannelError> {
        let kept = self.chats.keep(&self.channel, &self.account, events).await;
        kept.map_err(|e| ChannelError::NotStored(e.message))
    }

    async fn load_value(&self, name: &str) -> Result<Option<String>, ChannelError> {
        let records = &self.chats.0.records;
        let noted = records
            .account_value(&self.channel, &self.account, name)
            .await;
        noted.map_err(|e| ChannelError::NotStored(e.to_string()))
    }

    async fn store_value(&self, name: &str, value: &str) -> Result<(), ChannelError> {
        let records = &self.chats.0.records;
        let noted = records
            .set_account_value(&self.channel, &self.account, name, value)
            .await;
        noted.map_err(|e| ChannelError::NotStored(e.to_string()))
    }

    fn set_status(&self, standing: ConnectionStatus) {
        self.chats.stands(&self.channel, &self.account, standing);
    }
}
