//! The schema, forward only. Each step is recorded with its checksum: a database
//! made by a newer or an altered version is refused rather than guessed at.

use rusqlite::Connection;
use sha2::{Digest as _, Sha384};

use super::connection::execute;
use super::{number, refusal};
use crate::error::StoreError;

/// A step of the schema.
#[derive(Debug)]
pub(super) struct MigrationStep {
    pub(super) version: i64,
    name: &'static str,
    text: &'static str,
}

impl MigrationStep {
    /// Of the text, comments included: a released step can never be edited.
    pub(super) fn checksum(&self) -> Vec<u8> {
        Sha384::digest(self.text).to_vec()
    }
}

macro_rules! step {
    ($version:literal, $file:literal, $name:literal) => {
        MigrationStep {
            version: $version,
            name: $name,
            text: include_str!(concat!("../../../migrations/", $file, "_", $name, ".sql")),
        }
    };
}

/// Steps are appended and never edited once released.
const STEPS: [MigrationStep; COUNT] = [
    step!(1, "0001", "records"),
    step!(2, "0002", "audit"),
    step!(3, "0003", "nodes"),
    step!(4, "0004", "sessions"),
    step!(5, "0005", "news_session"),
    step!(6, "0006", "memory"),
    step!(7, "0007", "chats"),
    step!(8, "0008", "collections"),
    step!(9, "0009", "servers"),
    step!(10, "0010", "cron"),
    step!(11, "0011", "channels"),
    step!(12, "0012", "audit_index"),
    step!(13, "0013", "approval_place"),
    step!(14, "0014", "session_gone"),
    step!(15, "0015", "authorization"),
    step!(16, "0016", "audit_checkpoint"),
    step!(17, "0017", "artifact_usage"),
    step!(18, "0018", "browser_sessions"),
    step!(19, "0019", "continuation"),
    step!(20, "0020", "session_list"),
];

/// How many steps there are.
pub(super) const COUNT: usize = 20;

/// The steps, oldest first.
pub(super) fn steps() -> &'static [MigrationStep] {
    &STEPS
}

/// Records the steps, under the name and in the form that the first released version gave it.
const RECORD: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";

/// Applies what is missing in one transaction: all of it or nothing, and one wait for the disk.
pub(super) fn run(connection: &Connection) -> Result<(), StoreError> {
    apply(connection, &STEPS)
}

pub(super) fn apply(connection: &Connection, steps: &[MigrationStep]) -> Result<(), StoreError> {
    // All steps or none: an interrupted upgrade leaves the old schema, which the old version still opens. The write lock
    // keeps a second process from migrating at the same time.
    execute(connection, "BEGIN IMMEDIATE")?;
    let applied = missing(connection, steps).and_then(|missing| {
        for step in missing {
            connection.execute_batch(step.text).map_err(refusal)?;
            let record = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                          VALUES (?1, ?2, TRUE, ?3, 0)";
            connection
                .execute(record, (step.version, step.name, step.checksum()))
                .map_err(refusal)?;
        }
        execute(connection, "COMMIT")
    });
    if applied.is_err() && !connection.is_autocommit() {
        let _ = execute(connection, "ROLLBACK");
    }
    applied
}

/// A step that a database has.
pub(super) struct AppliedStep {
    pub(super) version: i64,
    pub(super) success: bool,
    pub(super) checksum: Vec<u8>,
}

pub(super) fn applied(connection: &Connection) -> Result<Vec<AppliedStep>, rusqlite::Error> {
    let mut select = connection
        .prepare("SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version")?;
    let rows = select.query_map([], |row| {
        Ok(AppliedStep {
            version: row.get(0)?,
            success: row.get(1)?,
            checksum: row.get(2)?,
        })
    })?;
    rows.collect()
}

/// Whether the database has a record of its schema.
pub(super) fn has_record(connection: &Connection) -> Result<bool, StoreError> {
    let select =
        "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    Ok(number(connection, select)? > 0)
}

/// The steps that the database lacks; an error if it has others.
fn missing<'s>(
    connection: &Connection,
    steps: &'s [MigrationStep],
) -> Result<Vec<&'s MigrationStep>, StoreError> {
    execute(connection, RECORD)?;
    let applied = applied(connection).map_err(refusal)?;
    let newest = COUNT;
    for one in &applied {
        let version = one.version;
        let what = match steps.iter().find(|step| step.version == version) {
            None => format!(
                "this home was used by a newer version of manyhands: its schema is {version}, and this version, {}, \
                 knows schemas up to {newest}\n\
                 hint: run the newer version, or restore a backup made before the upgrade: manyhands restore FILE --force",
                env!("CARGO_PKG_VERSION")
            ),
            Some(step) if !one.success || one.checksum != step.checksum() => format!(
                "schema step {version} of this home is not the one that this version, {}, has: another build changed it\n\
                 hint: run the version that made the home, or restore a backup: manyhands restore FILE --force",
                env!("CARGO_PKG_VERSION")
            ),
            Some(_) => continue,
        };
        return Err(StoreError::Schema { what });
    }
    let is_applied = |step: &&MigrationStep| applied.iter().any(|one| one.version == step.version);
    Ok(steps.iter().filter(|step| !is_applied(step)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::writer;
    use super::*;
    use crate::sql::{Sql, Statement};
    use std::path::{Path, PathBuf};

    fn fresh() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        (dir, file)
    }

    fn steps(file: &Path) -> i64 {
        let connection = writer::open(file).unwrap();
        number(&connection, "SELECT COUNT(*) FROM _sqlx_migrations").unwrap()
    }

    async fn raw(file: &Path, statement: &'static str) {
        let sql = Sql::open(file).await.unwrap();
        sql.run(Statement::new(statement)).await.unwrap();
        sql.close().await;
    }

    #[tokio::test]
    async fn a_database_opens_again_and_is_migrated_once() {
        let (_dir, file) = fresh();
        for _ in 0..2 {
            Sql::open(&file).await.unwrap().close().await;
        }
        assert_eq!(steps(&file), KNOWN);
    }

    const KNOWN: i64 = STEPS.len() as i64;

    #[test]
    fn cookie_sessions_are_revoked_and_other_tokens_are_not() {
        let (_dir, file) = fresh();
        let connection = writer::open(&file).unwrap();
        apply(&connection, &STEPS[..14]).unwrap();
        const MONTH: i64 = 2_592_000_000;
        let page = "page 2025-06-01T08:00:00.000Z";
        /// Name, role, end, already revoked, and the time of revocation afterwards.
        type Token = (
            &'static str,
            &'static str,
            Option<i64>,
            Option<i64>,
            Option<i64>,
        );
        let tokens: [Token; 7] = [
            (page, "owner", Some(100 + MONTH), None, Some(500)),
            (page, "owner", Some(100 + MONTH), Some(300), Some(300)),
            (page, "owner", None, None, None),
            (page, "owner", Some(101 + MONTH), None, None),
            (page, "client", Some(100 + MONTH), None, None),
            ("page of the desk", "owner", Some(100 + MONTH), None, None),
            ("owner", "owner", None, None, None),
        ];
        for (at, (name, role, expires, revoked, _)) in tokens.iter().enumerate() {
            let insert = "INSERT INTO token (id, name, role, tools, hash, created, expires, revoked, last_used)
                          VALUES (?1, ?2, ?3, '[]', ?1, 100, ?4, ?5, 500)";
            connection
                .execute(insert, (at.to_string(), *name, *role, *expires, *revoked))
                .unwrap();
        }
        run(&connection).unwrap();
        let mut select = connection
            .prepare("SELECT revoked, browser FROM token ORDER BY id")
            .unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let after: Vec<(Option<i64>, i64)> = rows.unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> = tokens.iter().map(|token| (token.4, 0)).collect();
        assert_eq!(after, expected);
    }

    #[track_caller]
    fn says(error: StoreError, words: &str) {
        let shown = error.to_string();
        assert!(matches!(error, StoreError::Schema { .. }), "{error:?}");
        assert!(shown.contains(words), "{shown}");
    }

    #[tokio::test]
    async fn a_changed_step_is_refused() {
        let (_dir, file) = fresh();
        raw(
            &file,
            "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1",
        )
        .await;
        let error = Sql::open(&file).await.unwrap_err();
        says(error, "schema step 1 of this home");
        assert_eq!(steps(&file), KNOWN, "nothing was applied");
    }

    #[tokio::test]
    async fn a_newer_database_is_refused() {
        let (_dir, file) = fresh();
        raw(
            &file,
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99, 'later', true, x'00', 0)",
        )
        .await;
        let error = Sql::open(&file).await.unwrap_err();
        says(
            error,
            &format!(
                "its schema is 99, and this version, {}, knows schemas up to {KNOWN}\nhint: ",
                env!("CARGO_PKG_VERSION")
            ),
        );
        assert_eq!(
            steps(&file),
            KNOWN + 1,
            "the record of the newer step stays"
        );
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_refused_and_kept() {
        let (_dir, file) = fresh();
        std::fs::write(&file, b"this is not a database, but somebody's notes").unwrap();
        let error = Sql::open(&file).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        let kept = std::fs::read(&file).unwrap();
        assert_eq!(kept, b"this is not a database, but somebody's notes");
    }
}
