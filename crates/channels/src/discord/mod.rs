//! Discord: the gateway's socket in, the REST interface out.
//!
//! What is heard is kept before the sequence moves on with which a broken connection is resumed, so
//! that Discord tells again what was not kept. A message carries a nonce made from its key, and
//! Discord takes the same nonce once within some minutes. How fast one may go is read from the
//! headers of every answer.

mod calls;
mod events;
mod files;
mod gateway;
mod limits;
pub(crate) mod render;
mod rooms;
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
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
};
use crate::chunk;
use crate::recent::Recent;
use crate::short::units;
use crate::words::{Inbound, Media, Outgoing};

use limits::Limits;
use rooms::Rooms;

/// Where Discord's interface is.
pub const API: &str = "https://discord.com/api/v10";
/// Where files of messages are.
pub const FILES: [&str; 2] = ["https://cdn.discordapp.com", "https://media.discordapp.net"];
/// The longest text of one message. Discord counts characters; we count UTF-16 units, which are
/// never fewer.
pub const TEXT: usize = 2_000;
/// The largest file that a bot may always send.
const FILE: u64 = 10 * 1024 * 1024;
/// How many people we remember the direct chat of.
const DIRECT: usize = 1_024;

/// One account of Discord: a bot.
#[derive(Debug, Clone)]
pub struct Account {
    /// What it is called here.
    pub name: String,
    /// The token of the bot.
    pub token: Secret,
    /// Where the interface is: [`API`].
    pub api: Url,
    /// Where files of messages may be fetched from: [`FILES`].
    pub files: Vec<Url>,
}

/// Discord, spoken for one account.
pub struct Discord {
    account: Account,
    api: Api,
    abilities: Abilities,
    clock: Arc<dyn Clock>,
    me: RwLock<Option<Me>>,
    limits: Limits,
    rooms: Rooms,
    direct: Recent<String>,
}

impl Discord {
    /// The channel of an account.
    pub fn new(account: Account, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            clock,
            me: RwLock::default(),
            limits: Limits::default(),
            rooms: Rooms::default(),
            direct: Recent::new(DIRECT),
            account,
        }
    }

    /// Our own id, once it is known.
    fn own(&self) -> Option<Me> {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.clone()
    }

    fn is_me(&self, id: &str) -> bool {
        let me = self.me.read().unwrap_or_else(PoisonError::into_inner);
        me.as_ref().is_some_and(|me| me.id == id)
    }

    fn learn_me(&self, me: Me) {
        *self.me.write().unwrap_or_else(PoisonError::into_inner) = Some(me);
    }
}

fn abilities() -> Abilities {
    Abilities {
        edits: true,
        typing: true,
        reactions: true,
        buttons: true,
        idempotent: true,
        file_bytes: FILE,
        caption: TEXT,
        // How fast one may go is told with every answer.
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

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        self.users_me().await
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        self.listen_on_gateway(ear, stop).await
    }

    fn hook(&self, _hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        Err(HookRefusal {
            status: StatusCode::NOT_FOUND,
            why: "Discord tells us what happens over its gateway, not by webhooks".to_owned(),
        })
    }

    async fn send(
        &self,
        key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
        self.say(key, message, file).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        chunk::pieces(text, TEXT, &|piece| units(&render::discord(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        self.show_typing(place).await
    }

    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        self.follow_up(inbound, word).await
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.download(media, most).await
    }
}
