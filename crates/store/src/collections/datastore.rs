//! Rows of JSON.

use std::collections::BTreeMap;

use manyhands_core::{CallId, CollectionId, Timestamp};
use serde_json::{Map, Value};

use super::filter::{Filter, Sort};
use super::{CollectionRoom, Collections, book};
use crate::error::StoreError;
use crate::sql::{Param, Row, Statement, in_groups};

/// The longest id of a row.
const MAX_ID: usize = 128;

/// A row to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRow {
    /// Its id: a row of this id is replaced; a fresh one when not given.
    pub id: Option<String>,
    /// What it holds.
    pub data: Map<String, Value>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct DataRow {
    /// Its id.
    pub id: String,
    /// What it holds.
    pub data: Value,
    /// When it was first written.
    pub created: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
}

/// Which rows, in which order.
#[derive(Debug, Clone, Default)]
pub struct RowQuery {
    /// Only those that pass.
    pub filter: Option<Filter>,
    /// The order; the oldest first when empty.
    pub sort: Vec<Sort>,
    /// How many at most.
    pub limit: u32,
    /// How many to pass over.
    pub offset: u32,
}

/// Rows that were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The rows.
    pub rows: Vec<DataRow>,
    /// How many there are in all.
    pub total: u64,
}

impl Collections {
    /// Keeps rows, all or none; their ids in order, and how many of them are new.
    pub async fn put_rows(
        &self,
        id: CollectionId,
        rows: Vec<NewRow>,
        room: CollectionRoom,
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

    /// Rows that pass, and how many there are in all.
    pub async fn rows(&self, id: CollectionId, query: &RowQuery) -> Result<Rows, StoreError> {
        let mut tx = self.sql.moment().await?;
        let outcome = async {
            let select = Statement::new("SELECT id, data, created, updated FROM datastore_row");
            let mut select = passing(select, id, query.filter.as_ref()).then(" ORDER BY ");
            for sort in &query.sort {
                select = sort.compile(select).then(", ");
            }
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
            let total = tx.one(passing(count, id, query.filter.as_ref())).await?;
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

    /// Removes rows by their ids; how many there were.
    pub async fn remove_rows(
        &self,
        id: CollectionId,
        rows: Vec<String>,
    ) -> Result<u64, StoreError> {
        let groups = in_groups(rows).into_iter();
        let deletes = groups.map(|group| among("DELETE FROM datastore_row", id, group));
        self.removing(id, deletes.collect()).await
    }

    /// Removes the rows that pass; how many there were.
    pub async fn remove_passing(
        &self,
        id: CollectionId,
        filter: &Filter,
    ) -> Result<u64, StoreError> {
        let delete = passing(
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

fn passing(statement: Statement, id: CollectionId, filter: Option<&Filter>) -> Statement {
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
