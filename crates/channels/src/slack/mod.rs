//! Slack: Socket Mode or the Events API in, the Web API out.
//!
//! A message is identified by its channel and timestamp, because Slack reports one that mentions us
//! twice, as `message` and as `app_mention`, with different event ids. Slack has no idempotency key: a
//! message that may have arrived is reported as unknown.

mod calls;
mod emoji;
mod events;
mod files;
mod hook;
mod interaction;
mod listen;
mod mrkdwn;
mod names;
pub(crate) mod render;
mod send;
#[cfg(test)]
mod tests;

pub use emoji::emoji_name;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::{ChatRef, Clock, Ids, Secret};
use manyhands_guard::Egress;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::Api;
use crate::channel::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, EventSink, SendError, SendReceipt,
    WebhookOutcome, WebhookRefusal, WebhookRequest,
};
use crate::chunk;
use crate::message::{Inbound, Media, OutgoingMessage};
use crate::recent::RecentMap;

use emoji::Emoji;
use names::NameCache;

/// URL of Slack's API.
pub const API: &str = "https://slack.com/api";

/// Maximum text length of a message in UTF-16 units: Slack's recommendation, and its limit for
/// edits.
pub const TEXT: usize = 4_000;
/// Maximum direct chats remembered.
const DIRECT: usize = 1_024;

/// A Slack account: an app installed in a workspace.
#[derive(Debug, Clone)]
pub struct SlackAccount {
    /// Its name in the settings.
    pub name: String,
    /// The bot token (`xoxb-…`).
    pub token: Secret,
    /// How events are delivered.
    pub mode: EventDelivery,
    /// URL of the API: [`API`].
    pub api: Url,
}

/// How Slack delivers events.
#[derive(Debug, Clone)]
pub enum EventDelivery {
    /// Over a WebSocket that we open.
    Socket {
        /// The app token (`xapp-…`), which opens it.
        app_token: Secret,
    },
    /// By requests to our webhook.
    Events {
        /// The secret with which Slack signs them.
        signing_secret: Secret,
    },
}

/// The Slack channel of one account.
pub struct Slack {
    account: SlackAccount,
    api: Api,
    abilities: ChannelCapabilities,
    clock: Arc<dyn Clock>,
    own: RwLock<Own>,
    names: NameCache,
    emoji: Emoji,
    direct: RecentMap<String>,
}

/// Our identity in the workspace, as far as known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Own {
    user: Option<String>,
    name: Option<String>,
    bot: Option<String>,
}

impl Slack {
    /// Creates the channel of an account.
    pub fn new(
        account: SlackAccount,
        egress: Arc<Egress>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            own: RwLock::default(),
            names: NameCache::default(),
            emoji: Emoji::default(),
            direct: RecentMap::new(DIRECT),
            account,
            clock,
        }
    }

    fn own(&self) -> Own {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        own.clone()
    }
}

fn abilities() -> ChannelCapabilities {
    ChannelCapabilities {
        edits: true,
        typing: false,
        reactions: true,
        buttons: true,
        idempotent: false,
        file_bytes: 1_000_000_000,
        caption: TEXT,
        per_chat: Duration::from_secs(1),
        per_group: Duration::from_secs(1),
        overall: Duration::from_millis(200),
        per_edit: Duration::from_millis(1_500),
    }
}

/// Length of a text for Slack, never underestimated.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[async_trait]
impl Channel for Slack {
    fn name(&self) -> &str {
        "slack"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        self.auth_test().await
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        match &self.account.mode {
            EventDelivery::Socket { app_token } => {
                self.listen_on_socket(app_token, sink, stop).await
            }
            EventDelivery::Events { .. } => self.await_hooks(sink, stop).await,
        }
    }

    fn hook(&self, hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        self.read_hook(hook)
    }

    async fn send(
        &self,
        _key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        self.say(message, file).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        chunk::pieces(text, TEXT, &|piece| units(&render::mrkdwn(piece)))
    }

    async fn typing(&self, _place: &ChatRef) -> Result<(), SendError> {
        Err(SendError::Never(
            "Slack has no typing indicator for apps".to_owned(),
        ))
    }

    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        self.whisper(inbound, word).await
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.download(media, most).await
    }

    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        self.all_emoji().await.map(Some)
    }
}
