//! One connection: how it is opened, and how statements run on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags, Rows};

use super::refusal;
use crate::error::StoreError;
use crate::sql::row::Value;
use crate::sql::{Param, Row, Statement};

/// More than the different statements of the program, so that each is compiled once.
const PREPARED: usize = 512;

/// How long a connection that may block waits for another process to end its transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Opens the database file, which must exist.
pub(super) fn open(file: &Path, readonly: bool) -> Result<Connection, StoreError> {
    // Each connection is used by one thread at a time, which Rust checks, so SQLite need not lock it.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(refusal)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.busy_timeout(BUSY).map_err(refusal)?;
    set(&connection, "foreign_keys", "ON")?;
    // Triggers, views and generated columns of the schema may not call functions with side effects.
    set(&connection, "trusted_schema", "OFF")?;
    if readonly {
        // Read-only by pragma, so that a write by mistake fails in tests instead of competing with the writer.
        set(&connection, "query_only", "ON")?;
    }
    Ok(connection)
}

/// Sets a pragma, whether or not it answers with its new value.
pub(super) fn set(connection: &Connection, pragma: &str, value: &str) -> Result<(), StoreError> {
    connection
        .pragma_update_and_check(None, pragma, value, |_| Ok(()))
        .or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(()),
            other => Err(refusal(other)),
        })
}

/// Runs a statement without parameters, such as one that controls transactions.
pub(super) fn execute(connection: &Connection, text: &str) -> Result<(), StoreError> {
    let mut prepared = connection.prepare_cached(text).map_err(refusal)?;
    prepared.raw_execute().map(drop).map_err(refusal)
}

pub(super) fn all(connection: &Connection, statement: &Statement) -> Result<Vec<Row>, StoreError> {
    rows(connection, statement, usize::MAX)
}

pub(super) fn one(
    connection: &Connection,
    statement: &Statement,
) -> Result<Option<Row>, StoreError> {
    Ok(rows(connection, statement, 1)?.pop())
}

pub(super) fn run(connection: &Connection, statement: &Statement) -> Result<u64, StoreError> {
    let mut prepared = prepared(connection, statement)?;
    // With RETURNING there are rows to step over before the statement has done all of its work.
    if prepared.column_count() > 0 {
        let mut rows = prepared.raw_query();
        while rows.next().map_err(refusal)?.is_some() {}
        return Ok(connection.changes());
    }
    let changed = prepared.raw_execute().map_err(refusal)?;
    Ok(u64::try_from(changed).unwrap_or(u64::MAX))
}

fn prepared<'c>(
    connection: &'c Connection,
    statement: &Statement,
) -> Result<CachedStatement<'c>, StoreError> {
    let mut prepared = connection
        .prepare_cached(statement.text())
        .map_err(refusal)?;
    for index in 1..=prepared.parameter_count() {
        // SQLite takes `$2` for a name, and numbers names in the order in which they appear.
        let name = prepared.parameter_name(index).unwrap_or_default();
        let number = name.trim_start_matches('$').parse().ok();
        let bound = match number.and_then(|number| statement.param(number)) {
            Some(Param::Text(text)) => prepared.raw_bind_parameter(index, text.as_deref()),
            Some(Param::Int(number)) => prepared.raw_bind_parameter(index, number),
            None => Err(rusqlite::Error::InvalidParameterName(name.to_owned())),
        };
        bound.map_err(refusal)?;
    }
    Ok(prepared)
}

fn rows(
    connection: &Connection,
    statement: &Statement,
    most: usize,
) -> Result<Vec<Row>, StoreError> {
    let mut prepared = prepared(connection, statement)?;
    let names = prepared.column_names().map(str::to_owned);
    let columns: Arc<[String]> = names.collect();
    let mut found = Vec::new();
    let mut rows: Rows<'_> = prepared.raw_query();
    while found.len() < most
        && let Some(row) = rows.next().map_err(refusal)?
    {
        let value = |at| row.get_ref(at).map_err(refusal).and_then(value);
        let values = (0..columns.len()).map(value).collect::<Result<_, _>>()?;
        found.push(Row {
            columns: columns.clone(),
            values,
        });
    }
    Ok(found)
}

fn value(value: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(
            std::str::from_utf8(text)
                .map_err(|_| {
                    StoreError::corrupt(
                        "the database holds text that is not UTF-8: restore a backup",
                    )
                })?
                .to_owned(),
        ),
        ValueRef::Real(_) => Value::Other("a fraction"),
        ValueRef::Blob(_) => Value::Other("bytes"),
    })
}
