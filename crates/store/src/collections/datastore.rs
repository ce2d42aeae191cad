//! Rows of JSON.

use std::collections::BTreeMap;

use manyhands_core::{CallId, CollectionId, Timestamp};
use serde_json::{Map, Value};

use super::filter::{Filter, Sort};
use super::{CollectionLimits, Collections, book};
use crate::error::StoreError;
use crate::sql::{Param, Row, Statement, in_groups};

/// The longest id of a row.
const MAX_ID: usize = 128;

/// A row to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRow {
    /// Its id: an existing row is replaced. Default: a new id.
    pub id: Option<String>,
    /// Its contents.
    pub data: Map<String, Value>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct DataRow {
    /// Its id.
    pub id: String,
    /// Its contents.
    pub data: Value,
    /// When it was first written.
    pub created: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
}

/// Selects and sorts rows.
#[derive(Debug, Clone, Default)]
pub struct RowQuery {
    /// Only matching rows.
    pub filter: Option<Filter>,
    /// The order; oldest first if empty.
    pub sort: Vec<Sort>,
    /// Maximum number.
    pub limit: u32,
    /// Number of rows to skip.
    pub offset: u32,
}

/// Result of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<DataRow>,
    /// Number of all matching rows.
    pub total: u64,
}

impl Collections {
    /// Stores all of these rows or none; returns their ids in order, and how many are new.
    pub async fn put_rows(
        &self,
        id: CollectionId,
        rows: Vec<NewRow>,
        room: CollectionLimits,
    ) -> Result<(Vec<String>, u64), StoreError> {
        let mut texts = BTreeMap::new();
        let mut ids = Vec::with_capacity(rows.len());
        for row in rows {
            let key = match row.id {
                Some(key) => check_id(key)?,
                None => self.ids.next::<CallId>().to_string(),
            };
            ids.push(key.clone());
            let text = Value::Object(row.data).to_string();
            // One statement may not update a row twice, and it would be unclear which of the two counts.
            if texts.insert(key.clone(), text).is_some() {
                return Err(StoreError::invalid(format!(
                    "the id {key:?} is given twice"
                )));
            }
        }
        let now = self.clock.now();
        let mut tx = self.sql.begin().await?;
        let outcome = async {
            let (mut old, mut known) = (0, 0);
            for group in in_groups(texts.keys().cloned().collect()) {
                for row in tx.all(among("SELECT size FROM datastore_row", id, group)).await? {
                    old += row.int("size")?;
                    known += 1;
                }
            }
            let new: usize = texts.values().map(String::len).sum();
            let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            let items = count(texts.len()) - known;
            book(&mut tx, id, items, count(new) - old, now, Some(room)).await?;
            for group in in_groups(texts.into_iter().collect()) {
                let rows = group.into_iter().map(|(key, text)| -> [Param; 6] {
                    let size = count(text.len());
                    let collection = id.to_string();
                    [collection.into(), key.into(), text.into(), size.into(), now.into(), now.into()]
                });
                let upsert = Statement::many(
                    "INSERT INTO datastore_row (collection, id, data, size, created, updated) VALUES",
                    rows,
                    " ON CONFLICT (collection, id) DO UPDATE
                     SET data = excluded.data, size = excluded.size, updated = excluded.updated",
                );
                tx.run(upsert).await?;
            }
            Ok(u64::try_from(items).unwrap_or(0))
        }
        .await;
        match outcome {
            Ok(items) => tx.commit().await.map(|()| (ids, items)),
            Err(error) => {
                tx.abandon().await;
                Err(error)
            }
        }
    }

    /// Matching rows, and their total number.
    pub async fn rows(&self, id: CollectionId, query: &RowQuery) -> Result<Rows, StoreError> {
        // One snapshot for the page and the total, so that they agree.
        let mut tx = self.sql.moment().await?;
        let outcome = async {
            let select = Statement::new("SELECT id, data, created, updated FROM datastore_row");
            let mut select = matching(select, id, query.filter.as_ref()).then(" ORDER BY ");
            for sort in &query.sort {
                select = sort.compile(select).then(", ");
            }
            // Always ends with the id: rows that sort equal would otherwise change places between two pages.
            let order = if query.sort.is_empty() {
                "created, id"
            } else {
                "id"
            };
            let select = select
                .then(order)
                .then_with(" LIMIT ", i64::from(query.limit))
                .then_with(" OFFSET ", i64::from(query.offset));
            let rows = tx.all(select).await?;
            let count = Statement::new("SELECT COUNT(*) AS total FROM datastore_row");
            let total = tx.one(matching(count, id, query.filter.as_ref())).await?;
            let total = total.map_or(Ok(0), |row| row.int("total"))?;
            Ok(Rows {
                rows: rows.iter().map(data_row).collect::<Result<_, _>>()?,
                total: u64::try_from(total).unwrap_or(0),
            })
        }
        .await;
        tx.abandon().await;
        outcome
    }

    /// Deletes rows by id; returns how many.
    pub async fn remove_rows(
        &self,
        id: CollectionId,
        rows: Vec<String>,
    ) -> Result<u64, StoreError> {
        let groups = in_groups(rows).into_iter();
        let deletes = groups.map(|group| among("DELETE FROM datastore_row", id, group));
        self.removing(id, deletes.collect()).await
    }

    /// Deletes matching rows; returns how many.
    pub async fn remove_matching(
        &self,
        id: CollectionId,
        filter: &Filter,
    ) -> Result<u64, StoreError> {
        let delete = matching(
            Statement::new("DELETE FROM datastore_row"),
            id,
            Some(filter),
        );
        self.removing(id, vec![delete]).await
    }

    async fn removing(&self, id: CollectionId, deletes: Vec<Statement>) -> Result<u64, StoreError> {
        let mut tx = self.sql.begin().await?;
        let (mut items, mut bytes) = (0, 0);
        for delete in deletes {
            // The sizes of what was really deleted: counting first could count rows that are gone by then.
            for row in tx.all(delete.then(" RETURNING size")).await? {
                items += 1;
                bytes += row.int("size")?;
            }
        }
        if items == 0 {
            tx.abandon().await;
            return Ok(0);
        }
        book(&mut tx, id, -items, -bytes, self.clock.now(), None).await?;
        tx.commit().await?;
        Ok(u64::try_from(items).unwrap_or(0))
    }
}

/// `head` for the rows of these ids.
fn among(head: &'static str, id: CollectionId, ids: Vec<String>) -> Statement {
    let mut statement = Statement::new(head).then_with(" WHERE collection = ", id.to_string());
    let mut before = " AND id IN (";
    for key in ids {
        statement = statement.then_with(before, key);
        before = ", ";
    }
    statement.then(")")
}

fn matching(statement: Statement, id: CollectionId, filter: Option<&Filter>) -> Statement {
    let statement = statement.then_with(" WHERE collection = ", id.to_string());
    match filter {
        Some(filter) => filter.compile(statement.then(" AND ")),
        None => statement,
    }
}

fn data_row(row: &Row) -> Result<DataRow, StoreError> {
    let data = serde_json::from_str(&row.text("data")?);
    Ok(DataRow {
        id: row.text("id")?,
        data: data.map_err(|_| StoreError::corrupt("a row is not JSON: restore a backup"))?,
        created: Timestamp(row.int("created")?),
        updated: Timestamp(row.int("updated")?),
    })
}

fn check_id(id: String) -> Result<String, StoreError> {
    if (1..=MAX_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(id);
    }
    Err(StoreError::invalid(format!(
        "an id of a row has 1-{MAX_ID} bytes and no control characters"
    )))
}
