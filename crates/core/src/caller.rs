//! Who asks, and what they may do.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effects::Effect;
use crate::id::TokenId;
use crate::name::InvalidName;
use crate::pattern::Pattern;
use crate::spec::ToolSpec;

/// What a token, and so its bearer, is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The person this gateway belongs to: everything, administration included.
    Owner,
    /// A program that calls tools.
    Client,
    /// A machine that lends its hands; it calls no tools.
    Node,
    /// Looks but changes nothing.
    ReadOnly,
    /// A bridge to a chat service: it says what people write there, and calls no tools.
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
    pub fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Client => "client",
            Self::Node => "node",
            Self::ReadOnly => "read-only",
            Self::Channel => "channel",
        }
    }

    /// Whether its bearer only does its own work here, and asks for nothing.
    pub fn only_serves(self) -> bool {
        matches!(self, Self::Node | Self::Channel)
    }
}

impl FromStr for Role {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|role| role.word() == text);
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
        f.write_str(self.word())
    }
}

/// What a caller may do, from the gateway's own records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// The role.
    pub role: Role,
    /// Tools it may call; `*` for all.
    pub tools: Vec<Pattern>,
}

impl Rights {
    /// Everything.
    pub fn owner() -> Self {
        Self {
            role: Role::Owner,
            tools: vec![Pattern::new("*")],
        }
    }

    /// Whether the role and the tool patterns allow `spec`; the error says why not.
    pub fn permit(&self, spec: &ToolSpec) -> Result<(), String> {
        let harmless = spec.effects.only_reads();
        match self.role {
            Role::Node => return Err("a node token cannot call tools".to_owned()),
            Role::Channel => return Err("a channel token cannot call tools".to_owned()),
            Role::ReadOnly if !harmless => {
                let done: Vec<&str> = spec.effects.iter().map(Effect::word).collect();
                let done = if done.is_empty() {
                    "has unknown effects".to_owned()
                } else {
                    done.join(", ")
                };
                return Err(format!(
                    "a read-only token cannot call {}: it {done}",
                    spec.name
                ));
            }
            Role::Owner | Role::Client | Role::ReadOnly => {}
        }
        let administers = spec.administers && self.role != Role::Owner;
        let named = |name: &str| {
            let in_full = Pattern::new(name);
            let fits = |pattern: &Pattern| match administers {
                true => *pattern == in_full,
                false => pattern.matches(name),
            };
            self.tools.iter().any(fits)
        };
        if named(spec.name.as_str()) || named(&spec.name.wire()) {
            Ok(())
        } else if administers {
            Err(format!(
                "{} is administration: it is for the owner, and for tokens whose tool patterns name it in full",
                spec.name
            ))
        } else {
            Err(format!(
                "this token's tool patterns do not include {}",
                spec.name
            ))
        }
    }
}

/// Which kind of asker this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// The bearer of a token.
    Token(TokenId),
    /// Somebody who writes in a chat, as `channel:id`.
    Person(String),
    /// The gateway itself, for its own upkeep.
    Gateway,
}

/// Who asks. Made only from the gateway's own records, never from what the
/// caller says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Which kind of asker.
    pub kind: CallerKind,
    /// What the owner calls it.
    pub name: String,
    /// What it may do.
    pub rights: Rights,
}

impl Caller {
    /// The gateway itself.
    pub fn gateway() -> Self {
        Self {
            kind: CallerKind::Gateway,
            name: "gateway".to_owned(),
            rights: Rights::owner(),
        }
    }

    /// Whether a tool is for this caller at all, whatever their rights are.
    pub fn may_use(&self, spec: &ToolSpec) -> bool {
        let named = |tokens: &[Pattern]| tokens.iter().any(|token| token.matches(&self.name));
        self.is_owner() || spec.tokens.as_deref().is_none_or(named)
    }

    /// Whether the caller may administer the gateway.
    pub fn is_owner(&self) -> bool {
        self.rights.role == Role::Owner
    }

    /// A stable key for rates, budgets, approvals and the audit: `owner:laptop`.
    pub fn key(&self) -> String {
        match self.kind {
            CallerKind::Gateway => "gateway".to_owned(),
            CallerKind::Person(ref who) => format!("person:{who}"),
            CallerKind::Token(id) => format!("{}:{}:{id}", self.rights.role, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Effects;

    fn spec(name: &str, effects: Effects) -> ToolSpec {
        ToolSpec::new(name, "test").effects(effects)
    }

    fn rights(role: Role, tools: &[&str]) -> Rights {
        Rights {
            role,
            tools: tools.iter().map(|t| Pattern::new(*t)).collect(),
        }
    }

    #[test]
    fn a_read_only_caller_calls_what_only_reads() {
        let rights = rights(Role::ReadOnly, &["*"]);
        assert!(rights.permit(&spec("look", Effects::READS)).is_ok());
        assert!(rights.permit(&spec("change", Effects::WRITES)).is_err());
        let both = Effects::READS.and(Effects::LEAVES);
        assert!(rights.permit(&spec("fetch", both)).is_err());
    }

    #[test]
    fn patterns_narrow_a_client_to_what_they_name() {
        let rights = rights(Role::Client, &["gsv__*", "tool__file_read"]);
        assert!(
            rights
                .permit(&spec("gsv__ReadFile", Effects::READS))
                .is_ok()
        );
        assert!(
            rights
                .permit(&spec("tool::file_read", Effects::READS))
                .is_ok()
        );
        assert!(
            rights
                .permit(&spec("tool::file_write", Effects::WRITES))
                .is_err()
        );
    }

    #[test]
    fn administration_is_for_the_owner_and_for_who_is_named_in_full() {
        let settings = spec("gsv__ConfigGet", Effects::READS).administers();
        let plain = spec("gsv__ConfigGet", Effects::READS);
        for (role, tools, allowed) in [
            (Role::Owner, "*", true),
            (Role::Client, "gsv__ConfigGet", true),
            (Role::ReadOnly, "gsv__ConfigGet", true),
            (Role::Client, "*", false),
            (Role::ReadOnly, "*", false),
            (Role::Client, "gsv__*", false),
            (Role::Client, "gsv__Config*", false),
        ] {
            let rights = rights(role, &[tools]);
            let permitted = rights.permit(&settings);
            assert_eq!(permitted.is_ok(), allowed, "{role} {tools}");
            if let Err(why) = permitted {
                assert!(why.contains("administration"), "{why}");
            }
            assert!(rights.permit(&plain).is_ok(), "control: {role} {tools}");
        }
        let node = rights(Role::Node, &["gsv__ConfigGet"]);
        assert!(node.permit(&settings).is_err());
    }

    #[test]
    fn a_node_calls_nothing() {
        let look = spec("look", Effects::READS);
        assert!(rights(Role::Node, &["*"]).permit(&look).is_err());
        assert!(Rights::owner().permit(&look).is_ok());
    }
}
