//! Undoing messages: the session continues as if it had ended before a message.

use manyhands_core::ToolError;
use manyhands_llm::{Block, Message};
use manyhands_store::{SessionChange, SessionRecord, TranscriptEntry};

use crate::archive;
use crate::conversation::{Conversation, ConversationMessage, calls, kind};
use crate::fence;
use crate::key::SessionKey;
use crate::runtime::{Minds, MindsInner};

/// Entries read at a time.
const PAGE: u32 = 200;

/// Result of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// Number of removed messages.
    pub messages: usize,
    /// Number of tool calls among them. Their effects remain.
    pub tool_calls: usize,
    /// Path of the archive.
    pub archived_to: String,
    /// Text of the first removed message.
    pub text: String,
}

impl Minds {
    /// Archives and removes everything from the user's message `seq` on. Its cost stays counted, and its numbers are not
    /// reused. Fails with a conflict while a turn is running or queued.
    pub async fn rewind(&self, key: &SessionKey, seq: i64) -> Result<Rewound, ToolError> {
        self.get(key).await?;
        let _hold = self.hold_idle(key).await?;
        // Read again: it may have changed before we held it.
        let session = self.get(key).await?;
        self.inner.check_user_message(&session, seq).await?;
        self.remove_from(key, &session, seq).await
    }

    /// Archives and removes the last exchange: the last user message, all others of its turn, and the replies. `None` if
    /// there is none.
    pub async fn undo(&self, key: &SessionKey) -> Result<Option<Rewound>, ToolError> {
        self.get(key).await?;
        let _hold = self.hold_idle(key).await?;
        let session = self.get(key).await?;
        let Some(seq) = self.inner.last_exchange(&session).await? else {
            return Ok(None);
        };
        self.remove_from(key, &session, seq).await.map(Some)
    }

    async fn remove_from(
        &self,
        key: &SessionKey,
        session: &SessionRecord,
        seq: i64,
    ) -> Result<Rewound, ToolError> {
        let inner = &self.inner;
        let removed = Conversation::load(&inner.sessions, &session.id, seq).await;
        let removed = removed?.entries;
        let archived_to = archive::write(inner, session, &removed).await?;
        // Indexed before the entries are removed, because the index takes the times of messages from them.
        self.remember().await?;
        // Refused if a message was added since the archive was written, so nothing is removed that is not archived.
        let acts = vec![
            SessionChange::ExpectNextSeq(session.next_seq),
            SessionChange::Truncate(seq),
        ];
        let (now, id) = (inner.now(), &session.id);
        let committed = inner.sessions.commit(key.as_str(), id, acts, now).await;
        committed?;
        inner.cache.forget(id);
        let text = removed.first().map(|first| words(&first.message));
        Ok(Rewound {
            messages: removed.len(),
            tool_calls: removed.iter().map(tool_calls).sum(),
            archived_to,
            text: text.unwrap_or_default(),
        })
    }
}

/// The text of a user message.
fn words(message: &Message) -> String {
    let Message::User { content } = message else {
        return String::new();
    };
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(fence::inside(text)),
        Block::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn tool_calls(entry: &ConversationMessage) -> usize {
    match &entry.message {
        Message::Assistant { content } => calls(content).len(),
        _ => 0,
    }
}

impl MindsInner {
    /// Fails unless `seq` is a user message that is still part of the conversation.
    pub(crate) async fn check_user_message(
        &self,
        session: &SessionRecord,
        seq: i64,
    ) -> Result<(), ToolError> {
        let wrong = |message: String| {
            let hint = "session.history lists the messages with their numbers";
            Err(ToolError::parameter("seq", message).hint(hint))
        };
        if seq < 0 || seq >= session.next_seq {
            return wrong(format!("there is no message {seq} in {}", session.key));
        }
        if seq < session.floor {
            return wrong(format!(
                "message {seq} is no longer part of the conversation: it is in an archive"
            ));
        }
        let there = self.sessions.entries(&session.id, seq, 1).await;
        let there = there?.into_iter().next();
        match there.filter(|entry| entry.seq == seq) {
            None => wrong(format!("message {seq} was undone: it is in an archive")),
            Some(entry) if entry.kind == kind::SUMMARY => wrong(format!(
                "message {seq} is the summary of archived messages, not a user's message"
            )),
            Some(entry) if entry.kind == kind::NOTE => wrong(format!(
                "entry {seq} says how a turn ended; name the user's message before it"
            )),
            Some(entry) if entry.kind != kind::USER => wrong(format!(
                "message {seq} is from the {}, not from a user; name the user's message before it",
                match entry.kind.as_str() {
                    kind::ASSISTANT => "agent",
                    _ => "tools",
                }
            )),
            Some(_) => Ok(()),
        }
    }

    /// Number of the first message of the last exchange.
    async fn last_exchange(&self, session: &SessionRecord) -> Result<Option<i64>, ToolError> {
        let mut before = i64::MAX;
        let mut found: Option<TranscriptEntry> = None;
        loop {
            let page = self.sessions.entries_before(&session.id, before, PAGE);
            let page = page.await?;
            let Some(first) = page.first().map(|entry| entry.seq) else {
                break;
            };
            let shown = page.into_iter().rev();
            for entry in shown.take_while(|entry| entry.seq >= session.floor) {
                // One turn may have several user messages, if inputs were merged into it; all of them are undone together.
                let by_user = entry.kind == kind::USER;
                match &found {
                    None if by_user => found = Some(entry),
                    Some(last) if last.turn.is_none() || last.turn != entry.turn => {
                        return Ok(found.map(|last| last.seq));
                    }
                    Some(_) if by_user => found = Some(entry),
                    _ => {}
                }
            }
            if first <= session.floor {
                break;
            }
            before = first;
        }
        Ok(found.map(|last| last.seq))
    }
}
