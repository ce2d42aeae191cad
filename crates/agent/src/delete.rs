//! Deleting a session: the running turn is stopped, then all its data is removed.
//!
//! Messages, pictures, turns, settings, archives and their memory index are removed, and pending approval requests are
//! withdrawn. The audit log, usage, files, artifacts and sessions of sub-agents stay. A later message to the same key
//! creates a new session.

use manyhands_core::ToolError;

use crate::archive;
use crate::event::TurnEvent;
use crate::failure::{Failure, FailureKind};
use crate::key::SessionKey;
use crate::runtime::{Minds, no_session};
use crate::slots::SessionHold;

/// A session that is about to be deleted: nothing is running or queued in it, and no turn starts while this exists.
/// Dropping it keeps the session.
pub struct ClosedSession {
    minds: Minds,
    key: SessionKey,
    _hold: SessionHold,
}

/// What was deleted with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedSession {
    /// The session's last id.
    pub id: String,
    /// Number of messages, including those before the last reset.
    pub messages: u64,
    /// Number of archives.
    pub archives: usize,
    /// Number of approval requests that were withdrawn.
    pub questions: u64,
}

impl Minds {
    /// Stops the running turn of a session and fails the queued ones, to delete it. Everybody who waits for an answer
    /// learns why there is none.
    pub async fn close(&self, key: &SessionKey) -> Result<ClosedSession, ToolError> {
        self.get(key).await?;
        let hold = self.inner.stop_and_hold(key.as_str()).await;
        self.get(key).await?; // somebody else may have deleted it meanwhile
        let why = Failure::new(FailureKind::Forbidden, "the conversation was deleted");
        let runs = self.inner.end_open(key.as_str(), &why).await;
        for run in runs? {
            self.publish_event(key, &run, TurnEvent::Error(why.clone()));
        }
        Ok(ClosedSession {
            minds: self.clone(),
            key: key.clone(),
            _hold: hold,
        })
    }

    /// Removes archives of deleted sessions that a crash left behind; returns how many.
    pub async fn clear_gone(&self) -> Result<usize, ToolError> {
        let mut removed = 0;
        for folder in self.inner.sessions.deleted_archives().await? {
            let archives = archive::remove(&self.inner, &folder).await;
            removed += archives?;
        }
        Ok(removed)
    }
}

impl ClosedSession {
    /// Deletes the session, to the end even if the caller goes away. Archives that cannot be removed now are removed after
    /// the next start.
    pub async fn delete(self) -> Result<DeletedSession, ToolError> {
        // In its own task: a dropped request must not leave the deletion half done.
        let tasks = self.minds.inner.tasks.clone();
        let deleting = tasks.spawn(async move { self.go().await });
        let deleted = deleting.await;
        deleted.unwrap_or_else(|e| Err(ToolError::internal(e.to_string())))
    }

    async fn go(&self) -> Result<DeletedSession, ToolError> {
        let (inner, key) = (&self.minds.inner, &self.key);
        let memory = inner.sessions.memory();
        // Keeps the indexer out: it could read messages now and add them after they are deleted.
        let _reading = memory.lock_indexing().await;
        let deleted = {
            let _changing = inner.changing.lock().await;
            let deleted = inner.sessions.delete(key.as_str(), inner.now()).await;
            deleted?.ok_or_else(|| no_session(key.as_str()))?
        };
        // The records are gone and list the archive folders to remove, so a crash from here on is cleaned up by `clear_gone`.
        inner.cache.forget(&deleted.id);
        let mut archives = 0;
        for folder in &deleted.folders {
            match archive::remove(inner, folder).await {
                Ok(removed) => archives += removed,
                Err(error) => {
                    tracing::warn!(
                        event = "archive_removal_failed",
                        folder,
                        %error,
                        "archives of a deleted session not removed; will retry after the next start"
                    );
                }
            }
        }
        self.minds.publish_event(key, "", TurnEvent::Deleted);
        Ok(DeletedSession {
            id: deleted.id,
            messages: deleted.messages,
            archives,
            questions: deleted.approvals,
        })
    }
}
