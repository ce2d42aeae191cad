//! Telegram: the Bot API, by long polling or webhook.
//!
//! The next updates are requested only after the previous ones are stored. Texts are sent as HTML, and
//! without formatting if Telegram rejects it. Telegram has no idempotency key, so a message whose
//! response was lost is unknown; edits and reactions can be repeated.

mod albums;
mod call;
mod entities;
mod file;
mod hook;
pub(crate) mod html;
mod listen;
mod reactions;
mod read;
mod send;
#[cfg(test)]
mod tests;
mod update;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::{ChatRef, Clock, Ids, Secret};
use manyhands_guard::Egress;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::Api;
use crate::channel::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, EventSink, SendError, SendReceipt,
    WebhookOutcome, WebhookRefusal, WebhookRequest,
};
use crate::chunk;
use crate::message::{Inbound, InboundEvent, Media, OutgoingContent, OutgoingMessage};
use crate::recent::RecentMap;
use crate::shorten::shortened;

use call::{Bot, Idempotency};
use entities::BotRef;
use listen::Pace;
use read::UpdateReader;

pub use reactions::{REACTIONS, reaction};

/// URL of the Bot API.
pub const API: &str = "https://api.telegram.org";

/// Maximum migrated groups remembered.
const MOVES: usize = 1_024;
/// Maximum albums that address us remembered.
const CALLING: usize = 256;
/// Maximum length of a note to the person who pressed a button.
const WORD: usize = 200;

/// A Telegram bot.
#[derive(Debug, Clone)]
pub struct TelegramAccount {
    /// Its name in the settings.
    pub name: String,
    /// The token from BotFather.
    pub token: Secret,
    /// URL of the Bot API: [`API`].
    pub api: Url,
    /// How updates are delivered.
    pub mode: UpdateDelivery,
}

/// How updates are delivered.
#[derive(Debug, Clone)]
pub enum UpdateDelivery {
    /// By long polling.
    Poll,
    /// By webhook.
    Webhook {
        /// Our public webhook URL.
        url: Url,
        /// Proves that a request is Telegram's: 1 to 256 letters, digits, `_` or `-`.
        secret: Secret,
    },
}

/// The Telegram channel of one bot.
pub struct Telegram {
    account: TelegramAccount,
    bot: Bot,
    clock: Arc<dyn Clock>,
    ids: Ids,
    abilities: ChannelCapabilities,
    pace: Pace,
    me: RwLock<Option<BotIdentity>>,
    /// Groups that were migrated to another id.
    moves: RecentMap<i64>,
    /// Albums whose caption addresses us.
    calling: RecentMap<()>,
}

impl Telegram {
    /// Creates the channel of an account.
    pub fn new(
        account: TelegramAccount,
        egress: Arc<Egress>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Self {
        let api = Api::new(egress, account.api.clone(), ids.clone());
        Self {
            bot: Bot::new(api, account.token.clone()),
            account,
            clock,
            ids,
            abilities: abilities(),
            pace: Pace::default(),
            me: RwLock::new(None),
            moves: RecentMap::new(MOVES),
            calling: RecentMap::new(CALLING),
        }
    }

    /// Our identity, if known.
    fn known(&self) -> Option<BotIdentity> {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.clone()
    }

    fn know(&self, me: BotIdentity) {
        let mut known = self.me.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(me);
    }

    fn reader<'a>(&'a self, me: &'a BotIdentity, now: i64) -> UpdateReader<'a> {
        UpdateReader {
            account: &self.account.name,
            us: BotRef {
                id: self.bot.id().unwrap_or_default(),
                handle: me.handle.as_deref(),
            },
            now,
        }
    }
}

fn abilities() -> ChannelCapabilities {
    ChannelCapabilities {
        edits: true,
        typing: true,
        reactions: true,
        buttons: true,
        idempotent: false,
        file_bytes: send::FILE as u64,
        caption: html::CAPTION,
        per_chat: Duration::from_secs(1),
        per_group: Duration::from_secs(3),
        overall: Duration::from_millis(34),
        per_edit: Duration::from_secs(1),
    }
}

#[async_trait]
impl Channel for Telegram {
    fn name(&self) -> &str {
        "telegram"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        self.ask_me().await
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        self.receive(sink, stop).await
    }

    fn hook(&self, hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        self.hooked(hook)
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
        chunk::pieces(text, html::TEXT, &html::size)
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        let mut fields = Map::new();
        fields.insert("action".to_owned(), json!("typing"));
        if let Some(thread) = &place.thread {
            let thread = send::number(thread, "thread")?;
            fields.insert("message_thread_id".to_owned(), thread);
        }
        let shown = self.moved("sendChatAction", place, fields, None).await;
        shown
            .map(drop)
            .map_err(|error| error.sent(Idempotency::Same))
    }

    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        let InboundEvent::Button {
            callback: Some(callback),
            ..
        } = &inbound.what
        else {
            return Ok(());
        };
        let mut answer = json!({"callback_query_id": callback});
        if !word.trim().is_empty() {
            answer["text"] = json!(shortened(word, WORD));
        }
        let told = self.bot.call("answerCallbackQuery", &answer).await;
        told.map(drop)
            .map_err(|error| error.sent(Idempotency::Same))
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.load(media, most).await
    }

    fn repeatable(&self, message: &OutgoingMessage) -> bool {
        match &message.content {
            OutgoingContent::Text { edits, .. } => edits.is_some(),
            OutgoingContent::File { .. } => false,
            OutgoingContent::React { .. } => true,
        }
    }

    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        Ok(Some(REACTIONS.map(str::to_owned).to_vec()))
    }
}
