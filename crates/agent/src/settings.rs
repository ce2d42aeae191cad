//! Settings of agents and sessions, and the limits of turns.

use std::time::Duration;

use manyhands_core::{AgentId, Pattern, Taint};
use manyhands_llm::{ModelId, Thinking};
use serde::{Deserialize, Serialize};

/// Settings of one session; they override the agent's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionSettings {
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// Reasoning effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<Thinking>,
    /// Additional system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Maximum tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// When it resets automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_policy: Option<ResetPolicy>,
}

/// When a session resets automatically; checked when the next message arrives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum ResetPolicy {
    /// Never.
    #[default]
    Manual,
    /// Every day.
    Daily {
        /// Hour of the day, in the user's time zone.
        #[serde(rename = "atHour")]
        #[schemars(range(max = 23))]
        at_hour: u8,
    },
    /// After a period of inactivity.
    Idle {
        /// Length of that period, in minutes.
        #[serde(rename = "idleMinutes")]
        #[schemars(range(min = 1))]
        idle_minutes: u32,
    },
}

/// The configuration of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// Its name.
    pub id: AgentId,
    /// Its model; `None` means the configured default.
    pub model: Option<ModelId>,
    /// Reasoning effort.
    pub thinking: Option<Thinking>,
    /// Patterns of the tools its model sees, as far as the caller may use them.
    pub tools: Vec<Pattern>,
    /// Patterns of the tools it can only discover.
    pub discover: Vec<Pattern>,
    /// Additional system prompt.
    pub system_prompt: Option<String>,
    /// When its sessions reset automatically.
    pub reset: ResetPolicy,
    /// The agent whose spending limits apply, if not its own.
    pub payer: Option<AgentId>,
    /// The untrusted text that its creator had read when it was spawned.
    pub taint: Taint,
}

impl AgentSettings {
    /// An agent with default settings.
    pub fn new(id: AgentId) -> Self {
        Self {
            id,
            model: None,
            thinking: None,
            tools: vec![Pattern::new("*")],
            discover: Vec::new(),
            system_prompt: None,
            reset: ResetPolicy::Manual,
            payer: None,
            taint: Taint::NONE,
        }
    }

    /// The agent whose spending limits apply.
    pub fn payer(&self) -> &AgentId {
        self.payer.as_ref().unwrap_or(&self.id)
    }
}

/// Limits of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Model replies per turn.
    pub steps: u32,
    /// How often the same call may be repeated in a row.
    pub repeats: u32,
    /// Time limit, not counting time spent waiting for approval.
    pub wall: Duration,
    /// How long the owner has to decide.
    pub approval: Duration,
    /// Queued and running inputs per session.
    pub queued: usize,
    /// Sessions per agent that callers other than the owner may create; 0 means no limit.
    pub sessions: u64,
    /// Tokens of conversation before older parts are summarised.
    pub window: u64,
    /// How long an interrupted turn waits for its tools after a restart: nodes reconnect and servers start a moment later
    /// than the gateway.
    pub tools: Duration,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            steps: 50,
            repeats: 5,
            wall: Duration::from_secs(3_600),
            approval: Duration::from_secs(900),
            queued: 64,
            sessions: 0,
            window: 120_000,
            tools: Duration::from_secs(60),
        }
    }
}
