//! A second connection to a gateway's database, as an intruder or a stuck program has it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

/// An open connection.
pub struct Sql(Connection);

impl Sql {
    pub fn open(home: &Path) -> Self {
        let connection = Connection::open(home.join("manyhands.db")).expect("the database");
        let patience = Duration::from_secs(20);
        connection.busy_timeout(patience).expect("a timeout");
        Self(connection)
    }

    /// Runs statements; how many rows the last one changed.
    #[track_caller]
    pub fn run(&mut self, statements: &str) -> u64 {
        let before = self.0.total_changes();
        self.0.execute_batch(statements).expect("the statements");
        self.0.total_changes() - before
    }

    /// The numbers in the first column.
    #[track_caller]
    pub fn numbers(&mut self, select: &str) -> Vec<i64> {
        let mut select = self.0.prepare(select).expect("a statement");
        let rows = select.query_map([], |row| row.get(0)).expect("rows");
        rows.map(|row| row.expect("a number")).collect()
    }

    /// The rows of a selection, as text; `NULL` is nothing.
    #[track_caller]
    pub fn texts(&mut self, select: &str) -> Vec<Vec<Option<String>>> {
        let mut select = self.0.prepare(select).expect("a statement");
        let columns = select.column_count();
        let text = |value| match value {
            Value::Null => None,
            Value::Integer(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Text(text) => Some(text),
            Value::Blob(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at).map(text)).collect();
        let rows = select.query_map([], row).expect("rows");
        rows.map(|row| row.expect("a row")).collect()
    }

    /// Closes it, so that everything is in the file.
    pub fn close(self) {
        self.0.close().expect("closed");
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
