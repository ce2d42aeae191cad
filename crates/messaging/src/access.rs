//! Who may speak to agents in chats, and what agents may do for them.

use std::collections::BTreeMap;

use manyhands_agent::Addressing;
use manyhands_config::{Channel, DmPolicy, DmScope, GroupPolicy, Settings};
use manyhands_core::{Caller, ChatRef, Pattern, Principal, Rights, Role};
use manyhands_store::{SenderRow, SenderState};

/// The name under which the owner's own senders are linked.
const OWNER: &str = "owner";

/// Those whom the owner decided about.
#[derive(Debug, Default, Clone)]
pub struct Known(BTreeMap<(String, String), (SenderState, bool)>);

impl Known {
    pub fn of(rows: &[SenderRow]) -> Self {
        let entry = |row: &SenderRow| {
            let key = (row.channel.clone(), row.id.clone());
            (key, (row.state, row.owner))
        };
        Self(rows.iter().map(entry).collect())
    }

    /// Those who are the owner.
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

/// How a message is received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reception {
    /// It is heard.
    Welcome,
    /// They are told how to become known.
    Stranger,
    /// It is passed over; this is why.
    Ignored(&'static str),
}

/// Whether somebody is the owner.
fn is_owner(settings: &Settings, known: &Known, channel: &str, sender: &str) -> bool {
    let how = Addressing {
        scope: DmScope::Main,
        links: &settings.sessions.identity_links,
    };
    how.name(channel, sender) == Some(OWNER)
        || known.get(channel, sender) == Some((SenderState::Approved, true))
}

/// Whether a name of the settings means somebody: their id, or `@` and their handle.
fn means(name: &str, sender: &str, handle: Option<&str>) -> bool {
    match name.strip_prefix('@') {
        Some(named) => handle.is_some_and(|handle| handle.eq_ignore_ascii_case(named)),
        None => name == sender,
    }
}

fn may_write(
    settings: &Settings,
    channel: &Channel,
    known: &Known,
    place: &ChatRef,
    sender: &str,
) -> Result<(), Reception> {
    let decided = known.get(&place.channel, sender).map(|(state, _)| state);
    if is_owner(settings, known, &place.channel, sender) {
        return Ok(());
    }
    if decided == Some(SenderState::Rejected) {
        return Err(Reception::Ignored("the owner rejected them"));
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
        _ => Reception::Ignored("they are not on the list"),
    })
}

/// How what somebody says in `place` is received; `called` is whether it calls us.
pub fn reception(
    settings: &Settings,
    known: &Known,
    place: &ChatRef,
    from_bot: bool,
    called: bool,
) -> Reception {
    let Some(channel) = settings.channels.get(&place.channel) else {
        return Reception::Ignored("there is no such channel");
    };
    if from_bot {
        return Reception::Ignored("a program wrote it");
    }
    let Some(sender) = place.sender.as_deref() else {
        return Reception::Ignored("nobody is named as its sender");
    };
    let may = may_write(settings, channel, known, place, sender);
    if !place.is_shared() {
        return may.err().unwrap_or(Reception::Welcome);
    }
    let listed = channel.allow_groups.contains(&place.chat);
    let rejected = Reception::Ignored("the owner rejected them");
    match channel.groups {
        GroupPolicy::Off => Reception::Ignored("groups are switched off"),
        _ if may == Err(rejected.clone()) => rejected,
        GroupPolicy::All if listed => Reception::Welcome,
        _ if !called => Reception::Ignored("it does not call us"),
        GroupPolicy::Members if listed => Reception::Welcome,
        GroupPolicy::All | GroupPolicy::Members => {
            Reception::Ignored("the group is not in allow_groups")
        }
        GroupPolicy::Mention if may.is_ok() => Reception::Welcome,
        // Nobody is paired before the eyes of a group.
        GroupPolicy::Mention => Reception::Ignored("the owner does not know them"),
    }
}

/// Whoever says something in `place`, with the rights they have now; none when they may not speak.
pub fn caller(settings: &Settings, known: &Known, place: &ChatRef) -> Option<Caller> {
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

    fn known(entries: &[(&str, SenderState, bool)]) -> Known {
        let entry = |(id, state, owner): &(&str, SenderState, bool)| {
            let key = ("telegram".to_owned(), (*id).to_owned());
            (key, (*state, *owner))
        };
        Known(entries.iter().map(entry).collect())
    }

    #[test]
    fn unknown_people_reach_nothing_until_they_are_known() {
        let nobody = Known::default();
        let plain = Settings::default();
        let receive = |settings: &Settings, known: &Known, place: &ChatRef| {
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
        let nobody = Known::default();
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
