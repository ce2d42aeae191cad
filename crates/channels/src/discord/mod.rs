//! Discord: gateway WebSocket in, REST API out.
//!
//! Events are stored before the sequence advances with which a broken connection is resumed, so
//! Discord replays what was not stored. A message carries a nonce derived from its key, and Discord
//! deduplicates nonces within some minutes. Rate limits are read from the headers of every response.

mod calls;
mod directory;
mod events;
mod files;
mod gateway;
mod limits;
pub(crate) mod render;
mod send;
mod session;
#[cfg(test)]
mod tests;
mod text;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::{ChatRef, Clock, Ids, Secret};
use manyhands_guard::{Egress, StatusCode};
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
use crate::shorten::units;

use directory::ChannelDirectory;
use limits::RateLimits;

/// URL of Discord's API.
pub const API: &str = "https://discord.com/api/v10";
/// Hosts of attachments.
pub const FILES: [&str; 2] = ["https://cdn.discordapp.com", "https://media.discordapp.net"];
/// Maximum text length of a message. Discord counts characters; we count UTF-16 units, which are
/// never fewer.
pub const TEXT: usize = 2_000;
/// Maximum file size that a bot may always send.
const FILE: u64 = 10 * 1024 * 1024;
/// Maximum direct chats remembered.
const DIRECT: usize = 1_024;

/// A Discord bot account.
#[derive(Debug, Clone)]
pub struct DiscordAccount {
    /// Its name in the settings.
    pub name: String,
    /// The bot token.
    pub token: Secret,
    /// URL of the API: [`API`].
    pub api: Url,
    /// Hosts from which attachments may be downloaded: [`FILES`].
    pub files: Vec<Url>,
}

/// The Discord channel of one account.
pub struct Discord {
    account: DiscordAccount,
    api: Api,
    abilities: ChannelCapabilities,
    clock: Arc<dyn Clock>,
    me: RwLock<Option<BotIdentity>>,
    limits: RateLimits,
    rooms: ChannelDirectory,
    direct: RecentMap<String>,
}

impl Discord {
    /// Creates the channel of an account.
    pub fn new(
        account: DiscordAccount,
        egress: Arc<Egress>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            clock,
            me: RwLock::default(),
            limits: RateLimits::default(),
            rooms: ChannelDirectory::default(),
            direct: RecentMap::new(DIRECT),
            account,
        }
    }

    /// Our own identity, once known.
    fn own(&self) -> Option<BotIdentity> {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.clone()
    }

    fn is_me(&self, id: &str) -> bool {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.as_ref().is_some_and(|me| me.id == id)
    }

    fn learn_me(&self, me: BotIdentity) {
        *self.me.write().unwrap_or_else(PoisonError::into_inner) = Some(me);
    }
}

fn abilities() -> ChannelCapabilities {
    ChannelCapabilities {
        edits: true,
        typing: true,
        reactions: true,
        buttons: true,
        idempotent: true,
        file_bytes: FILE,
        caption: TEXT,
        // Discord reports its limits with every response, so no fixed pace is needed.
        per_chat: Duration::ZERO,
        per_group: Duration::ZERO,
        overall: Duration::ZERO,
        per_edit: Duration::from_millis(1_500),
    }
}

#[async_trait]
impl Channel for Discord {
    fn name(&self) -> &str {
        "discord"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        self.users_me().await
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        self.listen_on_gateway(sink, stop).await
    }

    fn hook(&self, _hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        Err(WebhookRefusal {
            status: StatusCode::NOT_FOUND,
            why: "Discord delivers events over its gateway, not by webhook".to_owned(),
        })
    }

    async fn send(
        &self,
        key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        self.say(key, message, file).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        chunk::pieces(text, TEXT, &|piece| units(&render::discord(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        self.show_typing(place).await
    }

    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        self.follow_up(inbound, word).await
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.download(media, most).await
    }
}
