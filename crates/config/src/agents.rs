//! Settings of agents and their sessions.

use std::collections::BTreeMap;

use manyhands_core::{AgentId, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::{AgentPolicy, ApprovalMode};

/// One agent. `main` exists without being configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Model, as `provider/model`. Default: `models.default`.
    pub model: Option<String>,
    /// Reasoning level: none, minimal, low, medium, high or xhigh. Default: the model's own.
    pub thinking: Option<ThinkingLevel>,
    /// Tools shown to its model, of those the caller may use; `*` matches any characters.
    #[schemars(length(min = 1))]
    pub tools: Vec<Pattern>,
    /// Tools it may call although its model is not shown them: it has to discover them first. Takes precedence over
    /// `tools`.
    pub discover: Vec<Pattern>,
    /// System prompt, in addition to the files of its workspace.
    pub system_prompt: Option<String>,
    /// When its sessions are cleared automatically. Default: `sessions.reset`.
    pub reset: Option<Reset>,
    /// Agent whose workspace it uses. Default: its own.
    #[schemars(with = "Option<String>")]
    pub workspace: Option<AgentId>,
    /// Which session direct messages go to. Default: `sessions.dm_scope`.
    pub dm_scope: Option<DmScope>,
    /// When it needs approval: ask, auto or read-only. Default: `policy.mode`.
    pub mode: Option<ApprovalMode>,
    /// Its own rules. They can deny and ask, but never allow what `policy` denies or asks about.
    pub policy: AgentPolicy,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            model: None,
            thinking: None,
            // Everything the caller may use: the policy decides, not the list of tools.
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

/// Which session direct messages to an agent go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DmScope {
    /// The owner's session, for all people.
    Main,
    /// One session per person, across channels.
    PerPeer,
    /// One session per person and channel.
    #[default]
    PerChannelPeer,
    /// One session per person, channel and bot account.
    PerAccountChannelPeer,
}

/// Reasoning level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// None, or as little as the model supports.
    None,
    /// Minimal.
    Minimal,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// As much as the model supports.
    Xhigh,
}

impl ThinkingLevel {
    /// Its name in settings and on the wire.
    pub fn as_str(self) -> &'static str {
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

/// When a session is cleared automatically. Its messages are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reset {
    /// `manual`: never; `daily`: at an hour of the user's day; `idle`: after a period without messages.
    pub mode: ResetMode,
    /// For `daily`: the hour, in `timezone`.
    #[schemars(range(max = 23))]
    pub at_hour: u8,
    /// For `idle`: the period in minutes.
    #[schemars(range(min = 1))]
    pub idle_minutes: u32,
}

impl Default for Reset {
    fn default() -> Self {
        Self {
            // A session that never ends grows expensive, and old topics leak into new ones.
            mode: ResetMode::Daily,
            // Few people are in the middle of a conversation at that hour.
            at_hour: 4,
            idle_minutes: 60,
        }
    }
}

/// When a session is cleared automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResetMode {
    /// Never.
    Manual,
    /// Daily.
    Daily,
    /// After a period without messages.
    Idle,
}

/// Sessions of agents, and limits of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// When sessions are cleared automatically.
    pub reset: Reset,
    /// Maximum number of model replies per turn; the last one has to be an answer.
    #[schemars(range(min = 1, max = 1000))]
    pub max_steps: u32,
    /// How often a model may repeat the same call in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub max_repeats: u32,
    /// Timeout of a turn in minutes, not counting the time spent waiting for approval.
    #[schemars(range(min = 1, max = 10_080))]
    pub turn_minutes: u32,
    /// Maximum number of queued messages per session.
    #[schemars(range(min = 1, max = 1000))]
    pub max_queued: u32,
    /// Tokens of the conversation shown to the model; older messages are summarised and archived.
    #[schemars(range(min = 1000))]
    pub window_tokens: u64,
    /// Whether a model gives conversations a title after the first reply, with one short request. Otherwise the title is
    /// the beginning of the first message.
    pub titles: bool,
    /// The model for titles, as `provider/model`, such as a cheap one. Default: the model that replied.
    pub title_model: Option<String>,
    /// Which session direct messages go to: `main`, `per-peer`, `per-channel-peer` or
    /// `per-account-channel-peer`. Every group has its own session.
    pub dm_scope: DmScope,
    /// Links senders to people: a name, and the senders that are this person, such as `telegram:42`. Direct messages
    /// of `owner` go to the main session.
    #[schemars(extend("x-mask" = "names"))]
    pub identity_links: BTreeMap<String, Vec<String>>,
    /// Days that sub-agent sessions and spawned agents are retained after their last message; then they are
    /// archived.
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
            // Leaves room for the reply and tools in the smallest common context of 128k tokens.
            window_tokens: 120_000,
            titles: true,
            title_model: None,
            dm_scope: DmScope::default(),
            identity_links: BTreeMap::new(),
            sub_agent_days: 30,
        }
    }
}
