//! Approved definitions of MCP servers' tools, so that a later change is noticed.

use manyhands_core::Timestamp;

use crate::error::StoreError;
use crate::sql::{Row, Sql, Statement};

/// A definition and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedDefinition {
    /// The hash over what a model sees.
    pub hash: String,
    /// The complete definition, as JSON.
    pub definition: String,
}

/// One tool of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Its name there.
    pub name: String,
    /// The approved definition; `None` if it was never approved.
    pub approved: Option<PinnedDefinition>,
    /// A newer definition that is not approved.
    pub pending: Option<PinnedDefinition>,
    /// Whether the server listed it last time. A missing tool stays on record: if it comes back with another definition,
    /// that is a change.
    pub present: bool,
}

/// The records of servers' tools.
#[derive(Debug, Clone)]
pub struct Pins {
    sql: Sql,
}

impl Pins {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// The tools of a server, in its order.
    pub async fn list(&self, server: &str) -> Result<Vec<Pin>, StoreError> {
        let select = Statement::new(
            "SELECT name, hash, definition, held_hash, held, place FROM server_tool
             WHERE server = $1 ORDER BY place, name",
        )
        .bind(server);
        self.sql.all(select).await?.iter().map(pin).collect()
    }

    /// The servers that have records.
    pub async fn servers(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new("SELECT DISTINCT server FROM server_tool ORDER BY server");
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("server")).collect()
    }

    /// Replaces the records of a server in one transaction.
    pub async fn replace(
        &self,
        server: &str,
        pins: &[Pin],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        // Replaced as a whole, so that the order of the server is kept without renumbering.
        tx.run(delete(server)).await?;
        for (place, pin) in pins.iter().enumerate() {
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            // There is no column for `present`: position -1 stands for a tool that the server no longer lists.
            let place = if pin.present { place } else { -1 };
            let (taken, held) = (pin.approved.clone(), pin.pending.clone());
            let insert = Statement::new(
                "INSERT INTO server_tool
                     (server, name, hash, definition, held_hash, held, place, seen)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(server)
            .bind(pin.name.as_str())
            .bind(taken.as_ref().map(|pinned| pinned.hash.clone()))
            .bind(taken.map(|pinned| pinned.definition))
            .bind(held.as_ref().map(|pinned| pinned.hash.clone()))
            .bind(held.map(|pinned| pinned.definition))
            .bind(place)
            .bind(now);
            tx.run(insert).await?;
        }
        tx.commit().await
    }

    /// Removes the records of a server; whether there were any.
    pub async fn remove(&self, server: &str) -> Result<bool, StoreError> {
        Ok(self.sql.run(delete(server)).await? > 0)
    }
}

fn delete(server: &str) -> Statement {
    Statement::new("DELETE FROM server_tool WHERE server = $1").bind(server)
}

fn pin(row: &Row) -> Result<Pin, StoreError> {
    let pinned = |hash: &str, definition: &str| -> Result<Option<PinnedDefinition>, StoreError> {
        let (hash, definition) = (row.text_or_null(hash)?, row.text_or_null(definition)?);
        Ok(hash
            .zip(definition)
            .map(|(hash, definition)| PinnedDefinition { hash, definition }))
    };
    Ok(Pin {
        name: row.text("name")?,
        approved: pinned("hash", "definition")?,
        pending: pinned("held_hash", "held")?,
        present: row.int("place")? >= 0,
    })
}
