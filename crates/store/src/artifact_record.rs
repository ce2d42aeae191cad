//! What is known of an artifact, as a record and as a row.

use manyhands_core::{AgentId, ArtifactId, CallId, ChatId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::StoreError;
use crate::sql::Row;

/// Which chat a new artifact goes into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bucket {
    /// None: it is a large result, kept for whoever made the call.
    Results,
    /// One that is there.
    Chat(ChatId),
    /// A new one, for this agent. It is made together with the artifact, or not at all.
    New(AgentId),
}

/// How much may be kept: bytes, and numbers of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactQuota {
    /// Bytes of one artifact.
    pub one: u64,
    /// Bytes of all artifacts of an agent.
    pub agent: u64,
    /// Bytes of all artifacts there are.
    pub all: u64,
    /// Artifacts of an agent.
    pub agent_files: u64,
    /// Bytes of all artifacts of a caller.
    pub caller: u64,
    /// Artifacts of a caller.
    pub caller_files: u64,
}

impl ArtifactQuota {
    /// As much as the disk holds.
    pub const UNLIMITED: Self = Self {
        one: u64::MAX,
        agent: u64::MAX,
        all: u64::MAX,
        agent_files: u64::MAX,
        caller: u64::MAX,
        caller_files: u64::MAX,
    };
}

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
    /// Where it goes.
    pub bucket: Bucket,
    /// When it may be removed.
    pub expires: Option<Timestamp>,
    /// How much may be kept.
    pub quota: ArtifactQuota,
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
    /// The chat it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    /// When it was made.
    pub created: Timestamp,
    /// When it may be removed.
    pub expires: Option<Timestamp>,
}

pub(crate) const COLUMNS: &str = "SELECT id, name, mime, size, sha256, agent, call_id, caller, chat, created, expires FROM artifact";

pub(crate) fn record(row: &Row) -> Result<ArtifactRecord, StoreError> {
    let chat = row.text_or_null("chat")?;
    let spoiled =
        |_| StoreError::corrupt("an artifact is in a chat without an id: restore a backup");
    Ok(ArtifactRecord {
        id: row.parsed("id")?,
        name: row.text("name")?,
        mime: row.text("mime")?,
        size: u64::try_from(row.int("size")?).unwrap_or(0),
        sha256: row.text("sha256")?,
        agent: row.parsed("agent")?,
        call: row.parsed("call_id")?,
        caller: row.text("caller")?,
        chat: chat.map(|id| id.parse()).transpose().map_err(spoiled)?,
        created: Timestamp(row.int("created")?),
        expires: row.int_or_null("expires")?.map(Timestamp),
    })
}

/// A bucket of artifacts, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// Its id.
    pub id: ChatId,
    /// The agent it was made for.
    pub agent: AgentId,
    /// The agent that made it.
    pub maker: AgentId,
    /// Whoever made that call, by key.
    pub caller: String,
    /// When it was made.
    pub created: Timestamp,
}

/// Which artifacts to list.
#[derive(Debug, Clone, Default)]
pub struct ArtifactFilter {
    /// Only those of this agent.
    pub agent: Option<AgentId>,
    /// Only those of this caller, by key.
    pub caller: Option<String>,
    /// Only those in this chat, or in none.
    pub chat: Option<Option<ChatId>>,
}
