//! Where the words of a job go.

use async_trait::async_trait;
use manyhands_agent::{Origin, SessionKey};
use manyhands_core::{ChatRef, ToolError};

/// Whom something is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The channel, when one was named.
    pub channel: Option<String>,
    /// Whom there, as the channel names them.
    pub to: Option<String>,
    /// The session whose last active chat is meant where nothing is named.
    pub session: SessionKey,
    /// The chat in which it was asked for, when there is no such chat.
    pub place: Option<ChatRef>,
    /// On whose behalf it is told.
    pub origin: Origin,
    /// Whether sending needs to be authorized once more: the job was changed after untrusted text was
    /// read, and with it what its recipients get.
    pub asks: bool,
}

/// What became of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// They are on their way, and that is on disk; the chat in words.
    To(String),
    /// There is no chat for them.
    NoChat,
}

/// Takes words to chats.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Takes a text to a chat. What is given twice under one `key` is told once.
    async fn deliver(&self, target: Target, text: &str, key: &str) -> Result<Delivered, ToolError>;
}

/// A house without chats.
pub struct Nowhere;

#[async_trait]
impl Deliver for Nowhere {
    async fn deliver(&self, _: Target, _: &str, _: &str) -> Result<Delivered, ToolError> {
        Ok(Delivered::NoChat)
    }
}
