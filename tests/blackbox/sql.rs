//! A second connection to a gateway's database, as an intruder or a stuck program has it.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use tokio::runtime::Runtime;

/// An open connection.
pub struct Sql {
    runtime: Runtime,
    connection: Option<SqliteConnection>,
}

impl Sql {
    pub fn open(home: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        let options = SqliteConnectOptions::new()
            .filename(home.join("manyhands.db"))
            .busy_timeout(Duration::from_secs(20));
        let connection = runtime.block_on(SqliteConnection::connect_with(&options));
        Self {
            runtime,
            connection: Some(connection.expect("the database")),
        }
    }

    /// Runs a statement; how many rows it changed.
    #[track_caller]
    pub fn run(&mut self, statement: &str) -> u64 {
        let connection = self.connection.as_mut().expect("an open connection");
        let statement = sqlx::query(AssertSqlSafe(statement.to_owned()));
        let done = self.runtime.block_on(connection.execute(statement));
        done.expect("the statement").rows_affected()
    }

    /// The numbers in the first column.
    #[track_caller]
    pub fn numbers(&mut self, select: &str) -> Vec<i64> {
        let connection = self.connection.as_mut().expect("an open connection");
        let select = sqlx::query(AssertSqlSafe(select.to_owned()));
        let rows = self
            .runtime
            .block_on(connection.fetch_all(select))
            .expect("rows");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The rows of a selection, as text; `NULL` is nothing.
    #[track_caller]
    pub fn texts(&mut self, select: &str) -> Vec<Vec<Option<String>>> {
        let connection = self.connection.as_mut().expect("an open connection");
        let select = sqlx::query(AssertSqlSafe(select.to_owned()));
        let rows = self.runtime.block_on(connection.fetch_all(select));
        let rows = rows.expect("rows");
        let row = |row: &sqlx::sqlite::SqliteRow| (0..row.len()).map(|at| row.get(at)).collect();
        rows.iter().map(row).collect()
    }

    /// Closes it, so that everything is in the file.
    pub fn close(mut self) {
        if let Some(connection) = self.connection.take() {
            self.runtime.block_on(connection.close()).expect("closed");
        }
    }
}

/// Holds the database's write lock, so that a call with effects waits just before it begins.
pub struct WriteLock(Sql);

impl WriteLock {
    pub fn take(home: &Path) -> Self {
        let mut sql = Sql::open(home);
        sql.run("BEGIN IMMEDIATE");
        Self(sql)
    }

    pub fn release(mut self) {
        self.0.run("ROLLBACK");
        self.0.close();
    }
}
