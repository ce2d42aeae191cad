//! References to chats and messages on chat platforms.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PeerKind {
    /// A direct chat.
    #[default]
    Dm,
    /// A group.
    Group,
    /// A broadcast channel.
    Channel,
    /// A thread.
    Thread,
}

impl PeerKind {
    /// Its name in records and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Thread => "thread",
        }
    }
}

impl fmt::Display for PeerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A chat of one account on one platform, and optionally a message in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatRef {
    /// The platform, such as `telegram`.
    pub channel: String,
    /// Our account there.
    pub account: String,
    /// Kind of chat.
    pub kind: PeerKind,
    /// The platform's id of the chat, to which messages are sent.
    pub chat: String,
    /// The thread in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The platform's id of its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Display name of the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// Handle of the sender, such as `ada` for `@ada`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_handle: Option<String>,
}

impl ChatRef {
    /// A direct chat.
    pub fn dm(
        channel: impl Into<String>,
        account: impl Into<String>,
        chat: impl Into<String>,
    ) -> Self {
        Self {
            channel: channel.into(),
            account: account.into(),
            kind: PeerKind::Dm,
            chat: chat.into(),
            thread: None,
            message: None,
            sender: None,
            sender_name: None,
            sender_handle: None,
        }
    }

    /// Whether others can read it.
    pub fn is_shared(&self) -> bool {
        self.kind != PeerKind::Dm
    }

    /// The chat without message and sender.
    #[must_use]
    pub fn chat_only(&self) -> Self {
        Self {
            message: None,
            sender: None,
            sender_name: None,
            sender_handle: None,
            ..self.clone()
        }
    }

    /// The lane that orders messages of this chat.
    pub fn lane(&self) -> ChatLane {
        // Not escaped: channel and account are names of ours without colons, and only the last part may contain
        // any.
        ChatLane(format!("{}:{}:{}", self.channel, self.account, self.chat))
    }
}

/// Key of the queue of one chat, in which messages stay in order: `telegram:default:42`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChatLane(String);

impl ChatLane {
    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The chat, as the platform names it. It may contain colons itself.
    pub fn chat(&self) -> &str {
        self.0.splitn(3, ':').nth(2).unwrap_or_default()
    }
}

impl fmt::Display for ChatLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Every stored text is a lane, so that no row becomes unreadable.
impl FromStr for ChatLane {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl Deref for ChatLane {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The chats in which a tool is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChatScope {
    /// In all chats, and outside of chats.
    #[default]
    Anywhere,
    /// Not in shared chats.
    NotShared,
    /// In chats of these platforms only.
    Only(&'static [&'static str]),
}

impl ChatScope {
    /// Whether a tool is available in this chat, or outside of chats if `None`.
    pub fn includes(self, place: Option<&ChatRef>) -> bool {
        match self {
            Self::Anywhere => true,
            Self::NotShared => place.is_none_or(|place| !place.is_shared()),
            Self::Only(channels) => {
                place.is_some_and(|place| channels.contains(&place.channel.as_str()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_available_only_in_its_chats() {
        let private = ChatRef::dm("telegram", "default", "42");
        let group = ChatRef {
            kind: PeerKind::Group,
            ..ChatRef::dm("slack", "default", "C1")
        };
        let telegram = ChatScope::Only(&["telegram"]);
        for (wanted, nowhere, dm, shared) in [
            (ChatScope::Anywhere, true, true, true),
            (ChatScope::NotShared, true, true, false),
            (telegram, false, true, false),
        ] {
            assert_eq!(wanted.includes(None), nowhere, "{wanted:?}");
            assert_eq!(wanted.includes(Some(&private)), dm, "{wanted:?}");
            assert_eq!(wanted.includes(Some(&group)), shared, "{wanted:?}");
        }
    }

    #[test]
    fn a_chat_reference_round_trips_and_omits_unknown_fields() {
        let place = ChatRef::dm("line", "shop", "U1");
        let text = serde_json::to_string(&place).unwrap();
        assert_eq!(
            text,
            r#"{"channel":"line","account":"shop","kind":"dm","chat":"U1"}"#
        );
        assert_eq!(serde_json::from_str::<ChatRef>(&text).unwrap(), place);
        let lane = place.lane();
        assert_eq!((lane.as_str(), lane.chat()), ("line:shop:U1", "U1"));
        let mail = ChatRef::dm("matrix", "default", "!room:server.test").lane();
        assert_eq!(mail.to_string().parse(), Ok(mail.clone()));
        assert_eq!(mail.chat(), "!room:server.test");
    }
}
