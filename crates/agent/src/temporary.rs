//! Temporary sessions: created for one request and removed after its answer. Stored keys call them `passing`.

use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_llm::Message;
use manyhands_store::{SessionChange, SessionRecord};
use uuid::Uuid;

use crate::conversation::{body, kind};
use crate::key::{PASSING as WORD, SessionKey, is_passing};
use crate::runtime::Minds;
use crate::settings::SessionSettings;

/// Sessions read at a time.
const PAGE: u32 = 500;

impl Minds {
    /// A name for a new temporary session, to be used in its key.
    pub fn passing_name(&self) -> String {
        format!("{WORD}:{}", self.inner.ids.next::<Uuid>())
    }

    /// Creates a session that starts with these messages.
    pub async fn seed(
        &self,
        key: &SessionKey,
        messages: &[Message],
        settings: &SessionSettings,
    ) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.agent(key.agent())?;
        let (now, id) = (inner.now(), inner.ids.next::<Uuid>().to_string());
        let mut fresh = SessionRecord::new(key.to_string(), id.clone(), key.agent().clone(), now);
        fresh.settings =
            serde_json::to_string(settings).map_err(|e| ToolError::internal(e.to_string()))?;
        // A crash between the two writes leaves an empty session, which `sweep_passing` removes.
        inner.sessions.create(&fresh).await?;
        let messages = messages.iter().map(|message| SessionChange::Append {
            turn: None,
            kind: match message {
                Message::User { .. } => kind::USER,
                Message::Assistant { .. } => kind::ASSISTANT,
                Message::Tool { .. } => kind::TOOL,
            },
            body: body(message),
        });
        let committed = inner
            .sessions
            .commit(key.as_str(), &id, messages.collect(), now);
        committed.await.map(drop).map_err(ToolError::from)
    }

    /// Removes a temporary session in which nothing is queued or running. Its cost stays counted for the agent.
    pub async fn forget(&self, key: &SessionKey) -> Result<bool, ToolError> {
        let heir = format!("agent:{}:{WORD}", key.agent());
        let removed = self.inner.sessions.remove(key.as_str(), &heir).await;
        removed.map_err(ToolError::from)
    }

    /// Removes temporary sessions created before `start`, whose clients disconnected with the previous process; returns how
    /// many. Those with open turns stay.
    pub async fn sweep_passing(
        &self,
        agents: &[AgentId],
        start: Timestamp,
    ) -> Result<usize, ToolError> {
        let mut left = Vec::new();
        for agent in agents {
            let mut at = 0;
            loop {
                let page = self.inner.sessions.list(Some(agent), PAGE, at).await;
                let page = page?;
                let more = page.len() == PAGE as usize;
                let old = page.into_iter().filter(|one| one.created < start);
                let keys = old.filter_map(|one| one.key.parse::<SessionKey>().ok());
                left.extend(keys.filter(is_passing));
                if !more {
                    break;
                }
                at += PAGE;
            }
        }
        // Collected before the first removal, which would shift the pages.
        let mut removed = 0;
        for key in left {
            removed += usize::from(self.forget(&key).await.unwrap_or(false));
        }
        Ok(removed)
    }
}
