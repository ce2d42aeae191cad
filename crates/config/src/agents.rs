//! Settings of agents and of their sessions.

use std::collections::BTreeMap;

use manyhands_core::{AgentId, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{AgentPolicy, ApprovalMode};

/// One agent. `main` is there without being named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Its model, as `provider/model`; `models.default` unless said.
    pub model: Option<String>,
    /// How hard it thinks: none, minimal, low, medium, high or xhigh; as the model likes unless said.
    pub thinking: Option<ThinkingLevel>,
    /// The tools its model is shown, of those that whoever asks may call; `*` for any run of characters.
    #[schemars(length(min = 1))]
    pub tools: Vec<Pattern>,
    /// Tools it may call though its model is not shown them: it has to look for them first. They
    /// count before `tools`.
    pub discover: Vec<Pattern>,
    /// What its model is told besides the files of its workspace.
    pub system_prompt: Option<String>,
    /// When its sessions begin anew by themselves; as `sessions.reset` unless said.
    pub reset: Option<Reset>,
    /// The agent whose workspace it works in; its own unless said.
    #[schemars(with = "Option<String>")]
    pub workspace: Option<AgentId>,
    /// In which of its sessions people write to it directly; as `sessions.dm_scope` unless said.
    pub dm_scope: Option<DmScope>,
    /// When it asks for approval: ask, auto or read-only; as `policy.mode` unless said.
    pub mode: Option<ApprovalMode>,
    /// Rules of its own. They can deny and ask, and never allow what `policy` denies or asks about.
    pub policy: AgentPolicy,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            model: None,
            thinking: None,
            tools: vec![Pattern::new("*")],
            discover: Vec::new(),
            system_prompt: None,
            reset: None,
            workspace: None,
            dm_scope: None,
            mode: None,
            policy: AgentPolicy::default(),
        }
    }
}

/// In which session people write to an agent directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DmScope {
    /// All of them in the session of the owner.
    Main,
    /// One session for each person, whatever channel they use.
    PerPeer,
    /// One session for each person and channel.
    #[default]
    PerChannelPeer,
    /// One session for each person, channel and account of ours there.
    PerAccountChannelPeer,
}

/// How hard a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all, or as little as the model can.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Xhigh,
}

impl ThinkingLevel {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

/// When a session begins anew by itself. What was said is archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reset {
    /// `manual`: never; `daily`: at an hour of the user's day; `idle`: when nobody spoke for a while.
    pub mode: ResetMode,
    /// For `daily`: the hour, by `timezone`.
    #[schemars(range(max = 23))]
    pub at_hour: u8,
    /// For `idle`: after so many minutes.
    #[schemars(range(min = 1))]
    pub idle_minutes: u32,
}

impl Default for Reset {
    fn default() -> Self {
        Self {
            mode: ResetMode::Daily,
            at_hour: 4,
            idle_minutes: 60,
        }
    }
}

/// When a session begins anew by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetMode {
    /// Never.
    Manual,
    /// Every day.
    Daily,
    /// When nobody spoke for a while.
    Idle,
}

/// Conversations of agents, and how far one turn of them may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// When sessions begin anew by themselves.
    pub reset: Reset,
    /// Replies of models in one turn; at the last one it has to answer.
    #[schemars(range(min = 1, max = 1000))]
    pub max_steps: u32,
    /// How often a model may make the same call in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub max_repeats: u32,
    /// Minutes a turn may take; waiting for your approval does not count.
    #[schemars(range(min = 1, max = 10_080))]
    pub turn_minutes: u32,
    /// Messages that may wait in one session.
    #[schemars(range(min = 1, max = 1000))]
    pub max_queued: u32,
    /// Tokens of conversation a model is shown; what is older is summarised, and archived.
    #[schemars(range(min = 1000))]
    pub window_tokens: u64,
    /// In which session people write to an agent directly: `main`, `per-peer`, `per-channel-peer`
    /// or `per-account-channel-peer`. Groups have a session each.
    pub dm_scope: DmScope,
    /// Who is who: a name, and the senders that are this person, such as `telegram:42`. What
    /// `owner` writes directly goes into the main session.
    #[schemars(extend("x-mask" = "names"))]
    pub identity_links: BTreeMap<String, Vec<String>>,
    /// Days that sessions of sub-agents, and agents that agents made, are kept after the last
    /// word to them; then they are archived.
    #[schemars(range(min = 1))]
    pub sub_agent_days: u32,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            reset: Reset::default(),
            max_steps: 50,
            max_repeats: 5,
            turn_minutes: 60,
            max_queued: 64,
            window_tokens: 120_000,
            dm_scope: DmScope::default(),
            identity_links: BTreeMap::new(),
            sub_agent_days: 30,
        }
    }
}
