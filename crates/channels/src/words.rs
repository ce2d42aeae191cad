//! What is said in chats, in words of our own.

use manyhands_core::ChatRef;
use serde::{Deserialize, Serialize};

/// One event of a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// The platform's own id of it: the same event delivered twice has the same.
    pub event: String,
    /// When it happened, by the platform, in milliseconds.
    pub at: i64,
    /// Where, with the message and whoever sent it.
    pub place: ChatRef,
    /// The sender's handle, such as `ada` for `@ada`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// What the chat is called, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_name: Option<String>,
    /// Whether a program sent it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_bot: bool,
    /// What an answer has to bring along, where the platform wants that for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What happened.
    pub what: Heard,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Heard {
    /// Somebody said something.
    Message(Box<Message>),
    /// Somebody pressed a button of ours.
    #[serde(rename_all = "camelCase")]
    Button {
        /// What the button carries.
        data: String,
        /// What the platform wants named when it is told that this was heard.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<String>,
    },
    /// Somebody reacted to a message, which `place` names.
    Reaction {
        /// With this, as the platform writes it.
        emoji: String,
        /// Whether it was taken back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    /// Something that the platform had taken from us did not arrive after all.
    Failed {
        /// The message of ours.
        message: String,
        /// Why, in the platform's words.
        why: String,
    },
}

/// Somebody said something.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// The text, as Markdown where the platform marks it up, without the mention that only calls us.
    pub text: String,
    /// What it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Quoted>,
    /// Files, pictures and recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// A place on the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Whether it calls us: by mention, as an answer to us, or as a command for us.
    pub mentioned: bool,
    /// Others whom it mentions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quoted {
    /// The message.
    pub id: String,
    /// Its text, where the platform tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
}

/// Somebody whom a message mentions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Mention {
    /// Their id, where the platform tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Their handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// What they are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A place on the map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// A file, picture or recording of a message, still at the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// What kind.
    pub kind: MediaKind,
    /// How the platform names it, or its address: what `fetch` needs.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its size in bytes, as far as it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Somebody speaking.
    Voice,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else.
    Document,
}

/// Something to be said. It is kept until it is known what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outgoing {
    /// The chat.
    pub to: ChatRef,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What the platform wants brought along with an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What is said.
    pub say: Say,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Say {
    /// A text: Markdown that fits the platform's largest message.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
        /// Buttons below it, in rows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        buttons: Vec<Vec<Button>>,
        /// The message of ours that it takes the place of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edits: Option<String>,
    },
    /// A file, whose bytes are handed over beside it.
    #[serde(rename_all = "camelCase")]
    File {
        /// How it is shown.
        form: FileKind,
        /// Its name.
        name: String,
        /// Its type.
        mime: String,
        /// A line below it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
        /// Where its bytes are kept until it is sent.
        artifact: String,
        /// Where anybody can get it for a while, for platforms that take no bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
    /// A reaction to a message.
    React {
        /// The message.
        message: String,
        /// The platform's emoji, checked before.
        emoji: String,
        /// Whether it is shown large, where the platform can.
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
    /// What it says.
    pub label: String,
    /// What comes back when it is pressed: at most 64 bytes.
    pub data: String,
    /// Whether pressing it is the careful choice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses: bool,
}

impl Outgoing {
    /// A text for a chat.
    pub fn text(to: ChatRef, text: impl Into<String>) -> Self {
        Self {
            to,
            reply_to: None,
            ticket: None,
            say: Say::Text {
                text: text.into(),
                buttons: Vec::new(),
                edits: None,
            },
        }
    }
}
