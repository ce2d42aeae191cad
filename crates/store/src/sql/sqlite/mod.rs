//! The engine of a single machine: SQLite. Its connections, the codes of its errors, and copying and checking its file
//! while it is in use.

mod connection;
mod foreign;
mod migrations;
mod readers;
pub(crate) mod text_search;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::ffi;

pub(crate) use foreign::check_foreign;
pub(super) use readers::{ReadTx, Readers};
pub(super) use writer::{WriteTx, Writer};

use crate::error::StoreError;

/// Copies the database at one moment into `copy`, which must not exist, while
/// others go on writing.
pub(crate) async fn snapshot_into(file: &Path, copy: &Path) -> Result<(), StoreError> {
    let target = copy
        .to_str()
        .ok_or_else(|| StoreError::invalid("the path of the snapshot is not UTF-8"))?
        .to_owned();
    // Reads from one snapshot while others write. Copying the file would miss what is still in the WAL.
    blocking(file, move |file| {
        let connection = connection::open(file, false)?;
        let done = connection.execute("VACUUM INTO ?1", [target]);
        done.map(drop).map_err(refusal)
    })
    .await
}

/// The newest step of the schema that was applied; 0 for an empty database.
pub(crate) async fn schema_version(file: &Path) -> Result<i64, StoreError> {
    blocking(file, |file| {
        let connection = connection::open(file, true)?;
        match migrations::has_record(&connection)? {
            true => number(
                &connection,
                "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations",
            ),
            false => Ok(0),
        }
    })
    .await
}

/// Runs what blocks away from the threads of the runtime.
async fn blocking<T: Send + 'static>(
    file: &Path,
    what: impl FnOnce(&Path) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let file: PathBuf = file.to_owned();
    let done = tokio::task::spawn_blocking(move || what(&file));
    done.await.unwrap_or(Err(StoreError::Closed))
}

fn number(connection: &rusqlite::Connection, select: &str) -> Result<i64, StoreError> {
    let found = connection.query_row(select, [], |row| row.get(0));
    found.map_err(refusal)
}

/// The rows of a statement with one column of text.
fn lines(connection: &rusqlite::Connection, select: &str) -> Result<Vec<String>, rusqlite::Error> {
    let mut prepared = connection.prepare(select)?;
    let rows = prepared.query_map([], |row| row.get(0))?;
    rows.collect()
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
    let late = StopOnDrop(Arc::new(AtomicBool::new(within.is_zero())));
    let stop = late.0.clone();
    let check = blocking(file, move |file| {
        let mut connection = connection::open(file, true)?;
        let is_late = stop.clone();
        // The only way to interrupt SQLite in the middle of a statement.
        connection
            .progress_handler(STEPS, Some(move || is_late.load(Ordering::Relaxed)))
            .map_err(refusal)?;
        match lines(&connection, "PRAGMA quick_check(10)") {
            Ok(what) if what == ["ok"] => Ok(Inspection::Intact { bytes }),
            Ok(what) => Ok(Inspection::Damaged { what }),
            Err(_) if stop.load(Ordering::Relaxed) => Ok(Inspection::Incomplete { bytes }),
            Err(error) => Err(refusal(error)),
        }
    });
    let mut check = std::pin::pin!(check);
    tokio::select! {
        found = &mut check => found,
        () = tokio::time::sleep(within) => {
            late.0.store(true, Ordering::Relaxed);
            check.await
        }
    }
}

/// The driver's error as one of ours.
fn refusal(error: rusqlite::Error) -> StoreError {
    let rusqlite::Error::SqliteFailure(code, message) = &error else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::corrupt(format!(
                "the database holds an unexpected value ({error}): restore a backup"
            )),
            other => StoreError::Database(other.to_string()),
        };
    };
    let shown = message.clone().unwrap_or_else(|| code.to_string());
    match code.code {
        ErrorCode::DiskFull => StoreError::Full,
        // SQLite reports ENOSPC as FULL where it writes the database and its log, but not where it
        // enlarges the shared index of the log.
        _ if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => StoreError::Full,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::corrupt(format!(
            "the database is damaged ({shown}): restore a backup"
        )),
        ErrorCode::ConstraintViolation
            if matches!(
                code.extended_code,
                ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            ) =>
        {
            StoreError::Exists {
                what: "a record with this key".to_owned(),
            }
        }
        _ => StoreError::Database(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        (dir, file)
    }

    #[tokio::test]
    async fn a_check_of_every_page_finds_damage_and_ends_on_timeout() {
        let (_dir, file) = empty();
        let write = writer::open(&file).unwrap();
        write
            .execute_batch(
                "CREATE TABLE t AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n
                 WHERE x < 100000) SELECT x, hex(randomblob(64)) AS y FROM n;
                 CREATE INDEX ty ON t (y)",
            )
            .unwrap();
        drop(write);
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

    #[test]
    fn commits_wait_for_the_disk_and_readers_cannot_write() {
        let (_dir, file) = empty();
        let write = writer::open(&file).unwrap();
        let read = connection::open(&file, true).unwrap();
        assert_eq!(lines(&write, "PRAGMA journal_mode").unwrap(), ["wal"]);
        let synchronous = number(&write, "PRAGMA synchronous");
        assert_eq!(synchronous.unwrap(), 2, "2 is FULL");
        assert_eq!(number(&write, "PRAGMA foreign_keys").unwrap(), 1);
        let make = "CREATE TABLE t (x BIGINT)";
        assert!(read.execute_batch(make).is_err());
        write.execute_batch(make).unwrap();
    }
}
