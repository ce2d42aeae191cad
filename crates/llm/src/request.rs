//! Requests to a model.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::message::Message;
use crate::model::ModelId;

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The model; the configured default if `None`.
    pub model: Option<ModelId>,
    /// Fallback models, in order; the configured list if `None`.
    pub fallbacks: Option<Vec<ModelId>>,
    /// The system prompt. Stable parts come first.
    pub system: Vec<SystemPart>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Tools the model may call.
    pub tools: Vec<ToolDef>,
    /// Whether it may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// Thinking level; the model's default if `None`.
    pub thinking: Option<Thinking>,
    /// Maximum output tokens; the configured number if `None`.
    pub max_output_tokens: Option<u32>,
    /// Schema of the reply's text. The caller validates: not every provider can enforce it.
    pub output: Option<OutputSchema>,
    /// Sampling options, where supported.
    pub sampling: Sampling,
    /// Key shared by requests with the same prefix, for the provider's prompt cache.
    pub cache_key: Option<String>,
    /// Whose budget it counts against.
    pub account: BillingContext,
    /// What it is for. Only a script that is replayed needs to know.
    pub purpose: Purpose,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// A reply in a conversation, or another answer.
    #[default]
    Reply,
    /// The title of a conversation.
    Title,
}

/// A part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemPart {
    /// The text.
    pub text: String,
    /// Whether it is the same in the next request and worth caching.
    pub stable: bool,
}

impl SystemPart {
    /// A part that stays the same across requests.
    pub fn stable(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, stable: true }
    }

    /// A part that changes.
    pub fn changing(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            stable: false,
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDef {
    /// 1-64 of `A-Za-z0-9_-`.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Arc<Value>,
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may call tools.
    #[default]
    Auto,
    /// It must not call tools.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Tool(String),
}

/// How hard to think.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
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

impl Thinking {
    /// The word for it.
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

/// It names no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a thinking level; use none, minimal, low, medium, high or xhigh")]
pub struct UnknownThinking(pub String);

impl FromStr for Thinking {
    type Err = UnknownThinking;

    fn from_str(text: &str) -> Result<Self, UnknownThinking> {
        const ALL: [Thinking; 6] = [
            Thinking::None,
            Thinking::Minimal,
            Thinking::Low,
            Thinking::Medium,
            Thinking::High,
            Thinking::Xhigh,
        ];
        let word = text.trim().to_ascii_lowercase();
        let found = ALL.into_iter().find(|level| level.as_str() == word);
        found.ok_or_else(|| UnknownThinking(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Sampling options. Each format sends those it supports and notes the others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// 0 is the most deterministic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: the most likely tokens with this total probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Only this many of the most likely tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The same seed should give the same reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Penalty for tokens that occurred at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens by frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Likelihood adjustments by token id.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub logit_bias: Map<String, Value>,
    /// Whether one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
}

impl Sampling {
    /// The fields under their OpenAI names, without unset ones.
    pub(crate) fn fields(&self) -> Vec<(&'static str, Value)> {
        let stop = (!self.stop.is_empty()).then(|| json!(self.stop));
        let bias = (!self.logit_bias.is_empty()).then(|| json!(self.logit_bias));
        let all = [
            ("temperature", self.temperature.map(Value::from)),
            ("top_p", self.top_p.map(Value::from)),
            ("top_k", self.top_k.map(Value::from)),
            ("stop", stop),
            ("seed", self.seed.map(Value::from)),
            ("presence_penalty", self.presence_penalty.map(Value::from)),
            ("frequency_penalty", self.frequency_penalty.map(Value::from)),
            ("logit_bias", bias),
            ("parallel_tool_calls", self.parallel_calls.map(Value::from)),
        ];
        let set = all.into_iter();
        set.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Required format of a reply's text.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// Its name, 1-64 of `A-Za-z0-9_-`.
    pub name: String,
    /// Its JSON schema.
    pub schema: Value,
}

impl OutputSchema {
    /// The schema of any JSON object, for which formats have a dedicated option.
    pub fn any_object() -> Value {
        json!({ "type": "object" })
    }

    pub(crate) fn is_any_object(&self) -> bool {
        self.schema == Self::any_object()
    }
}

/// Whose budget a call counts against.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BillingContext {
    /// The turn.
    pub turn: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
}
