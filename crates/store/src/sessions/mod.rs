//! Conversations and their turns, kept so that a crash between any two steps loses nothing.
//!
//! Every step of a turn is one transaction over the session, its entries, the turn and the
//! tools it asked for: see [`Sessions::commit`].

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
pub use record::{CallRecord, CallState, SessionRecord, TranscriptEntry, TurnRecord, TurnState};
pub use step::SessionChange;
pub use usage::{Usage, UsageRow};

use std::sync::Arc;

use manyhands_core::{AgentId, Timestamp};

use crate::changes::Changes;
use crate::error::StoreError;
use crate::memory::{IndexBacklog, Memory};
use crate::sql::{Row, Sql, Statement};
use record::{CALL_COLUMNS, ENTRY_COLUMNS, SESSION_COLUMNS, TURN_COLUMNS};

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // it is looked at once and dropped
pub enum Enqueued {
    /// It is kept.
    New {
        /// How many turns of the session were open before.
        before: usize,
    },
    /// It was there already.
    Known(TurnRecord),
    /// Too many wait; it is not kept.
    Full,
}

/// The records of conversations.
#[derive(Debug, Clone)]
pub struct Sessions {
    sql: Sql,
    news: Arc<IndexBacklog>,
    /// Told when questions of a session that goes are withdrawn.
    questions: Changes,
}

impl Sessions {
    pub(crate) fn new(sql: Sql, questions: Changes) -> Self {
        let news = Arc::default();
        Self {
            sql,
            news,
            questions,
        }
    }

    /// What was said, to be found again by words.
    pub fn memory(&self) -> Memory {
        Memory::new(self.sql.clone(), self.news.clone())
    }

    /// One session.
    pub async fn get(&self, key: &str) -> Result<Option<SessionRecord>, StoreError> {
        let select = Statement::new(SESSION_COLUMNS).then_with(" WHERE key = ", key);
        let row = self.sql.one(select).await?;
        row.as_ref().map(SessionRecord::read).transpose()
    }

    /// Conversations in which untrusted text was read: key, source and when they last changed, the
    /// latest first.
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

    /// Keeps a new session; one that is there already stays as it is.
    pub async fn create(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.sql.run(session.insert()?).await.map(drop)
    }

    /// Sessions with the latest active first, of one agent or of all.
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
            .then(" ORDER BY last_active DESC, key")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        rows.iter().map(SessionRecord::read).collect()
    }

    /// How many sessions there are.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let row = self
            .sql
            .one(Statement::new("SELECT COUNT(*) AS count FROM session"))
            .await?;
        let count = row.map(|row| row.int("count")).transpose()?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// How many sessions an agent has.
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

    /// How many entries there are from `from` on.
    pub async fn count_entries(&self, session_id: &str, from: i64) -> Result<u64, StoreError> {
        let select = Statement::new("SELECT COUNT(*) AS count FROM session_entry")
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq >= ", from);
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

    /// Keeps an input as a turn that waits for its place, and notes that somebody spoke in the
    /// session, in the chat that `peer` names if in any. The same run asked again is the turn that is
    /// there; where `most` turns are open, nothing is kept.
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
    pub async fn run(&self, key: &str, run_id: &str) -> Result<Option<TurnRecord>, StoreError> {
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

    /// Ends a turn that cannot be worked on; `outcome` says why, as JSON.
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

    /// The turns of a session that have not ended, in the order they came.
    pub async fn open_turns(&self, key: &str) -> Result<Vec<TurnRecord>, StoreError> {
        let select = Statement::new(TURN_COLUMNS)
            .then_with(" WHERE session_key = ", key)
            .then(" AND state IN ('queued', 'running', 'waiting') ORDER BY place");
        let rows = self.sql.all(select).await?;
        rows.iter().map(TurnRecord::read).collect()
    }

    /// The sessions with turns that have not ended: what goes on after a restart.
    pub async fn unfinished(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new(
            "SELECT DISTINCT session_key FROM turn
             WHERE state IN ('queued', 'running', 'waiting') ORDER BY session_key",
        );
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("session_key")).collect()
    }

    /// The tools that a step of a turn asked for, in order.
    pub async fn calls(&self, turn: &str, step: i64) -> Result<Vec<CallRecord>, StoreError> {
        let select = Statement::new(CALL_COLUMNS)
            .then_with(" WHERE turn = ", turn)
            .then_with(" AND step = ", step)
            .then(" ORDER BY place");
        let rows = self.sql.all(select).await?;
        rows.iter().map(CallRecord::read).collect()
    }

    /// Takes back what the owner was asked in a session about a tool and has not answered.
    pub async fn withdraw_questions(
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
            self.questions.note();
        }
        Ok(())
    }

    /// Removes what a session no longer shows: its entries before `before`. They must be in an
    /// archive by then.
    pub async fn drop_entries(&self, session_id: &str, before: i64) -> Result<u64, StoreError> {
        let delete = Statement::new("DELETE FROM session_entry")
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq < ", before);
        self.sql.run(delete).await
    }
}

#[cfg(test)]
mod tests;
