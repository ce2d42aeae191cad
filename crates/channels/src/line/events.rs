//! Converts LINE's events.

use manyhands_core::{ChatRef, PeerKind};
use serde_json::Value;

use super::LineChannel;
use super::send::Ticket;
use crate::message::{
    Inbound, InboundEvent, InboundMessage, Location, Media, MediaKind, Mention, Quoted,
};

impl LineChannel {
    /// Converts an event; `None` if it is irrelevant.
    pub(super) fn read(&self, event: &Value) -> Option<Inbound> {
        // In standby mode another program answers.
        if event["mode"] == "standby" {
            return None;
        }
        let source = &event["source"];
        let (kind, chat) = match source["type"].as_str()? {
            "user" => (PeerKind::Dm, source["userId"].as_str()?),
            "group" => (PeerKind::Group, source["groupId"].as_str()?),
            "room" => (PeerKind::Group, source["roomId"].as_str()?),
            _ => return None,
        };
        let what = match event["type"].as_str()? {
            "message" => InboundEvent::Message(Box::new(self.message(&event["message"])?)),
            "postback" => InboundEvent::Button {
                data: event["postback"]["data"].as_str()?.to_owned(),
                callback: None,
            },
            _ => return None,
        };
        let message = &event["message"];
        let mut place = ChatRef {
            kind,
            message: owned(&message["id"]),
            sender: owned(&source["userId"]),
            ..ChatRef::dm("line", &*self.account.name, chat)
        };
        let known = self.people.known(&place);
        place.sender_name = known.sender;
        let ticket = Ticket {
            reply: event["replyToken"].as_str(),
            quote: message["quoteToken"].as_str(),
        };
        Some(Inbound {
            event: event["webhookEventId"].as_str()?.to_owned(),
            at: event["timestamp"].as_i64()?,
            place,
            handle: None,
            chat_name: known.chat,
            from_bot: false,
            ticket: ticket.written(),
            what,
        })
    }

    fn message(&self, said: &Value) -> Option<InboundMessage> {
        let id = said["id"].as_str()?;
        let mut message = InboundMessage::default();
        if let Some(quoted) = said["quotedMessageId"].as_str() {
            message.mentioned = self.ours.get(quoted).is_some();
            message.quoted = Some(Quoted {
                id: quoted.to_owned(),
                text: None,
                sender: None,
            });
        }
        let media = |kind, mime: Option<&str>| media(said, id, kind, mime);
        match said["type"].as_str()? {
            "text" => text(said, &mut message),
            // LINE does not report an image's type.
            "image" => message.media.push(media(MediaKind::Image, None)),
            // Recorded in the app, always in this format.
            "audio" => message
                .media
                .push(media(MediaKind::Voice, Some("audio/mp4"))),
            "video" => message
                .media
                .push(media(MediaKind::Video, Some("video/mp4"))),
            "file" => message.media.push(media(MediaKind::Document, None)),
            "location" => {
                message.location = Some(Location {
                    latitude: said["latitude"].as_f64()?,
                    longitude: said["longitude"].as_f64()?,
                });
                let named = ["title", "address"].map(|field| said[field].as_str());
                let named: Vec<&str> = named.into_iter().flatten().collect();
                message.text = named.join("\n");
            }
            "sticker" => message.text = sticker(said),
            other => message.text = format!("[{other}]"),
        }
        Some(message)
    }
}

/// Converts a text with its mentions. LINE counts in UTF-16 units.
fn text(said: &Value, message: &mut InboundMessage) {
    let text = said["text"].as_str().unwrap_or_default();
    let utf16: Vec<u16> = text.encode_utf16().collect();
    let part =
        |from: usize, to: usize| String::from_utf16_lossy(utf16.get(from..to).unwrap_or_default());
    let mut us = Vec::new();
    let mentionees = said["mention"]["mentionees"].as_array();
    for mentionee in mentionees.into_iter().flatten() {
        let number = |name: &str| {
            let number = mentionee[name].as_u64().unwrap_or(0);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let start = number("index").min(utf16.len());
        let end = start.saturating_add(number("length")).min(utf16.len());
        if mentionee["isSelf"] == true {
            us.push((start, end));
        } else {
            message.mentions.push(Mention {
                id: owned(&mentionee["userId"]),
                handle: None,
                name: Some(part(start, end).trim_start_matches('@').to_owned()),
            });
        }
    }
    message.mentioned |= !us.is_empty();
    // Our name within a sentence is part of it; at an end of the text it only addresses us.
    let (mut from, mut to) = (0, utf16.len());
    for (start, end) in &us {
        if *start >= from && part(from, *start).trim().is_empty() {
            from = *end;
        }
    }
    for (start, end) in us.iter().rev() {
        if *start >= from && *end <= to && part(*end, to).trim().is_empty() {
            to = *start;
        }
    }
    message.text = match us.is_empty() {
        true => text.to_owned(),
        false => part(from, to).trim().to_owned(),
    };
}

fn media(said: &Value, id: &str, kind: MediaKind, mime: Option<&str>) -> Media {
    let external = said["contentProvider"]["type"] == "external";
    let elsewhere = owned(&said["contentProvider"]["originalContentUrl"]).filter(|_| external);
    Media {
        kind,
        id: elsewhere.unwrap_or_else(|| id.to_owned()),
        name: owned(&said["fileName"]),
        mime: mime.map(str::to_owned),
        size: said["fileSize"].as_u64(),
    }
}

/// A model cannot see a sticker, but it can read its text.
fn sticker(said: &Value) -> String {
    if let Some(text) = said["text"].as_str() {
        return format!("[sticker: {text}]");
    }
    let words = said["keywords"].as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    match words.is_empty() {
        true => "[sticker]".to_owned(),
        false => format!("[sticker: {}]", words.join(", ")),
    }
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
