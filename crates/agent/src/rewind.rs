//! Taking back what was said: a session goes on as if it had ended before a message.

use std::time::Duration;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_llm::{Block, Message};
use manyhands_store::{SessionChange, SessionRecord, TranscriptEntry};
use tokio::time::timeout;

use crate::archive;
use crate::conversation::{Conversation, Said, calls, kind};
use crate::fence;
use crate::key::SessionKey;
use crate::minds::{Hold, Inner, Minds};

/// How many entries are looked at together.
const PAGE: u32 = 200;
/// How long whoever works on a session without an open turn may take to leave it.
const LEAVING: Duration = Duration::from_secs(2);

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// How many messages.
    pub messages: usize,
    /// How many calls of tools were among them. What they did stays done.
    pub tool_calls: usize,
    /// Where all of it is kept.
    pub archived_to: String,
    /// What the first of the messages said.
    pub text: String,
}

impl Minds {
    /// Takes back everything from the user's message number `seq` on; it is archived. What it cost
    /// stays counted, and its numbers are not used again. Refused while something runs or waits in
    /// the session.
    pub async fn rewind(&self, key: &SessionKey, seq: i64) -> Result<Rewound, ToolError> {
        self.get(key).await?;
        let _hold = self.alone(key).await?;
        let session = self.get(key).await?;
        self.inner.is_sayable(&session, seq).await?;
        self.take_back(key, &session, seq).await
    }

    /// Takes back the last exchange: what was said last by a user, all that was said with it in the
    /// same turn, and what came of it. `None` when there is none.
    pub async fn undo(&self, key: &SessionKey) -> Result<Option<Rewound>, ToolError> {
        self.get(key).await?;
        let _hold = self.alone(key).await?;
        let session = self.get(key).await?;
        let Some(seq) = self.inner.last_exchange(&session).await? else {
            return Ok(None);
        };
        self.take_back(key, &session, seq).await.map(Some)
    }

    /// The session for itself, with nothing that runs or waits in it.
    pub(crate) async fn alone(&self, key: &SessionKey) -> Result<Hold, ToolError> {
        let busy = |message: &str| {
            ToolError::new(ErrorCode::Conflict, message)
                .hint("stop it first (/stop, or chat.stop), or wait for the answer")
        };
        let got = async {
            loop {
                let freed = self.inner.freed(key.as_str());
                if self.queued(key).await? > 0 {
                    return Err(busy("something runs or waits in the session"));
                }
                if let Some(hold) = self.inner.hold(key.as_str()) {
                    return Ok(hold);
                }
                if let Some(freed) = freed {
                    freed.await; // whoever answered last is still leaving
                }
            }
        };
        let got = timeout(LEAVING, got).await;
        got.unwrap_or_else(|_| Err(busy("the session is being worked on")))
    }

    async fn take_back(
        &self,
        key: &SessionKey,
        session: &SessionRecord,
        seq: i64,
    ) -> Result<Rewound, ToolError> {
        let inner = &self.inner;
        let said = Conversation::load(&inner.sessions, &session.id, seq).await;
        let said = said?.said;
        let archived_to = archive::keep(inner, session, &said).await?;
        self.remember().await?; // while the times of what was said are still there
        let acts = vec![
            SessionChange::Unmoved(session.next_seq),
            SessionChange::TakeBack(seq),
        ];
        let (now, id) = (inner.now(), &session.id);
        let committed = inner.sessions.commit(key.as_str(), id, acts, now).await;
        committed?;
        inner.recent.forget(id);
        let text = said.first().map(|first| words(&first.message));
        Ok(Rewound {
            messages: said.len(),
            tool_calls: said.iter().map(tool_calls).sum(),
            archived_to,
            text: text.unwrap_or_default(),
        })
    }
}

/// What a message says in words.
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

fn tool_calls(said: &Said) -> usize {
    match &said.message {
        Message::Assistant { content } => calls(content).len(),
        _ => 0,
    }
}

impl Inner {
    /// Whether a message is one that a user said and that the session still shows.
    async fn is_sayable(&self, session: &SessionRecord, seq: i64) -> Result<(), ToolError> {
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
            None => wrong(format!(
                "message {seq} was taken back already: it is in an archive"
            )),
            Some(entry) if entry.kind == kind::SUMMARY => wrong(format!(
                "message {seq} is the summary of what was archived, not a message of a user"
            )),
            Some(entry) if entry.kind != kind::USER => wrong(format!(
                "message {seq} is of the {}, not of a user; name the user's message before it",
                match entry.kind.as_str() {
                    kind::ASSISTANT => "agent",
                    _ => "tools",
                }
            )),
            Some(_) => Ok(()),
        }
    }

    /// The number of the message with which the last exchange began.
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
                let said = entry.kind == kind::USER;
                match &found {
                    None if said => found = Some(entry),
                    Some(last) if last.turn.is_none() || last.turn != entry.turn => {
                        return Ok(found.map(|last| last.seq));
                    }
                    Some(_) if said => found = Some(entry),
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
