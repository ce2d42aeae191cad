//! Converts updates.

use manyhands_core::{ChatRef, PeerKind};
use serde_json::Value;

use crate::message::{Inbound, InboundEvent, InboundMessage, Location, Media, MediaKind, Quoted};

use super::entities::{self, BotRef};
use super::update::{
    CallbackQuery, MessageOrigin, MessageReaction, TelegramChat, TelegramFile, TelegramMessage,
    Update, User,
};

/// Context of a conversion.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateReader<'a> {
    pub account: &'a str,
    pub us: BotRef<'a>,
    /// The current time, for updates without one.
    pub now: i64,
}

/// A converted update.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedUpdate {
    pub update: i64,
    /// The album it belongs to.
    pub album: Option<String>,
    pub events: Vec<Inbound>,
}

impl UpdateReader<'_> {
    /// Converts an update; `None` without a number. An invalid one has no events.
    pub fn item(&self, update: &Value) -> Option<ParsedUpdate> {
        let number = update["update_id"].as_i64()?;
        let read = Update::deserialize_from(update);
        let (events, album) = match read {
            Ok(update) => self.events(update),
            Err(error) => {
                let account = self.account;
                tracing::warn!(event = "telegram_update_invalid", account, number, %error, "ignored an invalid Telegram update");
                (Vec::new(), None)
            }
        };
        Some(ParsedUpdate {
            update: number,
            album,
            events,
        })
    }

    fn events(&self, update: Update) -> (Vec<Inbound>, Option<String>) {
        let number = update.update_id;
        if let Some(message) = update.message.or(update.channel_post) {
            let group = message.media_group_id.as_ref();
            let album = group.map(|group| format!("{}:{group}", message.chat.id));
            let heard = self.message(number, &message);
            return (heard.into_iter().collect(), album);
        }
        if let Some(query) = update.callback_query {
            return (self.button(number, query).into_iter().collect(), None);
        }
        if let Some(reaction) = update.message_reaction {
            return (self.reactions(number, &reaction), None);
        }
        (Vec::new(), None)
    }

    fn message(&self, number: i64, message: &TelegramMessage) -> Option<Inbound> {
        if message
            .from
            .as_ref()
            .is_some_and(|from| from.id == self.us.id)
        {
            return None;
        }
        let said = self.said(message)?;
        let sender = Sender::of(message);
        Some(Inbound {
            event: number.to_string(),
            at: message.date.saturating_mul(1_000),
            place: self.place(message, &sender),
            handle: sender.handle,
            chat_name: message.chat.title.clone(),
            from_bot: sender.bot,
            ticket: None,
            what: InboundEvent::Message(Box::new(said)),
        })
    }

    fn place(&self, message: &TelegramMessage, sender: &Sender) -> ChatRef {
        let thread = message.message_thread_id;
        let thread = thread.filter(|_| message.is_topic_message);
        ChatRef {
            channel: "telegram".to_owned(),
            account: self.account.to_owned(),
            kind: kind(&message.chat, thread.is_some()),
            chat: message.chat.id.to_string(),
            thread: thread.map(|thread| thread.to_string()),
            message: Some(message.message_id.to_string()),
            sender: sender.id.clone(),
            sender_name: sender.name.clone(),
            sender_handle: sender.handle.clone(),
        }
    }

    /// Converts a message; `None` for service messages, such as joins.
    fn said(&self, message: &TelegramMessage) -> Option<InboundMessage> {
        let mut said = self.words(message)?;
        said.quoted = self.quoted(message);
        Some(said)
    }

    /// Converts a message without the one it replies to.
    fn words(&self, message: &TelegramMessage) -> Option<InboundMessage> {
        let (text, marks) = match (&message.text, &message.caption) {
            (Some(text), _) => (text.as_str(), &message.entities),
            (None, caption) => (caption.as_deref().unwrap_or(""), &message.caption_entities),
        };
        let marked = entities::read(text, marks, self.us);
        let media = media(message);
        let mut lines = Vec::new();
        if let Some(origin) = &message.forward_origin {
            lines.push(format!("[forwarded from {}]", origin.name()));
        }
        let silent = text.is_empty() && message.rich_message.is_none();
        lines.extend(Some(marked.text).filter(|text| !text.is_empty()));
        lines.extend(message.rich_message.as_ref().map(rich));
        let named = named(message);
        if silent && media.is_empty() && named.is_empty() {
            return None;
        }
        lines.extend(named);
        let answers_us = answered(message)
            .and_then(|answered| answered.from.as_ref())
            .is_some_and(|from| from.id == self.us.id);
        let place = message.venue.as_ref().map(|venue| venue.location);
        Some(InboundMessage {
            text: lines.join("\n"),
            quoted: None,
            media,
            location: place.or(message.location).map(|point| Location {
                latitude: point.latitude,
                longitude: point.longitude,
            }),
            mentioned: marked.calls || answers_us,
            mentions: marked.mentions,
        })
    }

    fn quoted(&self, message: &TelegramMessage) -> Option<Quoted> {
        let part = message.quote.as_ref().map(|quote| quote.text.clone());
        if let Some(answered) = answered(message) {
            let said = self.words(answered).map(|said| said.text);
            let text = part.or(said).filter(|text| !text.is_empty());
            return Some(Quoted {
                id: answered.message_id.to_string(),
                text,
                sender: Sender::of(answered).name,
            });
        }
        let external = message.external_reply.as_ref()?;
        Some(Quoted {
            id: external
                .message_id
                .map_or(String::new(), |id| id.to_string()),
            text: part,
            sender: Some(external.origin.name()),
        })
    }

    fn button(&self, number: i64, query: CallbackQuery) -> Option<Inbound> {
        let message = query.message?;
        let sender = Sender::user(&query.from);
        Some(Inbound {
            event: number.to_string(),
            at: self.now,
            place: self.place(&message, &sender),
            handle: sender.handle,
            chat_name: message.chat.title.clone(),
            from_bot: sender.bot,
            ticket: None,
            what: InboundEvent::Button {
                data: query.data?,
                callback: Some(query.id),
            },
        })
    }

    /// Added and removed reactions: each is an event with its own id.
    fn reactions(&self, number: i64, update: &MessageReaction) -> Vec<Inbound> {
        let sender = match (&update.user, &update.actor_chat) {
            (Some(user), _) if user.id == self.us.id => return Vec::new(),
            (Some(user), _) => Sender::user(user),
            (None, Some(chat)) => Sender::chat(chat),
            (None, None) => return Vec::new(),
        };
        let words = |all: &[super::update::Reaction]| -> Vec<String> {
            all.iter().take(32).filter_map(|one| one.word()).collect()
        };
        let (old, new) = (words(&update.old_reaction), words(&update.new_reaction));
        let gone = old.iter().filter(|emoji| !new.contains(emoji));
        let come = new.iter().filter(|emoji| !old.contains(emoji));
        let all = gone
            .map(|emoji| (emoji, true))
            .chain(come.map(|emoji| (emoji, false)));
        let place = ChatRef {
            channel: "telegram".to_owned(),
            account: self.account.to_owned(),
            kind: kind(&update.chat, false),
            chat: update.chat.id.to_string(),
            thread: None,
            message: Some(update.message_id.to_string()),
            sender: sender.id,
            sender_name: sender.name,
            sender_handle: sender.handle.clone(),
        };
        all.enumerate()
            .map(|(at, (emoji, removed))| Inbound {
                event: match at {
                    0 => number.to_string(),
                    at => format!("{number}.{at}"),
                },
                at: update.date.saturating_mul(1_000),
                place: place.clone(),
                handle: sender.handle.clone(),
                chat_name: update.chat.title.clone(),
                from_bot: sender.bot,
                ticket: None,
                what: InboundEvent::Reaction {
                    emoji: emoji.clone(),
                    removed,
                },
            })
            .collect()
    }
}

impl Update {
    fn deserialize_from(value: &Value) -> Result<Self, serde_json::Error> {
        serde::Deserialize::deserialize(value)
    }
}

/// The sender of a message.
#[derive(Debug, Default)]
struct Sender {
    id: Option<String>,
    name: Option<String>,
    handle: Option<String>,
    bot: bool,
}

impl Sender {
    fn of(message: &TelegramMessage) -> Self {
        // Someone who writes as a chat (an anonymous admin, a channel) is that chat: the user next to it is
        // only there for old clients.
        if let Some(chat) = &message.sender_chat {
            let mut sender = Self::chat(chat);
            sender.bot = message.is_automatic_forward;
            return sender;
        }
        message.from.as_ref().map_or_else(Self::default, Self::user)
    }

    fn user(user: &User) -> Self {
        Self {
            id: Some(user.id.to_string()),
            name: Some(user.name()),
            handle: user.username.clone(),
            bot: user.is_bot,
        }
    }

    fn chat(chat: &TelegramChat) -> Self {
        Self {
            id: Some(chat.id.to_string()),
            name: Some(chat.name()),
            handle: chat.username.clone(),
            bot: false,
        }
    }
}

impl MessageOrigin {
    fn name(&self) -> String {
        let chat = self.sender_chat.as_ref().or(self.chat.as_ref());
        let user = self.sender_user.as_ref().map(User::name);
        let hidden = || self.sender_user_name.clone();
        let name = user
            .or_else(hidden)
            .or_else(|| chat.map(TelegramChat::name));
        name.unwrap_or_else(|| "somebody".to_owned())
    }
}

fn kind(chat: &TelegramChat, topic: bool) -> PeerKind {
    match (chat.kind.as_str(), topic) {
        ("private", _) => PeerKind::Dm,
        ("channel", _) => PeerKind::Channel,
        (_, true) => PeerKind::Thread,
        (_, false) => PeerKind::Group,
    }
}

/// The message that this one replies to. In a topic, every message replies to the topic's first one,
/// which means nothing.
fn answered(message: &TelegramMessage) -> Option<&TelegramMessage> {
    let answered = message.reply_to_message.as_deref()?;
    let topic = answered.forum_topic_created.is_some()
        || (message.is_topic_message && message.message_thread_id == Some(answered.message_id));
    (!topic).then_some(answered)
}

fn media(message: &TelegramMessage) -> Vec<Media> {
    let mut all = Vec::new();
    let largest = message.photo.iter().max_by_key(|photo| {
        let area = photo.width.saturating_mul(photo.height);
        (area, photo.file_size)
    });
    all.extend(largest.map(|photo| Media {
        kind: MediaKind::Image,
        id: photo.file_id.clone(),
        name: None,
        mime: Some("image/jpeg".to_owned()),
        size: photo.file_size,
    }));
    // An animation is also sent as a document, for old clients.
    let document = message.document.as_ref();
    let document = document.filter(|_| message.animation.is_none());
    let files = [
        (MediaKind::Voice, message.voice.as_ref()),
        (MediaKind::Audio, message.audio.as_ref()),
        (MediaKind::Video, message.video.as_ref()),
        (MediaKind::Video, message.video_note.as_ref()),
        (MediaKind::Video, message.animation.as_ref()),
        (MediaKind::Video, message.live_photo.as_ref()),
        (MediaKind::Document, document),
    ];
    for (kind, file) in files {
        all.extend(file.map(|file| one(kind, file)));
    }
    all
}

fn one(kind: MediaKind, file: &TelegramFile) -> Media {
    let image = file
        .mime_type
        .as_deref()
        .is_some_and(|mime| mime.starts_with("image/"));
    Media {
        kind: match kind {
            MediaKind::Document if image => MediaKind::Image,
            kind => kind,
        },
        id: file.file_id.clone(),
        name: file.file_name.clone(),
        mime: file.mime_type.clone(),
        size: file.file_size,
    }
}

/// Content that is neither text nor a file, in words.
fn named(message: &TelegramMessage) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(sticker) = &message.sticker {
        let emoji = sticker.emoji.as_deref().unwrap_or("");
        let set = sticker.set_name.as_ref().map(|set| format!(" from {set}"));
        let words = format!("sticker {emoji}{}", set.unwrap_or_default());
        all.push(format!("[{}]", words.trim()));
    }
    if let Some(venue) = &message.venue {
        let point = venue.location;
        all.push(format!(
            "[venue: {}, {} ({}, {})]",
            venue.title, venue.address, point.latitude, point.longitude
        ));
    } else if let Some(point) = &message.location {
        all.push(format!(
            "[location: {}, {}]",
            point.latitude, point.longitude
        ));
    }
    if let Some(contact) = &message.contact {
        let last = contact.last_name.as_deref().unwrap_or("");
        let name = format!("{} {last}", contact.first_name);
        all.push(format!(
            "[contact: {}, {}]",
            name.trim(),
            contact.phone_number
        ));
    }
    if let Some(dice) = &message.dice {
        all.push(format!("[{} rolled {}]", dice.emoji, dice.value));
    }
    if let Some(poll) = &message.poll {
        let options: Vec<&str> = poll
            .options
            .iter()
            .map(|option| option.text.as_str())
            .collect();
        all.push(format!(
            "[poll: {} ({})]",
            poll.question,
            options.join(" / ")
        ));
    }
    if let Some(list) = &message.checklist {
        let tasks: Vec<&str> = list.tasks.iter().map(|task| task.text.as_str()).collect();
        all.push(format!(
            "[checklist: {} ({})]",
            list.title,
            tasks.join(" / ")
        ));
    }
    if let Some(game) = &message.game {
        all.push(format!("[game: {}]", game.title));
    }
    if let Some(invoice) = &message.invoice {
        all.push(format!("[invoice: {}]", invoice.title));
    }
    let bare = [
        (message.story.is_some(), "[story]"),
        (message.paid_media.is_some(), "[paid media]"),
        (message.giveaway.is_some(), "[giveaway]"),
    ];
    all.extend(
        bare.into_iter()
            .filter(|(there, _)| *there)
            .map(|(_, words)| words.to_owned()),
    );
    all
}

/// The text of a message made of blocks.
fn rich(message: &Value) -> String {
    let mut words = String::new();
    gather(message, &mut words, 0);
    words.trim().to_owned()
}

fn gather(value: &Value, words: &mut String, depth: usize) {
    const HOLD: [&str; 9] = [
        "label",
        "summary",
        "text",
        "expression",
        "blocks",
        "items",
        "cells",
        "caption",
        "credit",
    ];
    if depth > 64 {
        return;
    }
    match value {
        Value::String(text) => words.push_str(text),
        Value::Array(all) => all.iter().for_each(|one| gather(one, words, depth + 1)),
        Value::Object(fields) => {
            for name in HOLD {
                if let Some(held) = fields.get(name) {
                    gather(held, words, depth + 1);
                    words.push_str(if name == "label" { " " } else { "" });
                }
            }
            // Blocks are separated by line breaks, inline marks are not.
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or("");
            let block = ["paragraph", "heading", "pre", "footer", "pullquote"].contains(&kind);
            let holds = fields.contains_key("blocks") || fields.contains_key("cells");
            if (block || holds) && !words.ends_with('\n') {
                words.push('\n');
            } else if fields.contains_key("valign") {
                words.push_str(" | ");
            }
        }
        _ => {}
    }
}
