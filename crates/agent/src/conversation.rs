//! The part of a session that a model is shown.

use manyhands_llm::{Message, ReplyBlock, ToolCall};
use manyhands_store::{Entry, Sessions, StoreError};
use serde::{Deserialize, Serialize};

use crate::shape::Made;

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
    /// How its calls went, for what tools gave.
    pub(crate) made: Vec<Option<Made>>,
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
    pub(crate) fn add(&mut self, seq: i64, turn: &str, message: Message, made: Vec<Option<Made>>) {
        let turn = Some(turn.to_owned());
        self.said.push(Said {
            seq,
            turn,
            message,
            made,
        });
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
            made: made(&message, &entry.body),
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

/// What tools gave as the body of an entry, with how their calls went beside it.
pub(crate) fn body_of_results(message: &Message, made: &[Option<Made>]) -> String {
    #[derive(Serialize)]
    struct WithMade<'a> {
        #[serde(flatten)]
        message: &'a Message,
        made: &'a [Option<Made>],
    }
    if made.iter().all(Option::is_none) {
        return body(message);
    }
    serde_json::to_string(&WithMade { message, made })
        .expect("a message is plain data with text keys")
}

/// How the calls went whose results an entry holds, in their order; empty where nobody kept it.
pub(crate) fn made(message: &Message, body: &str) -> Vec<Option<Made>> {
    #[derive(Deserialize)]
    struct Beside {
        #[serde(default)]
        made: Vec<Option<Made>>,
    }
    if !matches!(message, Message::Tool { .. }) {
        return Vec::new();
    }
    serde_json::from_str::<Beside>(body).map_or_else(|_| Vec::new(), |beside| beside.made)
}

#[cfg(test)]
mod tests {
    use manyhands_llm::{Block, ToolResult};

    use super::*;

    #[test]
    fn how_calls_went_is_kept_beside_what_they_gave() {
        let result = ToolResult {
            id: "1".to_owned(),
            name: "look".to_owned(),
            content: vec![Block::text("seven")],
            is_error: false,
        };
        let message = Message::Tool {
            results: vec![result.clone(), result],
        };
        let went = vec![Some(Made { ms: 7, call: None }), None];
        let kept = body_of_results(&message, &went);
        let read: Message = serde_json::from_str(&kept).unwrap();
        assert_eq!(read, message, "a model is shown the same");
        assert_eq!(made(&message, &kept), went);
        assert!(made(&message, &body(&message)).is_empty(), "of before");
        assert_eq!(body_of_results(&message, &[None]), body(&message));
        let said = Message::user("made");
        assert!(made(&said, r#"{"made":[{"ms":1}]}"#).is_empty());
    }
}
