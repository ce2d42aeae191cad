//! Converts Slack's events.

use manyhands_core::{ChatRef, PeerKind};
use serde::Deserialize;
use serde_json::Value;

use super::mrkdwn::{MrkdwnContext, mentioned};
use super::names::NameLookup;
use super::{Own, Slack};
use crate::message::{Inbound, InboundEvent, InboundMessage, Media, MediaKind, Quoted};

/// Maximum files per message.
const FILES: usize = 20;

/// The envelope fields of an event.
#[derive(Debug, Deserialize)]
struct EventContext {
    #[serde(default)]
    event_id: String,
    #[serde(default)]
    event_time: i64,
    #[serde(default)]
    api_app_id: Option<String>,
    #[serde(default)]
    authorizations: Vec<Authorization>,
}

#[derive(Debug, Deserialize)]
struct Authorization {
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default)]
    is_bot: bool,
}

/// The fields of a message that we need.
#[derive(Debug, Deserialize)]
struct MessageEvent {
    channel: String,
    ts: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    channel_type: Option<String>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    bot_id: Option<String>,
    #[serde(default)]
    app_id: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thread_ts: Option<String>,
    #[serde(default)]
    parent_user_id: Option<String>,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    edited: Option<Value>,
    #[serde(default)]
    files: Vec<SlackFile>,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Debug, Deserialize)]
struct SlackFile {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    mimetype: Option<String>,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    is_external: bool,
    #[serde(default)]
    url_private: Option<String>,
    #[serde(default)]
    url_private_download: Option<String>,
}

/// An attachment: a shared message, or content added by a program.
#[derive(Debug, Deserialize)]
struct Attachment {
    #[serde(default)]
    is_share: bool,
    #[serde(default)]
    is_msg_unfurl: bool,
    #[serde(default)]
    ts: Option<Value>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    fallback: Option<String>,
    #[serde(default)]
    author_id: Option<String>,
}

/// The fields of a reaction that we need.
#[derive(Debug, Deserialize)]
struct Reacted {
    user: String,
    reaction: String,
    item: ReactedItem,
    #[serde(default)]
    event_ts: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ReactedItem {
    #[serde(default)]
    channel: Option<String>,
    #[serde(default)]
    ts: Option<String>,
}

impl Slack {
    /// Converts an Events API payload; `None` if it is irrelevant.
    pub(super) fn read_event(&self, payload: &Value) -> Result<Option<Inbound>, String> {
        let around = EventContext::deserialize(payload).map_err(|error| error.to_string())?;
        let event = &payload["event"];
        match event["type"].as_str() {
            Some(kind @ ("message" | "app_mention")) => {
                // Before parsing: other subtypes lack the fields of a message.
                if ignored(event["subtype"].as_str()) {
                    return Ok(None);
                }
                let said = MessageEvent::deserialize(event).map_err(|error| error.to_string())?;
                Ok(self.read_message(&around, said, kind == "app_mention"))
            }
            Some(kind @ ("reaction_added" | "reaction_removed")) => {
                let reacted = Reacted::deserialize(event).map_err(|error| error.to_string())?;
                Ok(self.read_reaction(&around, reacted, kind == "reaction_removed"))
            }
            _ => Ok(None),
        }
    }

    /// The names needed to convert a payload.
    pub(super) fn names_in(&self, payload: &Value) -> Vec<NameLookup> {
        let event = &payload["event"];
        // Our own name is known already and must not use up a lookup.
        let own = self.own().user;
        let people = [&event["user"], &payload["user"]["id"]];
        let people = people.into_iter().filter_map(Value::as_str);
        let text = event["text"].as_str().unwrap_or_default();
        let people = people.chain(mentioned(text));
        let mut wanted = Vec::new();
        for id in people.filter(|id| Some(*id) != own.as_deref()) {
            let one = NameLookup::Person(id.to_owned());
            if !wanted.contains(&one) {
                wanted.push(one);
            }
        }
        let rooms = [
            &event["channel"],
            &event["item"]["channel"],
            &payload["channel"]["id"],
        ];
        let room = rooms.into_iter().find_map(Value::as_str);
        // A direct chat has no name of its own.
        let room = room.filter(|room| !room.starts_with('D'));
        if let Some(room) = room {
            // After the sender, before mentions: lookups per message are limited, and these matter
            // most.
            wanted.insert(wanted.len().min(1), NameLookup::Room(room.to_owned()));
        }
        wanted
    }

    /// A chat. Slack does not always report its kind.
    pub(super) fn place(
        &self,
        chat: &str,
        kind: Option<PeerKind>,
        thread: Option<&str>,
    ) -> ChatRef {
        // Slack's id prefixes are a convention, so the event's own type comes first.
        let guess = match chat.as_bytes().first() {
            Some(b'D') => PeerKind::Dm,
            // Assumed to be a channel: there the bot answers only when mentioned.
            _ => PeerKind::Channel,
        };
        let kind = kind.or_else(|| self.names.room(chat).kind).unwrap_or(guess);
        ChatRef {
            kind: match thread {
                // A thread in a direct chat is still between the same two.
                Some(_) if kind != PeerKind::Dm => PeerKind::Thread,
                _ => kind,
            },
            thread: thread.map(str::to_owned),
            ..ChatRef::dm("slack", &self.account.name, chat)
        }
    }

    fn read_message(
        &self,
        around: &EventContext,
        said: MessageEvent,
        called: bool,
    ) -> Option<Inbound> {
        let own = self.own_in(around);
        // `None` on both sides must not count as equal.
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        let ours = same(&said.user, &own.user)
            || same(&said.bot_id, &own.bot)
            || same(&said.app_id, &around.api_app_id);
        // An edited message keeps its timestamp, under which it was stored before.
        if ours || said.hidden || said.edited.is_some() {
            return None;
        }
        let mut message = self.message(&said, &own);
        // A reply in a thread that we started addresses us.
        message.mentioned |= called || same(&said.parent_user_id, &own.user);
        let kind = match said.channel_type.as_deref() {
            Some("im") => Some(PeerKind::Dm),
            Some("mpim") => Some(PeerKind::Group),
            Some("channel" | "group") => Some(PeerKind::Channel),
            _ => None,
        };
        // Once someone replies, the first message of a thread becomes its own parent.
        let thread = said
            .thread_ts
            .as_deref()
            .filter(|thread| *thread != said.ts);
        let mut place = self.place(&said.channel, kind, thread);
        let sender = said.user.clone().or_else(|| said.bot_id.clone());
        let person = sender.as_deref().map(|id| self.names.person(id));
        let person = person.unwrap_or_default();
        place.message = Some(said.ts.clone());
        place.sender_name = person.name.or(said.username);
        place.sender = sender;
        let at = millis(&said.ts).unwrap_or_else(|| around.event_time.saturating_mul(1_000));
        Some(Inbound {
            // Not the event id: `message` and `app_mention` report the same message with different
            // ones.
            event: format!("message:{}:{}", said.channel, said.ts),
            at,
            chat_name: self.names.room(&said.channel).name,
            place,
            handle: person.handle,
            from_bot: said.bot_id.is_some()
                || said.subtype.as_deref() == Some("bot_message")
                || person.bot,
            ticket: None,
            what: InboundEvent::Message(Box::new(message)),
        })
    }

    fn message(&self, said: &MessageEvent, own: &Own) -> InboundMessage {
        let called = |id: &str| self.names.person(id);
        let reader = MrkdwnContext {
            own: own.user.as_deref(),
            own_name: own.name.as_deref(),
            called: &called,
        };
        let read = reader.read(said.text.as_deref().unwrap_or_default());
        let mut message = InboundMessage {
            text: read.text,
            mentioned: read.mentioned,
            mentions: read.mentions,
            ..InboundMessage::default()
        };
        // Bounded: one message may have any number of previews.
        for attachment in said.attachments.iter().take(FILES) {
            let words = attachment
                .text
                .as_deref()
                .or(attachment.fallback.as_deref());
            let words = words.map(|words| reader.read(words).text);
            if (attachment.is_share || attachment.is_msg_unfurl) && message.quoted.is_none() {
                let id = attachment.ts.as_ref().map(|ts| match ts {
                    Value::String(ts) => ts.clone(),
                    other => other.to_string(),
                });
                message.quoted = Some(Quoted {
                    id: id.unwrap_or_default(),
                    text: words,
                    sender: attachment.author_id.clone(),
                });
            } else if said.bot_id.is_some()
                && let Some(words) = words
            {
                // Programs often put their whole message there.
                add_line(&mut message.text, &words);
            }
        }
        for file in said.files.iter().take(FILES) {
            file.add_to(&mut message);
        }
        message
    }

    fn read_reaction(&self, around: &EventContext, one: Reacted, removed: bool) -> Option<Inbound> {
        let (Some(chat), Some(ts)) = (one.item.channel, one.item.ts) else {
            return None;
        };
        // Our own reactions come back as events.
        if Some(&one.user) == self.own_in(around).user.as_ref() {
            return None;
        }
        let person = self.names.person(&one.user);
        let mut place = self.place(&chat, None, None);
        place.message = Some(ts);
        place.sender_name = person.name;
        place.sender = Some(one.user);
        let at = one.event_ts.as_deref().and_then(millis);
        Some(Inbound {
            event: around.event_id.clone(),
            at: at.unwrap_or_else(|| around.event_time.saturating_mul(1_000)),
            chat_name: self.names.room(&chat).name,
            place,
            handle: person.handle,
            from_bot: person.bot,
            ticket: None,
            what: InboundEvent::Reaction {
                emoji: one.reaction,
                removed,
            },
        })
    }

    /// Our identity: from our own request, otherwise from the event's envelope.
    fn own_in(&self, around: &EventContext) -> Own {
        let mut own = self.own();
        if own.user.is_none() {
            let bots = around.authorizations.iter().filter(|one| one.is_bot);
            // Webhooks may arrive before our own identity request has finished.
            own.user = bots.filter_map(|one| one.user_id.clone()).next();
        }
        own
    }
}

impl SlackFile {
    fn add_to(&self, message: &mut InboundMessage) {
        let name = self.name.as_deref().or(self.title.as_deref());
        match self.mode.as_deref() {
            Some("tombstone") | Some("hidden_by_limit") => {
                let words = format!("[a file that Slack no longer shows: {}]", self.id);
                return add_line(&mut message.text, &words);
            }
            // Hosted elsewhere: our token must not be sent there.
            Some("external") => return self.add_link(message),
            _ if self.is_external => return self.add_link(message),
            _ => {}
        }
        let mime = self.mimetype.clone();
        let kind = match (self.subtype.as_deref(), mime.as_deref().unwrap_or_default()) {
            (Some("slack_audio"), _) => MediaKind::Voice,
            (Some("slack_video"), _) => MediaKind::Video,
            (_, mime) if mime.starts_with("image/") => MediaKind::Image,
            (_, mime) if mime.starts_with("audio/") => MediaKind::Audio,
            (_, mime) if mime.starts_with("video/") => MediaKind::Video,
            _ => MediaKind::Document,
        };
        let address = self.url_private_download.as_ref();
        let address = address.or(self.url_private.as_ref());
        message.media.push(Media {
            kind,
            id: address.unwrap_or(&self.id).clone(),
            name: name.map(str::to_owned),
            mime,
            size: self.size,
        });
    }

    fn add_link(&self, message: &mut InboundMessage) {
        let name = self.title.as_deref().or(self.name.as_deref());
        let name = name.unwrap_or("a file").replace(['[', ']'], "");
        let address = self.url_private.as_deref().unwrap_or_default();
        add_line(&mut message.text, &format!("[{name}]({address})"));
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Subtypes that are not new messages.
fn ignored(subtype: Option<&str>) -> bool {
    let said = [
        "bot_message",
        "file_share",
        "thread_broadcast",
        "me_message",
    ];
    subtype.is_some_and(|subtype| !said.contains(&subtype))
}

/// A Slack timestamp (`1700000000.123456`) in milliseconds.
pub(super) fn millis(ts: &str) -> Option<i64> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let seconds: i64 = seconds.parse().ok().filter(|seconds| *seconds >= 0)?;
    // Missing digits count as zeros; microseconds are cut.
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    seconds
        .checked_mul(1_000)?
        .checked_add(digits.parse().ok()?)
}
