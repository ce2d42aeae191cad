//! The interface through which messages to contacts reach chats.

use async_trait::async_trait;
use manyhands_core::{ChatRef, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Delivered")]
pub struct ContactDelivery {
    /// By which it is looked up.
    pub id: String,
    /// How far it is, such as `pending` or `sent`.
    pub state: String,
    /// Why it is not further, where the platform says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A message to a chat.
#[derive(Debug, Clone, Copy)]
pub struct ContactMessage<'a> {
    /// Its `message_id`, by which a later message can reply to it.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The message it replies to: a `message_id` of ours, or the platform's id.
    pub reply_to: Option<&'a str>,
    /// Idempotency key: a message with a recently used key is not sent again.
    pub key: &'a str,
}

/// Delivers messages to chats.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Our account that reaches a platform's chats; on Slack the one in the workspace `team`.
    fn account(&self, channel: &str, team: Option<&str>) -> Result<String, ToolError>;
    /// Delivers a message. If its key was used recently, it is not sent again and the state of the
    /// first is returned. The sender records whether the contact could be reached.
    async fn deliver(
        &self,
        to: &ChatRef,
        message: &ContactMessage<'_>,
    ) -> Result<ContactDelivery, ToolError>;
}
