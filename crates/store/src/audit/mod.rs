//! The audit: which calls were made, by whom and how they ended; append-only and hash-chained.
//!
//! Entries are numbered from 1 without gaps, each carries the hash of itself and all
//! before it, and the end is signed with a key of the vault. So a changed, missing,
//! swapped, inserted or cut-off entry is found by [`Audit::verify`]. Retention removes the oldest
//! entries by [`Audit::prune`], which seals the point from which the chain goes on.

mod chain;
mod checkpoint;
mod counts;
mod entry;
mod head;
mod query;
mod retention;
#[cfg(test)]
mod retention_tests;
#[cfg(test)]
mod tampering_tests;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use manyhands_core::Clock;
use tokio::sync::{mpsc, oneshot};

pub use counts::{CallCounts, CountBy};
pub use entry::{AuditEntry, AuditKind, AuditRecord, AuditStatus, MAX_SUMMARY};
pub use query::AuditFilter;
pub use retention::Retention;
pub use verify::{AuditProblem, ChainVerdict, VerifyFrom};

use crate::error::StoreError;
use crate::sql::Sql;
use crate::vault::Vault;
use chain::{GENESIS, damage_entry};
use head::{Head, HeadFile, HeadKey, Tail};
use writer::{AuditWriter, HeadFileCopy, WriterMessage, WriterState};

/// How many entries may be queued for the writer before `record` waits for room.
const QUEUE: usize = 4_096;

/// When `record` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once the entry is on disk: before a call with effects is acknowledged.
    OnDisk,
    /// Once it is queued; it is on disk a few milliseconds later.
    Soon,
}

/// The audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    sql: Sql,
    key: HeadKey,
    home: PathBuf,
    queue: mpsc::Sender<WriterMessage>,
    state: Arc<WriterState>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Audit")
    }
}

impl Audit {
    /// Starts the writer. Damage found now is put on record as the first entry.
    pub(crate) async fn open(
        sql: Sql,
        vault: &Vault,
        home: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let key = HeadKey(vault.subkey("audit"));
        let backlog = Vec::from_iter(inspect(&sql, &key, home).await?)
            .into_iter()
            .map(|what| damage_entry(what, clock.now()))
            .collect();
        let (queue, receiver) = mpsc::channel(QUEUE);
        let state = Arc::new(WriterState::default());
        let writer = AuditWriter {
            sql: sql.clone(),
            key: key.clone(),
            home: home.to_owned(),
            clock,
            state: state.clone(),
            queue: receiver,
            backlog,
            head_file: HeadFileCopy::new(),
        };
        tokio::spawn(writer.run());
        Ok(Self {
            sql,
            key,
            home: home.to_owned(),
            queue,
            state,
        })
    }

    /// Adds an entry. Waits while the queue is full; nothing is dropped silently: while the disk refuses, `Soon` waits for
    /// the outcome like `OnDisk`.
    pub async fn record(
        &self,
        entry: AuditEntry,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let entry = entry.bounded();
        // While the disk refuses, entries that nobody waits for would pile up in memory unnoticed. Their callers
        // wait too then, and are told.
        let troubled = self.state.failing.load(Ordering::Acquire);
        if durability == Durability::Soon && !troubled {
            let message = WriterMessage::Record { entry, done: None };
            return self
                .queue
                .send(message)
                .await
                .map_err(|_| StoreError::Closed);
        }
        let (done, outcome) = oneshot::channel();
        let message = WriterMessage::Record {
            entry,
            done: Some(done),
        };
        self.queue
            .send(message)
            .await
            .map_err(|_| StoreError::Closed)?;
        // Ends the pause in which the writer collects entries: this caller waits for its entry.
        self.state.urgent.notify_one();
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes all that is queued, and the head beside the database, and stops the writer.
    pub async fn close(&self) -> Result<(), StoreError> {
        let (done, outcome) = oneshot::channel();
        // The writer is gone already, for example after another clone was closed.
        if self.queue.send(WriterMessage::Close(done)).await.is_err() {
            return Ok(());
        }
        self.state.urgent.notify_one();
        outcome.await.map_err(|_| StoreError::Closed)?
    }

    /// How many transactions the writer has committed, for the metrics.
    pub fn commits(&self) -> u64 {
        self.state.commits.load(Ordering::Relaxed)
    }
}

/// Compares the head file with the end of the chain. The head row is checked by the writer.
async fn inspect(sql: &Sql, key: &HeadKey, home: &Path) -> Result<Option<String>, StoreError> {
    // The file first: it may move on while we look, but never past the database.
    let file = HeadFile::read(home, key)?;
    let mut tx = sql.moment().await?;
    let tail = Tail::read(&mut tx, key).await?;
    let found = tail.compare_with(&mut tx, key, &file).await?;
    tx.abandon().await;
    if tail.seq == 0 && matches!(file, HeadFile::Missing) {
        // From here on a missing file means that somebody removed it.
        Head::sign(key, 0, &GENESIS)
            .write_file(home)
            .map_err(|error| StoreError::io("writing audit.head", &error))?;
    }
    Ok(found)
}
