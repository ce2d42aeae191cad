//! The interface through which replies of jobs reach chats.

use async_trait::async_trait;
use manyhands_agent::{Origin, SessionKey};
use manyhands_core::{ChatRef, ToolError};

/// The recipient of a job's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryTarget {
    /// The channel, if one is named.
    pub channel: Option<String>,
    /// The recipient there, in the channel's notation.
    pub to: Option<String>,
    /// The session whose last active chat is used if nothing is named.
    pub session: SessionKey,
    /// The chat in which the job was requested, used if there is no other.
    pub place: Option<ChatRef>,
    /// On whose behalf it is sent.
    pub origin: Origin,
    /// Whether sending must be authorized again: the job was changed after untrusted text was read,
    /// which may have changed its recipient.
    pub asks: bool,
}

/// The result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobDelivery {
    /// Queued on disk for this chat.
    To(String),
    /// There is no chat to deliver to.
    NoChat,
}

/// Delivers texts to chats.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Delivers a text. The same `key` is sent once.
    async fn deliver(
        &self,
        target: DeliveryTarget,
        text: &str,
        key: &str,
    ) -> Result<JobDelivery, ToolError>;
}

/// Delivery without any chats.
pub struct Nowhere;

#[async_trait]
impl Deliver for Nowhere {
    async fn deliver(&self, _: DeliveryTarget, _: &str, _: &str) -> Result<JobDelivery, ToolError> {
        Ok(JobDelivery::NoChat)
    }
}
