//! Sessions and their turns, stored so that a crash between any two steps loses nothing.
//!
//! Every step of a turn is one transaction over the session, its entries, the turn and its tool calls: see
//! [`Sessions::commit`].

mod branch;
mod counts;
mod delete;
mod mail;
mod part;
mod record;
mod remove;
mod step;
mod usage;

pub use counts::TurnEnd;
pub use delete::{Deleted, archive_folder};
pub use mail::{AgentMail, AgentMessage, MailboxFull};
pub use record::{
    CallRecord, CallState, Rearrangement, SessionArrangement, SessionRecord, TranscriptEntry,
    TurnRecord, TurnState,
};
pub use step::SessionChange;
pub use usage::{Usage, UsageRow};

use std::sync::Arc;

use manyhands_core::{AgentId, Timestamp};

use crate::changes::Changes;
use crate::error::StoreError;
use crate::memory::{IndexBacklog, Memory};
use crate::sql::{Row, Sql, Statement};
use record::{CALL_COLUMNS, ENTRY_COLUMNS, SESSION_COLUMNS, TURN_COLUMNS};

/// Result of queueing an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // it is looked at once and dropped
pub enum Enqueued {
    /// It was queued.
    New {
        /// Number of turns of the session that were open before.
        before: usize,
    },
    /// The same run is known.
    Known(TurnRecord),
    /// Too many are open; nothing was stored.
    Full,
}

/// Records of sessions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sessions {
    sql: Sql,
    index_backlog: Arc<IndexBacklog>,
    /// Notified when approval requests of a session are withdrawn.
    approval_changes: Changes,
}

impl Sessions {
    pub(crate) fn new(sql: Sql, questions: Changes) -> Self {
        let news = Arc::default();
        Self {
            sql,
            index_backlog: news,
            approval_changes: questions,
        }
    }

    /// The full-text index of all messages.
    pub fn memory(&self) -> Memory {
        Memory::new(self.sql.clone(), self.index_backlog.clone())
    }

    /// One session.
    pub async fn get(&self, key: &str) -> Result<Option<SessionRecord>, StoreError> {
        let select = Statement::new(SESSION_COLUMNS).then_with(" WHERE key = ", key);
        let row = self.sql.one(select).await?;
        row.as_ref().map(SessionRecord::read).transpose()
    }

    /// Tainted sessions: key, source and last change, latest first.
    pub async fn tainted(
        &self,
        limit: u32,
    ) -> Result<Vec<(String, String, Timestamp)>, StoreError> {
        let select =
            Statement::new("SELECT key, taint, updated FROM session WHERE taint IS NOT NULL")
                .then_with(" ORDER BY updated DESC LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        let one = |row: &Row| {
            let at = Timestamp(row.int("updated")?);
            Ok((row.text("key")?, row.text("taint")?, at))
        };
        rows.iter().map(one).collect()
    }

    /// Creates a session; an existing one stays unchanged.
    pub async fn create(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.sql.run(session.insert()?).await.map(drop)
    }

    /// Sessions of one agent or all, most recently active first.
    pub async fn list(
        &self,
        agent: Option<&AgentId>,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let mut select = Statement::new(SESSION_COLUMNS);
        if let Some(agent) = agent {
            select = select.then_with(" WHERE agent = ", agent.as_str());
        }
        let select = select
            // The key makes the order total: with equal times, pages could otherwise repeat or skip a session.
            .then(" ORDER BY last_active DESC, key")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        rows.iter().map(SessionRecord::read).collect()
    }

    /// Sessions of one agent or all that are archived or not, pinned ones first, then most recently active first; and
    /// their number.
    pub async fn list_arranged(
        &self,
        agent: Option<&AgentId>,
        archived: bool,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64), StoreError> {
        let among = |head: &'static str| {
            let select = Statement::new(head).then_with(" WHERE archived = ", i64::from(archived));
            match agent {
                Some(agent) => select.then_with(" AND agent = ", agent.as_str()),
                None => select,
            }
        };
        let select = among(SESSION_COLUMNS)
            .then(" ORDER BY pinned DESC, last_active DESC, key")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        let listed: Result<_, _> = rows.iter().map(SessionRecord::read).collect();
        let row = self
            .sql
            .one(among("SELECT COUNT(*) AS count FROM session"))
            .await?;
        let count = row.map_or(Ok(0), |row| row.int("count"))?;
        Ok((listed?, u64::try_from(count).unwrap_or(0)))
    }

    /// Sessions that calls of this session started, in the order in which they were created.
    pub async fn children(&self, key: &str, limit: u32) -> Result<Vec<SessionRecord>, StoreError> {
        let select = Statement::new(SESSION_COLUMNS)
            .then_with(" WHERE parent = ", key)
            .then(" ORDER BY created, key")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(SessionRecord::read).collect()
    }

    /// State of the last turn of a session.
    pub async fn last_state(&self, key: &str) -> Result<Option<TurnState>, StoreError> {
        let select = Statement::new(TURN_COLUMNS)
            .then_with(" WHERE session_key = ", key)
            .then(" AND state <> 'merged' ORDER BY place DESC LIMIT 1");
        let row = self.sql.one(select).await?;
        let turn = row.as_ref().map(TurnRecord::read).transpose()?;
        Ok(turn.map(|turn| turn.state))
    }

    /// Number of sessions.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let row = self
            .sql
            .one(Statement::new("SELECT COUNT(*) AS count FROM session"))
            .await?;
        let count = row.map(|row| row.int("count")).transpose()?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Number of sessions of an agent.
    pub async fn count_of(&self, agent: &AgentId) -> Result<u64, StoreError> {
        let select = Statement::new("SELECT COUNT(*) AS count FROM session")
            .then_with(" WHERE agent = ", agent.as_str());
        let row = self.sql.one(select).await?;
        let count = row.map_or(Ok(0), |row| row.int("count"))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Entries from `from` on, oldest first.
    pub async fn entries(
        &self,
        session_id: &str,
        from: i64,
        limit: u32,
    ) -> Result<Vec<TranscriptEntry>, StoreError> {
        let select = Statement::new(ENTRY_COLUMNS)
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq >= ", from)
            .then(" ORDER BY seq")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(TranscriptEntry::read).collect()
    }

    /// Number of messages from `from` on.
    pub async fn count_entries(&self, session_id: &str, from: i64) -> Result<u64, StoreError> {
        let select = Statement::new(
            "SELECT COUNT(*) - (
                 SELECT COUNT(*) FROM session_entry
                 WHERE session_id = $1 AND seq >= $2 AND kind = 'note'
             ) AS count FROM session_entry WHERE session_id = $1 AND seq >= $2",
        );
        let select = select.bind(session_id).bind(from);
        let row = self.sql.one(select).await?;
        let count = row.map_or(Ok(0), |row| row.int("count"))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// The last entries before `before`, oldest first.
    pub async fn entries_before(
        &self,
        session_id: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<TranscriptEntry>, StoreError> {
        let select = Statement::new(ENTRY_COLUMNS)
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq < ", before)
            // From the end, because the limit has to cut off the oldest; reversed below.
            .then(" ORDER BY seq DESC")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        let mut entries: Vec<TranscriptEntry> = rows
            .iter()
            .map(TranscriptEntry::read)
            .collect::<Result<_, _>>()?;
        entries.reverse();
        Ok(entries)
    }

    /// Queues an input as a turn, and marks the session as active, in the chat `peer` if there is one. A known run returns
    /// its turn; if `most` turns are open, nothing is stored.
    pub async fn enqueue(
        &self,
        turn: &TurnRecord,
        most: usize,
        peer: Option<&str>,
    ) -> Result<Enqueued, StoreError> {
        let key = turn.session_key.as_str();
        let mut tx = self.sql.begin().await?;
        let known = Statement::new(TURN_COLUMNS)
            .then_with(" WHERE session_key = ", key)
            .then_with(" AND run_id = ", turn.run_id.as_str());
        // Clients and platforms retry. The same run is one turn, however often it is sent.
        if let Some(row) = tx.one(known).await? {
            tx.abandon().await;
            return TurnRecord::read(&row).map(Enqueued::Known);
        }
        let open = Statement::new("SELECT COUNT(*) AS count FROM turn")
            .then_with(" WHERE session_key = ", key)
            .then(" AND state IN ('queued', 'running', 'waiting')");
        let open = tx.one(open).await?.map_or(Ok(0), |row| row.int("count"))?;
        let open = usize::try_from(open).unwrap_or(usize::MAX);
        // Counted inside the write transaction, so that concurrent inputs cannot exceed the limit together.
        if open >= most {
            tx.abandon().await;
            return Ok(Enqueued::Full);
        }
        tx.run(turn.insert()).await?;
        let active = Statement::new(
            "UPDATE session SET last_active = $2, updated = $2, peer = COALESCE($3, peer) WHERE key = $1",
        )
        .bind(key)
        .bind(turn.created)
        .bind(peer.map(str::to_owned));
        tx.run(active).await?;
        tx.commit().await?;
        Ok(Enqueued::New { before: open })
    }

    /// The turn of a run.
    pub async fn turn_of_run(
        &self,
        key: &str,
        run_id: &str,
    ) -> Result<Option<TurnRecord>, StoreError> {
        let select = Statement::new(TURN_COLUMNS)
            .then_with(" WHERE session_key = ", key)
            .then_with(" AND run_id = ", run_id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(TurnRecord::read).transpose()
    }

    /// One turn.
    pub async fn turn(&self, id: &str) -> Result<Option<TurnRecord>, StoreError> {
        let select = Statement::new(TURN_COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(TurnRecord::read).transpose()
    }

    /// Fails a turn that cannot be processed; `outcome` is the reason, as JSON.
    pub async fn fail_turn(
        &self,
        id: &str,
        outcome: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let update = Statement::new(
            "UPDATE turn SET state = 'failed', outcome = $2, ended = $3
             WHERE id = $1 AND state IN ('queued', 'running', 'waiting')",
        )
        .bind(id)
        .bind(outcome)
        .bind(now);
        self.sql.run(update).await.map(drop)
    }

    /// Open turns of a session, in order.
    pub async fn open_turns(&self, key: &str) -> Result<Vec<TurnRecord>, StoreError> {
        let select = Statement::new(TURN_COLUMNS)
            .then_with(" WHERE session_key = ", key)
            .then(" AND state IN ('queued', 'running', 'waiting') ORDER BY place");
        let rows = self.sql.all(select).await?;
        rows.iter().map(TurnRecord::read).collect()
    }

    /// Sessions with open turns, to be resumed after a restart.
    pub async fn with_open_turns(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new(
            "SELECT DISTINCT session_key FROM turn
             WHERE state IN ('queued', 'running', 'waiting') ORDER BY session_key",
        );
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("session_key")).collect()
    }

    /// The tool calls of a step, in order.
    pub async fn calls(&self, turn: &str, step: i64) -> Result<Vec<CallRecord>, StoreError> {
        let select = Statement::new(CALL_COLUMNS)
            .then_with(" WHERE turn = ", turn)
            .then_with(" AND step = ", step)
            .then(" ORDER BY place");
        let rows = self.sql.all(select).await?;
        rows.iter().map(CallRecord::read).collect()
    }

    /// Withdraws pending approval requests of a session for a tool.
    pub async fn withdraw_approvals(
        &self,
        key: &str,
        tool: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let withdraw = Statement::new(
            "UPDATE approval SET state = 'withdrawn', decided_at = $3
             WHERE session = $1 AND tool = $2 AND state = 'pending'",
        );
        let withdraw = withdraw.bind(key).bind(tool).bind(now);
        if self.sql.run(withdraw).await? > 0 {
            self.approval_changes.notify();
        }
        Ok(())
    }

    /// Deletes the entries before `before`, which must be archived by then.
    pub async fn drop_entries(&self, session_id: &str, before: i64) -> Result<u64, StoreError> {
        let delete = Statement::new("DELETE FROM session_entry")
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq < ", before);
        self.sql.run(delete).await
    }
}

#[cfg(test)]
mod tests;
