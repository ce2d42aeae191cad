//! The key of a session: `agent:{agent}:{rest}`.

use std::fmt;
use std::str::FromStr;

use manyhands_core::AgentId;
use serde::{Deserialize, Serialize};

/// The longest key.
const MAX: usize = 256;
/// How the keys of sub-agents go on.
const SUB: &str = "sub:";

/// The key of a session, in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey {
    text: String,
    agent: AgentId,
}

/// It is no key.
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

    /// Whose session it is.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// What stands after the agent.
    pub fn rest(&self) -> &str {
        self.text.splitn(3, ':').nth(2).unwrap_or_default()
    }

    /// The session in which an agent and its owner talk.
    pub fn main(agent: &AgentId) -> Self {
        Self::of(agent, "main")
    }

    /// Whether this is the session in which the agent and its owner talk.
    pub fn is_main(&self) -> bool {
        self.rest() == "main"
    }

    /// A session in which a sub-agent works on one task.
    pub fn sub(agent: &AgentId, id: &str) -> Self {
        Self::of(agent, &format!("{SUB}{id}"))
    }

    /// Whether a sub-agent works here on one task.
    pub fn is_sub(&self) -> bool {
        self.rest().starts_with(SUB)
    }

    fn of(agent: &AgentId, rest: &str) -> Self {
        Self {
            text: format!("agent:{agent}:{rest}"),
            agent: agent.clone(),
        }
    }

    /// A key as somebody writes it who means `agent` unless they name another.
    pub fn parse_for(agent: &AgentId, text: &str) -> Result<Self, InvalidKey> {
        let wrong = || InvalidKey(text.chars().take(80).collect());
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
}
