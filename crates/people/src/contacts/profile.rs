//! One contact: what is known of a person or an agent, and where to message them.

use std::sync::LazyLock;

use manyhands_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reference_id::ReferenceId;

/// Longest value of one field, in bytes.
const MAX_FIELD: usize = 2_000;
/// Most values of one list.
const MAX_LIST: usize = 100;

/// Every field with a sample value, to check the types of fields that people wrote.
static KINDS: LazyLock<Map<String, Value>> = LazyLock::new(|| Profile::full().fields());

/// What is known of a contact. Ids are strings even on platforms that use numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// The permanent id, such as `tg:90001`.
    pub contact_id: String,
    /// Display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nickname: String,
    /// `human` or `agent`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The preferred platform, such as `telegram`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// Telegram username, without `@`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tg_username: String,
    /// Private chat on Telegram.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tg_private_chat_id: String,
    /// Telegram groups in which they were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tg_group_chat_ids: Vec<String>,
    /// LINE user id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line_user_id: String,
    /// LINE chats in which they were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub line_chat_ids: Vec<String>,
    /// Lark open id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lark_open_id: String,
    /// Lark chats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lark_chat_ids: Vec<String>,
    /// Slack workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slack_team_id: String,
    /// Slack user id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slack_user_id: String,
    /// Direct-message channel on Slack.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub slack_dm_channel_id: String,
    /// Slack channels in which they were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slack_channel_ids: Vec<String>,
    /// Discord user id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub discord_user_id: String,
    /// Discord username.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub discord_username: String,
    /// Direct-message channel on Discord.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub discord_dm_channel_id: String,
    /// Discord channels in which they were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discord_channel_ids: Vec<String>,
    /// WhatsApp id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wa_id: String,
    /// Short description of the person.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub persona_brief: String,
    /// Preferred topics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topic_preferences: Vec<String>,
    /// No messages are sent before this time, as after a failed delivery.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cooldown_until: String,
    /// Time of their last message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_interaction_at: String,
}

impl Profile {
    /// Parses a YAML block; `None` if it is invalid or has no `contact_id`.
    pub(super) fn read(yaml: &str) -> Option<Self> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let value: Value = serde_saphyr::from_str_with_options(yaml, options).ok()?;
        let mut fields = Map::new();
        for (key, value) in value.as_object()? {
            let kept = match value {
                Value::Array(all) => {
                    let texts = all.iter().take(MAX_LIST).filter_map(text);
                    Value::Array(texts.map(Value::String).collect())
                }
                other => match text(other) {
                    Some(text) => Value::String(text),
                    None => continue,
                },
            };
            fields.insert(key.clone(), kept);
        }
        // A field of the wrong type is dropped on its own: one typo by hand must not lose the whole contact.
        fields.retain(|key, value| {
            KINDS
                .get(key)
                .is_some_and(|k| k.is_array() == value.is_array())
        });
        let profile: Self = serde_json::from_value(Value::Object(fields)).ok()?;
        (!profile.contact_id.is_empty()).then_some(profile)
    }

    /// A profile in which every field is set.
    fn full() -> Self {
        let text = || "x".to_owned();
        let list = || vec![text()];
        Self {
            contact_id: text(),
            nickname: text(),
            kind: text(),
            channel: text(),
            tg_username: text(),
            tg_private_chat_id: text(),
            tg_group_chat_ids: list(),
            line_user_id: text(),
            line_chat_ids: list(),
            lark_open_id: text(),
            lark_chat_ids: list(),
            slack_team_id: text(),
            slack_user_id: text(),
            slack_dm_channel_id: text(),
            slack_channel_ids: list(),
            discord_user_id: text(),
            discord_username: text(),
            discord_dm_channel_id: text(),
            discord_channel_ids: list(),
            wa_id: text(),
            persona_brief: text(),
            topic_preferences: list(),
            cooldown_until: text(),
            last_interaction_at: text(),
        }
    }

    /// The fields that are set, in declaration order.
    pub(super) fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// The end of the cooldown.
    pub fn cooling_until(&self) -> Option<Timestamp> {
        instant(&self.cooldown_until)
    }

    /// Time of the last message; the distant past if unknown.
    pub(super) fn last_spoke(&self) -> Timestamp {
        instant(&self.last_interaction_at).unwrap_or(Timestamp(i64::MIN))
    }

    /// All distinct names.
    pub(super) fn names(&self) -> Vec<String> {
        let all = [&self.nickname, &self.tg_username, &self.discord_username];
        let mut names: Vec<String> = Vec::new();
        for name in all {
            let name = name.trim().trim_start_matches('@');
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Addresses of the contact and of chats they are in, best first.
    pub fn reachable_ids(&self) -> Vec<ReferenceId> {
        let mut texts = Vec::new();
        // A bot cannot write first on Telegram, so a username without a private chat is not reachable.
        if !self.tg_private_chat_id.is_empty() {
            texts.push(format!("tg:{}", self.tg_private_chat_id));
            texts.push(format!("tg:@{}", self.tg_username.trim_start_matches('@')));
        }
        let slack = [&self.slack_dm_channel_id].into_iter();
        for channel in slack.chain(&self.slack_channel_ids) {
            if !channel.is_empty() {
                texts.push(format!("slack:{channel}"));
                texts.push(format!("slack:{}:{channel}", self.slack_team_id));
            }
        }
        texts.push(format!("discord:{}", self.discord_dm_channel_id));
        let groups = self.tg_group_chat_ids.iter();
        texts.extend(groups.map(|chat| format!("tg:{chat}")));
        let channels = self.discord_channel_ids.iter();
        texts.extend(channels.map(|channel| format!("discord:{channel}")));
        let mut ids: Vec<ReferenceId> = Vec::new();
        for id in texts.iter().filter_map(|text| text.parse().ok()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.trim().parse().ok()?;
    Some(Timestamp(at.as_millisecond()))
}

/// A scalar as text. Unquoted numbers are ids that somebody typed by hand.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    // Dropped rather than cut: half an id would be a wrong one.
    (text.len() <= MAX_FIELD).then_some(text)
}

/// A field as YAML lines. Strings are always quoted, so that numeric ids stay strings.
pub(super) fn yaml(key: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => {
            let items = all.iter().map(|one| format!("  - {one}"));
            std::iter::once(format!("{key}:")).chain(items).collect()
        }
        other => vec![format!("{key}: {other}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_whoever_wrote_it() {
        let yaml = "contact_id: \"tg:90001\"\nnickname: Alice # my sister\nkind: human\ntg_private_chat_id: 90001\ntg_group_chat_ids: [-100222, \"-100333\"]\npersona_brief: >\n  calm\n  and kind\nmine: kept\ntopic_preferences: golang\ncooldown_until:\n";
        let profile = Profile::read(yaml).unwrap();
        assert_eq!(profile.nickname, "Alice");
        assert_eq!(profile.tg_private_chat_id, "90001");
        assert_eq!(profile.tg_group_chat_ids, ["-100222", "-100333"]);
        assert_eq!(profile.persona_brief, "calm and kind");
        assert!(profile.topic_preferences.is_empty() && profile.cooldown_until.is_empty());
        for none in [
            "",
            "- a",
            "nickname: x",
            "contact_id: ''",
            "contact_id: [",
            "{{",
        ] {
            assert_eq!(Profile::read(none), None, "{none}");
        }
    }

    #[test]
    fn every_field_is_written_and_read_back() {
        let full = Profile::full();
        let fields = full.fields();
        let lines: Vec<String> = fields.iter().flat_map(|(k, v)| yaml(k, v)).collect();
        assert_eq!(Profile::read(&lines.join("\n")), Some(full));
        assert_eq!(
            yaml("a", &"\"x\" \\ \n: #".into()),
            ["a: \"\\\"x\\\" \\\\ \\n: #\""]
        );
    }

    #[test]
    fn a_name_alone_is_not_an_address() {
        let mut profile = Profile {
            contact_id: "tg:@alice".to_owned(),
            tg_username: "Alice".to_owned(),
            ..Profile::default()
        };
        assert!(profile.reachable_ids().is_empty());
        profile.tg_private_chat_id = "90001".to_owned();
        profile.tg_group_chat_ids = vec!["-100222".to_owned()];
        let ids: Vec<String> = profile
            .reachable_ids()
            .iter()
            .map(|id| id.to_string())
            .collect();
        assert_eq!(ids, ["tg:90001", "tg:@alice", "tg:-100222"]);
    }
}
