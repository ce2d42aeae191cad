//! Access to the database.
//!
//! Everything outside of this folder writes SQL that both SQLite and PostgreSQL accept: `$1` placeholders, BIGINT and TEXT,
//! `ON CONFLICT`, `RETURNING`. [`sqlite`] is the only engine and the only place that names its driver.

mod row;
mod sqlite;
mod statement;
mod tx;

use std::path::Path;

pub(crate) use row::Row;
pub use sqlite::Inspection;
pub(crate) use sqlite::{check_foreign, inspect, schema_version, snapshot_into, text_search};
pub(crate) use statement::{Param, Statement, in_groups};
pub(crate) use tx::Tx;

use crate::error::StoreError;
use sqlite::{Readers, Writer};

/// One writing connection and a few reading ones.
// One writer, because SQLite has only one at a time anyway: here waiting callers queue fairly, while SQLite would make them
// poll until its busy timeout.
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    writer: Writer,
    readers: Readers,
}

impl Sql {
    /// Opens the database file and migrates its schema.
    pub(crate) async fn open(file: &Path) -> Result<Self, StoreError> {
        let writer = Writer::open(file).await?;
        let readers = Readers::new(file);
        Ok(Self { writer, readers })
    }

    /// All rows of a query.
    pub(crate) async fn all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        self.readers.all(statement).await
    }

    /// The first row of a query.
    pub(crate) async fn one(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        self.readers.one(statement).await
    }

    /// Runs one writing statement; returns the number of affected rows.
    pub(crate) async fn run(&self, statement: Statement) -> Result<u64, StoreError> {
        self.writer.run(statement).await
    }

    /// Begins a write transaction; dropping it rolls it back.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(Tx::write(self.writer.begin().await?))
    }

    /// Begins a read transaction: all its statements see the same snapshot.
    pub(crate) async fn moment(&self) -> Result<Tx, StoreError> {
        Ok(Tx::read(self.readers.moment().await?))
    }

    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, more: Option<i64>) {
        self.writer.limit_pages(more).await;
    }

    /// Waits for running statements and closes every connection.
    pub(crate) async fn close(&self) {
        // The writer last: closing the last connection copies the log into the database and removes it.
        self.readers.close().await;
        self.writer.close().await;
    }
}
