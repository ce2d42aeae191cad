//! Pressed buttons and slash commands.

use manyhands_core::PeerKind;
use serde::Deserialize;
use serde_json::Value;

use super::Slack;
use super::events::millis;
use crate::channel::SendError;
use crate::message::{Inbound, InboundEvent, InboundMessage};

/// The fields of a press that we need.
#[derive(Debug, Deserialize)]
struct Pressed {
    user: ActingUser,
    #[serde(default)]
    channel: Option<ChannelRef>,
    #[serde(default)]
    message: Option<MessageRef>,
    #[serde(default)]
    container: Option<Container>,
    #[serde(default)]
    actions: Vec<BlockAction>,
}

#[derive(Debug, Deserialize)]
struct ActingUser {
    id: String,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ChannelRef {
    id: String,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct MessageRef {
    ts: String,
    #[serde(default)]
    thread_ts: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Container {
    #[serde(default)]
    channel_id: Option<String>,
    #[serde(default)]
    message_ts: Option<String>,
    #[serde(default)]
    thread_ts: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BlockAction {
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    action_ts: Option<String>,
}

/// The fields of a command that we need.
#[derive(Debug, Deserialize)]
struct SlashCommand {
    command: String,
    #[serde(default)]
    text: String,
    user_id: String,
    #[serde(default)]
    user_name: Option<String>,
    channel_id: String,
    #[serde(default)]
    channel_name: Option<String>,
    trigger_id: String,
}

impl Slack {
    /// Converts an interactivity payload; anything but buttons is ignored.
    pub(super) fn read_press(&self, payload: &Value) -> Result<Option<Inbound>, String> {
        if payload["type"] != "block_actions" {
            return Ok(None);
        }
        let pressed = Pressed::deserialize(payload).map_err(|error| error.to_string())?;
        let container = pressed.container.as_ref();
        let chat = pressed.channel.as_ref().map(|chat| chat.id.as_str());
        let chat = chat.or_else(|| container?.channel_id.as_deref());
        let shown = pressed.message.as_ref();
        let message = shown.map(|shown| shown.ts.as_str());
        let message = message.or_else(|| container?.message_ts.as_deref());
        let data = pressed.actions.first().and_then(|one| one.value.as_deref());
        // A button in a modal or in the app's home does not belong to a message of ours.
        let (Some(chat), Some(message), Some(data)) = (chat, message, data) else {
            return Ok(None);
        };
        let thread = shown.and_then(|shown| shown.thread_ts.as_deref());
        let thread = thread.or_else(|| container?.thread_ts.as_deref());
        let thread = thread.filter(|thread| *thread != message);
        let at = pressed.actions[0].action_ts.as_deref().unwrap_or_default();
        let direct = pressed
            .channel
            .as_ref()
            .and_then(|chat| chat.name.as_deref());
        let kind = (direct == Some("directmessage")).then_some(PeerKind::Dm);
        let mut place = self.place(chat, kind, thread);
        let known = self.names.person(&pressed.user.id);
        let handle = pressed.user.username.or(pressed.user.name);
        place.message = Some(message.to_owned());
        place.sender_name = known.name.or_else(|| handle.clone());
        place.sender = Some(pressed.user.id.clone());
        Ok(Some(Inbound {
            event: format!("press:{chat}:{message}:{}:{at}", pressed.user.id),
            at: millis(at).unwrap_or_else(|| self.clock.now().0),
            place,
            handle: known.handle.or(handle),
            chat_name: self.names.room(chat).name,
            from_bot: false,
            ticket: None,
            what: InboundEvent::Button {
                data: data.to_owned(),
                callback: None,
            },
        }))
    }

    /// Converts a command (`/ask something`) to a message that addresses us.
    pub(super) fn read_command(&self, payload: &Value) -> Result<Option<Inbound>, String> {
        if !payload["command"].is_string() {
            return Ok(None);
        }
        let given = SlashCommand::deserialize(payload).map_err(|error| error.to_string())?;
        let direct = given.channel_name.as_deref() == Some("directmessage");
        let mut place = self.place(&given.channel_id, direct.then_some(PeerKind::Dm), None);
        let known = self.names.person(&given.user_id);
        place.sender_name = known.name.or_else(|| given.user_name.clone());
        place.sender = Some(given.user_id);
        let text = format!("{} {}", given.command, given.text);
        Ok(Some(Inbound {
            event: format!("command:{}", given.trigger_id),
            at: self.clock.now().0,
            place,
            handle: known.handle.or(given.user_name),
            chat_name: given.channel_name.filter(|_| !direct),
            from_bot: false,
            ticket: None,
            what: InboundEvent::Message(Box::new(InboundMessage {
                text: text.trim().to_owned(),
                mentioned: true,
                ..InboundMessage::default()
            })),
        }))
    }

    /// Sends a note visible only to the person who pressed a button.
    pub(super) async fn whisper(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        let (Some(user), false) = (&inbound.place.sender, word.trim().is_empty()) else {
            return Ok(());
        };
        let text = super::render::mrkdwn(word);
        let mut fields = vec![
            ("channel", inbound.place.chat.as_str()),
            ("user", user),
            ("text", &text),
        ];
        if let Some(thread) = &inbound.place.thread {
            fields.push(("thread_ts", thread));
        }
        let said = self.post("chat.postEphemeral", &fields).await;
        said.map(|_| ()).map_err(SendError::from)
    }
}
