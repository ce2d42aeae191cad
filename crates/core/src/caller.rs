//! Callers and their rights.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::InvalidName;
use crate::pattern::Pattern;
use crate::principal::Principal;

/// What a token, and so its bearer, is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The person this gateway belongs to: everything, administration included.
    Owner,
    /// A program that calls tools.
    Client,
    /// A machine that shares its shell and files; it calls no tools.
    Node,
    /// Looks but changes nothing.
    ReadOnly,
    /// A bridge to a chat service: it delivers messages, and calls no tools.
    Channel,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Self; 5] = [
        Self::Owner,
        Self::Client,
        Self::Node,
        Self::ReadOnly,
        Self::Channel,
    ];

    /// The word used on the command line and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Client => "client",
            Self::Node => "node",
            Self::ReadOnly => "read-only",
            Self::Channel => "channel",
        }
    }

    /// Whether its bearer only serves (nodes and bridges) and calls no tools.
    pub fn only_serves(self) -> bool {
        matches!(self, Self::Node | Self::Channel)
    }
}

impl FromStr for Role {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            InvalidName::new(
                text,
                "is not a role: use owner, client, node, read-only or channel",
            )
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a caller may do, from the gateway's own records. What follows from it is decided in one
/// place, `path`'s `authorize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// The role.
    pub role: Role,
    /// Tools it may call; `*` for all.
    pub tools: Vec<Pattern>,
    /// Agents it may act for and talk to; `*` for all.
    pub agents: Vec<Pattern>,
}

impl Rights {
    /// Everything.
    pub fn owner() -> Self {
        Self::new(Role::Owner, vec![Pattern::new("*")])
    }

    /// Those of a role for some tools and every agent.
    pub fn new(role: Role, tools: Vec<Pattern>) -> Self {
        Self {
            role,
            tools,
            agents: vec![Pattern::new("*")],
        }
    }
}

/// A caller, built only from the gateway's own records and never from what it claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose rights count.
    pub principal: Principal,
    /// Who decided to make the call, where that is not the principal itself: an agent in a turn,
    /// or a job.
    pub actor: Option<Principal>,
    /// What people are shown. Never compared: anybody in a chat chooses their own.
    pub name: String,
    /// What it may do.
    pub rights: Rights,
}

impl Caller {
    /// A direct caller.
    pub fn new(principal: Principal, name: impl Into<String>, rights: Rights) -> Self {
        Self {
            principal,
            actor: None,
            name: name.into(),
            rights,
        }
    }

    /// The gateway itself.
    pub fn gateway() -> Self {
        Self::new(Principal::System, "gateway", Rights::owner())
    }

    /// The same caller, with `actor` deciding what is called.
    #[must_use]
    pub fn through(&self, actor: Principal) -> Self {
        Self {
            // Only the actor changes: an agent has the rights of whom it works for, and never more.
            actor: Some(actor),
            ..self.clone()
        }
    }

    /// The label that the owner sees when deciding: a person in a chat is shown with their platform id,
    /// so that a name they chose cannot pass for somebody else's.
    pub fn label(&self) -> String {
        match self.principal.person_reference() {
            Some(reference) => format!("{} ({reference})", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether the caller may administer the gateway.
    pub fn is_owner(&self) -> bool {
        self.rights.role == Role::Owner
    }

    /// A stable key for rates, budgets, approvals and the audit: `owner:laptop:ID`.
    pub fn key(&self) -> String {
        match self.principal.credential() {
            // The id too: a name can be given to another token after the first was revoked, and must not inherit
            // its budget or approvals.
            Some(credential) => {
                format!("{}:{}:{}", self.rights.role, credential.name, credential.id)
            }
            None => self.principal.to_string(),
        }
    }
}
