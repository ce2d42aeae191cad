//! The schema, forward only. Each step is recorded with its checksum: a database
//! made by a newer or an altered version is refused rather than guessed at.

use std::borrow::Cow;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::SqlitePool;
use sqlx::{Connection as _, SqlSafeStr as _};

use super::sqlite::{BEGIN_WRITE, refusal};
use crate::error::StoreError;

/// Version, name and text.
type MigrationStep = (i64, &'static str, &'static str);

/// Steps are appended and never edited once released.
const STEPS: [MigrationStep; 20] = [
    (
        1,
        "records",
        include_str!("../../migrations/0001_records.sql"),
    ),
    (2, "audit", include_str!("../../migrations/0002_audit.sql")),
    (3, "nodes", include_str!("../../migrations/0003_nodes.sql")),
    (
        4,
        "sessions",
        include_str!("../../migrations/0004_sessions.sql"),
    ),
    (
        5,
        "news_session",
        include_str!("../../migrations/0005_news_session.sql"),
    ),
    (
        6,
        "memory",
        include_str!("../../migrations/0006_memory.sql"),
    ),
    (7, "chats", include_str!("../../migrations/0007_chats.sql")),
    (
        8,
        "collections",
        include_str!("../../migrations/0008_collections.sql"),
    ),
    (
        9,
        "servers",
        include_str!("../../migrations/0009_servers.sql"),
    ),
    (10, "cron", include_str!("../../migrations/0010_cron.sql")),
    (
        11,
        "channels",
        include_str!("../../migrations/0011_channels.sql"),
    ),
    (
        12,
        "audit_index",
        include_str!("../../migrations/0012_audit_index.sql"),
    ),
    (
        13,
        "approval_place",
        include_str!("../../migrations/0013_approval_place.sql"),
    ),
    (
        14,
        "session_gone",
        include_str!("../../migrations/0014_session_gone.sql"),
    ),
    (
        15,
        "authorization",
        include_str!("../../migrations/0015_authorization.sql"),
    ),
    (
        16,
        "audit_checkpoint",
        include_str!("../../migrations/0016_audit_checkpoint.sql"),
    ),
    (
        17,
        "artifact_usage",
        include_str!("../../migrations/0017_artifact_usage.sql"),
    ),
    (
        18,
        "browser_sessions",
        include_str!("../../migrations/0018_browser_sessions.sql"),
    ),
    (
        19,
        "continuation",
        include_str!("../../migrations/0019_continuation.sql"),
    ),
    (
        20,
        "session_list",
        include_str!("../../migrations/0020_session_list.sql"),
    ),
];

/// The steps, oldest first.
pub(super) fn steps() -> Vec<Migration> {
    migrations(&STEPS)
}

fn migrations(steps: &[MigrationStep]) -> Vec<Migration> {
    steps
        .iter()
        .copied()
        .map(|(version, name, text)| {
            // The text is part of the checksum, comments included: a released step can never be edited.
            let sql = text.into_sql_str();
            Migration::new(
                version,
                Cow::Borrowed(name),
                MigrationType::Simple,
                sql,
                false,
            )
        })
        .collect()
}

/// Applies what is missing in one transaction: all of it or nothing, and one wait for the disk.
pub(super) async fn run(pool: &SqlitePool) -> Result<(), StoreError> {
    apply(pool, &STEPS).await
}

async fn apply(pool: &SqlitePool, steps: &[MigrationStep]) -> Result<(), StoreError> {
    let migrator = Migrator::with_migrations(migrations(steps));
    // On the writer's connection: readers are opened only once the schema is complete.
    let mut connection = pool.acquire().await.map_err(refusal)?;
    // All steps or none: an interrupted upgrade leaves the old schema, which the old version still
    // opens. The steps' own transactions become savepoints inside this one, and the write lock keeps
    // a second process from migrating at the same time.
    let mut whole = connection.begin_with(BEGIN_WRITE).await.map_err(refusal)?;
    migrator
        .run_direct(None, &mut *whole, false)
        .await
        .map_err(explain)?;
    whole.commit().await.map_err(refusal)
}

pub(super) fn explain(error: MigrateError) -> StoreError {
    let newest = STEPS[STEPS.len() - 1].0;
    let what = match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            return refusal(error);
        }
        MigrateError::VersionMissing(version) => format!(
            "this home was used by a newer version of manyhands: its schema is {version}, and this version, {}, \
             knows schemas up to {newest}\n\
             hint: run the newer version, or restore a backup made before the upgrade: manyhands restore FILE --force",
            env!("CARGO_PKG_VERSION")
        ),
        MigrateError::VersionMismatch(version) => format!(
            "schema step {version} of this home is not the one that this version, {}, has: another build changed it\n\
             hint: run the version that made the home, or restore a backup: manyhands restore FILE --force",
            env!("CARGO_PKG_VERSION")
        ),
        other => format!("the schema could not be brought up to date: {other}"),
    };
    StoreError::Schema { what }
}

#[cfg(test)]
mod tests {
    use super::super::{Sql, Statement};
    use super::*;
    use std::path::{Path, PathBuf};

    fn fresh() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        (dir, file)
    }

    async fn steps(file: &Path) -> i64 {
        let pool = super::super::sqlite::writer(file).await.unwrap();
        let count = sqlx::query_scalar("SELECT COUNT(*) FROM _sqlx_migrations")
            .fetch_one(&pool)
            .await
            .unwrap();
        pool.close().await;
        count
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
        assert_eq!(steps(&file).await, KNOWN);
    }

    const KNOWN: i64 = STEPS.len() as i64;

    #[tokio::test]
    async fn cookie_sessions_are_revoked_and_other_tokens_are_not() {
        let (_dir, file) = fresh();
        let pool = super::super::sqlite::writer(&file).await.unwrap();
        apply(&pool, &STEPS[..14]).await.unwrap();
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
            sqlx::query(
                "INSERT INTO token (id, name, role, tools, hash, created, expires, revoked, last_used)
                 VALUES ($1, $2, $3, '[]', $1, 100, $4, $5, 500)",
            )
            .bind(at.to_string())
            .bind(*name)
            .bind(*role)
            .bind(*expires)
            .bind(*revoked)
            .execute(&pool)
            .await
            .unwrap();
        }
        run(&pool).await.unwrap();
        let after: Vec<(Option<i64>, i64)> =
            sqlx::query_as("SELECT revoked, browser FROM token ORDER BY id")
                .fetch_all(&pool)
                .await
                .unwrap();
        pool.close().await;
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
        assert_eq!(steps(&file).await, KNOWN, "nothing was applied");
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
            steps(&file).await,
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
