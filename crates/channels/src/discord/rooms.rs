//! Channels, threads and our roles, remembered within a bound.

use std::time::Duration;

use manyhands_core::PeerKind;
use serde_json::Value;
use tokio::time::timeout;

use super::Discord;
use super::calls::Call;
use crate::channel::SendError;
use crate::recent::Recent;

/// How many channels are remembered.
const CHANNELS: usize = 8_192;
/// How many servers are remembered.
const SERVERS: usize = 1_024;
/// How long a message may wait for the name of its channel.
const PATIENCE: Duration = Duration::from_secs(5);

/// A channel, thread or direct chat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// What kind.
    pub(super) kind: PeerKind,
    /// What it is called.
    pub(super) name: Option<String>,
    /// The channel that a thread is in.
    pub(super) parent: Option<String>,
}

/// What is remembered.
pub(super) struct Rooms {
    rooms: Recent<Room>,
    /// Our roles, by server.
    roles: Recent<Vec<String>>,
}

impl Default for Rooms {
    fn default() -> Self {
        Self {
            rooms: Recent::new(CHANNELS),
            roles: Recent::new(SERVERS),
        }
    }
}

impl Rooms {
    /// A channel that is known.
    pub(super) fn known(&self, id: &str) -> Option<Room> {
        self.rooms.get(id)
    }

    /// Learns of a channel as Discord describes it.
    pub(super) fn learn(&self, channel: &Value) {
        if let (Some(id), Some(room)) = (channel["id"].as_str(), room(channel)) {
            self.rooms.put(id, room);
        }
    }

    /// Learns of a server: its channels, its threads and our roles in it.
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

    /// Learns which roles we have in a server.
    pub(super) fn learn_roles(&self, server: &str, member: &Value) {
        let roles = member["roles"].as_array().into_iter().flatten();
        let roles = roles.filter_map(|role| role.as_str().map(str::to_owned));
        self.roles.put(server, roles.collect());
    }
}

/// What a channel is, by Discord's number for its type.
fn room(channel: &Value) -> Option<Room> {
    let kind = match channel["type"].as_u64()? {
        1 => PeerKind::Dm,
        3 => PeerKind::Group,
        10..=12 => PeerKind::Thread,
        _ => PeerKind::Channel,
    };
    let parent = channel["parent_id"].as_str().map(str::to_owned);
    Some(Room {
        kind,
        name: channel["name"].as_str().map(str::to_owned),
        parent: parent.filter(|_| kind == PeerKind::Thread),
    })
}

impl Discord {
    /// What a channel is; Discord is asked where it is not known.
    pub(super) async fn room(&self, id: &str, direct: bool) -> Room {
        if let Some(room) = self.rooms.known(id) {
            return room;
        }
        if direct {
            return Room::default();
        }
        let call = Call::get("GET channels", id, format!("channels/{id}"));
        match timeout(PATIENCE, self.call(call)).await {
            Ok(Ok(channel)) => self.rooms.learn(&channel),
            // It is not for us to know, and will not be told the next time either.
            Ok(Err(SendError::Never(_) | SendError::Unreachable(_))) => {
                let unknown = Room {
                    kind: PeerKind::Channel,
                    ..Room::default()
                };
                self.rooms.rooms.put(id, unknown);
            }
            _ => {}
        }
        self.rooms.known(id).unwrap_or(Room {
            kind: PeerKind::Channel,
            ..Room::default()
        })
    }

    /// Whether one of these roles is ours.
    pub(super) async fn has_role(&self, server: &str, roles: &[&str]) -> bool {
        let Some(me) = self.own().filter(|_| !roles.is_empty()) else {
            return false;
        };
        if self.rooms.roles.get(server).is_none() {
            let path = format!("guilds/{server}/members/{}", me.id);
            let call = Call::get("GET guilds/members", server, path);
            if let Ok(Ok(member)) = timeout(PATIENCE, self.call(call)).await {
                self.rooms.learn_roles(server, &member);
            }
        }
        let own = self.rooms.roles.get(server).unwrap_or_default();
        own.iter().any(|role| roles.contains(&role.as_str()))
    }
}
