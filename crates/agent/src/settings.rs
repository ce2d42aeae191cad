//! What can be set for an agent and for one session.

use std::time::Duration;

use manyhands_core::{AgentId, Pattern, Taint};
use manyhands_llm::{ModelId, Thinking};
use serde::{Deserialize, Serialize};

/// What is set for one session, over what its agent says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionSettings {
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// How hard to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<Thinking>,
    /// What the model is told besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The most tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// When it begins anew by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_policy: Option<ResetPolicy>,
}

/// When a session begins anew by itself: looked at when the next message comes.
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
        /// At this hour of the user's day.
        #[serde(rename = "atHour")]
        #[schemars(range(max = 23))]
        at_hour: u8,
    },
    /// When nobody spoke for a while.
    Idle {
        /// For so many minutes.
        #[serde(rename = "idleMinutes")]
        #[schemars(range(min = 1))]
        idle_minutes: u32,
    },
}

/// An agent as the settings describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// Its name.
    pub id: AgentId,
    /// Its model; the settings' default unless said.
    pub model: Option<ModelId>,
    /// How hard it thinks.
    pub thinking: Option<Thinking>,
    /// The tools its model is shown, of those that the asker may call.
    pub tools: Vec<Pattern>,
    /// The tools that it may call without its model being shown them.
    pub discover: Vec<Pattern>,
    /// What its model is told besides its files.
    pub system_prompt: Option<String>,
    /// When its sessions begin anew by themselves.
    pub reset: ResetPolicy,
    /// Whose limits hold for what it spends, when not its own.
    pub payer: Option<AgentId>,
    /// The untrusted text that had been read when it was spawned.
    pub taint: Taint,
}

impl AgentSettings {
    /// An agent of which nothing is said.
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

    /// Whose limits hold for what it spends.
    pub fn payer(&self) -> &AgentId {
        self.payer.as_ref().unwrap_or(&self.id)
    }
}

/// How far one turn may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Replies of models in one turn.
    pub steps: u32,
    /// How often the same call may be made in a row.
    pub repeats: u32,
    /// How long a turn may take, waiting for the owner not counted.
    pub wall: Duration,
    /// How long the owner has for an answer.
    pub approval: Duration,
    /// How many inputs may wait in one session.
    pub queued: usize,
    /// How many sessions of an agent others than the owner may bring about; 0 means no limit.
    pub sessions: u64,
    /// How many tokens of conversation a model is shown before older ones are summarised.
    pub window: u64,
    /// How long a turn that was cut off waits for the tools it was about to use: machines dial in and
    /// servers begin a moment after the gateway does.
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
