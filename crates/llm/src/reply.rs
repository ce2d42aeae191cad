//! Replies of a model.

use serde::{Deserialize, Serialize};

use crate::error::Attempt;
use crate::message::{Message, ReplyBlock, ToolCall};
use crate::model::ModelId;
use crate::usage::{Cost, Usage};

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
