//! What is known of an artifact, as a record and as a row.

use manyhands_core::{AgentId, ArtifactId, CallId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::StoreError;
use crate::sql::Row;

/// What to say of a new artifact.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// Its name, for people.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Whose it is.
    pub agent: AgentId,
    /// The call that made it.
    pub call: CallId,
    /// Whoever made that call, by key: others may not read it.
    pub caller: String,
    /// When it may be removed.
    pub expires: Option<Timestamp>,
}

/// What is known of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactRecord {
    /// Its id.
    pub id: ArtifactId,
    /// Its name, for people.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// Whose it is.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// The call that made it.
    pub call: CallId,
    /// Whoever made that call, by key: others may not read it.
    pub caller: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it may be removed.
    pub expires: Option<Timestamp>,
}

pub(crate) const COLUMNS: &str =
    "SELECT id, name, mime, size, sha256, agent, call_id, caller, created, expires FROM artifact";

pub(crate) fn record(row: &Row) -> Result<ArtifactRecord, StoreError> {
    Ok(ArtifactRecord {
        id: row.parsed("id")?,
        name: row.text("name")?,
        mime: row.text("mime")?,
        size: u64::try_from(row.int("size")?).unwrap_or(0),
        sha256: row.text("sha256")?,
        agent: row.parsed("agent")?,
        call: row.parsed("call_id")?,
        caller: row.text("caller")?,
        created: Timestamp(row.int("created")?),
        expires: row.int_or_null("expires")?.map(Timestamp),
    })
}
