//! The interface of a platform.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::ChatRef;
use manyhands_guard::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::message::{Inbound, Media, OutgoingMessage};

/// One platform with one account.
#[async_trait]
pub trait Channel: Send + Sync {
    /// The platform, such as `telegram`.
    fn name(&self) -> &str;
    /// The account's name in the settings.
    fn account(&self) -> &str;
    /// The platform's capabilities.
    fn abilities(&self) -> &ChannelCapabilities;
    /// Our identity there. Fails if the credentials are invalid.
    async fn me(&self) -> Result<BotIdentity, SendError>;
    /// Receives events until it is stopped, reconnecting as needed. Events are acknowledged to the
    /// platform only after `sink` has stored them. A channel that uses webhooks registers its webhook,
    /// and then waits.
    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError>;
    /// Verifies a webhook request by its raw bytes, and parses its events.
    fn hook(&self, hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal>;
    /// Sends a message. `key` is the same for every attempt to send the same message; `file` is the
    /// content of a file to send.
    async fn send(
        &self,
        key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError>;
    /// Splits a text into messages that fit: no character and no code fence is torn.
    fn pieces(&self, text: &str) -> Vec<String>;
    /// Shows a typing indicator for some seconds.
    async fn typing(&self, place: &ChatRef) -> Result<(), SendError>;
    /// Acknowledges a pressed button, with a note to the person who pressed it.
    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError>;
    /// The content of a file, at most `most` bytes.
    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError>;
    /// Whether this message can be sent again with the same key and still arrives once.
    fn repeatable(&self, _message: &OutgoingMessage) -> bool {
        self.abilities().idempotent
    }
    /// The display name of the sender in `place`, if it is not part of events and has to be requested.
    async fn sender_name(&self, _place: &ChatRef) -> Result<Option<String>, SendError> {
        Ok(None)
    }
    /// The emoji available for reactions, if they are a closed set.
    async fn emoji(&self) -> Result<Option<Vec<String>>, SendError> {
        Ok(None)
    }
}

/// A platform's capabilities.
#[derive(Debug, Clone)]
pub struct ChannelCapabilities {
    /// Whether sent messages can be edited, so that a reply can be shown while it is written.
    pub edits: bool,
    /// Whether it has a typing indicator.
    pub typing: bool,
    /// Whether it has reactions.
    pub reactions: bool,
    /// Whether it has buttons; otherwise they are written out as commands.
    pub buttons: bool,
    /// Whether sending the same key twice delivers once.
    pub idempotent: bool,
    /// Maximum file size in bytes.
    pub file_bytes: u64,
    /// Maximum caption length, in the platform's units.
    pub caption: usize,
    /// Minimum interval between messages to one chat.
    pub per_chat: Duration,
    /// Minimum interval between messages to one group.
    pub per_group: Duration,
    /// Minimum interval between any two messages.
    pub overall: Duration,
    /// Minimum interval between edits of one message.
    pub per_edit: Duration,
}

/// Our identity on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BotIdentity {
    /// Our user id.
    pub id: String,
    /// Our display name.
    pub name: String,
    /// Our handle.
    pub handle: Option<String>,
    /// The Slack workspace of the account.
    pub team: Option<String>,
}

/// The connection state of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// Connecting.
    Connecting,
    /// Receiving events.
    Connected,
    /// Disconnected; will retry.
    Broken {
        /// The reason.
        why: String,
    },
}

/// Stores received events.
#[async_trait]
pub trait EventSink: Send + Sync {
    /// Stores events: they are on disk when this returns. Events stored before are unchanged.
    async fn receive(&self, events: Vec<Inbound>) -> Result<(), ChannelError>;
    /// A value stored for this account.
    async fn load_value(&self, name: &str) -> Result<Option<String>, ChannelError>;
    /// Stores a value for this account; it is on disk when this returns.
    async fn store_value(&self, name: &str, value: &str) -> Result<(), ChannelError>;
    /// Reports the connection state.
    fn set_status(&self, status: ConnectionStatus);
}

/// Why a channel stopped receiving.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The platform refuses the connection; retrying is pointless.
    #[error("{0}")]
    Refused(String),
    /// Received events could not be stored.
    #[error("cannot store incoming events: {0}")]
    NotStored(String),
    /// Any other failure; will be retried.
    #[error("{0}")]
    Broken(String),
}

/// Confirmation of a sent message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendReceipt {
    /// The platform's id of the message.
    pub message: Option<String>,
}

/// Why a message was not sent, or may not have been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It was not sent; retry later.
    #[error("{why}")]
    Later {
        /// Minimum delay, if the platform specifies one.
        after: Option<Duration>,
        /// The reason.
        why: String,
    },
    /// It was not sent, and retrying is pointless.
    #[error("{0}")]
    Never(String),
    /// Likewise, because the recipient is unreachable: they blocked the bot, or do not exist.
    #[error("{0}")]
    Unreachable(String),
    /// This account cannot send until its owner intervenes.
    #[error("{0}")]
    Account(String),
    /// It may have been delivered or not.
    #[error("delivery unknown: {0}")]
    Unknown(String),
}

/// A webhook request to `/hooks/{channel}/{account}`.
#[derive(Debug, Clone, Copy)]
pub struct WebhookRequest<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    /// The raw query.
    pub query: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The raw body.
    pub body: &'a [u8],
    /// The current time in milliseconds.
    pub now: i64,
}

/// The events of a webhook request, and the response to send once they are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookOutcome {
    /// The events.
    pub events: Vec<Inbound>,
    /// Content type of the response.
    pub content_type: &'static str,
    /// Body of the response.
    pub body: String,
}

/// A refused webhook request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct WebhookRefusal {
    /// 400, 401, 403, 404 or 405.
    pub status: StatusCode,
    /// The reason, for the log and for the person configuring the platform.
    pub why: String,
}

impl WebhookRefusal {
    /// The request is not authentic.
    pub fn forged(why: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            why: why.into(),
        }
    }

    /// The request is authentic but malformed.
    pub fn unreadable(why: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            why: why.into(),
        }
    }
}

impl WebhookOutcome {
    /// Events, with an empty response.
    pub fn events(events: Vec<Inbound>) -> Self {
        Self {
            events,
            content_type: "text/plain",
            body: String::new(),
        }
    }
}
