//! Records of collections.

use std::str::FromStr;

use manyhands_core::{AgentId, CollectionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::sql::Row;

const MAX_NAME: usize = 64;

/// An unknown kind or level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownName(&'static str);

/// Kind of collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CollectionKind {
    /// Rows of JSON.
    Datastore,
    /// Files.
    Filestore,
    /// Documents to search in.
    Knowledge,
    /// Secrets that can be used but not read.
    Vault,
}

impl CollectionKind {
    /// Every kind there is.
    pub const ALL: [Self; 4] = [
        Self::Datastore,
        Self::Filestore,
        Self::Knowledge,
        Self::Vault,
    ];

    /// Its name in records and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Datastore => "datastore",
            Self::Filestore => "filestore",
            Self::Knowledge => "knowledge",
            Self::Vault => "vault",
        }
    }
}

impl FromStr for CollectionKind {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or(UnknownName(
            "must be datastore, filestore, knowledge or vault",
        ))
    }
}

/// What an agent may do with a collection; each level includes the one before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Read its contents, or use its secrets.
    Read,
    /// Change its contents.
    Write,
    /// Grant other agents access, and delete it.
    Admin,
}

impl Level {
    /// Every level there is.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// Its name in records and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Level {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|level| level.as_str() == text);
        found.ok_or(UnknownName("must be read, write or admin"))
    }
}

/// Access of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The agent.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// What it may do.
    pub level: Level,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectionRecord {
    /// Its id.
    #[serde(rename = "collectionId")]
    pub id: CollectionId,
    /// What it holds.
    pub kind: CollectionKind,
    /// Its name, the only one of its kind.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How many rows, files, documents or secrets it holds.
    pub items: u64,
    /// How many bytes they have; those of secrets are not counted.
    pub bytes: u64,
    /// When it was made.
    pub created: Timestamp,
    /// When what it holds last changed.
    pub updated: Timestamp,
}

pub(super) const COLUMNS: &str =
    "SELECT c.id, c.kind, c.name, c.description, c.items, c.bytes, c.created, c.updated";

pub(super) fn collection(row: &Row) -> Result<CollectionRecord, StoreError> {
    let count = |column| Ok::<_, StoreError>(u64::try_from(row.int(column)?).unwrap_or(0));
    Ok(CollectionRecord {
        id: row.parsed("id")?,
        kind: row.parsed("kind")?,
        name: row.text("name")?,
        description: row.text("description")?,
        items: count("items")?,
        bytes: count("bytes")?,
        created: Timestamp(row.int("created")?),
        updated: Timestamp(row.int("updated")?),
    })
}

pub(super) fn level(row: &Row) -> Result<Level, StoreError> {
    row.parsed("level")
}

/// Checks a name, which must be usable in references and on the command line.
pub(super) fn check_name(name: &str) -> Result<(), StoreError> {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let edges = name.trim() == name && !name.is_empty();
    if edges && name.chars().count() <= MAX_NAME && name.chars().all(legal) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME).collect();
    Err(StoreError::invalid(format!(
        "{shown:?} is not a name: use 1-{MAX_NAME} letters, digits, spaces, -, _ and ."
    )))
}
