//! What comes back from a model.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Spent;
use crate::error::ErrorKind;
use crate::message::{Message, ReplyBlock, ToolCall};
use crate::model::ModelId;

/// A piece of a reply on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of a thought.
    Thinking(String),
    /// The model begins to call a tool.
    CallStart {
        /// Which call of this reply, from 0.
        index: usize,
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments, as JSON text.
    CallArguments {
        /// Which call of this reply.
        index: usize,
        /// The text.
        json: String,
    },
    /// What was sent so far is void: the reply begins anew.
    Restart {
        /// Who answers now.
        model: ModelId,
        /// What happened, in words.
        because: String,
    },
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model said.
    pub content: Vec<ReplyBlock>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What was used up.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// Who answered.
    pub model: ModelId,
    /// Every try, the last one being this reply.
    pub attempts: Vec<Attempt>,
    /// What was asked and could not be sent to this model, in words.
    pub notes: Vec<String>,
    /// It was read from a file; no model was asked.
    pub scripted: bool,
}

impl Reply {
    /// All its text.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ReplyBlock::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tools it calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ReplyBlock::Call(call) => Some(call),
            _ => None,
        })
    }

    /// It as a message of the conversation.
    pub fn message(&self) -> Message {
        Message::Assistant {
            content: self.content.clone(),
        }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// The reply was as long as allowed.
    Length,
}

impl StopReason {
    /// The word, as it is on every face.
    pub fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Calls => "calls",
            Self::Length => "length",
        }
    }
}

/// Tokens that were used up.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ModelUsage")]
pub struct Usage {
    /// Read at full price: neither from the cache nor into it.
    pub input: u64,
    /// Written, thoughts included.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Read, and written to the provider's cache.
    pub cache_write: u64,
    /// How many of the written were thoughts.
    pub reasoning: u64,
}

impl Usage {
    /// All that was read.
    pub fn total_input(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All that was read and written.
    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// What something cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Millionths of a dollar.
    MicroDollars(u64),
    /// The model has no price.
    Unknown,
}

impl Cost {
    /// Millionths of a dollar, where it is known.
    pub fn micro_dollars(self) -> Option<u64> {
        match self {
            Self::MicroDollars(micros) => Some(micros),
            Self::Unknown => None,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MicroDollars(micros) => {
                write!(f, "${}.{:06}", micros / 1_000_000, micros % 1_000_000)
            }
            Self::Unknown => f.write_str("cost unknown: the model has no price in models.prices"),
        }
    }
}

/// One try to get a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Who was asked.
    pub model: ModelId,
    /// How long it took.
    pub took: Duration,
    /// What went wrong; nothing, for the one that answered.
    pub failure: Option<Failure>,
    /// What it used up all the same; nothing, when it failed before it began.
    pub spent: Option<Spent>,
}

/// Why a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// What happened, in words.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_dollars_or_said_to_be_unknown() {
        assert_eq!(Cost::MicroDollars(1_234_567).to_string(), "$1.234567");
        assert_eq!(Cost::MicroDollars(50).to_string(), "$0.000050");
        assert!(Cost::Unknown.to_string().contains("models.prices"));
    }
}
