//! Access to the database.
//!
//! Only this folder names the driver. Everything else writes SQL that both SQLite and PostgreSQL accept: `$1` placeholders,
//! BIGINT and TEXT, `ON CONFLICT`, `RETURNING`. What is specific to SQLite is in [`sqlite`].

mod foreign;
mod migrations;
mod sqlite;
mod statement;
pub(crate) mod text_search;
mod tx;

use std::path::Path;

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

pub(crate) use foreign::check_foreign;
pub use sqlite::Inspection;
pub(crate) use sqlite::{inspect, schema_version, snapshot_into};
pub(crate) use statement::{Param, Statement, in_groups};
pub(crate) use tx::Tx;

use crate::error::StoreError;

/// One writing connection and a few reading ones.
// One writer, because SQLite has only one at a time anyway: here waiting callers queue fairly, while SQLite would make them
// poll until its busy timeout.
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    write: SqlitePool,
    read: SqlitePool,
}

impl Sql {
    /// Opens the database file and migrates its schema.
    pub(crate) async fn open(file: &Path) -> Result<Self, StoreError> {
        let write = sqlite::writer(file).await?;
        if let Err(error) = migrations::run(&write).await {
            write.close().await;
            return Err(error);
        }
        let read = sqlite::readers(file);
        Ok(Self { write, read })
    }

    /// All rows of a query.
    pub(crate) async fn all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(sqlite::refusal)?;
        all(&mut connection, statement).await
    }

    /// The first row of a query.
    pub(crate) async fn one(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(sqlite::refusal)?;
        one(&mut connection, statement).await
    }

    /// Runs one writing statement; returns the number of affected rows.
    pub(crate) async fn run(&self, statement: Statement) -> Result<u64, StoreError> {
        let mut connection = self.write.acquire().await.map_err(sqlite::refusal)?;
        run(&mut connection, statement).await
    }

    /// Begins a write transaction; dropping it rolls it back.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Tx::begin(&self.write, sqlite::BEGIN_WRITE).await
    }

    /// Begins a read transaction: all its statements see the same snapshot.
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

/// One row. A column with an unexpected value is an error, not a panic.
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
