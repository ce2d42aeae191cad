//! Converts gateway events.

use std::collections::HashMap;

use manyhands_core::{ChatRef, PeerKind};
use serde_json::Value;

use super::Discord;
use super::directory::ChannelInfo;
use super::text::{self, MentionNames};
use crate::message::{Inbound, InboundEvent, InboundMessage, Media, MediaKind, Mention, Quoted};

/// Start of Discord's id timestamps, in milliseconds.
const EPOCH: i64 = 1_420_070_400_000;
/// Flag of voice messages.
const VOICE: u64 = 1 << 13;

impl Discord {
    /// Converts an event; `None` if it is irrelevant. `mark` is unique among the connection's events.
    pub(super) async fn read_event(
        &self,
        name: &str,
        event: &Value,
        mark: &str,
    ) -> Option<Inbound> {
        match name {
            "MESSAGE_CREATE" => self.read_message(event).await,
            "INTERACTION_CREATE" => self.read_press(event).await,
            "MESSAGE_REACTION_ADD" => self.read_reaction(event, mark, false).await,
            "MESSAGE_REACTION_REMOVE" => self.read_reaction(event, mark, true).await,
            _ => {
                self.learn(name, event);
                None
            }
        }
    }

    /// Records names, kinds and roles that events mention.
    fn learn(&self, name: &str, event: &Value) {
        match name {
            "GUILD_CREATE" => {
                let me = self.own().map(|me| me.id);
                self.rooms.learn_server(event, me.as_deref());
            }
            "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => {
                self.rooms.learn(event);
            }
            "THREAD_LIST_SYNC" => self.rooms.learn_server(event, None),
            "GUILD_MEMBER_UPDATE"
                if event["user"]["id"]
                    .as_str()
                    .is_some_and(|id| self.is_me(id)) =>
            {
                if let Some(server) = event["guild_id"].as_str() {
                    self.rooms.learn_roles(server, event);
                }
            }
            _ => {}
        }
    }

    async fn read_message(&self, event: &Value) -> Option<Inbound> {
        let id = event["id"].as_str()?;
        let author = &event["author"];
        let sender = author["id"].as_str()?;
        // System messages: joins, pins, boosts and the like.
        let said = matches!(event["type"].as_u64(), None | Some(0 | 19 | 20 | 23));
        if self.is_me(sender) || !said {
            return None;
        }
        let (mut place, room) = self.place(event).await?;
        place.message = Some(id.to_owned());
        place.sender = Some(sender.to_owned());
        place.sender_name = display_name_of(&event["member"], author);
        let from_bot = author["bot"] == true || !event["webhook_id"].is_null();
        let message = self.message(event).await;
        Some(Inbound {
            event: format!("message:{id}"),
            at: time_of(id),
            handle: author["username"].as_str().map(str::to_owned),
            chat_name: room.name,
            from_bot,
            ticket: None,
            place,
            what: InboundEvent::Message(Box::new(message)),
        })
    }

    /// Converts a message.
    async fn message(&self, event: &Value) -> InboundMessage {
        let own = self.own();
        let me = own.as_ref().map(|me| me.id.as_str());
        let users: Vec<&Value> = event["mentions"].as_array().into_iter().flatten().collect();
        let people = users
            .iter()
            .filter_map(|user| Some((user["id"].as_str()?, show(user)?)));
        let names = MentionNames {
            me: own.as_ref().map(|me| (me.id.as_str(), me.name.as_str())),
            people: people.collect::<HashMap<_, _>>(),
            rooms: &self.rooms,
        };
        let answered = &event["referenced_message"];
        let roles = event["mention_roles"].as_array().into_iter().flatten();
        let roles: Vec<&str> = roles.filter_map(Value::as_str).collect();
        let mut mentioned = me.is_some()
            && (users.iter().any(|user| user["id"].as_str() == me)
                || answered["author"]["id"].as_str() == me);
        if let Some(server) = event["guild_id"].as_str().filter(|_| !mentioned) {
            mentioned = self.has_role(server, &roles).await;
        }
        let (forwarded, media) = parts(event);
        let mut lines = vec![text::read(event["content"].as_str().unwrap_or(""), &names)];
        lines.extend(forwarded.iter().map(|text| text::read(text, &names)));
        lines.extend(named(event));
        lines.retain(|line| !line.is_empty());
        let others = users.iter().filter(|user| user["id"].as_str() != me);
        InboundMessage {
            text: lines.join("\n"),
            quoted: quoted(event, &names),
            media,
            location: None,
            mentioned,
            mentions: others
                .map(|user| Mention {
                    id: user["id"].as_str().map(str::to_owned),
                    handle: user["username"].as_str().map(str::to_owned),
                    name: show(user).map(str::to_owned),
                })
                .collect(),
        }
    }

    async fn read_press(&self, event: &Value) -> Option<Inbound> {
        let id = event["id"].as_str()?;
        // 3: a message component, such as a button.
        if event["type"].as_u64() != Some(3) {
            return None;
        }
        let data = event["data"]["custom_id"].as_str()?;
        let user = match event["member"]["user"].is_object() {
            true => &event["member"]["user"],
            false => &event["user"],
        };
        let sender = user["id"].as_str()?;
        if event["channel"].is_object() {
            self.rooms.learn(&event["channel"]);
        }
        let (mut place, room) = self.place(event).await?;
        place.message = event["message"]["id"].as_str().map(str::to_owned);
        place.sender = Some(sender.to_owned());
        place.sender_name = display_name_of(&event["member"], user);
        let app = event["application_id"].as_str()?;
        let token = event["token"].as_str()?;
        Some(Inbound {
            event: format!("interaction:{id}"),
            at: time_of(id),
            handle: user["username"].as_str().map(str::to_owned),
            chat_name: room.name,
            from_bot: false,
            ticket: None,
            place,
            what: InboundEvent::Button {
                data: data.to_owned(),
                callback: Some(format!("{app}/{token}")),
            },
        })
    }

    async fn read_reaction(&self, event: &Value, mark: &str, removed: bool) -> Option<Inbound> {
        let sender = event["user_id"].as_str()?;
        if self.is_me(sender) {
            return None;
        }
        let emoji = &event["emoji"];
        let name = emoji["name"].as_str().unwrap_or("");
        let emoji = match emoji["id"].as_str() {
            Some(id) => format!("{name}:{id}"),
            None => name.to_owned(),
        };
        let (mut place, room) = self.place(event).await?;
        let user = &event["member"]["user"];
        place.message = event["message_id"].as_str().map(str::to_owned);
        place.sender = Some(sender.to_owned());
        place.sender_name = display_name_of(&event["member"], user);
        Some(Inbound {
            event: format!("reaction:{mark}"),
            at: self.clock.now().0,
            handle: user["username"].as_str().map(str::to_owned),
            chat_name: room.name,
            from_bot: user["bot"] == true,
            ticket: None,
            place,
            what: InboundEvent::Reaction { emoji, removed },
        })
    }

    /// The chat of an event.
    async fn place(&self, event: &Value) -> Option<(ChatRef, ChannelInfo)> {
        let id = event["channel_id"].as_str()?;
        let room = self.room(id, event["guild_id"].is_null()).await;
        let (chat, thread) = match &room.parent {
            Some(parent) => (parent.clone(), Some(id.to_owned())),
            None => (id.to_owned(), None),
        };
        let kind = match (room.kind, &thread) {
            (PeerKind::Thread, None) => PeerKind::Channel,
            (kind, _) => kind,
        };
        let place = ChatRef {
            kind,
            thread,
            ..ChatRef::dm("discord", &self.account.name, chat)
        };
        Some((place, room))
    }
}

/// A display name: nickname in the server, global name, or handle.
fn display_name_of(member: &Value, user: &Value) -> Option<String> {
    let nick = member["nick"].as_str();
    nick.or_else(|| show(user)).map(str::to_owned)
}

fn show(user: &Value) -> Option<&str> {
    user["global_name"]
        .as_str()
        .or_else(|| user["username"].as_str())
}

/// The time encoded in an id.
fn time_of(id: &str) -> i64 {
    let id: u64 = id.parse().unwrap_or(0);
    i64::try_from(id >> 22).unwrap_or(0) + EPOCH
}

/// The message that this one replies to.
fn quoted(event: &Value, names: &MentionNames<'_>) -> Option<Quoted> {
    // Type 1 of a reference is a forward.
    let reference = &event["message_reference"];
    if reference["type"].as_u64() == Some(1) {
        return None;
    }
    let id = reference["message_id"].as_str()?.to_owned();
    let answered = &event["referenced_message"];
    let text = answered["content"].as_str().filter(|text| !text.is_empty());
    Some(Quoted {
        id,
        text: text.map(|text| text::read(text, names)),
        sender: answered["author"]["id"].as_str().map(str::to_owned),
    })
}

/// Forwarded texts, and the files of the message and of its forwards.
fn parts(event: &Value) -> (Vec<&str>, Vec<Media>) {
    let passed = event["message_snapshots"].as_array().into_iter().flatten();
    let passed: Vec<&Value> = passed.map(|one| &one["message"]).collect();
    let texts = passed
        .iter()
        .filter_map(|one| one["content"].as_str())
        .collect();
    let mut media = files(event);
    media.extend(passed.into_iter().flat_map(files));
    (texts, media)
}

fn files(message: &Value) -> Vec<Media> {
    let spoken = message["flags"].as_u64().unwrap_or(0) & VOICE != 0;
    let files = message["attachments"].as_array().into_iter().flatten();
    files.filter_map(|file| media(file, spoken)).collect()
}

fn media(file: &Value, spoken: bool) -> Option<Media> {
    let mime = file["content_type"].as_str();
    let kind = match mime.and_then(|mime| mime.split('/').next()) {
        Some("audio") if spoken => MediaKind::Voice,
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    };
    Some(Media {
        kind,
        id: file["url"].as_str()?.to_owned(),
        name: file["filename"].as_str().map(str::to_owned),
        mime: mime.map(str::to_owned),
        size: file["size"].as_u64(),
    })
}

/// Content that can only be named: stickers and polls.
fn named(event: &Value) -> Vec<String> {
    let stickers = event["sticker_items"].as_array().into_iter().flatten();
    let stickers = stickers.filter_map(|one| one["name"].as_str());
    let mut all: Vec<String> = stickers.map(|name| format!("[sticker: {name}]")).collect();
    if let Some(question) = event["poll"]["question"]["text"].as_str() {
        let answers = event["poll"]["answers"].as_array().into_iter().flatten();
        let answers = answers.filter_map(|one| one["poll_media"]["text"].as_str());
        let answers: Vec<&str> = answers.collect();
        all.push(format!("[poll: {question} ({})]", answers.join(" / ")));
    }
    all
}
