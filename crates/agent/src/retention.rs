//! Conversations that are over: archived, remembered and removed.

use manyhands_core::{Timestamp, ToolError};
use manyhands_store::StoreError;

use crate::archive;
use crate::key::SessionKey;
use crate::minds::Minds;

/// How many sessions are looked at in one go.
const PAGE: u32 = 100;

impl Minds {
    /// Retires the sessions of sub-agents in which nobody spoke since `before`; how many.
    pub async fn sweep_subs(&self, before: Timestamp) -> Result<usize, ToolError> {
        let quiet = self.inner.sessions.quiet_subs(before, PAGE).await;
        let mut retired = 0;
        for session in quiet? {
            if let Ok(key) = session.key.parse::<SessionKey>() {
                retired += usize::from(self.retire(&key).await?);
            }
        }
        Ok(retired)
    }

    /// Archives a session and removes it, unless it has something left to do. What was said is still
    /// found by words, and what it cost stays counted for its agent.
    pub async fn retire(&self, key: &SessionKey) -> Result<bool, ToolError> {
        let inner = &self.inner;
        let Some(_hold) = inner.hold(key.as_str()) else {
            return Ok(false);
        };
        let Some(session) = inner.sessions.get(key.as_str()).await? else {
            return Ok(false);
        };
        let open = inner.sessions.open_turns(key.as_str()).await;
        if !open?.is_empty() {
            return Ok(false);
        }
        let all = inner.conversation(&session).await?;
        archive::keep(inner, &session, &all.said).await?;
        self.remember().await?; // while the times of what was said are still there
        let word = if key.is_sub() { "sub" } else { "gone" };
        let heir = format!("agent:{}:{word}", key.agent());
        match inner.sessions.remove(key.as_str(), &heir).await {
            Err(StoreError::Changed { .. }) => Ok(false),
            removed => removed.map_err(ToolError::from),
        }
    }
}
