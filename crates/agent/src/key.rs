//! The key of a session: `agent:{agent}:{rest}`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use manyhands_config::DmScope;
use manyhands_core::{AgentId, PeerKind};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Longest key, in bytes.
const MAX: usize = 256;
/// Prefix of the keys of job runs, after the agent.
pub(crate) const JOB_RUN: &str = "cron:";
/// Prefix of the keys of sub-agents, after the agent.
const SUB: &str = "sub:";
/// The segment of a key that marks a session as temporary; on disk, so it cannot change.
pub(crate) const PASSING: &str = "passing";
/// Longest segment taken from a foreign name; longer ones are cut and get a hash, so that they stay distinct.
const MAX_PART: usize = 48;
/// Reserved words in the position of a channel's name.
const RESERVED: [&str; 8] = [
    "main",
    "sub",
    "client",
    "cron",
    "heartbeat",
    "passing",
    "person",
    "agent",
];
/// The name under which the owner's own senders are linked.
const OWNER: &str = "owner";

/// The chat a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Correspondent<'a> {
    /// The channel, such as `telegram`.
    pub channel: &'a str,
    /// Our account there.
    pub account: &'a str,
    /// Kind of chat.
    pub kind: PeerKind,
    /// Id of the person, group or channel.
    pub id: &'a str,
    /// The thread in it.
    pub thread: Option<&'a str>,
}

/// How senders are mapped to sessions.
#[derive(Debug, Clone, Copy)]
pub struct Addressing<'a> {
    /// Which session direct messages go to.
    pub scope: DmScope,
    /// Known people: names and their senders (`channel:id`).
    pub links: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> Addressing<'a> {
    /// The name of a sender, if known.
    pub fn name(&self, channel: &str, id: &str) -> Option<&'a str> {
        let is = |sender: &String| {
            let parts = sender.split_once(':');
            parts.is_some_and(|(of, who)| of.eq_ignore_ascii_case(channel) && who == id)
        };
        let mut links = self.links.iter();
        let found = links.find(|(_, senders)| senders.iter().any(is));
        found.map(|(name, _)| name.as_str())
    }
}

/// The key of a session, in canonical spelling.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey {
    text: String,
    agent: AgentId,
}

/// An invalid session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a session key: write a name such as main, or agent:NAME:REST, of letters, digits and : _ - . @ + / #"
)]
pub struct InvalidKey(String);

impl SessionKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The agent.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The part after the agent.
    pub fn rest(&self) -> &str {
        self.text.splitn(3, ':').nth(2).unwrap_or_default()
    }

    /// The main session of an agent.
    pub fn main(agent: &AgentId) -> Self {
        Self::of(agent, "main")
    }

    /// Whether this is the agent's main session.
    pub fn is_main(&self) -> bool {
        self.rest() == "main"
    }

    /// The session of a sub-agent's task.
    pub fn sub(agent: &AgentId, id: &str) -> Self {
        Self::of(agent, &format!("{SUB}{id}"))
    }

    /// The session of one job run.
    pub fn cron(agent: &AgentId, job: &str, run: &str) -> Self {
        Self::of(agent, &format!("{JOB_RUN}{}:{}", part(job), part(run)))
    }

    /// Whether this is the session of a job run.
    pub fn is_job_run(&self) -> bool {
        self.rest().starts_with(JOB_RUN)
    }

    /// The session of an agent's heartbeat.
    pub fn heartbeat(agent: &AgentId) -> Self {
        Self::of(agent, "heartbeat")
    }

    /// The session of a message. Unlinked senders on different channels are different people whatever the scope: equal ids
    /// on two platforms mean nothing.
    pub fn for_peer(agent: &AgentId, from: &Correspondent<'_>, how: &Addressing<'_>) -> Self {
        let (channel, id) = (channel_part(from.channel), part(from.id));
        // Groups are keyed by the group alone: everybody in it shares one conversation.
        if from.kind != PeerKind::Dm {
            let thread = from
                .thread
                .map(|thread| format!(":thread:{}", part(thread)));
            let (kind, thread) = (from.kind.as_str(), thread.unwrap_or_default());
            return Self::of(agent, &format!("{channel}:{kind}:{id}{thread}"));
        }
        // The owner's own accounts always share the main session, whatever the scope says for others.
        let name = how.name(from.channel, from.id);
        if how.scope == DmScope::Main || name == Some(OWNER) {
            return Self::main(agent);
        }
        let who = match name {
            Some(name) => format!("person:{}", part(name)),
            None => format!("dm:{id}"),
        };
        let rest = match (how.scope, name) {
            (DmScope::PerPeer, Some(_)) => who,
            (DmScope::PerAccountChannelPeer, _) => {
                format!("{channel}:{}:{who}", part(from.account))
            }
            _ => format!("{channel}:{who}"),
        };
        Self::of(agent, &rest)
    }

    /// Key prefix of a caller without a token, after the agent.
    pub fn principal_prefix(principal: &str) -> String {
        format!("principal:{}:", escaped(principal))
    }

    /// Key prefix of a client token, after the agent; unique per token.
    pub fn client_prefix(name: &str) -> String {
        format!("client:{}:", escaped(name))
    }

    /// Whether this is the session of a sub-agent's task.
    pub fn is_sub(&self) -> bool {
        self.rest().starts_with(SUB)
    }

    /// Whether people talk in it: no sub-agent's task, job run, heartbeat or single request.
    pub(crate) fn is_conversation(&self) -> bool {
        !self.is_sub() && !self.is_job_run() && self.rest() != "heartbeat" && !is_passing(self)
    }

    fn of(agent: &AgentId, rest: &str) -> Self {
        Self {
            text: format!("agent:{agent}:{rest}"),
            agent: agent.clone(),
        }
    }

    /// Parses a key; without an explicit agent it belongs to `agent`.
    pub fn parse_for(agent: &AgentId, text: &str) -> Result<Self, InvalidKey> {
        let wrong = || InvalidKey(text.chars().take(80).collect());
        // Lower case, so that one session does not exist under two spellings.
        let plain = text.trim().to_ascii_lowercase();
        let legal = |c: char| c.is_ascii_alphanumeric() || ":_-.@+/#".contains(c);
        if plain.is_empty() || plain.len() > MAX || !plain.chars().all(legal) {
            return Err(wrong());
        }
        let Some(named) = plain.strip_prefix("agent:") else {
            return Ok(Self::of(agent, &plain));
        };
        let (agent, rest) = named.split_once(':').ok_or_else(wrong)?;
        let agent: AgentId = agent.parse().map_err(|_| wrong())?;
        match rest.is_empty() {
            true => Err(wrong()),
            false => Ok(Self::of(&agent, rest)),
        }
    }
}

/// Whether a key is that of a temporary session.
pub(crate) fn is_passing(key: &SessionKey) -> bool {
    // From the end, because a key begins with the name of its caller, which may contain the
    // separator.
    let mut last = key.rest().rsplitn(3, ':');
    last.next().is_some_and(|id| id.parse::<Uuid>().is_ok()) && last.next() == Some(PASSING)
}

/// A foreign name as a segment of bounded length.
fn part(name: &str) -> String {
    let plain = escaped(name);
    if plain.len() <= MAX_PART {
        return plain;
    }
    let hash = Sha256::digest(name.as_bytes());
    let mut cut: String = plain.chars().take(MAX_PART / 2).collect();
    cut.push_str("++"); // never produced by escaping, so no short name collides with a cut one
    hash.iter()
        .take(12)
        .for_each(|byte| cut.push_str(&format!("{byte:02x}")));
    cut
}

/// A channel's name as a segment that is never a reserved word.
fn channel_part(name: &str) -> String {
    let plain = part(&name.to_ascii_lowercase());
    match RESERVED.contains(&plain.as_str()) {
        // Its first letter escaped, as in `+73ub`: no escaped name looks like that, so it collides with nothing.
        true => format!("+{:02x}{}", plain.as_bytes()[0], &plain[1..]),
        false => plain,
    }
}

/// A name as a segment: injective, and without colons.
fn escaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => plain.push(char::from(byte)),
            other => plain.push_str(&format!("+{other:02x}")),
        }
    }
    plain
}

impl FromStr for SessionKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        Self::parse_for(&AgentId::main(), text)
    }
}

impl TryFrom<String> for SessionKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        text.parse()
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.text
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_spelling() {
        for (text, key) in [
            ("main", "agent:main:main"),
            ("Work", "agent:main:work"),
            ("agent:helper:main", "agent:helper:main"),
            (" agent:main:tg:dm:42 ", "agent:main:tg:dm:42"),
            ("agent:main:main", "agent:main:main"),
        ] {
            let parsed: SessionKey = text.parse().unwrap();
            assert_eq!(parsed.as_str(), key);
            assert_eq!(parsed.as_str().parse::<SessionKey>().unwrap(), parsed);
        }
        let helper: AgentId = "helper".parse().unwrap();
        let key = SessionKey::parse_for(&helper, "main").unwrap();
        assert_eq!((key.as_str(), key.rest()), ("agent:helper:main", "main"));
        assert!(key.is_main());
        let long = "x".repeat(257);
        for wrong in [
            "",
            " ",
            "a b",
            "agent:",
            "agent:x",
            "agent::main",
            "agent:x:",
            "ü",
            &long,
        ] {
            assert!(wrong.parse::<SessionKey>().is_err(), "{wrong}");
        }
    }

    fn links() -> BTreeMap<String, Vec<String>> {
        let link = |name: &str, senders: &[&str]| {
            let senders = senders.iter().map(|sender| (*sender).to_owned());
            (name.to_owned(), senders.collect())
        };
        BTreeMap::from([
            link("alice", &["telegram:42", "Discord:a#1"]),
            link("owner", &["telegram:1"]),
        ])
    }

    #[test]
    fn sender_and_chat_determine_the_session() {
        use DmScope::{Main, PerAccountChannelPeer, PerChannelPeer, PerPeer};
        let agent: AgentId = "a".parse().unwrap();
        let dm = |channel, account, id| Correspondent {
            channel,
            account,
            kind: PeerKind::Dm,
            id,
            thread: None,
        };
        let group = |kind, id, thread| Correspondent {
            kind,
            thread,
            ..dm("telegram", "bot", id)
        };
        let (known, stranger) = (dm("telegram", "bot", "42"), dm("telegram", "bot", "7"));
        let elsewhere = dm("discord", "bot", "a#1");
        let owner = dm("telegram", "bot", "1");
        let far = dm("discord", "bot", "1");
        for (scope, from, expect) in [
            (Main, stranger, "main"),
            (Main, known, "main"),
            (PerPeer, known, "person:alice"),
            (PerPeer, elsewhere, "person:alice"),
            (PerPeer, stranger, "telegram:dm:7"),
            (PerPeer, dm("discord", "bot", "7"), "discord:dm:7"),
            (PerPeer, owner, "main"),
            (PerChannelPeer, known, "telegram:person:alice"),
            (PerChannelPeer, elsewhere, "discord:person:alice"),
            (PerChannelPeer, stranger, "telegram:dm:7"),
            (PerChannelPeer, dm("telegram", "two", "7"), "telegram:dm:7"),
            (PerChannelPeer, dm("Telegram", "bot", "7"), "telegram:dm:7"),
            (PerChannelPeer, dm("x", "y", "alice"), "x:dm:alice"),
            (PerChannelPeer, owner, "main"),
            (PerChannelPeer, far, "discord:dm:1"),
            (PerAccountChannelPeer, stranger, "telegram:bot:dm:7"),
            (
                PerAccountChannelPeer,
                dm("telegram", "two", "7"),
                "telegram:two:dm:7",
            ),
            (PerAccountChannelPeer, known, "telegram:bot:person:alice"),
            (
                Main,
                group(PeerKind::Group, "-5", None),
                "telegram:group:-5",
            ),
            (
                PerPeer,
                group(PeerKind::Channel, "c", None),
                "telegram:channel:c",
            ),
            (
                Main,
                group(PeerKind::Group, "1", Some("t:9")),
                "telegram:group:1:thread:t+3a9",
            ),
            (
                Main,
                group(PeerKind::Thread, "t", None),
                "telegram:thread:t",
            ),
            (
                PerChannelPeer,
                dm("client", "x", "phone:main"),
                "+63lient:dm:phone+3amain",
            ),
            (PerChannelPeer, dm("sub", "x", "1"), "+73ub:dm:1"),
            (PerChannelPeer, dm("a:b", "x", "A b"), "a+3ab:dm:+41+20b"),
        ] {
            let links = links();
            let how = Addressing {
                scope,
                links: &links,
            };
            let key = SessionKey::for_peer(&agent, &from, &how);
            assert_eq!(key.rest(), expect, "{scope:?} {from:?}");
            assert_eq!(key.as_str().parse::<SessionKey>().unwrap(), key);
            assert!(!key.is_sub());
        }
    }

    #[test]
    fn long_names_are_shortened_and_stay_distinct() {
        let (agent, none) = (AgentId::main(), BTreeMap::new());
        let how = Addressing {
            scope: DmScope::PerAccountChannelPeer,
            links: &none,
        };
        let key = |id: &str| {
            let long = "\u{fc}".repeat(300);
            let from = Correspondent {
                channel: &long,
                account: &long,
                kind: PeerKind::Dm,
                id,
                thread: None,
            };
            SessionKey::for_peer(&agent, &from, &how)
        };
        let (one, two) = ("x".repeat(400), format!("{}y", "x".repeat(399)));
        assert_ne!(key(&one), key(&two));
        assert_eq!(key(&one), key(&one));
        assert!(key(&one).as_str().parse::<SessionKey>().is_ok(), "it fits");
    }
}
