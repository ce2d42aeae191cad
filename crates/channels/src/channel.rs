//! What a platform can do, and what it says of what was sent.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::ChatRef;
use manyhands_guard::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::words::{Inbound, Media, Outgoing};

/// One platform, spoken for one account.
#[async_trait]
pub trait Channel: Send + Sync {
    /// The platform, such as `telegram`.
    fn name(&self) -> &str;
    /// Which account of ours.
    fn account(&self) -> &str;
    /// What it can do.
    fn abilities(&self) -> &Abilities;
    /// Who we are there. Fails when the credentials are not good.
    async fn me(&self) -> Result<Me, SendError>;
    /// Hears until it is stopped, and comes back by itself when a connection breaks. What is heard
    /// is acknowledged to the platform only after `ear` has kept it. A channel that is only told
    /// by webhooks sees to it that it is, and then waits.
    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError>;
    /// Verifies a request of the platform by its raw bytes, and reads what it tells.
    fn hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal>;
    /// Sends. `key` is the same whenever the same thing is sent again; `file` are the bytes of a
    /// file that is sent.
    async fn send(
        &self,
        key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError>;
    /// The pieces of a text, each fit for one message: no character and no fence of code is torn.
    fn pieces(&self, text: &str) -> Vec<String>;
    /// Shows that something is being written, for some seconds.
    async fn typing(&self, place: &ChatRef) -> Result<(), SendError>;
    /// Tells the platform that a pressed button was heard, with a word to whoever pressed it.
    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError>;
    /// The bytes of a file, at most `most` of them.
    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError>;
    /// Whether this can be sent again with the same key and still arrives once.
    fn repeatable(&self, _message: &Outgoing) -> bool {
        self.abilities().idempotent
    }
    /// What the sender that `place` names is called, where events do not tell it and it has to be
    /// asked for.
    async fn called(&self, _place: &ChatRef) -> Result<Option<String>, SendError> {
        Ok(None)
    }
    /// The names of the emoji with which one can react, where that is a closed set.
    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        Ok(None)
    }
}

/// What a platform can do.
#[derive(Debug, Clone)]
pub struct Abilities {
    /// Whether a message of ours can be changed, so that an answer can be seen coming.
    pub edits: bool,
    /// Whether it shows that something is being written.
    pub typing: bool,
    /// Whether one can react.
    pub reactions: bool,
    /// Whether it has buttons; else they are written out as commands.
    pub buttons: bool,
    /// Whether the same key sent twice arrives once.
    pub idempotent: bool,
    /// The largest file that can be sent, in bytes.
    pub file_bytes: u64,
    /// The longest line below a file, in the platform's units.
    pub caption: usize,
    /// The time between two messages to one chat.
    pub per_chat: Duration,
    /// The time between two messages to one chat in which many read.
    pub per_group: Duration,
    /// The time between two messages to anybody.
    pub overall: Duration,
    /// The time between two changes of the same message.
    pub per_edit: Duration,
}

/// Who we are on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Me {
    /// Our id there.
    pub id: String,
    /// What we are called.
    pub name: String,
    /// Our handle.
    pub handle: Option<String>,
    /// The workspace that the account belongs to, on Slack.
    pub team: Option<String>,
}

/// How a channel stands with its platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is on its way to it.
    Connecting,
    /// It hears.
    Connected,
    /// It does not; it tries again.
    Broken {
        /// Why.
        why: String,
    },
}

/// Who keeps what is heard.
#[async_trait]
pub trait Ear: Send + Sync {
    /// Keeps events: they are on disk when this returns. Those that were kept before stay as they are.
    async fn hear(&self, events: Vec<Inbound>) -> Result<(), ChannelError>;
    /// Something that was noted for this account.
    async fn noted(&self, name: &str) -> Result<Option<String>, ChannelError>;
    /// Notes something for this account; it is on disk when this returns.
    async fn note(&self, name: &str, value: &str) -> Result<(), ChannelError>;
    /// Learns how the channel stands.
    fn stands(&self, standing: Standing);
}

/// Why a channel hears nothing any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The platform does not let us in; trying again changes nothing.
    #[error("{0}")]
    Refused(String),
    /// What was heard could not be kept.
    #[error("what was heard could not be kept: {0}")]
    NotKept(String),
    /// Something else; it is tried again.
    #[error("{0}")]
    Broken(String),
}

/// What became of something that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivered {
    /// The platform's id of the message.
    pub message: Option<String>,
}

/// Why something was not sent, or may not have been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It was not sent; it can be tried again.
    #[error("{why}")]
    Later {
        /// Not before this has passed, where the platform says so.
        after: Option<Duration>,
        /// Why.
        why: String,
    },
    /// It was not sent, and never will be.
    #[error("{0}")]
    Never(String),
    /// The same, because the recipient is unreachable: they blocked the bot, or do not exist.
    #[error("{0}")]
    Unreachable(String),
    /// Nothing can be sent by this account before its owner does something.
    #[error("{0}")]
    Account(String),
    /// It may have arrived or not.
    #[error("it may have arrived or not: {0}")]
    Unknown(String),
}

/// A request at `/hooks/{channel}/{account}`.
#[derive(Debug, Clone, Copy)]
pub struct Hook<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// Its query, as it came.
    pub query: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body, as it came.
    pub body: &'a [u8],
    /// The time, in milliseconds.
    pub now: i64,
}

/// What a request of the platform told, and how it is answered once that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Hooked {
    /// What happened.
    pub events: Vec<Inbound>,
    /// The type of the answer.
    pub content_type: &'static str,
    /// The answer.
    pub body: String,
}

/// A request that is not the platform's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct HookRefusal {
    /// 400, 401, 403, 404 or 405.
    pub status: StatusCode,
    /// Why, for the log and for whoever sets the platform up.
    pub why: String,
}

impl HookRefusal {
    /// It does not prove that it is the platform's.
    pub fn forged(why: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            why: why.into(),
        }
    }

    /// It is the platform's, and cannot be read.
    pub fn unreadable(why: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            why: why.into(),
        }
    }
}

impl Hooked {
    /// Events, answered with nothing.
    pub fn events(events: Vec<Inbound>) -> Self {
        Self {
            events,
            content_type: "text/plain",
            body: String::new(),
        }
    }
}
