//! What is asked of a model.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::message::Message;
use crate::model::ModelId;

/// What is asked of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The model; the settings' default unless said.
    pub model: Option<ModelId>,
    /// Models to turn to, in order; the settings' own list unless said.
    pub fallbacks: Option<Vec<ModelId>>,
    /// What the model is told before the conversation. Stable parts come first.
    pub system: Vec<SystemPart>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: Vec<ToolDef>,
    /// Whether it may, must or must not.
    pub tool_choice: ToolChoice,
    /// How hard to think; as the model likes unless said.
    pub thinking: Option<Thinking>,
    /// The most tokens of the reply; the settings' number unless said.
    pub max_output_tokens: Option<u32>,
    /// What the reply's text has to be. The caller checks it: not every provider can enforce it.
    pub output: Option<OutputSchema>,
    /// How the model chooses its words, where it can be told.
    pub sampling: Sampling,
    /// What requests with the same beginning have in common, so that a provider's cache finds it.
    pub cache_key: Option<String>,
    /// Whose money it is.
    pub account: Account,
}

/// A part of what the model is told before the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemPart {
    /// The text.
    pub text: String,
    /// Whether it is the same in the next request, so that it is worth caching.
    pub stable: bool,
}

impl SystemPart {
    /// A part that stays the same from request to request.
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
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Arc<Value>,
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must not.
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
#[error("{0:?} is no thinking level; use none, minimal, low, medium, high or xhigh")]
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

/// How a model chooses its words. Each format sends what it has a field for and notes what it leaves out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// 0 is the most predictable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Only the most likely tokens that together have this probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Only this many of the most likely tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Texts at which the reply ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The same seed should give the same reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Against words that occurred at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Against words, by how often they occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// How much more or less likely single tokens become, by token id.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub logit_bias: Map<String, Value>,
    /// Whether one reply may call several tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
}

impl Sampling {
    /// Its fields by the names of OpenAI's format, without those that are not set.
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

/// What the text of a reply has to be.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// A name for it, 1-64 of `A-Za-z0-9_-`.
    pub name: String,
    /// Its JSON schema.
    pub schema: Value,
}

impl OutputSchema {
    /// The schema of any JSON object, which formats have an option of its own for.
    pub fn any_object() -> Value {
        json!({ "type": "object" })
    }

    pub(crate) fn is_any_object(&self) -> bool {
        self.schema == Self::any_object()
    }
}

/// Whose money a call spends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// The turn.
    pub turn: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
}
