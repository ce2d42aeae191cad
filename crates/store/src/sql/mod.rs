//! The one door to the database.
//!
//! Only this folder names the driver. Everything else writes one SQL text that
//! SQLite and PostgreSQL both take: `$1` placeholders, BIGINT and TEXT, `ON
//! CONFLICT`, `RETURNING`. What only SQLite knows is in [`sqlite`].

mod foreign;
mod migrations;
mod sqlite;
mod statement;
mod tx;
pub(crate) mod words;

use std::path::Path;

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

pub(crate) use foreign::check_foreign;
pub use sqlite::Inspection;
pub(crate) use sqlite::{inspect, schema_version, snapshot_into};
pub(crate) use statement::{Param, Statement, in_groups};
pub(crate) use tx::Tx;

use crate::error::StoreError;

/// One writing connection, because SQLite has one writer anyway and queueing here
/// is fair, and a few reading ones.
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    write: SqlitePool,
    read: SqlitePool,
}

impl Sql {
    /// Opens the database file, brings its schema up to date, or refuses.
    pub(crate) async fn open(file: &Path) -> Result<Self, StoreError> {
        let write = sqlite::writer(file).await?;
        if let Err(error) = migrations::run(&write).await {
            write.close().await;
            return Err(error);
        }
        let read = sqlite::readers(file);
        Ok(Self { write, read })
    }

    /// Every row of a reading statement.
    pub(crate) async fn all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(sqlite::refusal)?;
        all(&mut connection, statement).await
    }

    /// The first row of a reading statement.
    pub(crate) async fn one(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(sqlite::refusal)?;
        one(&mut connection, statement).await
    }

    /// Runs one writing statement by itself; how many rows it touched.
    pub(crate) async fn run(&self, statement: Statement) -> Result<u64, StoreError> {
        let mut connection = self.write.acquire().await.map_err(sqlite::refusal)?;
        run(&mut connection, statement).await
    }

    /// A writing transaction. Dropped without `commit`, it changes nothing.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Tx::begin(&self.write, sqlite::BEGIN_WRITE).await
    }

    /// A reading transaction: all its statements see one moment.
    pub(crate) async fn moment(&self) -> Result<Tx, StoreError> {
        Tx::begin(&self.read, sqlite::BEGIN_READ).await
    }

    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, more: Option<i64>) {
        sqlite::limit_pages(&self.write, more).await;
    }

    /// Waits for running statements and closes every connection.
    pub(crate) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

async fn all(on: &mut SqliteConnection, statement: Statement) -> Result<Vec<Row>, StoreError> {
    let (text, arguments) = statement.bound()?;
    let rows = sqlx::query_with(AssertSqlSafe(text), arguments)
        .fetch_all(on)
        .await
        .map_err(sqlite::refusal)?;
    Ok(rows.into_iter().map(Row).collect())
}

async fn one(on: &mut SqliteConnection, statement: Statement) -> Result<Option<Row>, StoreError> {
    let (text, arguments) = statement.bound()?;
    let row = sqlx::query_with(AssertSqlSafe(text), arguments)
        .fetch_optional(on)
        .await
        .map_err(sqlite::refusal)?;
    Ok(row.map(Row))
}

async fn run(on: &mut SqliteConnection, statement: Statement) -> Result<u64, StoreError> {
    let (text, arguments) = statement.bound()?;
    let done = sqlx::query_with(AssertSqlSafe(text), arguments)
        .execute(on)
        .await
        .map_err(sqlite::refusal)?;
    Ok(done.rows_affected())
}

/// One row; a column that does not hold what it should is damage, not a panic.
pub(crate) struct Row(SqliteRow);

impl Row {
    pub(crate) fn text(&self, column: &str) -> Result<String, StoreError> {
        self.0.try_get(column).map_err(sqlite::refusal)
    }

    pub(crate) fn text_or_null(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.0.try_get(column).map_err(sqlite::refusal)
    }

    pub(crate) fn int(&self, column: &str) -> Result<i64, StoreError> {
        self.0.try_get(column).map_err(sqlite::refusal)
    }

    pub(crate) fn int_or_null(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.0.try_get(column).map_err(sqlite::refusal)
    }

    /// A text column that must parse, such as an id.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, column: &str) -> Result<T, StoreError> {
        let text = self.text(column)?;
        text.parse().map_err(|_| {
            StoreError::corrupt(format!(
                "the database holds {text:?} as {column}: restore a backup"
            ))
        })
    }
}
