//! Replies of a model.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Spent;
use crate::error::ErrorKind;
use crate::message::{Message, ReplyBlock, ToolCall};
use crate::model::ModelId;

/// A part of a reply in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Additional text.
    Text(String),
    /// Additional thinking text.
    Thinking(String),
    /// Start of a tool call.
    CallStart {
        /// Index of the call in this reply, from 0.
        index: usize,
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// Additional JSON text of a call's arguments.
    CallArguments {
        /// Index of the call in this reply.
        index: usize,
        /// The text.
        json: String,
    },
    /// The reply starts over: discard everything received so far.
    Restart {
        /// The model that answers now.
        model: ModelId,
        /// The reason.
        because: String,
    },
}

/// A complete reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The content.
    pub content: Vec<ReplyBlock>,
    /// Why it stopped.
    pub stop: StopReason,
    /// Tokens used.
    pub usage: Usage,
    /// Its cost.
    pub cost: Cost,
    /// The model that answered.
    pub model: ModelId,
    /// All attempts; the last one is this reply.
    pub attempts: Vec<Attempt>,
    /// Options of the request that this model does not support.
    pub notes: Vec<String>,
    /// Whether it was replayed from a file.
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

    /// The tool calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ReplyBlock::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The reply as a message of the conversation.
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
    /// The API name.
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
    /// All input tokens.
    pub fn total_input(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All input and output tokens.
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

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Millionths of a dollar.
    MicroDollars(u64),
    /// The price is unknown.
    Unknown,
}

impl Cost {
    /// Millionths of a dollar, if known.
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

/// One attempt to get a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The model.
    pub model: ModelId,
    /// Its duration.
    pub took: Duration,
    /// The failure; `None` for the successful attempt.
    pub failure: Option<Failure>,
    /// What it used anyway; `None` if it failed before it started.
    pub spent: Option<Spent>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The error message.
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
