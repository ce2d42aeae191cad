//! What a turn hands over to its client when it ends with calls of the client's tools.

use manyhands_core::ToolError;
use manyhands_llm::{Message, ToolCall};

use crate::client::{ClientTool, Handover};
use crate::conversation::{Conversation, calls};
use crate::key::SessionKey;
use crate::progress::TurnProgress;
use crate::runtime::Minds;

impl Minds {
    /// The handover of a turn; `None` if it ended with an answer.
    pub async fn handover(
        &self,
        key: &SessionKey,
        turn: &str,
        tools: &[ClientTool],
    ) -> Result<Option<Handover>, ToolError> {
        let sessions = &self.inner.sessions;
        let gone = || ToolError::internal("the turn of this request no longer exists");
        let session = sessions.get(key.as_str()).await?;
        let session = session.ok_or_else(gone)?;
        let record = sessions.turn(turn).await?.ok_or_else(gone)?;
        let conversation = Conversation::load(sessions, &session.id, session.floor).await;
        let own = conversation?.entries.into_iter();
        let own = own.filter(|entry| entry.turn.as_deref() == Some(turn));
        let messages: Vec<Message> = own
            .map(|entry| entry.message)
            // The client has its own messages; only what the agent added is new to it.
            .filter(|message| !matches!(message, Message::User { .. }))
            .collect();
        // Earlier replies called only tools of the agent: a call of the client ends the turn.
        let last = messages.iter().rev().find_map(|message| match message {
            Message::Assistant { content } => Some(content.as_slice()),
            _ => None,
        });
        let theirs = |call: &ToolCall| tools.iter().any(|tool| tool.name == call.name);
        let calls: Vec<ToolCall> = calls(last.unwrap_or(&[]))
            .into_iter()
            .filter(theirs)
            .collect();
        let progress = TurnProgress::of(&record).unwrap_or_default();
        Ok((!calls.is_empty()).then_some(Handover {
            messages,
            calls,
            taint: progress.tainted,
        }))
    }
}
