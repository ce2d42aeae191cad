//! Who may talk to agents in chats, and with which rights.

use std::collections::BTreeMap;

use manyhands_agent::Addressing;
use manyhands_config::{Channel, DmPolicy, DmScope, GroupPolicy, Settings};
use manyhands_core::{Caller, ChatRef, Pattern, Principal, Rights, Role};
use manyhands_store::{SenderRow, SenderState};

/// The identity link name of the owner's own senders.
const OWNER: &str = "owner";

/// Senders that the owner approved or rejected.
#[derive(Debug, Default, Clone)]
pub struct KnownSenders(BTreeMap<(String, String), (SenderState, bool)>);

impl KnownSenders {
    pub fn of(rows: &[SenderRow]) -> Self {
        let entry = |row: &SenderRow| {
            let key = (row.channel.clone(), row.id.clone());
            (key, (row.state, row.owner))
        };
        Self(rows.iter().map(entry).collect())
    }

    /// The senders that are the owner.
    pub fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self
            .0
            .iter()
            .filter(|(_, decided)| **decided == (SenderState::Approved, true));
        owners.map(|((channel, id), _)| (channel.as_str(), id.as_str()))
    }

    fn get(&self, channel: &str, id: &str) -> Option<(SenderState, bool)> {
        let key = (channel.to_owned(), id.to_owned());
        self.0.get(&key).copied()
    }
}

/// How a message is treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reception {
    /// It is processed.
    Welcome,
    /// The sender is told how to pair.
    Stranger,
    /// It is ignored, for this reason.
    Ignored(&'static str),
}

/// Returns whether a sender is the owner.
fn is_owner(settings: &Settings, known: &KnownSenders, channel: &str, sender: &str) -> bool {
    let how = Addressing {
        scope: DmScope::Main,
        links: &settings.sessions.identity_links,
    };
    how.name(channel, sender) == Some(OWNER)
        || known.get(channel, sender) == Some((SenderState::Approved, true))
}

/// Returns whether a name in the settings denotes a sender: their id, or `@` plus their handle.
fn means(name: &str, sender: &str, handle: Option<&str>) -> bool {
    match name.strip_prefix('@') {
        Some(named) => handle.is_some_and(|handle| handle.eq_ignore_ascii_case(named)),
        None => name == sender,
    }
}

fn may_write(
    settings: &Settings,
    channel: &Channel,
    known: &KnownSenders,
    place: &ChatRef,
    sender: &str,
) -> Result<(), Reception> {
    let decided = known.get(&place.channel, sender).map(|(state, _)| state);
    if is_owner(settings, known, &place.channel, sender) {
        return Ok(());
    }
    if decided == Some(SenderState::Rejected) {
        return Err(Reception::Ignored("the owner rejected this sender"));
    }
    let handle = place.sender_handle.as_deref();
    let mut listed = channel.allow_from.iter();
    if decided == Some(SenderState::Approved)
        || channel.dm == DmPolicy::Open
        || listed.any(|name| means(name, sender, handle))
    {
        return Ok(());
    }
    Err(match channel.dm {
        DmPolicy::Pairing => Reception::Stranger,
        _ => Reception::Ignored("the sender is not on the allow list"),
    })
}

/// Decides how a message in `place` is treated; `called` says whether it mentions the bot.
pub fn reception(
    settings: &Settings,
    known: &KnownSenders,
    place: &ChatRef,
    from_bot: bool,
    called: bool,
) -> Reception {
    let Some(channel) = settings.channels.get(&place.channel) else {
        return Reception::Ignored("unknown channel");
    };
    if from_bot {
        return Reception::Ignored("the sender is a bot");
    }
    let Some(sender) = place.sender.as_deref() else {
        return Reception::Ignored("the message has no sender");
    };
    let may = may_write(settings, channel, known, place, sender);
    if !place.is_shared() {
        return may.err().unwrap_or(Reception::Welcome);
    }
    let listed = channel.allow_groups.contains(&place.chat);
    let rejected = Reception::Ignored("the owner rejected this sender");
    match channel.groups {
        GroupPolicy::Off => Reception::Ignored("groups are disabled"),
        _ if may == Err(rejected.clone()) => rejected,
        GroupPolicy::All if listed => Reception::Welcome,
        _ if !called => Reception::Ignored("the bot was not mentioned"),
        GroupPolicy::Members if listed => Reception::Welcome,
        GroupPolicy::All | GroupPolicy::Members => {
            Reception::Ignored("the group is not in allow_groups")
        }
        GroupPolicy::Mention if may.is_ok() => Reception::Welcome,
        // No pairing in groups: everyone there would see the code.
        GroupPolicy::Mention => Reception::Ignored("the sender is not paired"),
    }
}

/// The caller for a message in `place`, with its present rights; `None` if the sender may not talk
/// to agents.
pub fn caller(settings: &Settings, known: &KnownSenders, place: &ChatRef) -> Option<Caller> {
    let sender = place.sender.as_deref()?;
    let channel = settings.channels.get(&place.channel)?;
    if reception(settings, known, place, false, true) != Reception::Welcome {
        return None;
    }
    let name = place.sender_name.as_deref().unwrap_or(sender).to_owned();
    let principal = Principal::Person {
        channel: place.channel.clone(),
        id: sender.to_owned(),
    };
    if is_owner(settings, known, &place.channel, sender) {
        return Some(Caller::new(principal, name, Rights::owner()));
    }
    let handle = place.sender_handle.as_deref();
    let mut senders = channel.senders.iter();
    let own = senders.find(|(named, _)| means(named, sender, handle));
    let tools: Vec<Pattern> = match own {
        Some((_, own)) => own.tools.clone(),
        None => channel.tools.clone(),
    };
    // Which agent answers a chat is decided by the channel's settings, not by who writes.
    Some(Caller::new(
        principal,
        name,
        Rights::new(Role::Client, tools),
    ))
}

#[cfg(test)]
mod tests {
    use manyhands_config::Sender;
    use manyhands_core::PeerKind;

    use super::*;

    fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::default();
        change(&mut settings);
        settings
    }

    fn from(sender: &str, handle: Option<&str>) -> ChatRef {
        ChatRef {
            sender: Some(sender.to_owned()),
            sender_handle: handle.map(str::to_owned),
            ..ChatRef::dm("telegram", "default", sender)
        }
    }

    fn in_group(chat: &str, sender: &str) -> ChatRef {
        ChatRef {
            kind: PeerKind::Group,
            chat: chat.to_owned(),
            ..from(sender, None)
        }
    }

    fn known(entries: &[(&str, SenderState, bool)]) -> KnownSenders {
        let entry = |(id, state, owner): &(&str, SenderState, bool)| {
            let key = ("telegram".to_owned(), (*id).to_owned());
            (key, (*state, *owner))
        };
        KnownSenders(entries.iter().map(entry).collect())
    }

    #[test]
    fn unknown_people_reach_nothing_until_they_are_known() {
        let nobody = KnownSenders::default();
        let plain = Settings::default();
        let receive = |settings: &Settings, known: &KnownSenders, place: &ChatRef| {
            reception(settings, known, place, false, true)
        };
        let ada = from("42", Some("Ada"));
        assert_eq!(receive(&plain, &nobody, &ada), Reception::Stranger);
        assert_eq!(caller(&plain, &nobody, &ada), None);
        let listed = settings(|s| s.channels.telegram.dm = DmPolicy::Allowlist);
        assert!(matches!(
            receive(&listed, &nobody, &ada),
            Reception::Ignored(_)
        ));
        let by_id = settings(|s| s.channels.telegram.allow_from = vec!["42".to_owned()]);
        let by_handle = settings(|s| s.channels.telegram.allow_from = vec!["@ada".to_owned()]);
        let open = settings(|s| s.channels.telegram.dm = DmPolicy::Open);
        for settings in [&by_id, &by_handle, &open] {
            assert_eq!(receive(settings, &nobody, &ada), Reception::Welcome);
        }
        let approved = known(&[("42", SenderState::Approved, false)]);
        assert_eq!(receive(&plain, &approved, &ada), Reception::Welcome);
        let rejected = known(&[("42", SenderState::Rejected, false)]);
        assert!(matches!(
            receive(&open, &rejected, &ada),
            Reception::Ignored(_)
        ));
        let bot = reception(&open, &nobody, &ada, true, true);
        assert!(matches!(bot, Reception::Ignored(_)));
        let other = ChatRef {
            channel: "slack".to_owned(),
            ..ada
        };
        assert_eq!(
            receive(&by_id, &approved, &other),
            Reception::Stranger,
            "elsewhere it is somebody else"
        );
    }

    #[test]
    fn groups_need_a_call_and_somebody_who_is_known() {
        let approved = known(&[("1", SenderState::Approved, false)]);
        let group = |who| in_group("-5", who);
        let hears = |settings: &Settings, who, called| {
            reception(settings, &approved, &group(who), false, called) == Reception::Welcome
        };
        let mention = Settings::default();
        assert!(hears(&mention, "1", true));
        assert!(!hears(&mention, "1", false));
        assert!(!hears(&mention, "2", true), "a stranger in a group");
        let members = settings(|s| {
            s.channels.telegram.groups = GroupPolicy::Members;
            s.channels.telegram.allow_groups = vec!["-5".to_owned()];
        });
        assert!(hears(&members, "2", true));
        assert!(!hears(&members, "2", false));
        let all = settings(|s| {
            s.channels.telegram.groups = GroupPolicy::All;
            s.channels.telegram.allow_groups = vec!["-5".to_owned()];
        });
        assert!(hears(&all, "2", false));
        let elsewhere = in_group("-6", "2");
        assert!(reception(&all, &approved, &elsewhere, false, true) != Reception::Welcome);
        let off = settings(|s| s.channels.telegram.groups = GroupPolicy::Off);
        assert!(!hears(&off, "1", true));
    }

    #[test]
    fn rights_are_the_owners_or_what_the_settings_say_of_the_sender() {
        let linked = settings(|s| {
            let links = &mut s.sessions.identity_links;
            links.insert("owner".to_owned(), vec!["telegram:1".to_owned()]);
            s.channels.telegram.tools = vec![Pattern::new("web_search")];
            let bash = Sender {
                tools: vec![Pattern::new("bash")],
            };
            s.channels.telegram.senders.insert("@bo".to_owned(), bash);
            s.channels.telegram.dm = DmPolicy::Open;
        });
        let nobody = KnownSenders::default();
        let owner = caller(&linked, &nobody, &from("1", None)).unwrap();
        assert!(owner.is_owner());
        assert_eq!(owner.key(), "person:telegram:1");
        let guest = caller(&linked, &nobody, &from("2", None)).unwrap();
        assert_eq!(guest.rights.role, Role::Client);
        assert_eq!(guest.rights.tools, [Pattern::new("web_search")]);
        let bo = caller(&linked, &nobody, &from("3", Some("bo"))).unwrap();
        assert_eq!(bo.rights.tools, [Pattern::new("bash")]);
        let paired = known(&[("9", SenderState::Approved, true)]);
        let paired = caller(&Settings::default(), &paired, &from("9", None));
        assert!(paired.unwrap().is_owner());
    }
}
