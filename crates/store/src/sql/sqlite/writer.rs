//! The one connection that writes.
//!
//! Transactions run one after another, each from start to end on the task that wants it: a statement is a function call, not
//! a message to another thread. What remains is waiting for the disk, which is why transactions share it. Each is a
//! savepoint within one outer transaction; when it ends, a thread of its own commits the outer one as soon as
//! nobody was queued before it. Whoever came in the meantime is on disk with the same sync. So one transaction alone
//! waits for one sync, and a thousand at once wait for a few.
//!
//! A transaction is acknowledged only after the sync that covers it. One that fails is rolled back to its savepoint, and the
//! others stay.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::{connection, migrations};
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// How long a transaction waits for those before it.
const WAIT_FOR_TURN: Duration = Duration::from_secs(60);
/// How long it waits for another process that writes, and how often it looks.
const WAIT_FOR_PROCESS: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Takes the write lock at once, so that a transaction never fails half-way because another process wrote in between.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// Receives the outcome of the commit.
type Done = oneshot::Sender<Result<(), StoreError>>;

#[derive(Clone)]
pub(in crate::sql) struct Writer {
    group: Arc<Mutex<Group>>,
    committer: Arc<Committer>,
}

/// The thread that commits.
struct Committer {
    /// Wakes it. One message is enough for any number of transactions. `None` once it is dropped.
    wake: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The connection and the transactions that its open outer transaction holds.
struct Group {
    /// `None` once it is closed.
    connection: Option<Connection>,
    /// Transactions that ended and wait for the disk.
    waiting: Vec<Done>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Opens the database and migrates its schema.
    pub(in crate::sql) async fn open(file: &Path) -> Result<Self, StoreError> {
        let file = file.to_owned();
        let opened = tokio::task::spawn_blocking(move || -> Result<Connection, StoreError> {
            let connection = open(&file)?;
            migrations::run(&connection)?;
            // From here on a task waits for other processes, without blocking a thread of the runtime.
            connection
                .busy_timeout(Duration::ZERO)
                .map_err(super::refusal)?;
            Ok(connection)
        });
        let connection = opened.await.map_err(|_| StoreError::Closed)??;
        Ok(Self::on(connection))
    }

    fn on(connection: Connection) -> Self {
        let group = Arc::new(Mutex::new(Group {
            connection: Some(connection),
            waiting: Vec::new(),
        }));
        let (commit, wanted) = mpsc::sync_channel(1);
        let of_thread = group.clone();
        // A thread, because a sync takes milliseconds. It ends with the last handle of the writer.
        let thread = std::thread::Builder::new()
            .name("store-commit".to_owned())
            .spawn(move || {
                while wanted.recv().is_ok() {
                    // The lock is fair: transactions that queued before this line take part in the commit.
                    of_thread.blocking_lock().commit();
                }
            })
            .expect("a thread can be started");
        let committer = Arc::new(Committer {
            wake: Some(commit),
            thread: Some(thread),
        });
        Self { group, committer }
    }

    /// Begins a transaction once it is its turn.
    pub(in crate::sql) async fn begin(&self) -> Result<WriteTx, StoreError> {
        let mut group = self.turn().await?;
        group.execute("SAVEPOINT tx")?;
        Ok(WriteTx {
            group: Some(group),
            committer: self.committer.clone(),
        })
    }

    /// Runs one statement as a transaction.
    pub(in crate::sql) async fn run(&self, statement: Statement) -> Result<u64, StoreError> {
        // No savepoint: a statement is all or nothing by itself.
        let mut group = self.turn().await?;
        let changed = match group.with(|connection| connection::run(connection, &statement)) {
            Ok(changed) => changed,
            Err(error) => {
                group.close_if_unused();
                return Err(error);
            }
        };
        acknowledged(group, &self.committer).await?;
        Ok(changed)
    }

    /// The connection, with an open outer transaction.
    async fn turn(&self) -> Result<OwnedMutexGuard<Group>, StoreError> {
        let turn = timeout(WAIT_FOR_TURN, self.group.clone().lock_owned());
        let mut group = turn.await.map_err(|_| StoreError::Busy)?;
        let deadline = Instant::now() + WAIT_FOR_PROCESS;
        loop {
            match group.open() {
                Err(StoreError::Busy) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                opened => return opened.map(|()| group),
            }
        }
    }

    /// Waits for transactions, commits them and closes the connection.
    pub(in crate::sql) async fn close(&self) {
        let mut group = self.group.clone().lock_owned().await;
        let closed = tokio::task::spawn_blocking(move || {
            group.commit();
            // Copies the log into the database, which takes as long as the disk needs.
            drop(group.connection.take());
        });
        let _ = closed.await;
    }

    /// Simulates a full disk: at most `more` pages above the current size, or no limit.
    #[cfg(test)]
    pub(in crate::sql) async fn limit_pages(&self, more: Option<i64>) {
        let group = self.group.lock().await;
        let connection = group.connection.as_ref().expect("an open connection");
        let now: i64 = connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .expect("the size");
        let limit = more.map_or(i64::from(u32::MAX) - 1, |more| now + more);
        connection::set(connection, "max_page_count", &limit.to_string()).expect("the limit");
    }
}

/// The connection of the writer: each commit is on disk before it returns.
pub(super) fn open(file: &Path) -> Result<Connection, StoreError> {
    let connection = connection::open(file, false)?;
    connection::set(&connection, "journal_mode", "WAL")?;
    // FULL, because in WAL mode NORMAL does not sync on commit, and what was acknowledged could be lost in a
    // power cut.
    connection::set(&connection, "synchronous", "FULL")?;
    // After a burst of writes the WAL is truncated to 64 MiB instead of keeping its largest size.
    connection::set(&connection, "journal_size_limit", "67108864")?;
    Ok(connection)
}

/// Gives the connection to the next transaction, and waits until this one is on disk.
async fn acknowledged(
    mut group: OwnedMutexGuard<Group>,
    committer: &Committer,
) -> Result<(), StoreError> {
    let (done, outcome) = oneshot::channel();
    group.waiting.push(done);
    drop(group);
    committer.wake();
    outcome.await.unwrap_or(Err(StoreError::Closed))
}

impl Committer {
    fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Full means that the thread has not begun to handle an earlier message; it will find this transaction too.
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Committer {
    /// Waits for a commit in progress, so that nothing is written after the database is opened again.
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Group {
    fn with<T>(
        &mut self,
        what: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let outcome = what(self.connection.as_ref().ok_or(StoreError::Closed)?);
        if let Err(error) = &outcome
            && !self.is_open()
        {
            // A full disk can make SQLite undo the outer transaction, and with it those that wait for its commit.
            self.tell(&Err(error.clone()));
        }
        outcome
    }

    fn execute(&mut self, text: &str) -> Result<(), StoreError> {
        self.with(|connection| connection::execute(connection, text))
    }

    /// Whether the outer transaction is open.
    fn is_open(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| !connection.is_autocommit())
    }

    fn open(&mut self) -> Result<(), StoreError> {
        match self.is_open() {
            true => Ok(()),
            false => self.execute(BEGIN),
        }
    }

    /// Commits the outer transaction and tells everybody who waits for it.
    fn commit(&mut self) {
        if !self.is_open() {
            // Nobody waits, unless the outer transaction ended in a way that no error showed.
            return self.tell(&Err(undone()));
        }
        let outcome = self.execute("COMMIT");
        if outcome.is_err() && self.is_open() {
            let _ = self.execute("ROLLBACK");
        }
        self.tell(&outcome);
    }

    fn tell(&mut self, outcome: &Result<(), StoreError>) {
        for done in self.waiting.drain(..) {
            // Nobody waits any more if the caller was cancelled.
            let _ = done.send(outcome.clone());
        }
    }

    /// After a transaction was undone: an outer one that nobody needs would lock other processes out.
    fn close_if_unused(&mut self) {
        if self.is_open() && self.waiting.is_empty() {
            let _ = self.execute("ROLLBACK");
        }
    }
}

fn undone() -> StoreError {
    StoreError::Database("the transaction was rolled back after an earlier error".to_owned())
}

/// A transaction that writes; dropping it rolls it back. It has the writer's connection, so it must be short.
pub(in crate::sql) struct WriteTx {
    /// `None` once it has ended.
    group: Option<OwnedMutexGuard<Group>>,
    committer: Arc<Committer>,
}

impl WriteTx {
    pub(in crate::sql) fn all(&mut self, statement: &Statement) -> Result<Vec<Row>, StoreError> {
        self.with(|connection| connection::all(connection, statement))
    }

    pub(in crate::sql) fn one(&mut self, statement: &Statement) -> Result<Option<Row>, StoreError> {
        self.with(|connection| connection::one(connection, statement))
    }

    pub(in crate::sql) fn run(&mut self, statement: &Statement) -> Result<u64, StoreError> {
        self.with(|connection| connection::run(connection, statement))
    }

    fn with<T>(
        &mut self,
        what: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let group = self.group.as_mut().ok_or(StoreError::Closed)?;
        // Once SQLite has undone everything, a statement would be committed by itself.
        match group.is_open() {
            true => group.with(what),
            false => Err(undone()),
        }
    }

    pub(in crate::sql) async fn commit(mut self) -> Result<(), StoreError> {
        // If this fails, `drop` rolls back.
        self.with(|connection| connection::execute(connection, "RELEASE tx"))?;
        match self.group.take() {
            Some(group) => acknowledged(group, &self.committer).await,
            None => Err(StoreError::Closed),
        }
    }
}

impl Drop for WriteTx {
    fn drop(&mut self) {
        let Some(mut group) = self.group.take() else {
            return;
        };
        if group.is_open() {
            let _ = group.execute("ROLLBACK TO tx");
            let _ = group.execute("RELEASE tx");
        }
        group.close_if_unused();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sql::Sql;

    const INSERT: &str =
        "INSERT INTO secret (name, nonce, ciphertext, created, updated) VALUES ($1, '', $2, 0, 0)";

    fn insert(name: &str) -> Statement {
        Statement::new(INSERT).bind(name).bind("x".repeat(100_000))
    }

    fn small(name: &str) -> Statement {
        Statement::new(INSERT).bind(name).bind("x")
    }

    async fn fresh() -> (tempfile::TempDir, PathBuf, Sql) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        let sql = Sql::open(&file).await.unwrap();
        (dir, file, sql)
    }

    async fn count(sql: &Sql) -> i64 {
        let row = sql
            .one(Statement::new("SELECT COUNT(*) AS n FROM secret"))
            .await;
        row.unwrap().unwrap().int("n").unwrap()
    }

    #[tokio::test]
    async fn an_uncommitted_transaction_changes_nothing_and_frees_the_connection() {
        let (_dir, _, sql) = fresh().await;
        for _ in 0..3 {
            let mut dropped = sql.begin().await.unwrap();
            dropped.run(insert("a")).await.unwrap();
            drop(dropped);
            let mut abandoned = sql.begin().await.unwrap();
            abandoned.run(insert("a")).await.unwrap();
            abandoned.abandon().await;
        }
        assert_eq!(count(&sql).await, 0);
        let mut committed = sql.begin().await.unwrap();
        committed.run(insert("a")).await.unwrap();
        committed.commit().await.unwrap();
        assert_eq!(count(&sql).await, 1);
    }

    #[tokio::test]
    async fn the_connection_works_after_the_disk_was_full() {
        let (_dir, _, sql) = fresh().await;
        for end_in_order in [true, false] {
            sql.limit_pages(Some(1)).await;
            let mut tx = sql.begin().await.unwrap();
            assert_eq!(tx.run(insert("a")).await, Err(StoreError::Full));
            if end_in_order {
                tx.abandon().await;
                assert_eq!(sql.run(insert("b")).await, Err(StoreError::Full));
                sql.limit_pages(None).await;
            } else {
                drop(tx);
                sql.limit_pages(None).await;
            }
            let mut tx = sql.begin().await.unwrap();
            tx.run(insert(if end_in_order { "c" } else { "d" }))
                .await
                .unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(count(&sql).await, 2);
    }

    /// Syncs that a number of concurrent transactions needed, by the commit records in the log: one per sync.
    fn commits(file: &Path) -> usize {
        let log = std::fs::read(file.with_extension("db-wal")).unwrap();
        let word = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
        let page = usize::try_from(word(8)).unwrap();
        let salt = &log[16..24];
        let frames = log[32..].chunks_exact(24 + page);
        // A frame that ends a transaction has the size of the database in its header.
        let ends = |frame: &&[u8]| frame[8..16] == *salt && frame[4..8] != [0; 4];
        frames.filter(ends).count()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn concurrent_transactions_share_commits_and_a_failing_one_is_rolled_back_alone() {
        let (_dir, file, sql) = fresh().await;
        sql.run(small("taken")).await.unwrap();
        let before = commits(&file);
        // Everybody queues behind this one, so that they meet.
        let first = sql.begin().await.unwrap();
        let tasks: Vec<_> = (0..300)
            .map(|number| {
                let sql = sql.clone();
                tokio::spawn(async move {
                    let mut tx = sql.begin().await?;
                    tx.run(small(&format!("a{number}"))).await?;
                    match number % 3 {
                        0 => tx.run(small("taken")).await.map(drop)?,
                        1 => {
                            tx.abandon().await;
                            return Ok(());
                        }
                        _ => {}
                    }
                    tx.commit().await
                })
            })
            .collect();
        tokio::task::yield_now().await;
        first.abandon().await;
        for (number, task) in tasks.into_iter().enumerate() {
            let outcome = task.await.unwrap();
            match number % 3 {
                0 => assert!(
                    matches!(outcome, Err(StoreError::Exists { .. })),
                    "{outcome:?}"
                ),
                _ => assert_eq!(outcome, Ok(())),
            }
        }
        assert_eq!(count(&sql).await, 101);
        let used = commits(&file) - before;
        assert!(used < 50, "100 transactions took {used} commits");
    }

    #[tokio::test]
    async fn a_transaction_is_acknowledged_only_after_the_commit_that_covers_it() {
        let (_dir, file, sql) = fresh().await;
        let mut ended = sql.begin().await.unwrap();
        ended.run(small("a")).await.unwrap();
        // Queued before the commit can begin, and so a part of it.
        let next = tokio::spawn({
            let sql = sql.clone();
            async move { sql.begin().await }
        });
        tokio::task::yield_now().await;
        let acknowledged = tokio::spawn(ended.commit());
        let mut open = next.await.unwrap().unwrap();
        open.run(small("b")).await.unwrap();
        let outside = connection::open(&file, true).unwrap();
        let seen = || {
            let found = outside.query_row("SELECT COUNT(*) FROM secret", [], |row| row.get(0));
            found.unwrap()
        };
        let before: i64 = seen();
        assert_eq!(before, 0, "nothing is on disk yet");
        assert!(!acknowledged.is_finished());
        drop(open);
        acknowledged.await.unwrap().unwrap();
        let after: i64 = seen();
        assert_eq!(after, 1, "the one that ended, without the one that did not");
    }

    #[tokio::test]
    async fn a_full_disk_fails_the_transactions_that_wait_for_the_commit() {
        let (_dir, _, sql) = fresh().await;
        let mut ended = sql.begin().await.unwrap();
        ended.run(small("a")).await.unwrap();
        let next = tokio::spawn({
            let sql = sql.clone();
            async move { sql.begin().await }
        });
        tokio::task::yield_now().await;
        let waiting = tokio::spawn(ended.commit());
        let mut next = next.await.unwrap().unwrap();
        // What SQLite does by itself on some errors.
        next.run(Statement::new("ROLLBACK")).await.unwrap();
        assert!(next.run(small("b")).await.is_err());
        drop(next);
        assert!(waiting.await.unwrap().is_err());
        assert_eq!(count(&sql).await, 0, "nothing that failed is there");
        sql.run(small("c")).await.unwrap();
        assert_eq!(count(&sql).await, 1);
    }

    #[tokio::test]
    async fn a_transaction_waits_for_another_process_and_not_for_ever() {
        let (_dir, file, sql) = fresh().await;
        let other = connection::open(&file, false).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let waiting = tokio::spawn({
            let sql = sql.clone();
            async move { sql.run(small("a")).await }
        });
        // Other tasks of this one thread go on meanwhile.
        assert_eq!(count(&sql).await, 0);
        assert!(!waiting.is_finished());
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(1));
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        tokio::time::pause();
        assert_eq!(sql.run(small("b")).await, Err(StoreError::Busy));
    }
}
