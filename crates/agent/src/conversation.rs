//! The part of a session that a model sees.

use manyhands_llm::{Message, ReplyBlock, ToolCall};
use manyhands_store::{Sessions, StoreError, TranscriptEntry};
use serde::{Deserialize, Serialize};

use crate::call_output::CallStats;

/// Entries read at a time.
const PAGE: u32 = 1_000;

/// The kinds of entries, as stored.
pub(crate) mod kind {
    pub(crate) const USER: &str = "user";
    pub(crate) const ASSISTANT: &str = "assistant";
    pub(crate) const TOOL: &str = "tool";
    pub(crate) const SUMMARY: &str = "summary";
    /// How a turn without an answer ended. Not a message: no model sees it.
    pub(crate) const NOTE: &str = "note";
}

/// The conversation from the session's floor, which is where the last cut or reset was.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) entries: Vec<ConversationMessage>,
}

/// A message of the conversation.
#[derive(Debug, Clone)]
pub(crate) struct ConversationMessage {
    pub(crate) seq: i64,
    pub(crate) turn: Option<String>,
    pub(crate) message: Message,
    /// For tool results: the stats of their calls.
    pub(crate) made: Vec<Option<CallStats>>,
}

impl Conversation {
    /// Reads it from the store.
    pub(crate) async fn load(
        sessions: &Sessions,
        session_id: &str,
        floor: i64,
    ) -> Result<Self, StoreError> {
        let mut entries = Vec::new();
        let mut from = floor;
        loop {
            let page = sessions.entries(session_id, from, PAGE).await?;
            let more = page.len() == PAGE as usize;
            from = page.last().map_or(from, |entry| entry.seq + 1);
            let messages = page.into_iter().filter(|entry| entry.kind != kind::NOTE);
            entries.extend(messages.filter_map(read));
            if !more {
                return Ok(Self { entries });
            }
        }
    }

    /// The messages for a model. While a call waits for the owner, other people's turns go on, so its result may be further
    /// down. Providers require results right after their calls: a reply with calls is shown where its results are, and not
    /// at all before they exist.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut shown = Vec::with_capacity(self.entries.len());
        let mut open: Vec<&ConversationMessage> = Vec::new();
        for entry in &self.entries {
            match &entry.message {
                Message::Assistant { content } if !calls(content).is_empty() => open.push(entry),
                Message::Tool { .. } => {
                    let own = open.iter().rposition(|one| one.turn == entry.turn);
                    // Results for an interrupted turn were added by the turn after it, under its own id.
                    let asked = own.or(open.len().checked_sub(1));
                    shown.extend(asked.map(|at| open.remove(at).message.clone()));
                    shown.push(entry.message.clone());
                }
                other => shown.push(other.clone()),
            }
        }
        shown
    }

    /// The calls of a turn's last reply, if their results are missing.
    pub(crate) fn open_calls(&self, turn: &str) -> Vec<ToolCall> {
        let own = self.entries.iter().rev();
        let mut own = own.filter(|entry| entry.turn.as_deref() == Some(turn));
        let last = own.find(|entry| !matches!(entry.message, Message::User { .. }));
        match last.map(|entry| &entry.message) {
            Some(Message::Assistant { content }) => calls(content),
            _ => Vec::new(),
        }
    }

    /// Whether it has any message of a turn.
    pub(crate) fn has(&self, turn: &str) -> bool {
        let mut entry = self.entries.iter();
        entry.any(|entry| entry.turn.as_deref() == Some(turn))
    }

    /// The turn whose calls are the last entry.
    pub(crate) fn unanswered_turn(&self) -> Option<&str> {
        let last = self.entries.last()?;
        match &last.message {
            Message::Assistant { content } if !calls(content).is_empty() => last.turn.as_deref(),
            _ => None,
        }
    }

    /// Adds a message that was just stored as entry `seq`.
    pub(crate) fn add(
        &mut self,
        seq: i64,
        turn: &str,
        message: Message,
        made: Vec<Option<CallStats>>,
    ) {
        let turn = Some(turn.to_owned());
        self.entries.push(ConversationMessage {
            seq,
            turn,
            message,
            made,
        });
    }
}

/// The calls in a reply.
pub(crate) fn calls(content: &[ReplyBlock]) -> Vec<ToolCall> {
    let one = |block: &ReplyBlock| match block {
        ReplyBlock::Call(call) => Some(call.clone()),
        _ => None,
    };
    content.iter().filter_map(one).collect()
}

/// Parses an entry; an unreadable one is skipped and logged, so that one damaged row does not block the session.
fn read(entry: TranscriptEntry) -> Option<ConversationMessage> {
    match serde_json::from_str(&entry.body) {
        Ok(message) => Some(ConversationMessage {
            seq: entry.seq,
            turn: entry.turn,
            made: made(&message, &entry.body),
            message,
        }),
        Err(error) => {
            tracing::error!(
                event = "session_entry_unreadable",
                seq = entry.seq,
                %error,
                "skipped an unreadable entry of a session"
            );
            None
        }
    }
}

/// A message as the body of an entry.
pub(crate) fn body(message: &Message) -> String {
    serde_json::to_string(message).expect("a message is plain data with text keys")
}

/// Tool results as the body of an entry, with the stats of their calls.
pub(crate) fn body_of_results(message: &Message, made: &[Option<CallStats>]) -> String {
    #[derive(Serialize)]
    struct WithStats<'a> {
        #[serde(flatten)]
        message: &'a Message,
        made: &'a [Option<CallStats>],
    }
    if made.iter().all(Option::is_none) {
        return body(message);
    }
    serde_json::to_string(&WithStats { message, made })
        .expect("a message is plain data with text keys")
}

/// A reply as the body of an entry, as far as it was written when it was stopped.
pub(crate) fn body_of_stopped(message: &Message) -> String {
    #[derive(Serialize)]
    struct Stopped<'a> {
        #[serde(flatten)]
        message: &'a Message,
        stopped: bool,
    }
    let stopped = true;
    serde_json::to_string(&Stopped { message, stopped })
        .expect("a message is plain data with text keys")
}

/// Whether the body of an entry is that of a reply that was stopped.
pub(crate) fn is_stopped(body: &str) -> bool {
    #[derive(Deserialize)]
    struct Beside {
        #[serde(default)]
        stopped: bool,
    }
    serde_json::from_str::<Beside>(body).is_ok_and(|beside| beside.stopped)
}

/// The stats of the calls whose results an entry holds; empty if they were not stored.
pub(crate) fn made(message: &Message, body: &str) -> Vec<Option<CallStats>> {
    #[derive(Deserialize)]
    struct Beside {
        #[serde(default)]
        made: Vec<Option<CallStats>>,
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
    fn a_pending_call_is_shown_only_with_its_result() {
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
    fn the_outcome_of_a_call_is_stored_beside_its_result() {
        let result = ToolResult {
            id: "1".to_owned(),
            name: "look".to_owned(),
            content: vec![Block::text("seven")],
            is_error: false,
        };
        let message = Message::Tool {
            results: vec![result.clone(), result],
        };
        let stats = CallStats {
            ms: 7,
            ..CallStats::default()
        };
        let went = vec![Some(stats), None];
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
