//! Answers that chats are owed.

use manyhands_core::{ChatRef, Timestamp};

use super::Chats;
use super::outbox::NewOutbound;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// An answer that a chat is owed: what the turn of a run says goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The conversation.
    pub session_key: String,
    /// The run.
    pub run_id: String,
    /// The chat.
    pub place: ChatRef,
    /// What the platform wants brought along with the answer.
    pub ticket: Option<String>,
    /// The message of ours in which the answer can be seen coming.
    pub draft: Option<String>,
    /// Since when.
    pub created: Timestamp,
}

const COLUMNS: &str = "SELECT session_key, run_id, place, ticket, draft, created FROM promise";

impl Promise {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let place = row.text("place")?;
        Ok(Self {
            session_key: row.text("session_key")?,
            run_id: row.text("run_id")?,
            place: serde_json::from_str(&place)
                .map_err(|e| StoreError::corrupt(format!("a chat that is owed an answer: {e}")))?,
            ticket: row.text_or_null("ticket")?,
            draft: row.text_or_null("draft")?,
            created: Timestamp(row.int("created")?),
        })
    }
}

impl Chats {
    /// Promises an answer. One that is promised already stays as it is.
    pub async fn promise(&self, promise: &Promise) -> Result<(), StoreError> {
        let place = serde_json::to_string(&promise.place).map_err(|e| StoreError::Invalid {
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

    /// What a run is to answer to.
    pub async fn promised(
        &self,
        session_key: &str,
        run_id: &str,
    ) -> Result<Option<Promise>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE session_key = ", session_key)
            .then_with(" AND run_id = ", run_id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(Promise::read).transpose()
    }

    /// All answers that are owed, the oldest first.
    pub async fn promises(&self) -> Result<Vec<Promise>, StoreError> {
        let select = Statement::new(COLUMNS).then(" ORDER BY created, session_key, run_id");
        let rows = self.sql.all(select).await?;
        rows.iter().map(Promise::read).collect()
    }

    /// Notes in which message of ours the answer can be seen coming, if in any.
    pub async fn drafted(
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

    /// Keeps an answer in one step: what is to be said is on disk, and nothing is owed any more. One
    /// that was kept before is kept once.
    pub async fn keep_promise(
        &self,
        session_key: &str,
        run_id: &str,
        answer: &[NewOutbound],
    ) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        self.put(&mut tx, answer).await?;
        let delete = Statement::new("DELETE FROM promise")
            .then_with(" WHERE session_key = ", session_key)
            .then_with(" AND run_id = ", run_id);
        tx.run(delete).await?;
        tx.commit().await
    }
}
