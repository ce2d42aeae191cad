//! Deleting a session: what runs in it is stopped, then everything that was said goes.
//!
//! Messages, pictures, turns, settings, archives and what memory knows of them go, and open questions
//! are withdrawn. The audit, what models used up, files, artifacts and the sessions of sub-agents
//! stay. What is said afterwards under the same key begins a new session.

use manyhands_core::ToolError;

use crate::archive;
use crate::event::What;
use crate::key::SessionKey;
use crate::minds::{Hold, Minds};
use crate::outcome::{Failure, FailureKind};
use crate::sessions::gone;

/// A session that is about to be deleted: nothing runs or waits in it, and no turn begins as long as
/// this is held. Dropped, the session stays.
pub struct Closed {
    minds: Minds,
    key: SessionKey,
    _hold: Hold,
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// The id that the session had last.
    pub id: String,
    /// How many messages, also of before it was last begun anew.
    pub messages: u64,
    /// How many archives.
    pub archives: usize,
    /// How many open questions were withdrawn.
    pub questions: u64,
}

impl Minds {
    /// Stops what runs in a session and lets go of what waits, to delete it. Whoever waits for an
    /// answer is told why there is none.
    pub async fn close(&self, key: &SessionKey) -> Result<Closed, ToolError> {
        self.get(key).await?;
        let hold = self.inner.take_over(key.as_str()).await;
        self.get(key).await?; // somebody else may have been quicker
        let why = Failure::new(FailureKind::Forbidden, "the conversation was deleted");
        let runs = self.inner.end_open(key.as_str(), &why).await;
        for run in runs? {
            self.tell(key, &run, What::Error(why.clone()));
        }
        Ok(Closed {
            minds: self.clone(),
            key: key.clone(),
            _hold: hold,
        })
    }

    /// Removes archives that were left when a gateway ended before they were gone; how many.
    pub async fn clear_gone(&self) -> Result<usize, ToolError> {
        let mut removed = 0;
        for folder in self.inner.sessions.gone().await? {
            let archives = archive::remove(&self.inner, &folder).await;
            removed += archives?;
        }
        Ok(removed)
    }
}

impl Closed {
    /// Deletes it, to the end even if nobody waits for that. What is left of its archives when the
    /// disk refuses is removed later.
    pub async fn delete(self) -> Result<Gone, ToolError> {
        let tasks = self.minds.inner.tasks.clone();
        let deleting = tasks.spawn(async move { self.go().await });
        let deleted = deleting.await;
        deleted.unwrap_or_else(|e| Err(ToolError::internal(e.to_string())))
    }

    async fn go(&self) -> Result<Gone, ToolError> {
        let (inner, key) = (&self.minds.inner, &self.key);
        let memory = inner.sessions.memory();
        let _reading = memory.reading().await; // so that nothing is remembered meanwhile
        let deleted = {
            let _changing = inner.changing.lock().await;
            let deleted = inner.sessions.delete(key.as_str(), inner.now()).await;
            deleted?.ok_or_else(|| gone(key.as_str()))?
        };
        inner.recent.forget(&deleted.id);
        let mut archives = 0;
        for folder in &deleted.folders {
            match archive::remove(inner, folder).await {
                Ok(removed) => archives += removed,
                Err(error) => {
                    tracing::warn!(%error, folder, "archives of a deleted session are removed later");
                }
            }
        }
        self.minds.tell(key, "", What::Deleted);
        Ok(Gone {
            id: deleted.id,
            messages: deleted.messages,
            archives,
            questions: deleted.questions,
        })
    }
}
