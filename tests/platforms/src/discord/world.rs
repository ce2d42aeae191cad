//! What there is.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Value, json};

use super::gateway::Line;
use super::{ADA, BOT, CHANNEL, DIRECT, ROLE, SERVER, THREAD, UNTOLD};

/// Everything that is kept.
pub(super) struct World {
    pub(super) gateway: String,
    pub(super) files_at: String,
    pub(super) revoked: bool,
    pub(super) channels: BTreeMap<String, Value>,
    pub(super) posted: Vec<Value>,
    /// Messages by channel and nonce.
    pub(super) nonces: HashMap<(String, String), Value>,
    pub(super) reactions: Vec<(String, String)>,
    pub(super) typing: Vec<String>,
    /// The tokens of pressed buttons, and whether they were answered.
    pub(super) presses: HashMap<String, (String, bool)>,
    pub(super) whispers: Vec<Value>,
    pub(super) files: HashMap<String, (String, Bytes)>,
    pub(super) rate: Option<(u32, u64)>,
    pub(super) windows: HashMap<String, (Instant, u32)>,
    pub(super) starts_left: u64,
    count: u64,

    /// The session at the gateway and its events.
    pub(super) session: Option<String>,
    pub(super) log: Vec<Value>,
    pub(super) line: Option<Line>,
    pub(super) lines: usize,
    pub(super) identified: usize,
    pub(super) resumed: usize,
    pub(super) heartbeats: usize,
    pub(super) interval: u64,
    pub(super) deaf: bool,
    pub(super) refuses: Option<u16>,
}

impl World {
    pub(super) fn new(gateway: String) -> Self {
        let mut world = Self {
            gateway,
            files_at: String::new(),
            revoked: false,
            channels: BTreeMap::new(),
            posted: Vec::new(),
            nonces: HashMap::new(),
            reactions: Vec::new(),
            typing: Vec::new(),
            presses: HashMap::new(),
            whispers: Vec::new(),
            files: HashMap::new(),
            rate: None,
            windows: HashMap::new(),
            starts_left: 1_000,
            count: 0,
            session: None,
            log: Vec::new(),
            line: None,
            lines: 0,
            identified: 0,
            resumed: 0,
            heartbeats: 0,
            interval: 41_250,
            deaf: false,
            refuses: None,
        };
        for channel in [
            room(CHANNEL, 0, "general", "999"),
            room(THREAD, 11, "plans", CHANNEL),
            room(UNTOLD, 11, "later", CHANNEL),
            json!({ "id": DIRECT, "type": 1, "last_message_id": null, "flags": 0,
                "recipients": [{ "id": ADA, "username": "ada", "discriminator": "0", "avatar": null }] }),
        ] {
            let id = channel["id"].as_str().expect("an id").to_owned();
            world.channels.insert(id, channel);
        }
        world
    }

    /// A fresh id, whose time is in it.
    pub(super) fn id(&mut self) -> String {
        self.count += 1;
        let since: u64 = 373_000_000_000;
        ((since + self.count) << 22).to_string()
    }

    /// The server as it is told after a session began.
    pub(super) fn server(&self) -> Value {
        let role = |id: &str, name: &str, position: u64| {
            json!({
                "id": id, "name": name, "color": 0, "colors": { "primary_color": 0 }, "hoist": false,
                "position": position, "permissions": "2147483647", "managed": false,
                "mentionable": true, "flags": 0,
            })
        };
        let member = |user: Value, nick: Option<&str>, roles: &[&str]| {
            json!({
                "user": user, "roles": roles, "nick": nick, "avatar": null, "flags": 0,
                "joined_at": "2026-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false,
            })
        };
        let ada = json!({ "id": ADA, "username": "ada", "discriminator": "0", "avatar": null });
        json!({
            "id": SERVER, "name": "Engines", "unavailable": false, "member_count": 2,
            "owner_id": ADA, "roles": [role(SERVER, "@everyone", 0), role(ROLE, "hands", 1)],
            "emojis": [], "stickers": [], "features": [], "voice_states": [], "presences": [],
            "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
            "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
            "explicit_content_filter": 0, "mfa_level": 0, "system_channel_flags": 0,
            "premium_tier": 0, "preferred_locale": "en-US", "nsfw_level": 0, "large": false,
            "joined_at": "2026-01-01T00:00:00.000000+00:00",
            "premium_progress_bar_enabled": false,
            "channels": [self.channels[CHANNEL]], "threads": [self.channels[THREAD]],
            "members": [member(ada, Some("Countess"), &[]), member(bot(), None, &[ROLE])],
        })
    }
}

/// The bot as a user.
pub(super) fn bot() -> Value {
    json!({
        "id": BOT, "username": "hands", "global_name": null, "bot": true, "discriminator": "0000",
        "avatar": null, "public_flags": 0, "flags": 0, "verified": true, "mfa_enabled": false,
    })
}

/// A channel or thread of the server.
fn room(id: &str, kind: u64, name: &str, parent: &str) -> Value {
    let mut room = json!({
        "id": id, "type": kind, "name": name, "guild_id": SERVER, "parent_id": parent,
        "last_message_id": null, "flags": 0, "rate_limit_per_user": 0,
    });
    let more = match kind {
        0 => json!({ "position": 0, "permission_overwrites": [], "nsfw": false, "topic": null }),
        _ => json!({
            "owner_id": ADA, "message_count": 1, "member_count": 2, "total_message_sent": 1,
            "thread_metadata": {
                "archived": false, "auto_archive_duration": 1440, "locked": false,
                "archive_timestamp": "2026-01-01T00:00:00.000000+00:00",
                "create_timestamp": "2026-01-01T00:00:00.000000+00:00",
            },
        }),
    };
    super::lay_over(&mut room, more);
    room
}
