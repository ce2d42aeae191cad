//! Messages between agents, stored until they are read.

use manyhands_core::{AgentId, Timestamp};

use crate::error::StoreError;
use crate::sql::{Row, Sql, Statement};

/// A message from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMessage {
    /// Its id, which sorts by time.
    pub id: String,
    /// Who wrote it.
    pub sender: AgentId,
    /// To whom.
    pub recipient: AgentId,
    /// What it says.
    pub body: String,
    /// When.
    pub at: Timestamp,
}

/// The messages between agents.
#[derive(Debug, Clone)]
pub struct AgentMail {
    sql: Sql,
}

impl AgentMail {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// Stores a message unless `queued_max` are queued for the recipient, or the two exchanged `pair_max` since `since`; the
    /// error says which. A message is queued until its turn in the session `main` begins, so one that was delivered there
    /// and whose turn is queued counts once.
    pub async fn send(
        &self,
        message: &AgentMessage,
        main: &str,
        queued_max: i64,
        pair_max: i64,
        since: Timestamp,
    ) -> Result<Result<(), MailboxFull>, StoreError> {
        let mut tx = self.sql.begin().await?;
        // `state IN (...)` repeats the condition of the partial index on open turns, which SQLite uses only if it
        // finds it in the query.
        let waiting = Statement::new(
            "SELECT (SELECT COUNT(*) FROM turn
                     WHERE session_key = $1 AND state IN ('queued', 'running', 'waiting')
                       AND state = 'queued' AND run_id LIKE 'mail-%')
                  + (SELECT COUNT(*) FROM agent_message
                     WHERE read_at IS NULL AND recipient = $2 AND NOT EXISTS (
                         SELECT 1 FROM turn
                         WHERE session_key = $1 AND run_id = 'mail-' || agent_message.id)) AS count",
        )
        .bind(main)
        .bind(message.recipient.as_str());
        let waiting = tx
            .one(waiting)
            .await?
            .map_or(Ok(0), |row| row.int("count"))?;
        // Both directions together: two agents that answer each other forever are stopped whoever began.
        let pair = Statement::new(
            "SELECT (SELECT COUNT(*) FROM agent_message
                     WHERE sender = $1 AND recipient = $2 AND at > $3)
                  + (SELECT COUNT(*) FROM agent_message
                     WHERE sender = $2 AND recipient = $1 AND at > $3) AS count",
        )
        .bind(message.sender.as_str())
        .bind(message.recipient.as_str())
        .bind(since);
        let pair = tx.one(pair).await?.map_or(Ok(0), |row| row.int("count"))?;
        let full = match (waiting >= queued_max, pair >= pair_max) {
            (true, _) => Some(MailboxFull::Queue),
            (_, true) => Some(MailboxFull::Pair),
            _ => None,
        };
        if let Some(full) = full {
            tx.abandon().await;
            return Ok(Err(full));
        }
        let insert = Statement::new(
            "INSERT INTO agent_message (id, sender, recipient, body, at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(message.id.as_str())
        .bind(message.sender.as_str())
        .bind(message.recipient.as_str())
        .bind(message.body.as_str())
        .bind(message.at);
        tx.run(insert).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Unread messages for an agent, oldest first.
    pub async fn waiting(
        &self,
        agent: &AgentId,
        limit: u32,
    ) -> Result<Vec<AgentMessage>, StoreError> {
        let select = Statement::new(
            "SELECT id, sender, recipient, body, at FROM agent_message WHERE read_at IS NULL",
        )
        .then_with(" AND recipient = ", agent.as_str())
        // The id breaks ties in the order of creation: messages of one millisecond stay in order.
        .then(" ORDER BY at, id")
        .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(read).collect()
    }

    /// Marks messages as read.
    pub async fn read(&self, ids: &[String], now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        for id in ids {
            let update = Statement::new("UPDATE agent_message SET read_at = $1 WHERE id = $2")
                .bind(now)
                .bind(id.as_str());
            tx.run(update).await?;
        }
        tx.commit().await
    }
}

/// Why a message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailboxFull {
    /// Too many are queued for the recipient.
    Queue,
    /// The two exchanged too many.
    Pair,
}

fn read(row: &Row) -> Result<AgentMessage, StoreError> {
    Ok(AgentMessage {
        id: row.text("id")?,
        sender: row.parsed("sender")?,
        recipient: row.parsed("recipient")?,
        body: row.text("body")?,
        at: Timestamp(row.int("at")?),
    })
}
