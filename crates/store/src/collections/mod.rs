//! Resources: datastores, filestores, knowledge bases and vaults.
//!
//! Each is a *collection* with an id, a name and grants by agent. What a collection holds is
//! counted in its record in the same transaction that changes it, so that it never grows
//! past its room. What only SQLite knows, JSON and words in text, is in [`filter`] and
//! [`knowledge`].

mod datastore;
mod filestore;
mod filter;
mod knowledge;
mod passages;
mod record;
#[cfg(test)]
mod tests;
mod vaults;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use manyhands_core::{AgentId, Clock, CollectionId, Ids, Timestamp};
use tokio::sync::Mutex;

pub use datastore::{DataRow, NewRow, RowQuery, Rows};
pub(crate) use filestore::FOLDER;
pub use filestore::StoredFile;
pub use filter::{Filter, FilterError, Sort};
pub use knowledge::{KnowledgeDocument, NewDocument, Passage};
pub use record::{CollectionKind, CollectionRecord, Grant, Level, UnknownName};
pub use vaults::VaultEntry;

use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::sql::{Sql, Statement, Tx};
use crate::vault::Vault;

use record::{COLUMNS, check_name, collection, level};

/// Limits of one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionLimits {
    /// In bytes.
    pub bytes: u64,
    /// Rows, files or documents. 0 means no limit.
    pub items: u64,
}

/// The resources. Cheap to clone.
#[derive(Clone)]
pub struct Collections {
    sql: Sql,
    blobs: Blobs,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
    /// Held while records and their bytes change together.
    lock: Arc<Mutex<()>>,
    /// When this was opened: unknown bytes that are older were left by a crash.
    opened: Timestamp,
    swept: Arc<AtomicBool>,
}

impl std::fmt::Debug for Collections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Collections")
    }
}

impl Collections {
    pub(crate) fn new(
        sql: Sql,
        blobs: Blobs,
        vault: Vault,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Self {
        Self {
            sql,
            blobs,
            vault,
            opened: clock.now(),
            clock,
            ids,
            lock: Arc::default(),
            swept: Arc::default(),
        }
    }

    /// Creates a collection with its first grants. Names are unique per kind.
    pub async fn create(
        &self,
        kind: CollectionKind,
        name: &str,
        description: &str,
        grants: &[Grant],
    ) -> Result<CollectionRecord, StoreError> {
        check_name(name)?;
        let now = self.clock.now();
        let record = CollectionRecord {
            id: self.ids.next(),
            kind,
            name: name.to_owned(),
            description: description.to_owned(),
            items: 0,
            bytes: 0,
            created: now,
            updated: now,
        };
        let insert = Statement::new(
            "INSERT INTO collection (id, kind, name, description, items, bytes, created, updated)
             VALUES ($1, $2, $3, $4, 0, 0, $5, $5)",
        )
        .bind(record.id.to_string())
        .bind(kind.as_str())
        .bind(name)
        .bind(description)
        .bind(now);
        let mut tx = self.sql.begin().await?;
        match tx.run(insert).await {
            Err(StoreError::Exists { .. }) => {
                tx.abandon().await;
                let what = format!("a {} named {name:?}", kind.as_str());
                return Err(StoreError::Exists { what });
            }
            other => other?,
        };
        for grant in grants {
            tx.run(insert_grant(record.id, &grant.agent, grant.level))
                .await?;
        }
        tx.commit().await?;
        Ok(record)
    }

    /// One collection.
    pub async fn get(&self, id: CollectionId) -> Result<Option<CollectionRecord>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then(" FROM collection c")
            .then_with(" WHERE c.id = ", id.to_string());
        let row = self.sql.one(select).await?;
        row.as_ref().map(collection).transpose()
    }

    /// All collections, by kind and name.
    pub async fn all(&self) -> Result<Vec<CollectionRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then(" FROM collection c ORDER BY c.kind, c.name");
        let rows = self.sql.all(select).await?;
        rows.iter().map(collection).collect()
    }

    /// Collections that an agent may use, by kind and name.
    pub async fn of_agent(
        &self,
        agent: &AgentId,
    ) -> Result<Vec<(CollectionRecord, Level)>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then(", g.level FROM collection c JOIN collection_grant g ON g.collection = c.id")
            .then_with(" WHERE g.agent = ", agent.as_str())
            .then(" ORDER BY c.kind, c.name");
        let rows = self.sql.all(select).await?;
        rows.iter()
            .map(|row| Ok((collection(row)?, level(row)?)))
            .collect()
    }

    /// A collection and the level of an agent, if it has one.
    pub async fn access(
        &self,
        agent: &AgentId,
        id: CollectionId,
    ) -> Result<Option<(CollectionRecord, Level)>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then(", g.level FROM collection c JOIN collection_grant g ON g.collection = c.id")
            .then_with(" WHERE g.agent = ", agent.as_str())
            .then_with(" AND c.id = ", id.to_string());
        match self.sql.one(select).await? {
            Some(row) => Ok(Some((collection(&row)?, level(&row)?))),
            None => Ok(None),
        }
    }

    /// The grants of a collection, by agent.
    pub async fn grants(&self, id: CollectionId) -> Result<Vec<Grant>, StoreError> {
        let select = Statement::new("SELECT agent, level FROM collection_grant")
            .then_with(" WHERE collection = ", id.to_string())
            .then(" ORDER BY agent");
        let rows = self.sql.all(select).await?;
        let grant = |row: &crate::sql::Row| {
            Ok(Grant {
                agent: row.parsed("agent")?,
                level: level(row)?,
            })
        };
        rows.iter().map(grant).collect()
    }

    /// Grants an agent a level, replacing an earlier grant.
    pub async fn grant(
        &self,
        id: CollectionId,
        agent: &AgentId,
        level: Level,
    ) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        if !known(&mut tx, id).await? {
            tx.abandon().await;
            return Err(missing(id));
        }
        tx.run(insert_grant(id, agent, level)).await?;
        tx.commit().await
    }

    /// Revokes a grant; whether there was one.
    pub async fn revoke(&self, id: CollectionId, agent: &AgentId) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM collection_grant")
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND agent = ", agent.as_str());
        Ok(self.sql.run(delete).await? > 0)
    }

    /// Deletes a collection with its contents; whether there was one.
    pub async fn remove(&self, id: CollectionId) -> Result<bool, StoreError> {
        let _lock = self.lock.lock().await;
        let entries = self.vault_entries(id).await?;
        let mut tx = self.sql.begin().await?;
        let files = Statement::new("SELECT blob FROM filestore_file")
            .then_with(" WHERE collection = ", id.to_string());
        let files = tx.all(files).await?;
        let delete = Statement::new("DELETE FROM collection WHERE id = $1").bind(id.to_string());
        let there = tx.run(delete).await? > 0;
        tx.commit().await?;
        // After the commit: a crash in between leaves bytes without a record, which the next sweep removes, and
        // never records without bytes.
        for row in files {
            self.delete_blob(&row.text("blob")?).await?;
        }
        for entry in entries {
            self.vault
                .remove(&vaults::secret_name(id, &entry.name))
                .await?;
        }
        Ok(there)
    }
}

fn missing(id: CollectionId) -> StoreError {
    StoreError::not_found(format!("collection {id}"))
}

async fn known(tx: &mut Tx, id: CollectionId) -> Result<bool, StoreError> {
    let select =
        Statement::new("SELECT 1 AS one FROM collection").then_with(" WHERE id = ", id.to_string());
    Ok(tx.one(select).await?.is_some())
}

fn insert_grant(id: CollectionId, agent: &AgentId, level: Level) -> Statement {
    Statement::new(
        "INSERT INTO collection_grant (collection, agent, level) VALUES ($1, $2, $3)
         ON CONFLICT (collection, agent) DO UPDATE SET level = excluded.level",
    )
    .bind(id.to_string())
    .bind(agent.as_str())
    .bind(level.as_str())
}

/// Counts what a collection gains or loses; refuses what exceeds its limits.
async fn book(
    tx: &mut Tx,
    id: CollectionId,
    items: i64,
    bytes: i64,
    now: Timestamp,
    room: Option<CollectionLimits>,
) -> Result<(), StoreError> {
    // Updated first and checked after: the new totals are those of this transaction, which the caller rolls back on
    // an error.
    let update = Statement::new(
        "UPDATE collection SET items = items + $1, bytes = bytes + $2, updated = $3
         WHERE id = $4 RETURNING items, bytes",
    )
    .bind(items)
    .bind(bytes)
    .bind(now)
    .bind(id.to_string());
    let Some(row) = tx.one(update).await? else {
        return Err(missing(id));
    };
    let Some(room) = room else {
        return Ok(());
    };
    let held = |column| row.int(column).map(|held| u64::try_from(held).unwrap_or(0));
    if held("bytes")? > room.bytes {
        let most = room.bytes;
        return Err(StoreError::Limit {
            what: format!(
                "it would hold more than {most} bytes (limits.collection_bytes): remove some first"
            ),
        });
    }
    // Only when entries are added: a collection that is over a lowered limit can still be edited.
    if room.items > 0 && items > 0 && held("items")? > room.items {
        let most = room.items;
        return Err(StoreError::Quota {
            what: format!(
                "it would hold more than {most} entries (limits.collection_entries): remove some first"
            ),
        });
    }
    Ok(())
}
