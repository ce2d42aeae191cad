//! Messages of a session, as people and programs read them.

use manyhands_core::Timestamp;
use manyhands_llm::{Block, Message, ReplyBlock};
use manyhands_store::TranscriptEntry;

use crate::call_output::CallStats;
use crate::conversation::{is_stopped, kind, made};
use crate::fence;
use crate::picture_ref::{PictureRef, refs};
use crate::turn_note::{TurnFailure, TurnNote};
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
    /// Whether the turn was stopped here; the text is what had been written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Why the turn failed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnFailure>,
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
    /// For tool results: how each call went, if known.
    pub made: Vec<Option<CallStats>>,
    /// Whether it is a reply that was stopped, or the reason why there is none.
    pub note: TurnNote,
}

/// Which messages of a session a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageWindow {
    /// The last ones before this number.
    Before(i64),
    /// Those before and after this number, and the message itself.
    Around(i64),
    /// The first ones after this number.
    After(i64),
}

/// A page of messages, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<StoredMessage>,
    /// The number of the last one, if later ones exist and the page does not end with the last one by request.
    pub next_after: Option<i64>,
}

impl StoredMessage {
    /// A stored entry; `None` if it cannot be read.
    pub(crate) fn read(entry: TranscriptEntry, usage: Option<TurnUsage>) -> Option<Self> {
        let (message, note) = match entry.kind == kind::NOTE {
            // Shown as a reply without a text.
            true => (
                Message::Assistant {
                    content: Vec::new(),
                },
                TurnNote::of(&entry.body),
            ),
            false => {
                let stopped = entry.kind == kind::ASSISTANT && is_stopped(&entry.body);
                let note = TurnNote {
                    stopped,
                    error: None,
                };
                (serde_json::from_str(&entry.body).ok()?, note)
            }
        };
        Some(Self {
            seq: entry.seq,
            at: entry.at,
            made: made(&message, &entry.body),
            message,
            usage,
            note,
        })
    }

    /// The same as text.
    pub(crate) fn into_text(self) -> SessionMessage {
        SessionMessage {
            usage: self.usage,
            stopped: self.note.stopped,
            error: self.note.error,
            ..as_text(self.seq, &self.message)
        }
    }
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
            stopped: false,
            error: None,
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
            stopped: false,
            error: None,
        },
        Message::Assistant { content } => {
            let mut shown = SessionMessage {
                seq,
                role: "assistant",
                text: String::new(),
                tools: Vec::new(),
                pictures,
                usage: None,
                stopped: false,
                error: None,
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
