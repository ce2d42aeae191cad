//! Vaults of agents: names of secrets, and the hosts each may be sent to. The values are in the gateway's own vault, so that
//! they are encrypted and redacted like all others.

use manyhands_core::{CollectionId, Secret, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Collections, book};
use crate::error::StoreError;
use crate::sql::Statement;

const MAX_NAME: usize = 64;

/// A secret in a vault, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VaultEntry {
    /// Its name.
    pub name: String,
    /// The hosts it may be sent to; `*.example.com` matches subdomains.
    pub hosts: Vec<String>,
    /// When it was first stored.
    pub created: Timestamp,
    /// When it was last stored.
    pub updated: Timestamp,
}

impl Collections {
    /// Stores or replaces a secret, with the hosts it may be sent to.
    pub async fn put_secret(
        &self,
        id: CollectionId,
        name: &str,
        value: &Secret,
        hosts: &[String],
    ) -> Result<(), StoreError> {
        check_name(name)?;
        let now = self.clock.now();
        let _lock = self.lock.lock().await;
        if self.get(id).await?.is_none() {
            return Err(super::missing(id));
        }
        // Before the entry, and removed after it: an entry always has its value.
        self.vault.set(&secret_name(id, name), value).await?;
        let mut tx = self.sql.begin().await?;
        let known = Statement::new("SELECT 1 AS one FROM vault_entry")
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND name = ", name);
        let items = i64::from(tx.one(known).await?.is_none());
        book(&mut tx, id, items, 0, now, None).await?;
        let upsert = Statement::new(
            "INSERT INTO vault_entry (collection, name, hosts, created, updated)
             VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT (collection, name) DO UPDATE
             SET hosts = excluded.hosts, updated = excluded.updated",
        )
        .bind(id.to_string())
        .bind(name)
        .bind(hosts.join(" "))
        .bind(now);
        tx.run(upsert).await?;
        tx.commit().await
    }

    /// The secrets of a vault, without their values.
    pub async fn vault_entries(&self, id: CollectionId) -> Result<Vec<VaultEntry>, StoreError> {
        let select = Statement::new("SELECT name, hosts, created, updated FROM vault_entry")
            .then_with(" WHERE collection = ", id.to_string())
            .then(" ORDER BY name");
        let rows = self.sql.all(select).await?;
        let entry = |row: &crate::sql::Row| {
            Ok(VaultEntry {
                name: row.text("name")?,
                hosts: row
                    .text("hosts")?
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect(),
                created: Timestamp(row.int("created")?),
                updated: Timestamp(row.int("updated")?),
            })
        };
        rows.iter().map(entry).collect()
    }

    /// A secret with its hosts, for immediate use.
    pub async fn secret(
        &self,
        id: CollectionId,
        name: &str,
    ) -> Result<Option<(Secret, VaultEntry)>, StoreError> {
        let entries = self.vault_entries(id).await?;
        let Some(entry) = entries.into_iter().find(|entry| entry.name == name) else {
            return Ok(None);
        };
        let value = self.vault.get(&secret_name(id, name)).await?;
        Ok(value.map(|value| (value, entry)))
    }

    /// Removes a secret; whether there was one.
    pub async fn remove_secret(&self, id: CollectionId, name: &str) -> Result<bool, StoreError> {
        check_name(name)?;
        let _lock = self.lock.lock().await;
        let mut tx = self.sql.begin().await?;
        let delete = Statement::new("DELETE FROM vault_entry")
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND name = ", name);
        if tx.run(delete).await? == 0 {
            tx.abandon().await;
            return Ok(false);
        }
        book(&mut tx, id, -1, 0, self.clock.now(), None).await?;
        tx.commit().await?;
        self.vault.remove(&secret_name(id, name)).await?;
        Ok(true)
    }
}

/// The name of the secret in the gateway's vault.
pub(super) fn secret_name(id: CollectionId, name: &str) -> String {
    format!("collection/{id}/{name}")
}

fn check_name(name: &str) -> Result<(), StoreError> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-');
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(legal) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME).collect();
    Err(StoreError::invalid(format!(
        "{shown:?} is not a secret's name: use 1-{MAX_NAME} of A-Z, a-z, 0-9, _ . and -"
    )))
}
