//! What is specific to SQLite: opening its file, pragmas, error codes, and copying it while it is in use.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::{StoreError, io_cause, is_full};

// Few: WAL readers never wait for the writer, and each connection has its own page cache.
const READERS: u32 = 4;
const BUSY: Duration = Duration::from_secs(10);
const WAIT_FOR_CONNECTION: Duration = Duration::from_secs(60);

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .foreign_keys(true)
        // Triggers, views and generated columns of the schema may not call functions with side effects.
        .pragma("trusted_schema", "OFF")
        .busy_timeout(BUSY)
        .disable_statement_logging()
}

fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .acquire_timeout(WAIT_FOR_CONNECTION)
        // Connections stay open: a new one has to read the whole schema again.
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// The one connection that writes: each commit is on disk before it returns.
pub(super) async fn writer(file: &Path) -> Result<SqlitePool, StoreError> {
    let options = options(file)
        .journal_mode(SqliteJournalMode::Wal)
        // FULL, because in WAL mode NORMAL does not sync on commit, and what was acknowledged could be lost in a
        // power cut.
        .synchronous(SqliteSynchronous::Full)
        // After a burst of writes the WAL is truncated to 64 MiB instead of keeping its largest size.
        .pragma("journal_size_limit", "67108864");
    pool()
        .max_connections(1)
        .connect_with(options)
        .await
        .map_err(refusal)
}

/// Connections that cannot write.
pub(super) fn readers(file: &Path) -> SqlitePool {
    pool()
        .max_connections(READERS)
        // Read-only by pragma, so that a write by mistake fails in tests instead of competing with the writer.
        .connect_lazy_with(options(file).pragma("query_only", "ON"))
}

/// Takes the write lock at once, so that a transaction never fails half-way
/// because another process wrote in between.
pub(super) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
pub(super) const BEGIN_READ: &str = "BEGIN";

/// Copies the database at one moment into `copy`, which must not exist, while
/// others go on writing.
pub(crate) async fn snapshot_into(file: &Path, copy: &Path) -> Result<(), StoreError> {
    let target = copy
        .to_str()
        .ok_or_else(|| StoreError::invalid("the path of the snapshot is not UTF-8"))?;
    let mut connection = options(file).connect().await.map_err(refusal)?;
    // Reads from one snapshot while others write. Copying the file would miss what is still in the WAL.
    let done = sqlx::query("VACUUM INTO $1")
        .bind(target)
        .execute(&mut connection)
        .await
        .map_err(refusal);
    let _ = connection.close().await;
    done.map(drop)
}

/// The newest step of the schema that was applied; 0 for an empty database.
pub(crate) async fn schema_version(file: &Path) -> Result<i64, StoreError> {
    let options = options(file).pragma("query_only", "ON");
    let mut connection = options.connect().await.map_err(refusal)?;
    let found = sqlx::query_scalar(
        "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'",
    );
    let known: Result<i64, _> = found.fetch_one(&mut connection).await;
    let version = match known {
        Ok(0) => Ok(0),
        Ok(_) => {
            sqlx::query_scalar("SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations")
                .fetch_one(&mut connection)
                .await
        }
        Err(error) => Err(error),
    };
    let _ = connection.close().await;
    version.map_err(refusal)
}

/// Result of checking every page of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inspection {
    /// No problems.
    Intact {
        /// Its size.
        bytes: u64,
    },
    /// The time was too short to check all of it; no problems so far.
    Incomplete {
        /// Its size.
        bytes: u64,
    },
    /// It is damaged.
    Damaged {
        /// The problems, at most ten.
        what: Vec<String>,
    },
}

/// Ends a check on timeout, and when nobody waits for it any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Checks every page, on its own connection so that it delays nobody.
pub(crate) async fn inspect(file: &Path, within: Duration) -> Result<Inspection, StoreError> {
    const STEPS: i32 = 10_000;
    let bytes = std::fs::metadata(file)
        .map_err(|error| StoreError::io("looking at the database", &error))?
        .len();
    let options = options(file).pragma("query_only", "ON");
    let mut connection = options.connect().await.map_err(refusal)?;
    let late = StopOnDrop(Arc::new(AtomicBool::new(within.is_zero())));
    let stop = late.0.clone();
    let mut handle = connection.lock_handle().await.map_err(refusal)?;
    // The only way to interrupt SQLite in the middle of a statement.
    handle.set_progress_handler(STEPS, move || !stop.load(Ordering::Relaxed));
    drop(handle);
    let look = sqlx::query_scalar("PRAGMA quick_check(10)").fetch_all(&mut connection);
    let mut look = pin!(look);
    let found: Result<Vec<String>, sqlx::Error> = tokio::select! {
        found = &mut look => found,
        () = tokio::time::sleep(within) => {
            late.0.store(true, Ordering::Relaxed);
            look.await
        }
    };
    match found {
        Ok(what) if what == ["ok"] => Ok(Inspection::Intact { bytes }),
        Ok(what) => Ok(Inspection::Damaged { what }),
        Err(_) if late.0.load(Ordering::Relaxed) => Ok(Inspection::Incomplete { bytes }),
        Err(error) => Err(refusal(error)),
    }
}

/// Simulates a full disk: at most `more` pages above the current size, or no limit.
#[cfg(test)]
pub(super) async fn limit_pages(pool: &SqlitePool, more: Option<i64>) {
    let now: i64 = sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(pool)
        .await
        .expect("the size");
    let limit = more.map_or(i64::from(u32::MAX) - 1, |more| now + more);
    let pragma = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {limit}"));
    sqlx::query(pragma)
        .fetch_one(pool)
        .await
        .expect("the limit");
}

/// Result codes of <https://sqlite.org/rescode.html>.
const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_FULL: i32 = 13;
const SQLITE_NOTADB: i32 = 26;
const SQLITE_IOERR_SHMSIZE: i32 = 4874;

/// The driver's error as one of ours.
pub(super) fn refusal(error: sqlx::Error) -> StoreError {
    if let sqlx::Error::Database(inner) = &error {
        let extended: i32 = inner.code().and_then(|c| c.parse().ok()).unwrap_or(0);
        // SQLite reports ENOSPC as FULL where it writes the database and its log, but not where it
        // enlarges the shared index of the log.
        return match extended & 0xff {
            SQLITE_FULL => StoreError::Full,
            _ if extended == SQLITE_IOERR_SHMSIZE => StoreError::Full,
            SQLITE_BUSY | SQLITE_LOCKED => StoreError::Busy,
            SQLITE_CORRUPT | SQLITE_NOTADB => StoreError::corrupt(format!(
                "the database is damaged ({inner}): restore a backup"
            )),
            _ if inner.is_unique_violation() => StoreError::Exists {
                what: "a record with this key".to_owned(),
            },
            _ => StoreError::Database(inner.to_string()),
        };
    }
    if io_cause(&error).is_some_and(is_full) {
        return StoreError::Full;
    }
    match error {
        sqlx::Error::PoolTimedOut => StoreError::Busy,
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => StoreError::Closed,
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::Decode(_) => StoreError::corrupt(format!(
            "the database holds an unexpected value ({error}): restore a backup"
        )),
        other => StoreError::Database(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_check_of_every_page_finds_damage_and_ends_on_timeout() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        let write = writer(&file).await.unwrap();
        let fill =
            "CREATE TABLE t AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n
            WHERE x < 100000) SELECT x, hex(randomblob(64)) AS y FROM n";
        sqlx::query(fill).execute(&write).await.unwrap();
        sqlx::query("CREATE INDEX ty ON t (y)")
            .execute(&write)
            .await
            .unwrap();
        write.close().await;
        let whole = inspect(&file, Duration::from_secs(600)).await.unwrap();
        let bytes = std::fs::metadata(&file).unwrap().len();
        assert_eq!(whole, Inspection::Intact { bytes });
        let short = inspect(&file, Duration::ZERO).await.unwrap();
        assert_eq!(short, Inspection::Incomplete { bytes });
        let mut text = std::fs::read(&file).unwrap();
        let middle = text.len() / 2 / 4096 * 4096;
        text[middle..middle + 4096].fill(0xff);
        std::fs::write(&file, text).unwrap();
        let found = inspect(&file, Duration::from_secs(600)).await;
        assert!(
            matches!(
                found,
                Ok(Inspection::Damaged { .. }) | Err(StoreError::Corrupt { .. })
            ),
            "{found:?}"
        );
    }

    #[tokio::test]
    async fn commits_wait_for_the_disk_and_readers_cannot_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        let (write, read) = (writer(&file).await.unwrap(), readers(&file));
        let number = async |pool: &SqlitePool, pragma: &'static str| -> i64 {
            sqlx::query_scalar(pragma).fetch_one(pool).await.unwrap()
        };
        let journal: String = sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&write)
            .await
            .unwrap();
        assert_eq!(journal, "wal");
        assert_eq!(number(&write, "PRAGMA synchronous").await, 2, "2 is FULL");
        assert_eq!(number(&write, "PRAGMA foreign_keys").await, 1);
        let make = "CREATE TABLE t (x BIGINT)";
        assert!(sqlx::query(make).execute(&read).await.is_err());
        sqlx::query(make).execute(&write).await.unwrap();
    }
}
