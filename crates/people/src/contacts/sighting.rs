//! What a chat message reveals about the people in it.

use manyhands_core::{ChatRef, Timestamp};

use super::profile::Profile;
use crate::reference_id::{is_chat_number, is_username};
use crate::text_lines::one_line;

/// Longest name, in characters.
const MAX_NAME: usize = 100;
/// Longest platform id, in bytes.
const MAX_ID: usize = 128;
/// The most chats stored per contact; the most recent ones stay.
const MAX_CHATS: usize = 50;

/// A person who wrote in a chat or was mentioned there, as far as the platform identifies them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sighting {
    /// The platform, such as `telegram`.
    pub channel: String,
    /// Their user id there.
    pub user: Option<String>,
    /// Their username, on platforms where usernames are addresses.
    pub username: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// The chat's id.
    pub chat: Option<String>,
    /// Whether it is a group chat.
    pub shared: bool,
    /// The Slack workspace.
    pub team: Option<String>,
}

impl Sighting {
    /// The sender of a message; `None` if the platform does not identify them.
    pub fn in_place(place: &ChatRef) -> Option<Self> {
        Some(Self {
            channel: place.channel.clone(),
            user: Some(place.sender.clone()?),
            username: None,
            name: place.sender_name.clone(),
            chat: Some(place.chat.clone()),
            shared: place.is_shared(),
            team: None,
        })
    }

    /// A copy with bounded single-line values and without empty ones. Everything here is chosen by strangers and ends
    /// up in a file that models read.
    pub(super) fn tidy(&self) -> Self {
        let short = |text: &Option<String>, most: usize| {
            let line = one_line(text.as_deref()?);
            let line: String = line.chars().take(most).collect();
            (!line.is_empty()).then_some(line)
        };
        let id = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim)?;
            let plain = |c: char| !c.is_control() && !c.is_whitespace();
            let good = !text.is_empty() && text.len() <= MAX_ID && text.chars().all(plain);
            good.then(|| text.to_owned())
        };
        let username = id(&self.username).map(|name| name.trim_start_matches('@').to_owned());
        Self {
            channel: self.channel.clone(),
            user: id(&self.user),
            username: username.filter(|name| is_username(name) || self.channel != "telegram"),
            name: short(&self.name, MAX_NAME),
            chat: id(&self.chat),
            shared: self.shared,
            team: id(&self.team),
        }
    }

    /// The permanent id for a new contact; `None` if the sighting identifies nobody.
    pub(super) fn contact_id(&self) -> Option<String> {
        let user = self.user.as_deref();
        match (self.channel.as_str(), user) {
            ("telegram", Some(user)) if is_chat_number(user) => Some(format!("tg:{user}")),
            // Mentions by username come without a user id; the id is added when that person writes.
            ("telegram", _) => Some(format!("tg:@{}", self.username.as_deref()?.to_lowercase())),
            ("slack", Some(user)) => Some(match &self.team {
                Some(team) => format!("slack:{team}:{user}"),
                None => format!("slack:{user}"),
            }),
            ("line", Some(user)) => Some(format!("line_user:{user}")),
            ("discord", Some(user)) => Some(format!("discord_user:{user}")),
            ("whatsapp", Some(user)) => Some(format!("wa:{user}")),
            _ => None,
        }
    }

    /// Whether this is the same person as a contact.
    pub(super) fn is(&self, profile: &Profile) -> bool {
        let same = |known: &str, seen: &Option<String>| {
            !known.is_empty() && seen.as_deref().is_some_and(|seen| seen == known)
        };
        let by_id = self.contact_id().is_some_and(|id| id == profile.contact_id);
        by_id
            || match self.channel.as_str() {
                "telegram" => {
                    // Usernames can be given up and taken by somebody else; user ids cannot. So a username matches
                    // only while no different user id contradicts it.
                    let other = !profile.tg_private_chat_id.is_empty()
                        && self.user.is_some()
                        && !same(&profile.tg_private_chat_id, &self.user);
                    let name = self.username.as_deref().unwrap_or_default();
                    let known = profile.tg_username.trim_start_matches('@');
                    let named = !name.is_empty() && known.eq_ignore_ascii_case(name);
                    same(&profile.tg_private_chat_id, &self.user) || named && !other
                }
                "slack" => {
                    let team = &profile.slack_team_id;
                    // Slack user ids are unique only within a workspace.
                    let other = self.team.as_ref().is_some_and(|seen| seen != team);
                    same(&profile.slack_user_id, &self.user) && (team.is_empty() || !other)
                }
                "line" => same(&profile.line_user_id, &self.user),
                "discord" => same(&profile.discord_user_id, &self.user),
                "whatsapp" => same(&profile.wa_id, &self.user),
                _ => false,
            }
    }

    /// Adds what was observed to a profile; fields that were not observed stay as they are.
    pub(super) fn teach(&self, profile: &mut Profile) {
        let set = |field: &mut String, seen: &Option<String>| {
            if let Some(seen) = seen {
                field.clone_from(seen);
            }
        };
        let fill = |field: &mut String, text: &str| {
            if field.is_empty() {
                text.clone_into(field);
            }
        };
        // `fill` where the owner may have chosen another value by hand, `set` for facts that the platform reports.
        fill(&mut profile.kind, "human");
        fill(&mut profile.channel, &self.channel);
        fill(
            &mut profile.nickname,
            self.name.as_deref().unwrap_or_default(),
        );
        let private = self.chat.clone().filter(|_| !self.shared);
        let shared = self.chat.clone().filter(|_| self.shared);
        match self.channel.as_str() {
            "telegram" => {
                set(&mut profile.tg_username, &self.username);
                set(&mut profile.tg_private_chat_id, &private);
                add(&mut profile.tg_group_chat_ids, shared);
            }
            "slack" => {
                set(&mut profile.slack_team_id, &self.team);
                set(&mut profile.slack_user_id, &self.user);
                set(&mut profile.slack_dm_channel_id, &private);
                add(&mut profile.slack_channel_ids, shared);
            }
            "line" => {
                set(&mut profile.line_user_id, &self.user);
                add(&mut profile.line_chat_ids, shared);
            }
            "discord" => {
                set(&mut profile.discord_user_id, &self.user);
                set(&mut profile.discord_username, &self.username);
                set(&mut profile.discord_dm_channel_id, &private);
                add(&mut profile.discord_channel_ids, shared);
            }
            "whatsapp" => set(&mut profile.wa_id, &self.user),
            _ => {}
        }
    }

    /// The same for the sender, whose last interaction is now.
    pub(super) fn teach_now(&self, profile: &mut Profile, now: Timestamp) {
        self.teach(profile);
        profile.last_interaction_at = now.rfc3339();
    }
}

fn add(list: &mut Vec<String>, new: Option<String>) {
    let Some(new) = new.filter(|new| !list.contains(new)) else {
        return;
    };
    list.push(new);
    // The oldest go: somebody in hundreds of groups must not grow the file without bound.
    let over = list.len().saturating_sub(MAX_CHATS);
    list.drain(..over);
}
