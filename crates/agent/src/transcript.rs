//! Messages of a session, as people and programs read them.

use manyhands_core::Timestamp;
use manyhands_llm::{Block, Message, ReplyBlock};

use crate::call_output::CallStats;
use crate::fence;
use crate::pictures::{PictureRef, refs};
use crate::usage::TurnUsage;

/// A message of a session, as text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessage {
    /// Its number in the session.
    pub seq: i64,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// The text.
    pub text: String,
    /// The tools that were called, or whose results these are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Attached pictures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureRef>,
    /// Usage of the turn that ends with this message; absent in all other messages, and if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TurnUsage>,
}

/// A message of a session, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its number in the session.
    pub seq: i64,
    /// When it was stored.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
    /// Usage of the turn that ends with it, if known.
    pub usage: Option<TurnUsage>,
    /// For tool results: time and audit id of each call, if known.
    pub made: Vec<Option<CallStats>>,
}

/// A message as text.
pub(crate) fn as_text(seq: i64, message: &Message) -> SessionMessage {
    fn texts(content: &[Block], read: fn(&str) -> &str) -> String {
        let text = content.iter().map(|block| match block {
            Block::Text { text } => read(text),
            Block::Image { .. } => "[a picture]",
        });
        text.collect::<Vec<_>>().join("\n")
    }
    let pictures = refs(seq, message);
    match message {
        Message::User { content } => SessionMessage {
            seq,
            role: "user",
            text: texts(content, |text| text), // with its fence, which shows who wrote it
            tools: Vec::new(),
            pictures,
            usage: None,
        },
        Message::Tool { results } => SessionMessage {
            seq,
            role: "tool",
            text: results
                .iter()
                .map(|result| texts(&result.content, fence::inside))
                .collect::<Vec<_>>()
                .join("\n"),
            tools: results.iter().map(|result| result.name.clone()).collect(),
            pictures,
            usage: None,
        },
        Message::Assistant { content } => {
            let mut shown = SessionMessage {
                seq,
                role: "assistant",
                text: String::new(),
                tools: Vec::new(),
                pictures,
                usage: None,
            };
            for block in content {
                match block {
                    ReplyBlock::Text { text, .. } => shown.text.push_str(text),
                    ReplyBlock::Call(call) => shown.tools.push(call.name.clone()),
                    ReplyBlock::Thinking { .. } => {}
                }
            }
            shown
        }
    }
}
