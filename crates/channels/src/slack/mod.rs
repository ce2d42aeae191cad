//! Slack: Socket Mode or the Events API in, the Web API out.
//!
//! A message is known by its channel and its time stamp, because Slack tells of one that mentions
//! us twice, as `message` and as `app_mention`, each with an event id of its own. Slack has no key
//! by which a message sent twice arrives once: what may have arrived is told as unknown.

mod calls;
mod emoji;
mod events;
mod files;
mod hook;
mod listen;
mod mrkdwn;
mod names;
mod pressed;
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
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
};
use crate::chunk;
use crate::recent::Recent;
use crate::words::{Inbound, Media, Outgoing};

use emoji::Emoji;
use names::Names;

/// Where Slack's interface is.
pub const API: &str = "https://slack.com/api";

/// The longest text of one message, in UTF-16 units: what Slack advises, and the most that it
/// lets a message be changed to.
pub const TEXT: usize = 4_000;
/// How many people we remember the direct chat of.
const DIRECT: usize = 1_024;

/// One account of Slack: an app installed in a workspace.
#[derive(Debug, Clone)]
pub struct Account {
    /// What it is called here.
    pub name: String,
    /// The token of the bot (`xoxb-…`).
    pub token: Secret,
    /// How Slack tells us what happens.
    pub mode: Mode,
    /// Where the interface is: [`API`].
    pub api: Url,
}

/// How Slack tells us what happens.
#[derive(Debug, Clone)]
pub enum Mode {
    /// Over a socket that we open.
    Socket {
        /// The token of the app (`xapp-…`), which opens it.
        app_token: Secret,
    },
    /// By requests to our webhook.
    Events {
        /// With which Slack signs them.
        signing_secret: Secret,
    },
}

/// Slack, spoken for one account.
pub struct Slack {
    account: Account,
    api: Api,
    abilities: Abilities,
    clock: Arc<dyn Clock>,
    own: RwLock<Own>,
    names: Names,
    emoji: Emoji,
    direct: Recent<String>,
}

/// Who we are in the workspace, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Own {
    user: Option<String>,
    name: Option<String>,
    bot: Option<String>,
}

impl Slack {
    /// The channel of an account.
    pub fn new(account: Account, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            own: RwLock::default(),
            names: Names::default(),
            emoji: Emoji::default(),
            direct: Recent::new(DIRECT),
            account,
            clock,
        }
    }

    fn own(&self) -> Own {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        own.clone()
    }
}

fn abilities() -> Abilities {
    Abilities {
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

/// How long a text is to Slack, counted so that it is never more than we say.
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

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        self.auth_test().await
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        match &self.account.mode {
            Mode::Socket { app_token } => self.listen_on_socket(app_token, ear, stop).await,
            Mode::Events { .. } => self.await_hooks(ear, stop).await,
        }
    }

    fn hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        self.read_hook(hook)
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
        chunk::pieces(text, TEXT, &|piece| units(&render::mrkdwn(piece)))
    }

    async fn typing(&self, _place: &ChatRef) -> Result<(), SendError> {
        Err(SendError::Never(
            "Slack does not show that an app is writing".to_owned(),
        ))
    }

    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        self.whisper(inbound, word).await
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        self.download(media, most).await
    }

    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        self.all_emoji().await.map(Some)
    }
}
