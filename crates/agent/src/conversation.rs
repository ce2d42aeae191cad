//! The part of a session that a model is shown.

use manyhands_llm::{Message, ReplyBlock, ToolCall};
use manyhands_store::{Sessions, StoreError, TranscriptEntry};
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

    /// The messages, for a model. While a call waits for the owner, other people's turns go on, so its
    /// result may stand further on: a reply with calls is shown where their results came, since models
    /// take no other order, and not at all before that.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut shown = Vec::with_capacity(self.said.len());
        let mut open: Vec<&Said> = Vec::new();
        for said in &self.said {
            match &said.message {
                Message::Assistant { content } if !calls(content).is_empty() => open.push(said),
                Message::Tool { .. } => {
                    let own = open.iter().rposition(|one| one.turn == said.turn);
                    // Results of a turn that was cut off were given by the one after it.
                    let asked = own.or(open.len().checked_sub(1));
                    shown.extend(asked.map(|at| open.remove(at).message.clone()));
                    shown.push(said.message.clone());
                }
                other => shown.push(other.clone()),
            }
        }
        shown
    }

    /// The calls of a turn's last reply, if it has no results yet.
    pub(crate) fn open_calls(&self, turn: &str) -> Vec<ToolCall> {
        let own = self.said.iter().rev();
        let mut own = own.filter(|said| said.turn.as_deref() == Some(turn));
        let last = own.find(|said| !matches!(said.message, Message::User { .. }));
        match last.map(|said| &said.message) {
            Some(Message::Assistant { content }) => calls(content),
            _ => Vec::new(),
        }
    }

    /// Whether anything of a turn is in it.
    pub(crate) fn has(&self, turn: &str) -> bool {
        let mut said = self.said.iter();
        said.any(|said| said.turn.as_deref() == Some(turn))
    }

    /// The turn whose reply with calls is the last that was said.
    pub(crate) fn cut_off(&self) -> Option<&str> {
        let last = self.said.last()?;
        match &last.message {
            Message::Assistant { content } if !calls(content).is_empty() => last.turn.as_deref(),
            _ => None,
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
fn read(entry: TranscriptEntry) -> Option<Said> {
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

    fn call(id: &str) -> Message {
        let call = ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: manyhands_llm::Arguments::parse("{}"),
            opaque: None,
        };
        Message::Assistant {
            content: vec![ReplyBlock::Call(call)],
        }
    }

    fn result(id: &str) -> Message {
        let result = ToolResult {
            id: id.to_owned(),
            name: "look".to_owned(),
            content: vec![Block::text("seven")],
            is_error: false,
        };
        Message::Tool {
            results: vec![result],
        }
    }

    #[test]
    fn a_call_that_waits_is_shown_with_its_result_and_not_before() {
        let mut said = Conversation::default();
        let steps = [
            ("a", Message::user("from a")),
            ("a", call("1")),
            ("b", Message::user("from b")),
            ("b", call("2")),
            ("b", result("2")),
            ("b", Message::assistant("to b")),
        ];
        for (seq, (turn, message)) in (0..).zip(steps) {
            said.add(seq, turn, message, Vec::new());
        }
        let others = vec![
            Message::user("from a"),
            Message::user("from b"),
            call("2"),
            result("2"),
            Message::assistant("to b"),
        ];
        assert_eq!(said.messages(), others, "it waits");
        assert_eq!(said.open_calls("a").len(), 1);
        assert!(said.open_calls("b").is_empty());
        said.add(6, "a", result("1"), Vec::new());
        let all = [others, vec![call("1"), result("1")]].concat();
        assert_eq!(said.messages(), all, "it was answered");
        assert!(said.open_calls("a").is_empty());
    }

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
