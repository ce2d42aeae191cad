//! Choosing the chat for a message to a contact.

use manyhands_core::{ChatRef, PeerKind};

use super::profile::Profile;
use crate::reference_id::is_chat_number;

/// Platforms in order of preference, when neither the call nor the contact chooses one.
const ORDER: [&str; 5] = ["slack", "telegram", "line", "discord", "whatsapp"];

/// The chat a message is sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTarget {
    /// The platform.
    pub channel: &'static str,
    /// The chat's id there.
    pub chat: String,
    /// The Slack workspace.
    pub team: Option<String>,
    /// Private chat or group.
    pub kind: PeerKind,
}

impl MessageTarget {
    fn private(channel: &'static str, chat: &str) -> Option<Self> {
        (!chat.is_empty()).then(|| Self {
            channel,
            chat: chat.to_owned(),
            team: None,
            kind: PeerKind::Dm,
        })
    }

    fn group(channel: &'static str, chat: &str) -> Self {
        Self {
            channel,
            chat: chat.to_owned(),
            team: None,
            kind: PeerKind::Group,
        }
    }

    /// The target in the format of hints, such as `tg:42`.
    pub fn chat_id(&self) -> String {
        match (self.channel, &self.team) {
            ("telegram", _) => format!("tg:{}", self.chat),
            ("slack", Some(team)) => format!("slack:{team}:{}", self.chat),
            ("whatsapp", _) => format!("wa:{}", self.chat),
            (channel, _) => format!("{channel}:{}", self.chat),
        }
    }
}

/// A contact cannot be messaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The hint is malformed.
    #[error(
        "{0:?} names no chat; write tg:<chat>, slack:<team>:<channel>, line:<chat>, discord:<channel> or wa:<number>"
    )]
    Hint(String),
    /// The contact has no chat on the hinted platform.
    #[error("{contact} has no chat on {channel} that a message could go to")]
    Channel {
        /// The contact.
        contact: String,
        /// The platform.
        channel: &'static str,
    },
    /// The contact has no private chat at all.
    #[error("{0} has no chat that a message could go to")]
    Nowhere(String),
}

/// Chooses the chat for a message: the hinted one, else a private chat on the contact's preferred platform, else on
/// the first platform that has one.
pub fn route(profile: &Profile, hint: Option<&str>) -> Result<MessageTarget, RouteError> {
    if let Some(hint) = hint {
        return hinted(profile, hint);
    }
    let own = ORDER
        .into_iter()
        .find(|channel| *channel == profile.channel);
    let mut all = own.into_iter().chain(ORDER);
    all.find_map(|channel| private(profile, channel))
        .ok_or_else(|| RouteError::Nowhere(profile.contact_id.clone()))
}

/// The contact's private chat on a platform.
fn private(profile: &Profile, channel: &'static str) -> Option<MessageTarget> {
    let first = |texts: [&String; 2]| {
        let found = texts.into_iter().find(|text| !text.is_empty());
        found.cloned().unwrap_or_default()
    };
    match channel {
        "telegram" => MessageTarget::private(channel, &profile.tg_private_chat_id),
        "slack" => {
            let chat = first([&profile.slack_dm_channel_id, &profile.slack_user_id]);
            let team = Some(profile.slack_team_id.clone()).filter(|team| !team.is_empty());
            MessageTarget::private(channel, &chat).map(|target| MessageTarget { team, ..target })
        }
        "line" => MessageTarget::private(channel, &profile.line_user_id),
        "discord" => {
            let chat = first([&profile.discord_dm_channel_id, &profile.discord_user_id]);
            MessageTarget::private(channel, &chat)
        }
        "whatsapp" => MessageTarget::private(channel, &profile.wa_id),
        _ => None,
    }
}

fn hinted(profile: &Profile, hint: &str) -> Result<MessageTarget, RouteError> {
    let wrong = || RouteError::Hint(hint.to_owned());
    let (protocol, chat) = hint.trim().split_once(':').ok_or_else(wrong)?;
    if chat.is_empty() || chat.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let chat = chat.to_owned();
    let (channel, groups): (_, &[String]) = match protocol {
        "tg" if is_chat_number(&chat) => ("telegram", &profile.tg_group_chat_ids),
        "slack" => {
            let (team, channel) = chat.split_once(':').ok_or_else(wrong)?;
            let plain = |part: &str| !part.is_empty() && !part.contains(':');
            if !plain(team) || !plain(channel) {
                return Err(wrong());
            }
            let own = [&profile.slack_dm_channel_id, &profile.slack_user_id];
            // Slack marks direct messages by their first letter. Other channels are used as hinted: the workspace's own
            // membership decides whether the bot may post there.
            let kind = match own.contains(&&channel.to_owned()) || channel.starts_with('D') {
                true => PeerKind::Dm,
                false => PeerKind::Channel,
            };
            return Ok(MessageTarget {
                channel: "slack",
                chat: channel.to_owned(),
                team: Some(team.to_owned()),
                kind,
            });
        }
        "line" => ("line", &profile.line_chat_ids),
        "discord" => ("discord", &profile.discord_channel_ids),
        "wa" => ("whatsapp", &[]),
        _ => return Err(wrong()),
    };
    // A model may hint at any chat; only groups in which the contact was seen are used, so that nothing private goes to
    // strangers. Everything else falls back to the private chat.
    if groups.contains(&chat) {
        return Ok(MessageTarget::group(channel, &chat));
    }
    private(profile, channel).ok_or_else(|| RouteError::Channel {
        contact: profile.contact_id.clone(),
        channel,
    })
}

/// Whether the target is the sender of the current message, or the chat it was sent in.
pub fn is_speaking(profile: &Profile, target: &MessageTarget, place: &ChatRef) -> bool {
    let here = place.channel == target.channel && place.chat == target.chat;
    let sender = place.sender.as_deref().unwrap_or_default();
    let own = match place.channel.as_str() {
        "telegram" => [profile.tg_private_chat_id.as_str(), ""],
        "slack" => [
            profile.slack_user_id.as_str(),
            profile.slack_dm_channel_id.as_str(),
        ],
        "line" => [profile.line_user_id.as_str(), ""],
        "discord" => [
            profile.discord_user_id.as_str(),
            profile.discord_dm_channel_id.as_str(),
        ],
        "whatsapp" => [profile.wa_id.as_str(), ""],
        _ => ["", ""],
    };
    let them = own
        .iter()
        .any(|id| !id.is_empty() && (*id == sender || *id == place.chat));
    let telegram = place.channel == "telegram"
        && !sender.is_empty()
        && profile.contact_id == format!("tg:{sender}");
    here || them || telegram
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> Profile {
        Profile {
            contact_id: "tg:90001".to_owned(),
            channel: "telegram".to_owned(),
            tg_private_chat_id: "90001".to_owned(),
            tg_group_chat_ids: vec!["-100222".to_owned()],
            slack_team_id: "T1".to_owned(),
            slack_user_id: "U1".to_owned(),
            line_user_id: "Uline".to_owned(),
            line_chat_ids: vec!["Cgroup001".to_owned()],
            ..Profile::default()
        }
    }

    #[track_caller]
    fn check(profile: &Profile, hint: Option<&str>, expect: &str) {
        let found = match route(profile, hint) {
            Ok(target) => format!("{} {}", target.chat_id(), target.kind),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expect, "{hint:?}");
    }

    #[test]
    fn a_chat_hint_is_used_only_where_the_platform_supports_it() {
        let alice = alice();
        check(&alice, Some("tg:90001"), "tg:90001 dm");
        check(&alice, Some("tg:-100222"), "tg:-100222 group");
        check(&alice, Some("tg:-100999"), "tg:90001 dm");
        check(&alice, Some("slack:T9:C9"), "slack:T9:C9 channel");
        check(&alice, Some("line:Cgroup001"), "line:Cgroup001 group");
        check(&alice, Some("line:Cother"), "line:Uline dm");
        let words = "tg:90001 has no chat on discord that a message could go to";
        check(&alice, Some("discord:5"), words);
        let bare = Profile {
            contact_id: "x".to_owned(),
            ..Profile::default()
        };
        for hint in ["tg:5", "line:C", "discord:5", "wa:49"] {
            assert!(route(&bare, Some(hint)).is_err(), "{hint}");
        }
        for hint in [
            "",
            "tg",
            "tg:0",
            "tg:x",
            "slack:C1",
            "slack:T:",
            "slack:T:C:D",
            "irc:x",
            "line:",
        ] {
            assert_eq!(
                route(&alice, Some(hint)),
                Err(RouteError::Hint(hint.to_owned())),
                "{hint:?}"
            );
        }
    }

    #[test]
    fn without_a_hint_the_contacts_channel_counts_and_then_the_order() {
        check(&alice(), None, "tg:90001 dm");
        let mut other = Profile {
            channel: String::new(),
            ..alice()
        };
        check(&other, None, "slack:T1:U1 dm");
        other.slack_dm_channel_id = "D1".to_owned();
        check(&other, None, "slack:T1:D1 dm");
        other.channel = "whatsapp".to_owned();
        check(&other, None, "slack:T1:D1 dm");
        other.wa_id = "49".to_owned();
        check(&other, None, "wa:49 dm");
        let groups_only = Profile {
            contact_id: "g".to_owned(),
            tg_group_chat_ids: vec!["-1".to_owned()],
            ..Profile::default()
        };
        check(
            &groups_only,
            None,
            "g has no chat that a message could go to",
        );
    }

    #[test]
    fn the_current_speaker_is_recognised() {
        let alice = alice();
        let target = route(&alice, None).unwrap();
        let place = |channel: &str, chat: &str, sender: &str| ChatRef {
            sender: Some(sender.to_owned()),
            ..ChatRef::dm(channel, "default", chat)
        };
        assert!(is_speaking(
            &alice,
            &target,
            &place("telegram", "90001", "90001")
        ));
        assert!(is_speaking(
            &alice,
            &target,
            &place("telegram", "-100222", "90001")
        ));
        assert!(is_speaking(&alice, &target, &place("slack", "D9", "U1")));
        assert!(!is_speaking(
            &alice,
            &target,
            &place("telegram", "90002", "90002")
        ));
        assert!(!is_speaking(&alice, &target, &place("web", "x", "")));
    }
}
