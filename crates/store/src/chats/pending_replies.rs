//! Replies that chats still wait for.
//!
//! Recorded when a message starts a run, so that the reply reaches its chat even if the gateway restarts in between.

use manyhands_core::{ChatRef, Timestamp};

use super::Chats;
use super::outbox::NewOutbound;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// Where the reply of a run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReply {
    /// The session.
    pub session_key: String,
    /// The run.
    pub run_id: String,
    /// The chat.
    pub chat: ChatRef,
    /// A token of the platform that has to be sent with the reply.
    pub ticket: Option<String>,
    /// Our message that shows the reply while it is written.
    pub draft: Option<String>,
    /// When it was recorded.
    pub created: Timestamp,
}

const COLUMNS: &str = "SELECT session_key, run_id, place, ticket, draft, created FROM promise";

/// The number of the message decides within a millisecond, where its id is random. Runs that no message started have none.
const IN_ORDER: &str = " ORDER BY created, (SELECT seq FROM inbox WHERE inbox.id = promise.run_id), session_key, run_id";

impl PendingReply {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let place = row.text("place")?;
        Ok(Self {
            session_key: row.text("session_key")?,
            run_id: row.text("run_id")?,
            chat: serde_json::from_str(&place)
                .map_err(|e| StoreError::corrupt(format!("the chat of a pending reply: {e}")))?,
            ticket: row.text_or_null("ticket")?,
            draft: row.text_or_null("draft")?,
            created: Timestamp(row.int("created")?),
        })
    }
}

impl Chats {
    /// Records a pending reply. A known one stays unchanged.
    pub async fn add_pending_reply(&self, promise: &PendingReply) -> Result<(), StoreError> {
        let place = serde_json::to_string(&promise.chat).map_err(|e| StoreError::Invalid {
            what: e.to_string(),
        })?;
        let insert = Statement::new(
            "INSERT INTO promise (session_key, run_id, place, ticket, draft, created)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session_key, run_id) DO NOTHING",
        )
        .bind(promise.session_key.as_str())
        .bind(promise.run_id.as_str())
        .bind(place)
        .bind(promise.ticket.clone())
        .bind(promise.draft.clone())
        .bind(promise.created);
        self.sql.run(insert).await.map(drop)
    }

    /// Where the reply of a run goes, if it is still pending.
    pub async fn pending_reply(
        &self,
        session_key: &str,
        run_id: &str,
    ) -> Result<Option<PendingReply>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE session_key = ", session_key)
            .then_with(" AND run_id = ", run_id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(PendingReply::read).transpose()
    }

    /// All pending replies, oldest first; those of one chat in the order of their messages.
    pub async fn pending_replies(&self) -> Result<Vec<PendingReply>, StoreError> {
        let rows = self.sql.all(Statement::new(COLUMNS).then(IN_ORDER)).await?;
        rows.iter().map(PendingReply::read).collect()
    }

    /// The pending replies of a session in the order of their messages.
    pub async fn pending_replies_of(
        &self,
        session_key: &str,
    ) -> Result<Vec<PendingReply>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE session_key = ", session_key)
            .then(IN_ORDER);
        let rows = self.sql.all(select).await?;
        rows.iter().map(PendingReply::read).collect()
    }

    /// Records which of our messages shows the reply while it is written, if any.
    pub async fn set_draft(
        &self,
        session_key: &str,
        run_id: &str,
        draft: Option<&str>,
    ) -> Result<(), StoreError> {
        let update =
            Statement::new("UPDATE promise SET draft = $3 WHERE session_key = $1 AND run_id = $2")
                .bind(session_key)
                .bind(run_id)
                .bind(draft.map(str::to_owned));
        self.sql.run(update).await.map(drop)
    }

    /// Queues the reply and removes the pending one, in one transaction. Repeating it queues nothing twice.
    pub async fn send_reply(
        &self,
        session_key: &str,
        run_id: &str,
        answer: &[NewOutbound],
    ) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        // Both in one transaction: a crash in between would send the reply twice or never.
        self.put(&mut tx, answer).await?;
        let delete = Statement::new("DELETE FROM promise")
            .then_with(" WHERE session_key = ", session_key)
            .then_with(" AND run_id = ", run_id);
        tx.run(delete).await?;
        tx.commit().await
    }
}
