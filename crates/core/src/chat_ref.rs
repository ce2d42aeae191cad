//! References to chats and messages on chat platforms.

use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of place somebody writes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PeerKind {
    /// Directly, and nobody else reads it.
    #[default]
    Dm,
    /// A group.
    Group,
    /// A channel that many read.
    Channel,
    /// A thread.
    Thread,
}

impl PeerKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
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
        f.write_str(self.word())
    }
}

/// Where something was said, or is to be said: a chat of one account on one platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatRef {
    /// The platform, such as `telegram`.
    pub channel: String,
    /// Which account of ours there.
    pub account: String,
    /// What kind of place.
    pub kind: PeerKind,
    /// The chat, as the platform names it: what a message is sent to.
    pub chat: String,
    /// The thread in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The message that was said there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who said it, as the platform names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// What they are called there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
    /// Their handle, such as `ada` for `@ada`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_handle: Option<String>,
}

impl ChatRef {
    /// A chat in which one person writes.
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

    /// Whether others read it too.
    pub fn is_shared(&self) -> bool {
        self.kind != PeerKind::Dm
    }

    /// The chat alone, whatever was said in it and by whom.
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

    /// The lane in which messages of this chat are kept in order.
    pub fn lane(&self) -> ChatLane {
        ChatLane(format!("{}:{}:{}", self.channel, self.account, self.chat))
    }
}

/// The key by which messages of one chat are kept in order: `telegram:default:42`.
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

/// The chats in which a tool is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Where {
    /// In every one, and outside of chats.
    #[default]
    Anywhere,
    /// Not where others read too.
    NotShared,
    /// In chats of these platforms only.
    Only(&'static [&'static str]),
}

impl Where {
    /// Whether a tool is there for whoever speaks in `place`, which is none outside of chats.
    pub fn has(self, place: Option<&ChatRef>) -> bool {
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
    fn a_tool_is_there_only_where_it_belongs() {
        let private = ChatRef::dm("telegram", "default", "42");
        let group = ChatRef {
            kind: PeerKind::Group,
            ..ChatRef::dm("slack", "default", "C1")
        };
        let telegram = Where::Only(&["telegram"]);
        for (wanted, nowhere, dm, shared) in [
            (Where::Anywhere, true, true, true),
            (Where::NotShared, true, true, false),
            (telegram, false, true, false),
        ] {
            assert_eq!(wanted.has(None), nowhere, "{wanted:?}");
            assert_eq!(wanted.has(Some(&private)), dm, "{wanted:?}");
            assert_eq!(wanted.has(Some(&group)), shared, "{wanted:?}");
        }
    }

    #[test]
    fn a_place_reads_back_and_leaves_out_what_is_not_known() {
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
