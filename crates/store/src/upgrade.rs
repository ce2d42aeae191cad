//! What replacing the program needs of a home: a copy of its database to try migrations on, and a way back.

use std::io;
use std::path::{Path, PathBuf};

use crate::backup::{CONFIG, OWNER_TOKEN, unpack_checked};
use crate::error::StoreError;
use crate::home::{self, AUDIT_HEAD, BLOBS, DATABASE, VAULT_KEY};
use crate::sql::{Inspection, Sql, Statement, inspect, snapshot_into};

/// Time limit for looking at the pages of a migrated copy.
const PAGES: std::time::Duration = std::time::Duration::from_secs(60);

/// What a backup replaces in a home, in the order in which it is put back.
const PARTS: [&str; 8] = [
    DATABASE,
    AUDIT_HEAD,
    CONFIG,
    VAULT_KEY,
    OWNER_TOKEN,
    BLOBS,
    "host/workspace",
    "host/state",
];

/// Files that belong to one state of the database: with another they would damage it.
const LOGS: [&str; 2] = ["manyhands.db-wal", "manyhands.db-shm"];

/// The versions of a database's schema before and after its migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaChange {
    /// Before.
    pub from: i64,
    /// After.
    pub to: i64,
}

/// Copies the database of a home, which may be in use, into `folder`; `false` if it has none.
pub async fn copy_database(home: &Path, folder: &Path) -> Result<bool, StoreError> {
    let database = home.join(DATABASE);
    if !database.is_file() {
        return Ok(false);
    }
    snapshot_into(&database, &folder.join(DATABASE)).await?;
    Ok(true)
}

/// Version of the schema of the database in `folder`, which may be in use. Nothing is changed.
pub async fn schema_version(folder: &Path) -> Result<i64, StoreError> {
    crate::sql::schema_version(&folder.join(DATABASE)).await
}

/// Brings the database in `folder` up to date, and checks it. It should be a copy.
pub async fn try_migrations(folder: &Path) -> Result<SchemaChange, StoreError> {
    let database = folder.join(DATABASE);
    let from = crate::sql::schema_version(&database).await?;
    let sql = Sql::open(&database).await?;
    let one = sql.one(Statement::new("SELECT 1 AS one")).await;
    sql.close().await;
    one?;
    match inspect(&database, PAGES).await? {
        Inspection::Damaged { what } => Err(StoreError::corrupt(format!(
            "the migrated copy of the database is damaged: {}",
            what.join("; ")
        ))),
        Inspection::Intact { .. } | Inspection::Incomplete { .. } => Ok(SchemaChange {
            from,
            to: crate::sql::schema_version(&database).await?,
        }),
    }
}

/// Unpacks a backup into `folder`, an empty one, and checks it.
pub async fn unpack_backup(file: &Path, folder: &Path) -> Result<(), StoreError> {
    unpack_checked(file, folder).await
}

/// Moves what was unpacked from a backup into `home`, and what is in its place into `aside`. What no backup
/// contains stays. If it is interrupted, doing it again completes it.
pub fn put_back(unpacked: &Path, home: &Path, aside: &Path) -> Result<(), StoreError> {
    home::private_dir(aside)?;
    let moving = |from: &Path, to: &Path| -> io::Result<()> {
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::rename(from, to)?;
        home::sync_parent(to)
    };
    let failed = |error: &io::Error| StoreError::io(format!("restoring {}", home.display()), error);
    // Before the database: a log that is left beside another database would be applied to it.
    if unpacked.join(DATABASE).exists() {
        for log in LOGS.map(|name| home.join(name)) {
            if log.exists() {
                moving(&log, &free_name(aside, &log)).map_err(|error| failed(&error))?;
            }
        }
    }
    for part in PARTS {
        let (from, to) = (unpacked.join(part), home.join(part));
        // A part that is not there any more was moved before an interruption.
        if from.symlink_metadata().is_err() {
            continue;
        }
        if to.symlink_metadata().is_ok() {
            moving(&to, &free_name(aside, &to)).map_err(|error| failed(&error))?;
        }
        moving(&from, &to).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// A name in `folder` for what is at `path`, that is not taken.
fn free_name(folder: &Path, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2..).map(|number| folder.join(format!("{name}.{number}")));
    let mut names = std::iter::once(folder.join(&*name)).chain(numbered);
    names
        .find(|path| path.symlink_metadata().is_err())
        .unwrap_or_else(|| folder.join(&*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &Path, text: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn read(file: &Path) -> Option<String> {
        std::fs::read_to_string(file).ok()
    }

    #[test]
    fn parts_are_put_back_and_what_was_there_is_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let [unpacked, home, aside] = ["unpacked", "home", "aside"].map(|n| dir.path().join(n));
        for (name, old) in [
            (DATABASE, "old"),
            (CONFIG, "old"),
            ("blobs/a", "old"),
            ("host/state/s", "old"),
        ] {
            write(&unpacked.join(name), old);
            write(&home.join(name), "new");
        }
        write(&home.join("manyhands.db-wal"), "new log");
        write(&home.join("nodes/laptop.json"), "stays");
        // As an interruption after the first parts leaves it.
        std::fs::create_dir_all(&aside).unwrap();
        std::fs::rename(home.join(DATABASE), aside.join(DATABASE)).unwrap();
        for _ in 0..2 {
            put_back(&unpacked, &home, &aside).unwrap();
            for name in [DATABASE, CONFIG, "blobs/a", "host/state/s"] {
                assert_eq!(read(&home.join(name)).as_deref(), Some("old"), "{name}");
            }
            assert_eq!(read(&home.join("manyhands.db-wal")), None);
            assert_eq!(
                read(&home.join("nodes/laptop.json")).as_deref(),
                Some("stays")
            );
            assert_eq!(read(&aside.join(DATABASE)).as_deref(), Some("new"));
            assert_eq!(
                read(&aside.join("manyhands.db-wal")).as_deref(),
                Some("new log")
            );
            assert_eq!(read(&aside.join("state/s")).as_deref(), Some("new"));
        }
    }
}
