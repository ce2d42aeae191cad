//! Known channels, threads and our roles, within a bound.

use std::time::Duration;

use manyhands_core::PeerKind;
use serde_json::Value;
use tokio::time::timeout;

use super::Discord;
use super::calls::DiscordRequest;
use crate::channel::SendError;
use crate::recent::RecentMap;

/// Maximum channels remembered.
const CHANNELS: usize = 8_192;
/// Maximum servers remembered.
const SERVERS: usize = 1_024;
/// Maximum wait for a channel's name.
const MAX_LIMIT_WAIT: Duration = Duration::from_secs(5);

/// A channel, thread or direct chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ChannelInfo {
    /// Its kind.
    pub(super) kind: PeerKind,
    /// Its name.
    pub(super) name: Option<String>,
    /// The parent channel of a thread.
    pub(super) parent: Option<String>,
}

/// The known channels.
pub(super) struct ChannelDirectory {
    rooms: RecentMap<ChannelInfo>,
    /// Our roles, by server.
    roles: RecentMap<Vec<String>>,
}

impl Default for ChannelDirectory {
    fn default() -> Self {
        Self {
            rooms: RecentMap::new(CHANNELS),
            roles: RecentMap::new(SERVERS),
        }
    }
}

impl ChannelDirectory {
    /// A known channel.
    pub(super) fn known(&self, id: &str) -> Option<ChannelInfo> {
        self.rooms.get(id)
    }

    /// Records a channel from Discord's description.
    pub(super) fn learn(&self, channel: &Value) {
        if let (Some(id), Some(room)) = (channel["id"].as_str(), room(channel)) {
            self.rooms.put(id, room);
        }
    }

    /// Records a server's channels, threads and our roles.
    pub(super) fn learn_server(&self, server: &Value, me: Option<&str>) {
        for list in ["channels", "threads"] {
            for channel in server[list].as_array().into_iter().flatten() {
                self.learn(channel);
            }
        }
        let members = server["members"].as_array().into_iter().flatten();
        let mut own = members.filter(|one| me.is_some() && one["user"]["id"].as_str() == me);
        if let (Some(id), Some(member)) = (server["id"].as_str(), own.next()) {
            self.learn_roles(id, member);
        }
    }

    /// Records our roles in a server.
    pub(super) fn learn_roles(&self, server: &str, member: &Value) {
        let roles = member["roles"].as_array().into_iter().flatten();
        let roles = roles.filter_map(|role| role.as_str().map(str::to_owned));
        self.roles.put(server, roles.collect());
    }
}

/// Parses a channel by its type number.
fn room(channel: &Value) -> Option<ChannelInfo> {
    let kind = match channel["type"].as_u64()? {
        1 => PeerKind::Dm,
        3 => PeerKind::Group,
        10..=12 => PeerKind::Thread,
        _ => PeerKind::Channel,
    };
    let parent = channel["parent_id"].as_str().map(str::to_owned);
    Some(ChannelInfo {
        kind,
        name: channel["name"].as_str().map(str::to_owned),
        parent: parent.filter(|_| kind == PeerKind::Thread),
    })
}

impl Discord {
    /// The channel with an id, requested from Discord if unknown.
    pub(super) async fn room(&self, id: &str, direct: bool) -> ChannelInfo {
        if let Some(room) = self.rooms.known(id) {
            return room;
        }
        if direct {
            return ChannelInfo::default();
        }
        let call = DiscordRequest::get("GET channels", id, format!("channels/{id}"));
        match timeout(MAX_LIMIT_WAIT, self.call(call)).await {
            Ok(Ok(channel)) => self.rooms.learn(&channel),
            // Discord will not show it to us later either: remember that, or every message would ask again.
            Ok(Err(SendError::Never(_) | SendError::Unreachable(_))) => {
                let unknown = ChannelInfo {
                    kind: PeerKind::Channel,
                    ..ChannelInfo::default()
                };
                self.rooms.rooms.put(id, unknown);
            }
            _ => {}
        }
        self.rooms.known(id).unwrap_or(ChannelInfo {
            kind: PeerKind::Channel,
            ..ChannelInfo::default()
        })
    }

    /// Whether we have one of these roles.
    pub(super) async fn has_role(&self, server: &str, roles: &[&str]) -> bool {
        let Some(me) = self.own().filter(|_| !roles.is_empty()) else {
            return false;
        };
        if self.rooms.roles.get(server).is_none() {
            let path = format!("guilds/{server}/members/{}", me.id);
            let call = DiscordRequest::get("GET guilds/members", server, path);
            if let Ok(Ok(member)) = timeout(MAX_LIMIT_WAIT, self.call(call)).await {
                self.rooms.learn_roles(server, &member);
            }
        }
        let own = self.rooms.roles.get(server).unwrap_or_default();
        own.iter().any(|role| roles.contains(&role.as_str()))
    }
}
