//! The parts of Telegram's updates that we read.

use serde::Deserialize;
use serde_json::Value;

/// An update. Other kinds have none of these fields.
#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub update_id: i64,
    pub message: Option<Box<TelegramMessage>>,
    pub channel_post: Option<Box<TelegramMessage>>,
    pub callback_query: Option<CallbackQuery>,
    pub message_reaction: Option<MessageReaction>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub id: i64,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TelegramChat {
    pub id: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub title: Option<String>,
    pub username: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TelegramMessage {
    pub message_id: i64,
    pub message_thread_id: Option<i64>,
    pub from: Option<User>,
    pub sender_chat: Option<TelegramChat>,
    #[serde(default)]
    pub date: i64,
    pub chat: TelegramChat,
    pub forward_origin: Option<MessageOrigin>,
    #[serde(default)]
    pub is_topic_message: bool,
    #[serde(default)]
    pub is_automatic_forward: bool,
    pub reply_to_message: Option<Box<TelegramMessage>>,
    pub external_reply: Option<ExternalReply>,
    pub quote: Option<Quote>,
    pub media_group_id: Option<String>,
    pub text: Option<String>,
    #[serde(default)]
    pub entities: Vec<Entity>,
    pub caption: Option<String>,
    #[serde(default)]
    pub caption_entities: Vec<Entity>,
    pub rich_message: Option<Value>,
    pub animation: Option<TelegramFile>,
    pub audio: Option<TelegramFile>,
    pub document: Option<TelegramFile>,
    #[serde(default)]
    pub photo: Vec<PhotoSize>,
    pub live_photo: Option<TelegramFile>,
    pub sticker: Option<Sticker>,
    pub video: Option<TelegramFile>,
    pub video_note: Option<TelegramFile>,
    pub voice: Option<TelegramFile>,
    pub contact: Option<Contact>,
    pub dice: Option<Dice>,
    pub poll: Option<Poll>,
    pub venue: Option<Venue>,
    pub location: Option<Point>,
    pub story: Option<Value>,
    pub game: Option<Titled>,
    pub invoice: Option<Titled>,
    pub checklist: Option<Checklist>,
    pub paid_media: Option<Value>,
    pub giveaway: Option<Value>,
    pub forum_topic_created: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub kind: String,
    pub offset: usize,
    pub length: usize,
    pub url: Option<String>,
    pub user: Option<User>,
    pub language: Option<String>,
}

/// The origin of a forwarded or quoted message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageOrigin {
    pub sender_user: Option<User>,
    pub sender_user_name: Option<String>,
    pub sender_chat: Option<TelegramChat>,
    pub chat: Option<TelegramChat>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExternalReply {
    #[serde(default)]
    pub origin: MessageOrigin,
    pub message_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Quote {
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct TelegramFile {
    pub file_id: String,
    pub file_name: Option<String>,
    pub mime_type: Option<String>,
    pub file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PhotoSize {
    pub file_id: String,
    #[serde(default)]
    pub width: u64,
    #[serde(default)]
    pub height: u64,
    pub file_size: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sticker {
    pub emoji: Option<String>,
    pub set_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Contact {
    #[serde(default)]
    pub phone_number: String,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Dice {
    pub emoji: String,
    pub value: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Poll {
    pub question: String,
    #[serde(default)]
    pub options: Vec<Text>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Text {
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Titled {
    #[serde(default)]
    pub title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Checklist {
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub tasks: Vec<Text>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Venue {
    pub location: Point,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub address: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Point {
    pub latitude: f64,
    pub longitude: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallbackQuery {
    pub id: String,
    pub from: User,
    pub message: Option<Box<TelegramMessage>>,
    pub data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageReaction {
    pub chat: TelegramChat,
    pub message_id: i64,
    pub user: Option<User>,
    pub actor_chat: Option<TelegramChat>,
    #[serde(default)]
    pub date: i64,
    #[serde(default)]
    pub old_reaction: Vec<Reaction>,
    #[serde(default)]
    pub new_reaction: Vec<Reaction>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Reaction {
    Emoji {
        emoji: String,
    },
    CustomEmoji {
        custom_emoji_id: String,
    },
    Paid,
    #[serde(other)]
    Other,
}

impl User {
    /// The display name.
    pub fn name(&self) -> String {
        let last = self.last_name.as_deref().unwrap_or("");
        let name = format!("{} {last}", self.first_name);
        let name = name.trim();
        match (name.is_empty(), &self.username) {
            (false, _) => name.to_owned(),
            (true, Some(handle)) => handle.clone(),
            (true, None) => self.id.to_string(),
        }
    }
}

impl TelegramChat {
    /// The chat's name.
    pub fn name(&self) -> String {
        let name = self.title.as_ref().or(self.username.as_ref());
        name.map_or_else(|| self.id.to_string(), Clone::clone)
    }
}

impl Reaction {
    /// How it is written; `None` for unknown kinds.
    pub fn word(&self) -> Option<String> {
        match self {
            Self::Emoji { emoji } => Some(emoji.clone()),
            Self::CustomEmoji { custom_emoji_id } => Some(format!("custom:{custom_emoji_id}")),
            Self::Paid => Some("paid".to_owned()),
            Self::Other => None,
        }
    }
}
