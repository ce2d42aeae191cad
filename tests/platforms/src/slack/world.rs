//! What the workspace holds.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use serde_json::{Value, json};

use super::socket::{Line, Sent};
use super::{APP, BOT_USER, Failure};

/// A message of the bot as it is to be seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Where.
    pub channel: String,
    /// Its time stamp.
    pub ts: String,
    /// Its text, in Slack's marks.
    pub text: String,
    /// Its blocks.
    pub blocks: Vec<Value>,
    /// The thread it is in.
    pub thread: Option<String>,
    /// Who alone sees it.
    pub only: Option<String>,
    /// How often it was changed.
    pub edits: usize,
}

/// A file that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uploaded {
    /// Its name.
    pub name: String,
    /// How long it was said to be.
    pub length: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The channel that it is shown in.
    pub shared: Option<String>,
    /// The thread in it.
    pub thread: Option<String>,
    /// The words with it.
    pub comment: Option<String>,
}

#[derive(Default)]
pub(super) struct World {
    pub(super) count: u64,
    pub(super) team: String,
    pub(super) users: HashMap<String, Value>,
    pub(super) channels: HashMap<String, Value>,
    pub(super) emoji: Vec<String>,
    pub(super) posted: Vec<Posted>,
    /// Messages of people, by channel and time stamp.
    pub(super) said: Vec<(String, String)>,
    pub(super) reactions: Vec<(String, String)>,
    pub(super) uploads: BTreeMap<String, Uploaded>,
    pub(super) files: HashMap<String, (String, Vec<u8>)>,
    pub(super) failures: Vec<(String, Failure)>,
    pub(super) poisoned: HashMap<String, &'static str>,
    pub(super) rates: bool,
    pub(super) last: HashMap<String, Instant>,
    pub(super) revoked: bool,
    pub(super) tickets: Vec<String>,
    pub(super) lines: Vec<Line>,
    pub(super) opened: usize,
    pub(super) sent: Vec<Sent>,
    pub(super) acks: Vec<String>,
    pub(super) pongs: usize,
}

impl World {
    pub(super) fn new() -> Self {
        let user = |id: &str, name: &str, shown: &str, bot: bool| {
            let user = json!({
                "id": id, "name": name, "real_name": shown, "is_bot": bot,
                "profile": { "display_name": shown, "real_name": shown },
            });
            (id.to_owned(), user)
        };
        let channel = |id: &str, name: Option<&str>, kind: &str| {
            let mut channel = json!({
                "id": id, "is_im": kind == "im", "is_mpim": kind == "mpim",
                "is_channel": kind == "channel", "is_archived": false, "is_member": true,
            });
            if let Some(name) = name {
                channel["name"] = json!(name);
            }
            (id.to_owned(), channel)
        };
        Self {
            team: "T0TEAM".to_owned(),
            users: HashMap::from([
                user("U0ADA", "ada", "Ada Lovelace", false),
                user("U0EVE", "eve", "Eve", false),
                user("U0ROBOT", "robot", "Robot", true),
                user(BOT_USER, "hands", "Hands", true),
            ]),
            channels: HashMap::from([
                channel("C0GENERAL", Some("general"), "channel"),
                channel("C0OTHER", Some("other"), "channel"),
                channel("G0GROUP", Some("mpdm-ada--eve--hands-1"), "mpim"),
                channel("D0ADA", None, "im"),
                channel("D0EVE", None, "im"),
            ]),
            emoji: ["party_parrot"].map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn stamp(&mut self) -> String {
        self.count += 1;
        format!(
            "17000000{:02}.{:06}",
            self.count / 1_000_000,
            self.count % 1_000_000
        )
    }

    pub(super) fn callback(&mut self, event: Value) -> Value {
        self.count += 1;
        json!({
            "token": "deprecated", "team_id": "T0TEAM", "context_team_id": "T0TEAM",
            "api_app_id": APP, "event": event, "type": "event_callback",
            "event_id": format!("Ev{:08}", self.count), "event_time": 1_700_000_000,
            "authorizations": [{
                "enterprise_id": null, "team_id": "T0TEAM", "user_id": BOT_USER,
                "is_bot": true, "is_enterprise_install": false,
            }],
            "is_ext_shared_channel": false, "event_context": "4-context",
        })
    }

    /// Whether there is such a message.
    pub(super) fn has(&self, channel: &str, ts: &str) -> bool {
        let own = self
            .posted
            .iter()
            .any(|one| one.channel == channel && one.ts == ts);
        own || self
            .said
            .iter()
            .any(|(chat, at)| chat == channel && at == ts)
    }
}

pub(super) fn channel_type(chat: &str) -> &'static str {
    match chat.as_bytes().first() {
        Some(b'D') => "im",
        Some(b'G') => "mpim",
        _ => "channel",
    }
}
