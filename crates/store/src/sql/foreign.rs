//! Checks a database of unknown origin.
//!
//! A database is a program as much as data: triggers, views, checks and generated columns run when tables are used. So its
//! schema has to be exactly what our own migrations produce; only then is the rest checked.

use std::collections::BTreeSet;
use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::migrations;
use super::sqlite::refusal;
use crate::error::StoreError;

/// Maximum number of objects; ours are a few dozen.
const MAX_OBJECTS: usize = 10_000;

/// Objects of a database: type, name, table and SQL.
type Schema = BTreeSet<(String, String, String, String)>;

/// Refuses a damaged database, and one whose schema is not ours. Neither the file nor anything beside it is changed.
pub(crate) async fn check_foreign(file: &Path) -> Result<(), StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .immutable(true)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(unreadable)?;
    let checked = check(&mut connection).await;
    let _ = connection.close().await;
    checked
}

async fn check(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let found = schema(connection).await?;
    let newest = pristine(migrations::steps().len()).await?;
    let record = |schema: &Schema| {
        let of_record = schema.iter().filter(|object| object.2 == MIGRATIONS);
        of_record.cloned().collect::<Schema>()
    };
    if record(&found) != record(&newest) {
        return Err(untrusted("the record of its version is not ours"));
    }
    let version = version(connection).await?;
    let ours = pristine(version).await?;
    if let Some(other) = found.symmetric_difference(&ours).next() {
        let word = match found.contains(other) {
            true => "holds",
            false => "lacks",
        };
        return Err(untrusted(format!(
            "it {word} the {} {:?}",
            other.0, other.1
        )));
    }
    let wrong: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(3)")
        .fetch_all(connection)
        .await
        .map_err(unreadable)?;
    match wrong.iter().all(|line| line == "ok") {
        true => Ok(()),
        false => Err(untrusted(wrong.join("; "))),
    }
}

const MIGRATIONS: &str = "_sqlx_migrations";

/// Number of applied migrations, by their checksums; there are no gaps.
async fn version(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let applied: Vec<(i64, bool, Vec<u8>)> =
        sqlx::query_as("SELECT version, success, checksum FROM _sqlx_migrations ORDER BY version")
            .fetch_all(connection)
            .await
            .map_err(unreadable)?;
    let known = migrations::steps();
    if applied.len() > known.len() {
        return Err(StoreError::Schema {
            what: "the backup was made by a newer version: use that version".to_owned(),
        });
    }
    for ((version, success, checksum), step) in applied.iter().zip(&known) {
        if *version != step.version || !success || *checksum != *step.checksum {
            return Err(untrusted(format!("schema step {version} is not ours")));
        }
    }
    Ok(applied.len())
}

async fn schema(connection: &mut SqliteConnection) -> Result<Schema, StoreError> {
    let objects: Vec<(String, String, String, Option<String>)> = sqlx::query_as(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name LIMIT 10001",
    )
    .fetch_all(connection)
    .await
    .map_err(unreadable)?;
    if objects.len() > MAX_OBJECTS {
        return Err(untrusted("it has too many tables"));
    }
    let object = |(kind, name, table, text): (_, _, _, Option<String>)| {
        let text = text.unwrap_or_default();
        // White space is not compared: SQLite stores the text of a statement as it was written.
        let words: Vec<&str> = text.split_whitespace().collect();
        (kind, name, table, words.join(" "))
    };
    Ok(objects.into_iter().map(object).collect())
}

/// The schema that our first `steps` migrations produce.
async fn pristine(steps: usize) -> Result<Schema, StoreError> {
    let mut connection = SqliteConnectOptions::new()
        .in_memory(true)
        .disable_statement_logging()
        .connect()
        .await
        .map_err(refusal)?;
    let mut known = migrations::steps();
    known.truncate(steps);
    let made = Migrator::with_migrations(known)
        .run_direct(None, &mut connection, false)
        .await;
    made.map_err(migrations::explain)?;
    schema(&mut connection).await
}

fn unreadable(error: sqlx::Error) -> StoreError {
    match refusal(error) {
        StoreError::Full => StoreError::Full,
        other => untrusted(other),
    }
}

fn untrusted(why: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt(format!(
        "the database in the backup cannot be trusted ({why}): use another backup; nothing was changed"
    ))
}
