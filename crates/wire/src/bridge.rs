//! Bridges: programs that connect a chat service over the WebSocket, in mode `channel`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An addition: a bridge reports the delivery of messages with `channel.sent`. Without it, messages passed to the
/// bridge count as sent.
pub const ADDITION_SENT: &str = "channel.sent";

/// An incoming message on the bridge's service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelInboundParams {
    /// The service, as in `connect`.
    pub channel: String,
    /// The account, as in `connect`.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// The sender; in a direct chat it defaults to the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<BridgeSender>,
    /// The message.
    pub message: BridgeMessage,
    /// Whether the bot was mentioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_mentioned: Option<bool>,
    /// Ids mentioned in the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mentioned_ids: Option<Vec<String>>,
}

/// A chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgePeer {
    /// Kind of chat.
    pub kind: BridgePeerKind,
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// Kind of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgePeerKind {
    /// A direct chat.
    #[default]
    Dm,
    /// A group.
    Group,
    /// A broadcast channel.
    Channel,
    /// A thread in another chat.
    Thread,
}

/// The sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgeSender {
    /// The sender's id.
    pub id: String,
    /// The sender's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sender's handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// An incoming message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMessage {
    /// The service's id of the message; duplicates are ignored.
    pub id: String,
    /// The text.
    pub text: String,
    /// Time in milliseconds since 1970; default: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// Id of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// Text of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_text: Option<String>,
    /// Attachments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<BridgeMedia>>,
    /// A shared location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<BridgeLocation>,
}

/// An attachment: its bytes, or a URL from which the gateway downloads them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMedia {
    /// `image`, `audio`, `video` or `document`.
    #[serde(rename = "type")]
    pub kind: BridgeMediaKind,
    /// MIME type, such as `image/png`.
    pub mime_type: String,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Transcription of speech, if the service provides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcription: Option<String>,
}

/// Kind of attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgeMediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// Anything else.
    #[default]
    Document,
}

/// A location.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BridgeLocation {
    /// Latitude in degrees.
    pub lat: f64,
    /// Longitude in degrees.
    pub lon: f64,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The message was persisted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelInboundResult {
    /// `queued`: it was persisted and will be processed.
    pub status: String,
    /// The session it belongs to.
    pub session_key: String,
}

/// Delivery report of a message; requires the addition `channel.sent`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSentParams {
    /// The `id` of the `channel.outbound` event.
    pub id: String,
    /// The service's id of the message, if it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Why it was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// For an error: whether a retry may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// A message that the bridge should send.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelOutboundEvent {
    /// The service.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// The session; empty if there is none.
    pub session_key: String,
    /// The message.
    pub message: BridgeOutgoing,
    /// Id for `channel.sent`; a repeated id must be sent only once. An addition.
    #[serde(default)]
    pub id: String,
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeOutgoing {
    /// The text in Markdown; the caption if there is a file.
    pub text: String,
    /// Id of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// Temporary URL of the file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_url: Option<String>,
    /// The file itself; an addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<BridgeMedia>,
}

/// The agent started or stopped typing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelTypingEvent {
    /// The service.
    pub channel: String,
    /// The account.
    pub account_id: String,
    /// The chat.
    pub peer: BridgePeer,
    /// The session; empty if it is unknown.
    pub session_key: String,
    /// Whether it is typing.
    pub typing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn messages_of_other_bridges_are_read() {
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
