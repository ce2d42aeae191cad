//! Chats: buckets of artifacts.

use std::time::Duration;

use manyhands_core::{AgentId, ChatId, Timestamp};

use super::Artifacts;
use crate::artifact_record::{ArtifactRecord, ChatRecord};
use crate::error::StoreError;
use crate::sql::{Statement, Tx};

/// How long an empty chat is retained: its id may still be in a client that will store into it.
const EMPTY_FOR: Duration = Duration::from_secs(90 * 86_400);

impl Artifacts {
    /// One chat.
    pub async fn chat(&self, id: ChatId) -> Result<Option<ChatRecord>, StoreError> {
        let select = Statement::new("SELECT id, agent, maker, caller, created FROM chat")
            .then_with(" WHERE id = ", id.to_string());
        let Some(row) = self.sql.one(select).await? else {
            return Ok(None);
        };
        Ok(Some(ChatRecord {
            id: row.parsed("id")?,
            agent: row.parsed("agent")?,
            maker: row.parsed("maker")?,
            caller: row.text("caller")?,
            created: Timestamp(row.int("created")?),
        }))
    }

    /// Deletes chats without artifacts that are older than [`EMPTY_FOR`].
    pub(super) async fn sweep_chats(&self, now: Timestamp) -> Result<(), StoreError> {
        let millis = i64::try_from(EMPTY_FOR.as_millis()).unwrap_or(i64::MAX);
        let delete = Statement::new("DELETE FROM chat")
            .then_with(" WHERE created < ", now.0.saturating_sub(millis))
            .then(" AND NOT EXISTS (SELECT 1 FROM artifact WHERE artifact.chat = chat.id)");
        self.sql.run(delete).await.map(drop)
    }
}

pub(super) fn insert(id: ChatId, agent: &AgentId, first: &ArtifactRecord) -> Statement {
    Statement::new(
        "INSERT INTO chat (id, agent, maker, caller, created) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(id.to_string())
    .bind(agent.as_str())
    .bind(first.agent.as_str())
    .bind(first.caller.as_str())
    .bind(first.created)
}

pub(super) async fn exists(tx: &mut Tx, id: ChatId) -> Result<bool, StoreError> {
    let select =
        Statement::new("SELECT 1 AS one FROM chat").then_with(" WHERE id = ", id.to_string());
    Ok(tx.one(select).await?.is_some())
}
