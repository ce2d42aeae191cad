//! Transactions, controlled here rather than by the driver.
//!
//! SQLite rolls a transaction back by itself when the disk is full. The driver does not notice, and its connection then
//! refuses every later transaction. So a connection whose transaction did not end properly is closed and replaced.

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqlitePool;
use sqlx::{Executor as _, Sqlite};

use super::sqlite::refusal;
use super::{Row, Statement};
use crate::error::StoreError;

/// A transaction; dropping it rolls it back.
pub(crate) struct Tx {
    connection: PoolConnection<Sqlite>,
    ended: bool,
}

impl Tx {
    pub(super) async fn begin(pool: &SqlitePool, how: &'static str) -> Result<Self, StoreError> {
        let connection = pool.acquire().await.map_err(refusal)?;
        // From here on, being cancelled closes the connection: it may have begun a transaction that
        // nobody would end, and the pool would hand it out again.
        let mut tx = Self {
            connection,
            ended: false,
        };
        tx.connection.execute(how).await.map_err(refusal)?;
        Ok(tx)
    }

    pub(crate) async fn all(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        super::all(&mut self.connection, statement).await
    }

    pub(crate) async fn one(&mut self, statement: Statement) -> Result<Option<Row>, StoreError> {
        super::one(&mut self.connection, statement).await
    }

    pub(crate) async fn run(&mut self, statement: Statement) -> Result<u64, StoreError> {
        super::run(&mut self.connection, statement).await
    }

    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        self.connection.execute("COMMIT").await.map_err(refusal)?;
        self.ended = true;
        Ok(())
    }

    /// Rolls the transaction back, keeping its connection.
    pub(crate) async fn abandon(mut self) {
        self.ended = match self.connection.execute("ROLLBACK").await {
            Ok(_) => true,
            // SQLite has rolled back already, for example because the disk is full: the connection is fine.
            Err(error) => error.to_string().contains("no transaction is active"),
        };
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if !self.ended {
            // Closing rolls back whatever is open; asking SQLite to do it would need an await.
            self.connection.close_on_drop();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::error::StoreError;
    use crate::sql::{Sql, Statement};

    const INSERT: &str = "INSERT INTO secret (name, nonce, ciphertext, created, updated)
                          VALUES ($1, '', $2, 0, 0)";

    fn insert(name: &str) -> Statement {
        Statement::new(INSERT).bind(name).bind("x".repeat(100_000))
    }

    async fn count(sql: &Sql) -> i64 {
        let row = sql
            .one(Statement::new("SELECT COUNT(*) AS n FROM secret"))
            .await;
        row.unwrap().unwrap().int("n").unwrap()
    }

    #[tokio::test]
    async fn an_uncommitted_transaction_changes_nothing_and_frees_its_connection() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        let sql = Sql::open(&file).await.unwrap();
        for _ in 0..3 {
            let mut dropped = sql.begin().await.unwrap();
            dropped.run(insert("a")).await.unwrap();
            drop(dropped);
            let mut abandoned = sql.begin().await.unwrap();
            abandoned.run(insert("a")).await.unwrap();
            abandoned.abandon().await;
        }
        assert_eq!(count(&sql).await, 0);
        let mut kept = sql.begin().await.unwrap();
        kept.run(insert("a")).await.unwrap();
        kept.commit().await.unwrap();
        assert_eq!(count(&sql).await, 1);
    }

    #[tokio::test]
    async fn the_connection_works_after_the_disk_was_full() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        std::fs::write(&file, b"").unwrap();
        let sql = Sql::open(&file).await.unwrap();
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
            }
            let mut tx = sql.begin().await.unwrap();
            tx.run(insert(if end_in_order { "c" } else { "d" }))
                .await
                .unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(count(&sql).await, 2);
    }
}
