//! Platform-neutral messages and events.

use manyhands_core::ChatRef;
use serde::{Deserialize, Serialize};

/// An event of a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// The platform's own id: an event delivered twice has the same.
    pub event: String,
    /// The platform's time, in milliseconds.
    pub at: i64,
    /// The chat, with message and sender.
    pub place: ChatRef,
    /// The sender's handle, such as `ada` for `@ada`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The chat's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_name: Option<String>,
    /// Whether a bot sent it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_bot: bool,
    /// A token that a reply needs, on platforms that require one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The event itself.
    pub what: InboundEvent,
}

/// The event itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum InboundEvent {
    /// A message.
    Message(Box<InboundMessage>),
    /// A pressed button of ours.
    #[serde(rename_all = "camelCase")]
    Button {
        /// The button's data.
        data: String,
        /// The token for acknowledging the press.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<String>,
    },
    /// A reaction to the message that `place` names.
    Reaction {
        /// The emoji, as the platform writes it.
        emoji: String,
        /// Whether it was removed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    /// A message that the platform had accepted was not delivered.
    Failed {
        /// The id of our message.
        message: String,
        /// The platform's reason.
        why: String,
    },
}

/// A message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InboundMessage {
    /// The text, as Markdown if the platform has formatting, without a mention that only addresses us.
    pub text: String,
    /// The message it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Quoted>,
    /// Attached files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// A location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Whether it addresses us: by mention, as a reply to us, or as a command for us.
    pub mentioned: bool,
    /// Other people it mentions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
}

/// The message that another replies to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quoted {
    /// Its id.
    pub id: String,
    /// Its text, if the platform reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
}

/// A mentioned person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Mention {
    /// Their id, if the platform reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Their handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Their display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A location.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// An attached file, still at the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// Its kind.
    pub kind: MediaKind,
    /// The platform's id or URL of it: what `fetch` needs.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its size in bytes, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// An image.
    Image,
    /// A voice message.
    Voice,
    /// Other audio.
    Audio,
    /// A video.
    Video,
    /// Anything else.
    Document,
}

/// A message to send. It is stored until its delivery is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutgoingMessage {
    /// The chat.
    pub to: ChatRef,
    /// The message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// A token that the platform requires for a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The content. Stored as `say`, the name that stored messages and bridges use.
    #[serde(rename = "say")]
    pub content: OutgoingContent,
}

/// The content of a message to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum OutgoingContent {
    /// A Markdown text that fits the platform's largest message.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
        /// Rows of buttons below it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        buttons: Vec<Vec<Button>>,
        /// Our message that it replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edits: Option<String>,
    },
    /// A file, whose content is passed separately.
    #[serde(rename_all = "camelCase")]
    File {
        /// How it is shown.
        form: FileKind,
        /// Its name.
        name: String,
        /// Its MIME type.
        mime: String,
        /// A caption.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
        /// The artifact that holds its content until it is sent.
        artifact: String,
        /// A temporary public link, for platforms without uploads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
    /// A reaction to a message.
    React {
        /// The message.
        message: String,
        /// The platform's emoji, validated before.
        emoji: String,
        /// Whether it is shown large, if the platform can.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        big: bool,
    },
}

/// How a file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// As a picture.
    Photo,
    /// As a voice message.
    Voice,
    /// As a file.
    Document,
}

/// A button below a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Button {
    /// Its label.
    pub label: String,
    /// The data returned when it is pressed: at most 64 bytes.
    pub data: String,
    /// Whether pressing it is the cautious choice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses: bool,
}

impl OutgoingMessage {
    /// A text for a chat.
    pub fn text(to: ChatRef, text: impl Into<String>) -> Self {
        Self {
            to,
            reply_to: None,
            ticket: None,
            content: OutgoingContent::Text {
                text: text.into(),
                buttons: Vec::new(),
                edits: None,
            },
        }
    }
}
