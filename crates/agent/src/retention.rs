//! Retiring sessions: archived, indexed for search, and removed.

use manyhands_core::{Timestamp, ToolError};
use manyhands_store::StoreError;

use crate::archive;
use crate::key::SessionKey;
use crate::runtime::Minds;

/// Sessions retired in one pass.
const PAGE: u32 = 100;

impl Minds {
    /// Retires sub-agent sessions that were idle since `before`; returns how many.
    pub async fn sweep_subs(&self, before: Timestamp) -> Result<usize, ToolError> {
        // One page per pass: the next round of maintenance takes the rest.
        let quiet = self.inner.sessions.idle_subsessions(before, PAGE).await;
        let mut retired = 0;
        for session in quiet? {
            if let Ok(key) = session.key.parse::<SessionKey>() {
                retired += usize::from(self.retire(&key).await?);
            }
        }
        Ok(retired)
    }

    /// Archives a session and removes it, unless a turn is running or queued. Its messages can still be found by search,
    /// and its cost stays counted for the agent.
    pub async fn retire(&self, key: &SessionKey) -> Result<bool, ToolError> {
        let inner = &self.inner;
        // Held to the end, so that no turn starts in a session that is about to disappear.
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
        // Archive, index, remove, in this order: a crash in between leaves a session that is retired again, and the index
        // takes the times of messages from entries that the removal deletes.
        archive::write(inner, &session, &all.entries).await?;
        self.remember().await?;
        let word = if key.is_sub() { "sub" } else { "gone" };
        let heir = format!("agent:{}:{word}", key.agent());
        match inner.sessions.remove(key.as_str(), &heir).await {
            Err(StoreError::Changed { .. }) => Ok(false), // an input was queued after the check
            removed => removed.map_err(ToolError::from),
        }
    }
}
