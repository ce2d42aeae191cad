//! Ids: UUIDv7 made from the injected clock and entropy, and names of agents.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Clock;
use crate::name::InvalidName;

/// The one source of randomness.
pub trait Entropy: Send + Sync {
    /// Fills `bytes` with unpredictable bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's randomness.
#[derive(Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[allow(clippy::disallowed_methods)] // the one place randomness is drawn
    fn fill(&self, bytes: &mut [u8]) {
        // A machine without randomness can make no token and no id: there is
        // nothing sane to continue with.
        getrandom::fill(bytes).expect("the operating system gives randomness");
    }
}

/// Reproducible bytes for tests (xorshift; never for secrets).
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        // Never zero: xorshift would stay there.
        Self(Mutex::new(seed | 1))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().expect("no panic while held");
        for byte in bytes {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            *byte = state.to_le_bytes()[3];
        }
    }
}

/// Makes ids from a clock and a source of randomness.
#[derive(Clone)]
pub struct Ids {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Ids {
    /// The source of randomness.
    pub fn entropy(&self) -> Arc<dyn Entropy> {
        self.entropy.clone()
    }

    /// Ids stamped by `clock` and made unguessable by `entropy`.
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { clock, entropy }
    }

    /// A new id.
    pub fn next<T: From<Uuid>>(&self) -> T {
        let mut random = [0_u8; 10];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.clock.now().0).unwrap_or(0);
        // Version 7: ids sort by creation, so that new rows are appended to an index instead of scattered over it.
        uuid::Builder::from_unix_timestamp_millis(millis, &random)
            .into_uuid()
            .into()
    }

    /// Random bytes, for tokens, keys and nonces.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text)
                    .map(Self)
                    .map_err(|_| InvalidName::new(text, "is not an id (a UUID)"))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": "uuid" })
            }
        }
    };
}

uuid_id! {
    /// One call of one tool.
    CallId
}
uuid_id! {
    /// One request for the owner's permission.
    ApprovalId
}
uuid_id! {
    /// One stored file made by a tool, a script or a large result.
    ArtifactId
}
uuid_id! {
    /// One access token (never the secret itself).
    TokenId
}

uuid_id! {
    /// One account of a service, by which a call chooses it.
    ConnectionId
}

uuid_id! {
    /// One bucket of artifacts.
    ChatId
}
uuid_id! {
    /// One resource: a datastore, a filestore, a knowledge base or a vault.
    CollectionId
}

/// The name of an agent: 1-64 of `a-z0-9-_`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

impl AgentId {
    /// The agent that exists without configuration.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let legal = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_';
        let starts_well = text
            .bytes()
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric());
        if text.len() <= 64 && starts_well && text.bytes().all(legal) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName::new(
                text,
                "is not an agent id: use 1-64 of a-z, 0-9, - and _, starting with a letter or digit",
            ))
        }
    }
}

/// The name of a node: 1-32 of `a-z0-9-`, and not the prefix of other tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(String);

impl NodeId {
    /// The longest name.
    pub const MAX: usize = 32;
    // Tools of a node are called `{node}__{tool}`, so these would collide with built-in names.
    const RESERVED: [&str; 3] = ["gsv", "tool", "gateway"];

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A node name for a host name: `Ada's Laptop.local` becomes `ada-s-laptop-local`.
    pub fn nearest(machine: &str) -> Self {
        let lower = machine.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut name = words.join("-");
        name.truncate(Self::MAX);
        let name = name.trim_end_matches('-');
        name.parse().unwrap_or_else(|_| Self("local".to_owned()))
    }
}

impl FromStr for NodeId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if Self::RESERVED.contains(&text) {
            let why = "cannot be a node's name: the gateway's own tools begin with it";
            return Err(InvalidName::new(text, why));
        }
        let legal = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if (1..=Self::MAX).contains(&text.len()) && text.bytes().all(legal) {
            Ok(Self(text.to_owned()))
        } else {
            let why = "is not a node's name: use 1-32 of a-z, 0-9 and -";
            Err(InvalidName::new(text, why))
        }
    }
}

/// The name of an MCP server: 1-32 of `A-Za-z0-9_-`, and not the prefix of other tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

impl ServerName {
    const MAX: usize = 32;
    const RESERVED: [&str; 7] = [
        "gsv", "tool", "gateway", "local", "node", "dynamic", "remote",
    ];

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if Self::RESERVED.contains(&text) {
            let why = "cannot be a server's name: the gateway's own tools are found under it";
            return Err(InvalidName::new(text, why));
        }
        let legal = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        // `__` separates the server from its tool: a name with it could be read in two ways.
        let unambiguous = !text.contains("__") && !text.starts_with('_') && !text.ends_with('_');
        if (1..=Self::MAX).contains(&text.len()) && text.bytes().all(legal) && unambiguous {
            Ok(Self(text.to_owned()))
        } else {
            let why =
                "is not a server's name: use 1-32 of A-Z, a-z, 0-9, - and single _ between them";
            Err(InvalidName::new(text, why))
        }
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(AgentId);
text_id!(NodeId);
text_id!(ServerName);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, Timestamp};
    use std::time::Duration;

    #[test]
    fn ids_carry_the_injected_time_and_sort_by_it() {
        let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
        let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(7)));
        let first: CallId = ids.next();
        clock.advance(Duration::from_millis(1));
        let second: CallId = ids.next();
        assert_eq!(first.0.get_version_num(), 7);
        assert!(first < second);
        assert_eq!(first.to_string().parse::<CallId>().unwrap(), first);
    }

    #[test]
    fn agent_ids_are_parsed_once_at_the_edge() {
        for good in ["main", "a", "helper-2", "0_x"] {
            assert!(good.parse::<AgentId>().is_ok(), "{good}");
        }
        for bad in ["", "Main", "../main", "a/b", "-a", "a b", &"a".repeat(65)] {
            assert!(bad.parse::<AgentId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_node_cannot_take_a_prefix_of_built_in_tools() {
        for good in ["laptop", "a", "server-2", "gsv2", &"a".repeat(32)] {
            assert!(good.parse::<NodeId>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "gsv",
            "tool",
            "gateway",
            "Laptop",
            "a__b",
            "a_b",
            "a.b",
            "ü",
            &"a".repeat(33),
        ] {
            assert!(bad.parse::<NodeId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_server_name_is_no_prefix_of_other_tools() {
        for good in ["github", "GitHub", "my_server", "a", "2-x"] {
            assert!(good.parse::<ServerName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "gsv",
            "node",
            "a__b",
            "_a",
            "a_",
            "a/b",
            "a b",
            &"a".repeat(33),
        ] {
            assert!(bad.parse::<ServerName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_node_name_is_derived_from_the_host_name() {
        for (machine, node) in [
            ("laptop", "laptop"),
            ("Ada's Laptop.local", "ada-s-laptop-local"),
            ("gsv", "local"),
            ("", "local"),
            ("___", "local"),
            (&"x".repeat(40), &"x".repeat(32)),
        ] {
            assert_eq!(NodeId::nearest(machine).as_str(), node);
        }
    }
}
