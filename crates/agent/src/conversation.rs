//! The part of a session that a model is shown.

use manyhands_llm::{Message, ReplyBlock, ToolCall};
use manyhands_store::{Entry, Sessions, StoreError};

/// How many entries are read at a time.
const PAGE: u32 = 1_000;

/// What stands in an entry.
pub(crate) mod kind {
    pub(crate) const USER: &str = "user";
    pub(crate) const ASSISTANT: &str = "assistant";
    pub(crate) const TOOL: &str = "tool";
    pub(crate) const SUMMARY: &str = "summary";
}

/// The conversation from a session's floor on.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) said: Vec<Said>,
}

/// One message of it.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) seq: i64,
    pub(crate) turn: Option<String>,
    pub(crate) message: Message,
}

impl Conversation {
    /// Reads it.
    pub(crate) async fn load(
        sessions: &Sessions,
        session_id: &str,
        floor: i64,
    ) -> Result<Self, StoreError> {
        let mut said = Vec::new();
        let mut from = floor;
        loop {
            let page = sessions.entries(session_id, from, PAGE).await?;
            let more = page.len() == PAGE as usize;
            from = page.last().map_or(from, |entry| entry.seq + 1);
            said.extend(page.into_iter().filter_map(read));
            if !more {
                return Ok(Self { said });
            }
        }
    }

    /// The messages, for a model.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.said.iter().map(|said| said.message.clone()).collect()
    }

    /// The calls of the last reply, if nothing was said since.
    pub(crate) fn open_calls(&self) -> Vec<ToolCall> {
        match self.said.last().map(|said| &said.message) {
            Some(Message::Assistant { content }) => calls(content),
            _ => Vec::new(),
        }
    }

    /// Adds what was just kept as the entry `seq`.
    pub(crate) fn add(&mut self, seq: i64, turn: &str, message: Message) {
        let turn = Some(turn.to_owned());
        self.said.push(Said { seq, turn, message });
    }
}

/// The calls among what a model said.
pub(crate) fn calls(content: &[ReplyBlock]) -> Vec<ToolCall> {
    let one = |block: &ReplyBlock| match block {
        ReplyBlock::Call(call) => Some(call.clone()),
        _ => None,
    };
    content.iter().filter_map(one).collect()
}

/// An entry as a message; one that cannot be read is left out rather than guessed at.
fn read(entry: Entry) -> Option<Said> {
    match serde_json::from_str(&entry.body) {
        Ok(message) => Some(Said {
            seq: entry.seq,
            turn: entry.turn,
            message,
        }),
        Err(error) => {
            tracing::error!(seq = entry.seq, %error, "an entry of a session cannot be read");
            None
        }
    }
}

/// A message as the body of an entry.
pub(crate) fn body(message: &Message) -> String {
    serde_json::to_string(message).expect("a message is plain data with text keys")
}
