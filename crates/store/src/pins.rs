//! What the tools of MCP servers said of themselves when they were taken on.

use manyhands_core::Timestamp;

use crate::error::StoreError;
use crate::sql::{Row, Sql, Statement};

/// A definition and its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedDefinition {
    /// The hash over what a model sees.
    pub hash: String,
    /// The whole, as JSON.
    pub definition: String,
}

/// One tool of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Its name there.
    pub name: String,
    /// What was taken on; nothing when it has been held since it appeared.
    pub taken: Option<PinnedDefinition>,
    /// What it says now and nobody has taken on.
    pub held: Option<PinnedDefinition>,
    /// Whether the server named it the last time it was asked. What is gone stays on record: coming
    /// back in another shape is a change like any other.
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

    /// The tools of a server, in the order it named them.
    pub async fn of(&self, server: &str) -> Result<Vec<Pin>, StoreError> {
        let select = Statement::new(
            "SELECT name, hash, definition, held_hash, held, place FROM server_tool
             WHERE server = $1 ORDER BY place, name",
        )
        .bind(server);
        self.sql.all(select).await?.iter().map(pin).collect()
    }

    /// The servers of which there are records.
    pub async fn servers(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new("SELECT DISTINCT server FROM server_tool ORDER BY server");
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("server")).collect()
    }

    /// Keeps the tools of a server, all of them or none, in place of those there were.
    pub async fn put(&self, server: &str, pins: &[Pin], now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        tx.run(delete(server)).await?;
        for (place, pin) in pins.iter().enumerate() {
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            let place = if pin.present { place } else { -1 };
            let (taken, held) = (pin.taken.clone(), pin.held.clone());
            let insert = Statement::new(
                "INSERT INTO server_tool
                     (server, name, hash, definition, held_hash, held, place, seen)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(server)
            .bind(pin.name.as_str())
            .bind(taken.as_ref().map(|said| said.hash.clone()))
            .bind(taken.map(|said| said.definition))
            .bind(held.as_ref().map(|said| said.hash.clone()))
            .bind(held.map(|said| said.definition))
            .bind(place)
            .bind(now);
            tx.run(insert).await?;
        }
        tx.commit().await
    }

    /// Forgets a server; whether there was anything.
    pub async fn forget(&self, server: &str) -> Result<bool, StoreError> {
        Ok(self.sql.run(delete(server)).await? > 0)
    }
}

fn delete(server: &str) -> Statement {
    Statement::new("DELETE FROM server_tool WHERE server = $1").bind(server)
}

fn pin(row: &Row) -> Result<Pin, StoreError> {
    let said = |hash: &str, definition: &str| -> Result<Option<PinnedDefinition>, StoreError> {
        let (hash, definition) = (row.text_or_null(hash)?, row.text_or_null(definition)?);
        Ok(hash
            .zip(definition)
            .map(|(hash, definition)| PinnedDefinition { hash, definition }))
    };
    Ok(Pin {
        name: row.text("name")?,
        taken: said("hash", "definition")?,
        held: said("held_hash", "held")?,
        present: row.int("place")? >= 0,
    })
}
