//! Bridges: programs that carry a chat service over the socket, in mode `channel`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An addition: a bridge says what became of what it was given, by `channel.sent`. Without it
/// whatever the bridge was given counts as sent.
pub const ADDITION_SENT: &str = "channel.sent";

/// Somebody said something on the bridge's service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelInboundParams {
    /// The service, as the bridge connected.
    pub channel: String,
    /// The account, as the bridge connected.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// Who said it; in a direct chat the peer when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<BridgeSender>,
    /// What was said.
    pub message: BridgeMessage,
    /// Whether the bot was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_mentioned: Option<bool>,
    /// Whom the message mentions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mentioned_ids: Option<Vec<String>>,
}

/// A chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgePeer {
    /// What kind of chat.
    pub kind: BridgePeerKind,
    /// Its id.
    pub id: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// What kind of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgePeerKind {
    /// With one person.
    #[default]
    Dm,
    /// Of some people.
    Group,
    /// For many.
    Channel,
    /// A thread of one of the others.
    Thread,
}

/// Somebody who writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgeSender {
    /// Their id.
    pub id: String,
    /// What they are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Their handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMessage {
    /// The service's id of it: told twice, it counts once.
    pub id: String,
    /// The text.
    pub text: String,
    /// When, in milliseconds since 1970; now when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// The text of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_text: Option<String>,
    /// Files, pictures and recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<BridgeMedia>>,
    /// A place on the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<BridgeLocation>,
}

/// A file of a message: its bytes, or an address at which the gateway gets them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMedia {
    /// `image`, `audio`, `video` or `document`.
    #[serde(rename = "type")]
    pub kind: BridgeMediaKind,
    /// Its type, such as `image/png`.
    pub mime_type: String,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What is spoken in it, where the service tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcription: Option<String>,
}

/// What kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgeMediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else.
    #[default]
    Document,
}

/// A place on the map.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgeLocation {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The message is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelInboundResult {
    /// `queued`: it is kept, and worked on in its turn.
    pub status: String,
    /// The conversation in which it belongs.
    pub session_key: String,
}

/// What became of something that the bridge was given; only with the addition `channel.sent`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSentParams {
    /// The `id` of the `channel.outbound` event.
    pub id: String,
    /// The service's id of the message, when it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Why it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For an error: whether it is worth trying again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Something that the bridge is to send.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelOutboundEvent {
    /// The service.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// The conversation; empty when it belongs to none.
    pub session_key: String,
    /// What is to be sent.
    pub message: BridgeOutgoing,
    /// Names it for `channel.sent`; whoever gets the same twice sends it once. An addition.
    #[serde(default)]
    pub id: String,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeOutgoing {
    /// The text, in Markdown; below a file when there is one.
    pub text: String,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// Where the file is for a while, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_url: Option<String>,
    /// The file itself; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<BridgeMedia>,
}

/// The agent writes, or does no longer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelTypingEvent {
    /// The service.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// The conversation; empty when it is not known.
    pub session_key: String,
    /// Whether it writes.
    pub typing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn what_bridges_of_others_say_is_read() {
        let said = json!({
            "channel": "signal", "accountId": "default",
            "peer": { "kind": "group", "id": "g1", "name": "Family" },
            "sender": { "id": "+491", "name": "Ada" },
            "message": {
                "id": "m1", "text": "hello", "timestamp": 1,
                "media": [{ "type": "image", "mimeType": "image/png", "data": "AA==", "r2Key": "old" }],
                "location": { "lat": 1.5, "lon": 2.5 },
            },
            "wasMentioned": true,
        });
        let read: ChannelInboundParams = from_value(said).unwrap();
        assert_eq!(read.peer.kind, BridgePeerKind::Group);
        assert_eq!(read.message.media.unwrap()[0].kind, BridgeMediaKind::Image);
        assert_eq!(read.message.location.unwrap().lon, 2.5);
    }
}
