//! How messages to contacts reach their chats.

use async_trait::async_trait;
use manyhands_core::{ChatRef, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Delivered {
    /// By which it is looked up.
    pub id: String,
    /// How far it is, such as `pending` or `sent`.
    pub state: String,
    /// Why it is not further, where the platform says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A message for a chat.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its `message_id`, by which a later one can reply to it.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
    /// The `message_id` of ours, or the platform's id, of the message that it answers.
    pub reply_to: Option<&'a str>,
    /// One with a key that was taken not long ago is not taken again.
    pub key: &'a str,
}

/// Whoever brings messages to chats.
#[async_trait]
pub trait Deliver: Send + Sync {
    /// Which account of ours reaches chats of a platform; on Slack the one in the workspace `team`.
    fn account(&self, channel: &str, team: Option<&str>) -> Result<String, ToolError>;
    /// Takes a message to a chat. One whose key was taken not long ago is not taken again: the answer
    /// is what became of the first. Whether the contact can be reached is noted by whoever sends it.
    async fn deliver(&self, to: &ChatRef, message: &Message<'_>) -> Result<Delivered, ToolError>;
}
