//! Records of accounts at services. Their credentials are in the vault.

use manyhands_core::{ConnectionId, Pattern, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::sql::{Row, Sql, Statement};

/// How an account logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionKind {
    /// With keys from the owner.
    Keys,
    /// With OAuth in a browser.
    Oauth,
}

/// Last known status of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionStatus {
    /// It worked when it was last used.
    Connected,
    /// It failed when it was last used.
    Error,
    /// It has no credentials, or was never used.
    Disconnected,
}

/// One account of one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionRecord {
    /// Its id, by which a call chooses it.
    #[serde(rename = "pcid")]
    pub id: ConnectionId,
    /// The service.
    pub service: String,
    /// What the owner calls it.
    pub name: String,
    /// How it is opened.
    pub kind: ConnectionKind,
    /// The names of its credentials.
    pub fields: Vec<String>,
    /// The agents that may use it.
    #[schemars(with = "Vec<String>")]
    pub agents: Vec<Pattern>,
    /// Whether it works.
    pub status: ConnectionStatus,
    /// What went wrong, if something did.
    pub detail: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last tried.
    pub checked: Option<Timestamp>,
}

/// The records of accounts.
#[derive(Debug, Clone)]
pub struct Connections {
    sql: Sql,
}

const SELECT: &str =
    "SELECT id, service, name, kind, fields, agents, status, detail, created, checked
     FROM connection";

impl Connections {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// Every account, service by service, the oldest of each first.
    pub async fn list(&self) -> Result<Vec<ConnectionRecord>, StoreError> {
        let select = Statement::new(SELECT).then(" ORDER BY service, created, id");
        self.sql.all(select).await?.iter().map(record).collect()
    }

    /// One account.
    pub async fn get(&self, id: ConnectionId) -> Result<Option<ConnectionRecord>, StoreError> {
        let select = Statement::new(SELECT).then_with(" WHERE id = ", id.to_string());
        self.sql.one(select).await?.as_ref().map(record).transpose()
    }

    /// Inserts or replaces an account.
    pub async fn put(&self, one: &ConnectionRecord) -> Result<(), StoreError> {
        let insert = Statement::new(
            "INSERT INTO connection
                 (id, service, name, kind, fields, agents, status, detail, created, checked)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (id) DO UPDATE SET service = excluded.service, name = excluded.name,
                 kind = excluded.kind, fields = excluded.fields, agents = excluded.agents,
                 status = excluded.status, detail = excluded.detail, checked = excluded.checked",
        )
        .bind(one.id.to_string())
        .bind(one.service.as_str())
        .bind(one.name.as_str())
        .bind(written(&one.kind)?)
        .bind(written(&one.fields)?)
        .bind(written(&one.agents)?)
        .bind(written(&one.status)?)
        .bind(one.detail.as_str())
        .bind(one.created)
        .bind(one.checked.map(|at| at.0));
        self.sql.run(insert).await.map(drop)
    }

    /// Removes an account; whether there was one.
    pub async fn remove(&self, id: ConnectionId) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM connection WHERE id = $1").bind(id.to_string());
        Ok(self.sql.run(delete).await? > 0)
    }
}

fn written<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Corrupt {
        what: e.to_string(),
    })
}

fn read<T: for<'a> Deserialize<'a>>(row: &Row, column: &str) -> Result<T, StoreError> {
    serde_json::from_str(&row.text(column)?).map_err(|e| StoreError::Corrupt {
        what: format!("connection.{column}: {e}"),
    })
}

fn record(row: &Row) -> Result<ConnectionRecord, StoreError> {
    Ok(ConnectionRecord {
        id: row.parsed("id")?,
        service: row.text("service")?,
        name: row.text("name")?,
        kind: read(row, "kind")?,
        fields: read(row, "fields")?,
        agents: read(row, "agents")?,
        status: read(row, "status")?,
        detail: row.text("detail")?,
        created: Timestamp(row.int("created")?),
        checked: row.int_or_null("checked")?.map(Timestamp),
    })
}
