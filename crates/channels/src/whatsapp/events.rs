//! Converts WhatsApp's webhook events.

use manyhands_core::{ChatRef, PeerKind, Timestamp};
use serde_json::Value;

use super::{WhatsApp, error, format};
use crate::message::{Inbound, InboundEvent, InboundMessage, Location, Media, MediaKind, Quoted};

impl WhatsApp {
    /// All events about our number in a request. The request's size bounds them.
    pub(super) fn read(&self, told: &Value) -> Vec<Inbound> {
        let entries = told["entry"].as_array().into_iter().flatten();
        let changes = entries.flat_map(|entry| entry["changes"].as_array().into_iter().flatten());
        let mut heard = Vec::new();
        for change in changes {
            let value = &change["value"];
            if change["field"] != "messages" || !self.is_ours(value) {
                continue;
            }
            for error in value["errors"].as_array().into_iter().flatten() {
                let code = error["code"].as_i64().unwrap_or_default();
                tracing::warn!(
                    event = "whatsapp_error_reported",
                    error = error::words(error, code),
                    "WhatsApp reported an error"
                );
            }
            let said = value["messages"].as_array().into_iter().flatten();
            for said in said {
                match self.said(said, value) {
                    Some(inbound) => heard.push(inbound),
                    None => {
                        tracing::debug!(event = "whatsapp_message_ignored", kind = %said["type"], "ignored a message of this type")
                    }
                }
            }
            let statuses = value["statuses"].as_array().into_iter().flatten();
            heard.extend(statuses.filter_map(|status| self.status(status)));
        }
        heard
    }

    /// One app receives the events of all its numbers; each account processes its own.
    fn is_ours(&self, value: &Value) -> bool {
        value["metadata"]["phone_number_id"].as_str() == Some(&self.account.phone)
    }

    fn said(&self, said: &Value, value: &Value) -> Option<Inbound> {
        let us = digits(value["metadata"]["display_phone_number"].as_str()?);
        // Users with a username may hide their number.
        let from = ["from", "from_user_id"].map(|name| said[name].as_str());
        let from = from.into_iter().flatten().find(|from| !from.is_empty())?;
        let id = said["id"].as_str()?;
        if digits(from) == us {
            return None;
        }
        let group = said["group_id"].as_str();
        let card = card_of(value, from);
        let handle = card["username"].as_str();
        let handle = handle.map(|handle| handle.trim_start_matches('@').to_owned());
        let mut place = ChatRef {
            kind: group.map_or(PeerKind::Dm, |_| PeerKind::Group),
            message: Some(id.to_owned()),
            sender: Some(from.to_owned()),
            sender_name: card["name"].as_str().map(str::to_owned),
            sender_handle: handle.clone(),
            ..ChatRef::dm("whatsapp", &*self.account.name, group.unwrap_or(from))
        };
        let at = seconds(&said["timestamp"])?;
        self.last.put(&place.chat, (id.to_owned(), Timestamp(at)));
        let context = said["context"]["id"].as_str();
        let what = match button_data(said) {
            Some(data) => {
                place.message = context.map(str::to_owned);
                InboundEvent::Button {
                    data: data.to_owned(),
                    callback: Some(id.to_owned()),
                }
            }
            None => match said["type"].as_str()? {
                "reaction" => {
                    let emoji = said["reaction"]["emoji"].as_str().unwrap_or_default();
                    place.message = Some(said["reaction"]["message_id"].as_str()?.to_owned());
                    InboundEvent::Reaction {
                        emoji: emoji.to_owned(),
                        removed: emoji.is_empty(),
                    }
                }
                // Edits and deletions do not change what was said; number changes are the platform's affair.
                "edit" | "revoke" | "system" => return None,
                kind => InboundEvent::Message(Box::new(message(kind, said, &us))),
            },
        };
        Some(Inbound {
            event: id.to_owned(),
            at,
            place,
            handle,
            chat_name: None,
            from_bot: false,
            ticket: None,
            what,
        })
    }

    /// Of the status reports, only failures matter.
    fn status(&self, status: &Value) -> Option<Inbound> {
        if status["status"] != "failed" {
            return None;
        }
        let message = status["id"].as_str()?;
        let shared = status["recipient_type"] == "group";
        let chat = ["recipient_id", "recipient_user_id"].map(|name| status[name].as_str());
        let chat = chat.into_iter().flatten().find(|chat| !chat.is_empty())?;
        let place = ChatRef {
            kind: if shared {
                PeerKind::Group
            } else {
                PeerKind::Dm
            },
            message: Some(message.to_owned()),
            ..ChatRef::dm("whatsapp", &*self.account.name, chat)
        };
        Some(Inbound {
            event: format!("{message}:failed"),
            at: seconds(&status["timestamp"])?,
            place,
            handle: None,
            chat_name: None,
            from_bot: false,
            ticket: None,
            what: InboundEvent::Failed {
                message: message.to_owned(),
                why: error::failed(&status["errors"]),
            },
        })
    }
}

/// The data of a pressed button, list row or template button.
fn button_data(said: &Value) -> Option<&str> {
    match said["type"].as_str()? {
        "interactive" => {
            let interactive = &said["interactive"];
            let kind = interactive["type"].as_str()?;
            interactive[kind]["id"].as_str()
        }
        "button" => said["button"]["payload"].as_str(),
        _ => None,
    }
}

fn message(kind: &str, said: &Value, us: &str) -> InboundMessage {
    let mut message = InboundMessage::default();
    let context = &said["context"];
    if let Some(quoted) = context["id"].as_str() {
        let sender = context["from"].as_str();
        message.mentioned = sender.is_some_and(|sender| digits(sender) == us);
        message.quoted = Some(Quoted {
            id: quoted.to_owned(),
            text: None,
            sender: sender.map(str::to_owned),
        });
    }
    let body = &said[kind];
    match kind {
        "text" => message.text = body["body"].as_str().unwrap_or_default().to_owned(),
        "image" => message.media.extend(media(body, MediaKind::Image)),
        "video" => message.media.extend(media(body, MediaKind::Video)),
        "document" => message.media.extend(media(body, MediaKind::Document)),
        "audio" => {
            let kind = match body["voice"] == true {
                true => MediaKind::Voice,
                false => MediaKind::Audio,
            };
            message.media.extend(media(body, kind));
        }
        "sticker" => {
            message.text = "[sticker]".to_owned();
            message.media.extend(media(body, MediaKind::Image));
        }
        "location" => {
            let degrees = (body["latitude"].as_f64(), body["longitude"].as_f64());
            if let (Some(latitude), Some(longitude)) = degrees {
                message.location = Some(Location {
                    latitude,
                    longitude,
                });
            }
            let named = ["name", "address"].map(|field| body[field].as_str());
            let named: Vec<&str> = named.into_iter().flatten().collect();
            message.text = named.join("\n");
        }
        "contacts" => message.text = contacts(body),
        "unsupported" => "[unsupported WhatsApp message]".clone_into(&mut message.text),
        other => message.text = format!("[{other}]"),
    }
    if let Some(caption) = body["caption"].as_str() {
        message.text = caption.to_owned();
    }
    if matches!(kind, "text" | "image" | "video" | "document") {
        let call = format!("@{us}");
        message.mentioned |= !us.is_empty() && message.text.contains(&call);
        let text = message.text.trim();
        let text = text.strip_prefix(&call).unwrap_or(text);
        let text = text.strip_suffix(&call).unwrap_or(text);
        message.text = format::read(text.trim());
    }
    message
}

fn media(body: &Value, kind: MediaKind) -> Option<Media> {
    let mime = body["mime_type"].as_str();
    Some(Media {
        kind,
        id: body["id"].as_str()?.to_owned(),
        name: body["filename"].as_str().map(str::to_owned),
        // `audio/ogg; codecs=opus`
        mime: mime.map(|mime| mime.split(';').next().unwrap_or(mime).trim().to_owned()),
        size: None,
    })
}

/// Shared contacts, with their numbers.
fn contacts(all: &Value) -> String {
    let mut lines = Vec::new();
    for one in all.as_array().into_iter().flatten().take(50) {
        let mut line = one["name"]["formatted_name"]
            .as_str()
            .unwrap_or("somebody")
            .to_owned();
        for phone in one["phones"].as_array().into_iter().flatten().take(10) {
            if let Some(number) = phone["phone"].as_str() {
                line.push_str(", ");
                line.push_str(number);
            }
        }
        lines.push(format!("[contact: {line}]"));
    }
    lines.join("\n")
}

/// The sender's profile among the contacts that come with the messages.
fn card_of<'a>(value: &'a Value, from: &str) -> &'a Value {
    let mut cards = value["contacts"].as_array().into_iter().flatten();
    let theirs = |card: &&Value| card["wa_id"] == from || card["user_id"] == from;
    cards
        .find(theirs)
        .map_or(&Value::Null, |card| &card["profile"])
}

/// Seconds, as a number or as text, in milliseconds.
fn seconds(time: &Value) -> Option<i64> {
    let seconds = time.as_i64().or_else(|| time.as_str()?.parse().ok())?;
    seconds.checked_mul(1_000)
}

/// The digits of a phone number.
pub(super) fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}
