//! The sessions that the calls of a session started, and the size of a conversation.

use manyhands_core::{AgentId, ToolError};
use manyhands_llm::{ModelId, conversation_tokens};
use manyhands_store::{SessionRecord, TurnState};

use crate::key::SessionKey;
use crate::runtime::Minds;

/// The most sessions listed.
const MAX: usize = 200;
/// How deep sessions are followed.
const MAX_DEPTH: usize = 8;

/// A session that a call of another one started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubSession {
    /// The session.
    pub session: SessionRecord,
    /// State of its last turn; `None` if it has none yet.
    pub state: Option<TurnState>,
}

impl Minds {
    /// The sessions that calls of a session started, and those that these started: each after the one it was started by.
    pub async fn tree(&self, key: &SessionKey) -> Result<Vec<SubSession>, ToolError> {
        self.get(key).await?;
        let sessions = &self.inner.sessions;
        let mut found: Vec<SubSession> = Vec::new();
        let mut above = vec![key.to_string()];
        // Bounded, whatever a damaged record says.
        for _ in 0..MAX_DEPTH {
            let mut next = Vec::new();
            for parent in &above {
                let most = MAX.saturating_sub(found.len());
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                for session in sessions.children(parent, most).await? {
                    let state = sessions.last_state(&session.key).await?;
                    next.push(session.key.clone());
                    found.push(SubSession { session, state });
                }
            }
            if next.is_empty() {
                break;
            }
            above = next;
        }
        Ok(found)
    }

    /// Tokens of a conversation at its last reply; estimated if it was cut since.
    pub async fn context_tokens(&self, session: &SessionRecord) -> Result<u64, ToolError> {
        if let Some(tokens) = session.context_tokens {
            return Ok(u64::try_from(tokens).unwrap_or(0));
        }
        if session.next_seq == session.floor {
            return Ok(0);
        }
        let conversation = self.inner.conversation(session).await?;
        let messages = conversation.entries.iter().map(|entry| &entry.message);
        Ok(conversation_tokens(messages))
    }

    /// Tokens from which on the older part of a conversation is summarised.
    pub fn context_limit(&self) -> u64 {
        self.inner.env.limits().window
    }

    /// The model of a session: its own, else its agent's, else the default.
    pub fn model_of(&self, session: &SessionRecord) -> Option<ModelId> {
        let of_agent = |id: &AgentId| self.inner.env.agent(id)?.model;
        self.settings(session)
            .model
            .or_else(|| of_agent(&session.agent))
            .or_else(|| self.inner.env.default_model())
    }
}
