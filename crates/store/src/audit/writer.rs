//! The only writer of the audit. It commits everything that is queued in one transaction, so that a
//! thousand callers share a few fsyncs, and reads the end of the chain inside that transaction, so
//! that the chain can neither skip nor fork.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use manyhands_core::Clock;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::chain::{INSERT, StoredEntry, damage_entry};
use super::checkpoint::Checkpoint;
use super::entry::{AuditEntry, AuditKind};
use super::head::{Head, HeadKey, Tail};
use super::retention::Prune;
use crate::error::StoreError;
use crate::sql::{Param, Sql, Statement, Tx, in_groups};

/// The most entries in one transaction.
const MAX_BATCH: usize = 1_024;
/// How long an entry that nobody waits for may wait for company.
const COLLECT_FOR: Duration = Duration::from_millis(4);
/// How often the file beside the database follows, at most.
const HEAD_FILE_EVERY: Duration = Duration::from_secs(1);
/// How soon entries that could not be written are tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Receives the outcome once the entry is on disk or failed.
pub(super) type Done = oneshot::Sender<Result<(), StoreError>>;

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all messages are entries, which a box would make slower"
)]
pub(super) enum WriterMessage {
    Record {
        entry: AuditEntry,
        done: Option<Done>,
    },
    Prune {
        prune: Box<Prune>,
        done: Done,
    },
    Close(Done),
}

/// The state that the writer shares.
#[derive(Debug, Default)]
pub(super) struct WriterState {
    /// The last commit failed: callers wait for the outcome of their entries until one succeeds.
    pub(super) failing: AtomicBool,
    /// How many transactions were committed.
    pub(super) commits: AtomicU64,
    /// Notified by a caller that queued an entry and waits for it.
    pub(super) urgent: Notify,
}

pub(super) struct AuditWriter {
    pub(super) sql: Sql,
    pub(super) key: HeadKey,
    pub(super) home: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) state: Arc<WriterState>,
    pub(super) queue: mpsc::Receiver<WriterMessage>,
    /// Entries nobody waits for that could not be written yet. Bounded by the queue, because all callers wait while writing
    /// fails.
    pub(super) backlog: Vec<AuditEntry>,
    pub(super) head_file: HeadFileCopy,
}

#[derive(Default)]
struct Batch {
    entries: Vec<(AuditEntry, Option<Done>)>,
    prunes: Vec<(Box<Prune>, Done)>,
    close: Vec<Done>,
}

impl Batch {
    /// Adds a message; whether somebody waits for the batch.
    fn take(&mut self, message: WriterMessage) -> bool {
        match message {
            WriterMessage::Record { entry, done } => {
                let waits = done.is_some();
                self.entries.push((entry, done));
                waits
            }
            WriterMessage::Prune { prune, done } => {
                self.prunes.push((prune, done));
                true
            }
            WriterMessage::Close(done) => {
                self.close.push(done);
                true
            }
        }
    }
}

impl AuditWriter {
    pub(super) async fn run(mut self) {
        loop {
            let (mut batch, open) = self.next_batch().await;
            let closing = !open || !batch.close.is_empty();
            if closing {
                // Closed before it is drained, so that an entry is either in this last batch or its
                // sender is told that the audit is closed; none is lost between the two.
                self.queue.close();
                while let Some(message) = self.queue.recv().await {
                    batch.take(message);
                }
            }
            let written = self.write(batch.entries).await;
            // After the entries that were queued before them, each in a transaction of its own.
            for (prune, done) in batch.prunes {
                let _ = done.send(self.prune(&prune).await);
            }
            if closing {
                // A file that is behind could not show at the next start that the last entries are gone.
                let copied = self.head_file.finish(&self.home).await;
                let outcome = written.and(copied);
                for done in batch.close {
                    let _ = done.send(outcome.clone());
                }
                return;
            }
            self.head_file.follow(&self.home).await;
        }
    }

    /// Waits for the first entry, then takes what else is there. False when every
    /// handle is gone.
    async fn next_batch(&mut self) -> (Batch, bool) {
        let mut batch = Batch::default();
        // Three reasons to wake up: a message, a head file that is due, and a backlog to retry.
        let retry = (!self.backlog.is_empty()).then(|| Instant::now() + RETRY);
        let wake = [self.head_file.due(), retry].into_iter().flatten().min();
        let first = match wake {
            None => self.queue.recv().await,
            Some(wake) => match timeout_at(wake, self.queue.recv()).await {
                Ok(first) => first,
                Err(_) => return (batch, true),
            },
        };
        let Some(first) = first else {
            return (batch, false);
        };
        if !batch.take(first) {
            // Nobody waits for this one, so it can wait for company: at 4 ms a busy gateway makes 250
            // commits a second at most for its reads. Somebody who does wait ends the pause.
            let _ = timeout(COLLECT_FOR, self.state.urgent.notified()).await;
        }
        while batch.entries.len() < MAX_BATCH {
            match self.queue.try_recv() {
                Ok(next) => drop(batch.take(next)),
                Err(_) => break,
            }
        }
        (batch, true)
    }

    /// Commits the backlog and the batch, and tells everybody who waits.
    async fn write(&mut self, batch: Vec<(AuditEntry, Option<Done>)>) -> Result<(), StoreError> {
        // The backlog first: entries stay in the order in which they were recorded.
        let backlog = std::mem::take(&mut self.backlog).into_iter();
        let mut items: Vec<_> = backlog.map(|entry| (entry, None)).chain(batch).collect();
        let mut outcome = Ok(());
        while !items.is_empty() {
            let rest = items.split_off(items.len().min(MAX_BATCH));
            let (entries, waiting): (Vec<_>, Vec<_>) =
                std::mem::replace(&mut items, rest).into_iter().unzip();
            // After a failure the rest is not tried: a later group must not be on disk while an
            // earlier one is not.
            if outcome.is_ok() {
                outcome = self.commit(&entries).await;
            }
            // Set before anybody is told: a caller that saw the failure and records again must find
            // the flag, or it would not wait for its entry.
            self.state
                .failing
                .store(outcome.is_err(), Ordering::Release);
            for (entry, done) in entries.into_iter().zip(waiting) {
                match done {
                    Some(done) => drop(done.send(outcome.clone())),
                    None if outcome.is_err() => self.backlog.push(entry),
                    None => {}
                }
            }
        }
        if let Err(error) = &outcome {
            tracing::error!(event = "audit_write_failed", %error, backlog = self.backlog.len(), "failed to write audit entries; will retry those nobody waits for");
        }
        outcome
    }

    async fn commit(&mut self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        // The write lock is taken before the end of the chain is read. Another process that appended in
        // between would otherwise give two entries the same number.
        let mut tx = self.sql.begin().await?;
        let appended = self.append(&mut tx, entries, 0).await;
        self.end(tx, appended).await
    }

    /// Removes a prefix of the chain: the entry that says so, the checkpoint and the removal are one
    /// transaction, so that no crash can come between them.
    async fn prune(&mut self, prune: &Prune) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        let removed = self.remove(&mut tx, prune).await;
        self.end(tx, removed).await
    }

    async fn remove(&self, tx: &mut Tx, prune: &Prune) -> Result<Head, StoreError> {
        let announcement = &prune.announcement;
        let changed = || StoreError::Changed {
            what: "the beginning of the audit".to_owned(),
        };
        let base = Checkpoint::read(tx).await?.map_or(0, |base| base.seq);
        let between = Statement::new("DELETE FROM audit")
            .then_with(" WHERE seq > ", prune.base)
            .then_with(" AND seq <= ", announcement.through);
        // The plan was made on a snapshot without a lock. If anything below moved since, the removal is
        // abandoned and planned again, rather than remove entries that nobody verified.
        if base != prune.base || tx.run(between).await? != announcement.count {
            return Err(changed());
        }
        let entry = announcement.entry(self.clock.now());
        let head = self.append(tx, std::slice::from_ref(&entry), -prune.bytes);
        let head = head.await?;
        let sealed = Checkpoint::sign(&self.key, announcement.through, &prune.hash, head.seq);
        tx.run(sealed.upsert()).await?;
        Ok(head)
    }

    /// Commits what was done, or leaves everything as it was.
    async fn end(&mut self, tx: Tx, done: Result<Head, StoreError>) -> Result<(), StoreError> {
        let head = match done {
            Ok(head) => head,
            Err(error) => {
                tx.abandon().await;
                return Err(error);
            }
        };
        tx.commit().await?;
        // Only after the commit: a head file that is ahead of the database looks like removed entries.
        self.state.commits.fetch_add(1, Ordering::Relaxed);
        self.head_file.wanted = Some(head);
        Ok(())
    }

    /// Adds the entries where the chain ends now, and `grown` bytes to what it takes; where it ends then.
    async fn append(
        &self,
        tx: &mut Tx,
        entries: &[AuditEntry],
        mut grown: i64,
    ) -> Result<Head, StoreError> {
        let Tail {
            mut seq,
            mut hash,
            damage,
        } = Tail::read(tx, &self.key).await?;
        // Damage becomes an entry of the chain before anything new, so that it cannot be repaired
        // silently by appending to it.
        let damage = damage.map(|what| damage_entry(what, self.clock.now()));
        let (mut rows, mut calls) = (Vec::new(), Calls::default());
        for entry in damage.iter().chain(entries) {
            seq += 1;
            let stored = StoredEntry::new(seq, entry);
            hash = stored.link(&hash);
            grown += stored.cost();
            rows.push(stored.values(&hash));
            calls.add(entry, seq);
        }
        // Many rows per statement: the commit is shared, and statements are what is left of its cost.
        for group in in_groups(rows) {
            tx.run(Statement::many(INSERT, group, "")).await?;
        }
        calls.write(tx).await?;
        let head = Head::sign(&self.key, seq, &hash);
        tx.run(head.upsert(grown)).await?;
        Ok(head)
    }
}

/// Calls that a batch opens or ends; those that it does both are left out.
#[derive(Default)]
struct Calls {
    opened: HashMap<String, i64>,
    ended: Vec<[Param; 1]>,
}

impl Calls {
    fn add(&mut self, entry: &AuditEntry, seq: i64) {
        // The start of a call that only looks is not recorded, so there is nothing to end.
        if entry.kind == AuditKind::Finished && !entry.effects.changes() {
            return;
        }
        let Some(call) = entry.call.map(|call| call.to_string()) else {
            return;
        };
        if entry.kind == AuditKind::Started {
            self.opened.entry(call).or_insert(seq);
        } else if entry.kind == AuditKind::Finished && self.opened.remove(&call).is_none() {
            self.ended.push([call.into()]);
        }
    }

    async fn write(self, tx: &mut Tx) -> Result<(), StoreError> {
        for group in in_groups(self.ended) {
            let head = "DELETE FROM audit_open WHERE call_id IN (VALUES";
            tx.run(Statement::many(head, group, ")")).await?;
        }
        let opened = self.opened.into_iter();
        let rows = opened.map(|(call, seq)| [call.into(), seq.into()]);
        for group in in_groups(rows.collect()) {
            let head = "INSERT INTO audit_open (call_id, seq) VALUES";
            tx.run(Statement::many(head, group, " ON CONFLICT DO NOTHING"))
                .await?;
        }
        Ok(())
    }
}

/// The copy of the head beside the database, written in the background.
pub(super) struct HeadFileCopy {
    wanted: Option<Head>,
    earliest: Instant,
    running: Option<JoinHandle<()>>,
}

impl HeadFileCopy {
    pub(super) fn new() -> Self {
        Self {
            wanted: None,
            earliest: Instant::now(),
            running: None,
        }
    }

    /// When the next write is due, if there is something to write.
    fn due(&self) -> Option<Instant> {
        self.wanted.as_ref()?;
        Some(self.earliest)
    }

    /// Starts a write if one is due.
    async fn follow(&mut self, home: &std::path::Path) {
        let now = Instant::now();
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        // At most once a second and one at a time: the file costs an fsync of its own, and only the
        // latest head matters.
        self.earliest = now + HEAD_FILE_EVERY;
        if let Some(running) = self.running.take()
            && !running.is_finished()
        {
            self.running = Some(running);
            return;
        }
        let (head, home) = (self.wanted.take(), home.to_owned());
        self.running = head.map(|head| {
            tokio::task::spawn_blocking(move || {
                // Not fatal: the head in the database is authoritative, and the next write or the one at
                // closing replaces this file.
                if let Err(error) = head.write_file(&home) {
                    tracing::warn!(event = "audit_head_file_failed", %error, "failed to write audit.head; the next write repeats it");
                }
            })
        });
    }

    /// Writes the last head.
    async fn finish(&mut self, home: &std::path::Path) -> Result<(), StoreError> {
        if let Some(running) = self.running.take() {
            let _ = running.await;
        }
        match self.wanted.take() {
            Some(head) => head
                .write_file(home)
                .map_err(|error| StoreError::io("writing audit.head", &error)),
            None => Ok(()),
        }
    }
}
