//! Principals: the identity behind a call.

use std::fmt;
use std::sync::Arc;

use crate::id::{AgentId, TokenId};

/// A token, and the name under which the gateway has it on record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Credential {
    /// The token.
    pub id: TokenId,
    /// The name on record. The owner chose it, or for a guest it is `issuer/subject`.
    pub name: Arc<str>,
}

/// The identity behind a call, from the gateway's own records.
///
/// Authorization compares principals, never display names: a person in a chat may call
/// themselves whatever they like, the name of a token or `owner` included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The person this gateway belongs to.
    Owner(Credential),
    /// A program with a token of its own.
    Token(Credential),
    /// The bearer of an access token that a trusted issuer signed.
    Guest(Credential),
    /// A machine that shares its shell and files.
    Node(Credential),
    /// A bridge to a chat service; its credential is named after the channel.
    Bridge(Credential),
    /// Somebody who writes in a chat.
    Person {
        /// The channel, such as `telegram`.
        channel: String,
        /// The platform's id of the sender.
        id: String,
    },
    /// An agent that decides in a turn.
    Agent(AgentId),
    /// A scheduled job.
    Job(String),
    /// The gateway itself.
    System,
}

impl Principal {
    /// Somebody in a chat, from `channel:id`.
    pub fn person(reference: &str) -> Self {
        // Ids of some platforms contain colons; names of channels never do.
        let (channel, id) = reference.split_once(':').unwrap_or(("", reference));
        Self::Person {
            channel: channel.to_owned(),
            id: id.to_owned(),
        }
    }

    /// The credential of a principal that came with a token.
    pub fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Owner(credential)
            | Self::Token(credential)
            | Self::Guest(credential)
            | Self::Node(credential)
            | Self::Bridge(credential) => Some(credential),
            Self::Person { .. } | Self::Agent(_) | Self::Job(_) | Self::System => None,
        }
    }

    /// The token by which it came.
    pub fn token(&self) -> Option<TokenId> {
        self.credential().map(|credential| credential.id)
    }

    /// The recorded name of a token the owner created; `None` for everybody else, whatever
    /// they call themselves.
    pub fn token_name(&self) -> Option<&str> {
        match self {
            Self::Owner(credential) | Self::Token(credential) => Some(&credential.name),
            _ => None,
        }
    }

    /// `channel:id` of somebody in a chat.
    pub fn person_reference(&self) -> Option<String> {
        match self {
            Self::Person { channel, id } => Some(format!("{channel}:{id}")),
            _ => None,
        }
    }
}

/// As rules name it: `client:laptop`, `guest:corp/ada`, `person:telegram:42`, `agent:main`.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(credential) => write!(f, "owner:{}", credential.name),
            Self::Token(credential) => write!(f, "client:{}", credential.name),
            Self::Guest(credential) => write!(f, "guest:{}", credential.name),
            Self::Node(credential) => write!(f, "node:{}", credential.name),
            Self::Bridge(credential) => write!(f, "channel:{}", credential.name),
            Self::Person { channel, id } => write!(f, "person:{channel}:{id}"),
            Self::Agent(agent) => write!(f, "agent:{agent}"),
            Self::Job(id) => write!(f, "job:{id}"),
            Self::System => f.write_str("gateway"),
        }
    }
}
