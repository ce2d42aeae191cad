//! Passing sessions: made for one request, and removed when it has its answer.

use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_llm::Message;
use manyhands_store::{SessionChange, SessionRecord};
use uuid::Uuid;

use crate::conversation::{body, kind};
use crate::key::SessionKey;
use crate::minds::Minds;
use crate::settings::SessionSettings;

/// How the part of a key begins that makes a session a passing one.
const WORD: &str = "passing";
/// How many sessions are looked at together.
const PAGE: u32 = 500;

impl Minds {
    /// What to call a passing session, where a key says its place.
    pub fn passing_name(&self) -> String {
        format!("{WORD}:{}", self.inner.ids.next::<Uuid>())
    }

    /// Makes a session in which `said` was said already.
    pub async fn seed(
        &self,
        key: &SessionKey,
        said: &[Message],
        settings: &SessionSettings,
    ) -> Result<(), ToolError> {
        let inner = &self.inner;
        inner.agent(key.agent())?;
        let (now, id) = (inner.now(), inner.ids.next::<Uuid>().to_string());
        let mut fresh = SessionRecord::new(key.to_string(), id.clone(), key.agent().clone(), now);
        fresh.settings =
            serde_json::to_string(settings).map_err(|e| ToolError::internal(e.to_string()))?;
        inner.sessions.create(&fresh).await?;
        let said = said.iter().map(|message| SessionChange::Append {
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
            .commit(key.as_str(), &id, said.collect(), now);
        committed.await.map(drop).map_err(ToolError::from)
    }

    /// Removes a passing session that has nothing left to do; what it cost stays counted for its
    /// agent.
    pub async fn forget(&self, key: &SessionKey) -> Result<bool, ToolError> {
        let heir = format!("agent:{}:{WORD}", key.agent());
        let removed = self.inner.sessions.remove(key.as_str(), &heir).await;
        removed.map_err(ToolError::from)
    }

    /// Removes the passing sessions that were made before `start`, whose askers are gone; those
    /// that still have something to do stay. How many were removed.
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
        let mut removed = 0;
        for key in left {
            removed += usize::from(self.forget(&key).await.unwrap_or(false));
        }
        Ok(removed)
    }
}

/// Whether a session was made for one request, by its key.
pub(crate) fn is_passing(key: &SessionKey) -> bool {
    let mut last = key.rest().rsplitn(3, ':');
    last.next().is_some_and(|id| id.parse::<Uuid>().is_ok()) && last.next() == Some(WORD)
}
