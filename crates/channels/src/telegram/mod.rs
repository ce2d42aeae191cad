//! Telegram: the Bot API, by asking for updates or by a webhook.
//!
//! Updates are asked for with the number of the next one only after those before are kept. Texts go
//! out as HTML, and without marks where Telegram cannot read those. Telegram knows no key under
//! which something arrives once, so a message whose answer was lost is unknown; changes and
//! reactions can be made again.

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
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
};
use crate::chunk;
use crate::recent::Recent;
use crate::short::shortened;
use crate::words::{Heard, Inbound, Media, Outgoing, Say};

use call::{Bot, Twice};
use entities::Us;
use listen::Pace;
use read::Reader;

pub use reactions::{REACTIONS, reaction};

/// Where the Bot API is.
pub const API: &str = "https://api.telegram.org";

/// How many groups that became others are known.
const MOVES: usize = 1_024;
/// How many albums that call us are known.
const CALLING: usize = 256;
/// The longest word to whoever pressed a button.
const WORD: usize = 200;

/// One bot.
#[derive(Debug, Clone)]
pub struct Account {
    /// What it is called here.
    pub name: String,
    /// The token that BotFather gave.
    pub token: Secret,
    /// Where the Bot API is: [`API`].
    pub api: Url,
    /// How updates come.
    pub mode: Mode,
}

/// How updates come.
#[derive(Debug, Clone)]
pub enum Mode {
    /// Telegram is asked for them.
    Poll,
    /// Telegram brings them.
    Webhook {
        /// The address at which Telegram reaches us.
        url: Url,
        /// What proves that a request is Telegram's: 1 to 256 letters, digits, `_` or `-`.
        secret: Secret,
    },
}

/// Telegram, spoken for one bot.
pub struct Telegram {
    account: Account,
    bot: Bot,
    clock: Arc<dyn Clock>,
    ids: Ids,
    abilities: Abilities,
    pace: Pace,
    me: RwLock<Option<Me>>,
    /// Groups that became others.
    moves: Recent<i64>,
    /// Albums whose words call us.
    calling: Recent<()>,
}

impl Telegram {
    /// The channel of an account.
    pub fn new(account: Account, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        let api = Api::new(egress, account.api.clone(), ids.clone());
        Self {
            bot: Bot::new(api, account.token.clone()),
            account,
            clock,
            ids,
            abilities: abilities(),
            pace: Pace::default(),
            me: RwLock::new(None),
            moves: Recent::new(MOVES),
            calling: Recent::new(CALLING),
        }
    }

    /// Who we are, as far as it was asked.
    fn known(&self) -> Option<Me> {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.clone()
    }

    fn know(&self, me: Me) {
        let mut known = self.me.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(me);
    }

    fn reader<'a>(&'a self, me: &'a Me, now: i64) -> Reader<'a> {
        Reader {
            account: &self.account.name,
            us: Us {
                id: self.bot.id().unwrap_or_default(),
                handle: me.handle.as_deref(),
            },
            now,
        }
    }
}

fn abilities() -> Abilities {
    Abilities {
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

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        self.ask_me().await
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        self.hear(ear, stop).await
    }

    fn hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        self.hooked(hook)
    }

    async fn send(
        &self,
        _key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
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
        shown.map(drop).map_err(|error| error.sent(Twice::Same))
    }

    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        let Heard::Button {
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
        told.map(drop).map_err(|error| error.sent(Twice::Same))
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.load(media, most).await
    }

    fn repeatable(&self, message: &Outgoing) -> bool {
        match &message.say {
            Say::Text { edits, .. } => edits.is_some(),
            Say::File { .. } => false,
            Say::React { .. } => true,
        }
    }

    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        Ok(Some(REACTIONS.map(str::to_owned).to_vec()))
    }
}
