//! Rows, as any engine returns them.

use std::sync::Arc;

use crate::error::StoreError;

/// A value of a row.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Int(i64),
    Text(String),
    /// A type that no column of ours has.
    Other(&'static str),
}

/// One row. A column with an unexpected value is an error, not a panic.
#[derive(Debug)]
pub(crate) struct Row {
    /// The names of the columns, which the rows of a query share.
    pub(super) columns: Arc<[String]>,
    pub(super) values: Vec<Value>,
}

impl Row {
    fn value(&self, column: &str) -> Result<&Value, StoreError> {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.values.get(at))
            .ok_or_else(|| unexpected(column, "no such column"))
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, StoreError> {
        self.text_or_null(column)?
            .ok_or_else(|| unexpected(column, "NULL"))
    }

    pub(crate) fn text_or_null(&self, column: &str) -> Result<Option<String>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text.clone())),
            Value::Int(_) => Err(unexpected(column, "a number")),
            Value::Other(kind) => Err(unexpected(column, kind)),
        }
    }

    pub(crate) fn int(&self, column: &str) -> Result<i64, StoreError> {
        self.int_or_null(column)?
            .ok_or_else(|| unexpected(column, "NULL"))
    }

    pub(crate) fn int_or_null(&self, column: &str) -> Result<Option<i64>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number)),
            Value::Text(_) => Err(unexpected(column, "text")),
            Value::Other(kind) => Err(unexpected(column, kind)),
        }
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

fn unexpected(column: &str, found: &str) -> StoreError {
    StoreError::corrupt(format!(
        "the database holds an unexpected value ({found}) as {column}: restore a backup"
    ))
}
