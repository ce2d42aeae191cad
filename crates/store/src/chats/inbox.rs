//! The inbox: each incoming event once, on disk before it is acknowledged.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use manyhands_core::{ChatLane, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::{Mutex as Turnstile, oneshot};
use uuid::Uuid;

use super::Chats;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// Maximum events per transaction.
const MAX_GROUP: usize = 512;

/// An incoming event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInbound {
    /// The platform.
    pub channel: String,
    /// The account of ours.
    pub account: String,
    /// The platform's id of the event.
    pub event: String,
    /// The chat.
    pub lane: ChatLane,
    /// The event itself, as JSON.
    pub body: String,
}

/// State of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InboxState {
    /// Not processed yet.
    New,
    /// Handed on: its turn is queued, running or done.
    Done,
    /// Not addressed to the bot, or from a sender who is not approved.
    Ignored,
    /// Processing failed.
    Failed,
}

impl InboxState {
    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Done => "done",
            Self::Ignored => "ignored",
            Self::Failed => "failed",
        }
    }
}

impl std::str::FromStr for InboxState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::New, Self::Done, Self::Ignored, Self::Failed];
        all.into_iter().find(|one| one.as_str() == text).ok_or(())
    }
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Our id of it, which is also the run id of its turn.
    pub id: String,
    /// Its sequence number among all events.
    pub seq: i64,
    /// The platform.
    pub channel: String,
    /// The account of ours.
    pub account: String,
    /// The platform's id of it.
    pub event: String,
    /// The chat.
    pub lane: ChatLane,
    /// The event itself, as JSON.
    pub body: String,
    /// Its state.
    pub state: InboxState,
    /// Number of attempts.
    pub attempts: i64,
    /// Why it was ignored or failed.
    pub why: Option<String>,
    /// When it arrived.
    pub received: Timestamp,
}

/// Numbers of unprocessed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "InboxCount")]
pub struct Backlog {
    /// Not processed yet.
    pub waiting: u64,
    /// Failed.
    pub failed: u64,
}

const COLUMNS: &str = "SELECT id, seq, channel, account, event, lane, body, state, attempts, why, received FROM inbox";

impl InboxRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.text("id")?,
            seq: row.int("seq")?,
            channel: row.text("channel")?,
            account: row.text("account")?,
            event: row.text("event")?,
            lane: row.parsed("lane")?,
            body: row.text("body")?,
            state: row.text("state")?.parse().map_err(|()| {
                StoreError::corrupt("an incoming event has an unknown state".to_owned())
            })?,
            attempts: row.int("attempts")?,
            why: row.text_or_null("why")?,
            received: Timestamp(row.int("received")?),
        })
    }
}

/// Group commit of incoming events: the first caller writes all that arrived meanwhile.
#[derive(Debug, Default)]
pub(super) struct InboxWriter {
    waiting: Mutex<VecDeque<PendingWrite>>,
    turnstile: Turnstile<()>,
}

#[derive(Debug)]
struct PendingWrite {
    events: Vec<NewInbound>,
    kept: oneshot::Sender<Result<usize, StoreError>>,
}

impl Chats {
    /// Stores events and returns how many are new, once they are on disk. Known ones stay unchanged. Concurrent
    /// callers share one transaction.
    pub async fn receive(&self, events: Vec<NewInbound>) -> Result<usize, StoreError> {
        let (kept, mut answer) = oneshot::channel();
        let waiting = PendingWrite { events, kept };
        self.queue().push_back(waiting);
        // Whoever gets the lock writes for everybody in the queue, so callers that arrive together share
        // one fsync. `biased`: an outcome that is there already wins over another write.
        let _turn = tokio::select! {
            biased;
            done = &mut answer => return done.unwrap_or(Err(StoreError::Closed)),
            turn = self.writer.turnstile.lock() => turn,
        };
        loop {
            if let Ok(done) = answer.try_recv() {
                return done;
            }
            let group = self.next_group();
            if group.is_empty() {
                // The writer took our events and ended without an outcome: the runtime is shutting down.
                return Err(StoreError::Closed);
            }
            // In a task of its own: a caller that is cancelled while it writes for others must not
            // cancel their events.
            let this = self.clone();
            let written = tokio::spawn(async move { this.write(group).await });
            written.await.map_err(|_| StoreError::Closed)?;
        }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<PendingWrite>> {
        let queue = self.writer.waiting.lock();
        queue.unwrap_or_else(PoisonError::into_inner)
    }

    fn next_group(&self) -> Vec<PendingWrite> {
        let mut queue = self.queue();
        let mut count = 0;
        let mut group = Vec::new();
        while let Some(next) = queue.front() {
            count += next.events.len();
            // The first is taken whatever its size: it could never be written otherwise.
            if !group.is_empty() && count > MAX_GROUP {
                break;
            }
            group.extend(queue.pop_front());
        }
        group
    }

    async fn write(&self, group: Vec<PendingWrite>) {
        match self.insert(&group).await {
            Ok(counts) => {
                for (one, count) in group.into_iter().zip(counts) {
                    let _ = one.kept.send(Ok(count)); // a caller that gave up does not matter: its events are stored
                }
            }
            Err(error) => {
                for one in group {
                    let _ = one.kept.send(Err(error.clone()));
                }
            }
        }
    }

    async fn insert(&self, group: &[PendingWrite]) -> Result<Vec<usize>, StoreError> {
        let now = self.clock.now();
        let mut tx = self.sql.begin().await?;
        let last = Statement::new("SELECT COALESCE(MAX(seq), 0) AS seq FROM inbox");
        // Numbered inside the write transaction: the order of events within a chat must be the order in which they
        // arrived.
        let mut seq = tx.one(last).await?.map_or(Ok(0), |row| row.int("seq"))?;
        let mut counts = Vec::with_capacity(group.len());
        // Platforms deliver at least once; the unique index on their own event id makes it exactly once.
        for waiting in group {
            let mut count = 0;
            for event in &waiting.events {
                let insert = Statement::new(
                    "INSERT INTO inbox (id, seq, channel, account, event, lane, body, state, attempts, received)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, 'new', 0, $8)
                     ON CONFLICT (channel, account, event) DO NOTHING",
                )
                .bind(self.ids.next::<Uuid>().to_string())
                .bind(seq + 1)
                .bind(event.channel.as_str())
                .bind(event.account.as_str())
                .bind(event.event.as_str())
                .bind(event.lane.as_str())
                .bind(event.body.as_str())
                .bind(now);
                if tx.run(insert).await? > 0 {
                    seq += 1;
                    count += 1;
                }
            }
            counts.push(count);
        }
        tx.commit().await?;
        Ok(counts)
    }

    /// The first unprocessed event of each chat except those in `busy`; at most `limit`, oldest first.
    pub async fn next_inbound(
        &self,
        busy: &[String],
        limit: usize,
    ) -> Result<Vec<InboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then(
            " WHERE seq IN (SELECT MIN(seq) FROM inbox WHERE state = 'new' GROUP BY lane) ORDER BY seq",
        );
        // Busy lanes are filtered here rather than in SQL, whose text must not grow with their number.
        let more = limit.saturating_add(busy.len());
        let select = select.then_with(" LIMIT ", i64::try_from(more).unwrap_or(i64::MAX));
        let rows = self.sql.all(select).await?;
        let rows: Result<Vec<InboxRow>, StoreError> = rows.iter().map(InboxRow::read).collect();
        let mut rows = rows?;
        rows.retain(|row| !busy.iter().any(|lane| *lane == *row.lane));
        rows.truncate(limit);
        Ok(rows)
    }

    /// The first unprocessed event of a chat.
    pub async fn next_inbound_in(&self, lane: &str) -> Result<Option<InboxRow>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE state = 'new' AND lane = ", lane)
            .then(" ORDER BY seq LIMIT 1");
        let row = self.sql.one(select).await?;
        row.as_ref().map(InboxRow::read).transpose()
    }

    /// One event.
    pub async fn inbound(&self, id: &str) -> Result<Option<InboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(InboxRow::read).transpose()
    }

    /// Records the final state of an event.
    pub async fn finish_inbound(
        &self,
        id: &str,
        state: InboxState,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        let update = Statement::new(
            // Only once: an event that was finished already keeps its state.
            "UPDATE inbox SET state = $2, why = $3, ended = $4, attempts = attempts + 1 WHERE id = $1 AND state = 'new'",
        )
        .bind(id)
        .bind(state.as_str())
        .bind(why.map(str::to_owned))
        .bind(self.clock.now());
        self.sql.run(update).await?;
        if state == InboxState::Failed {
            // Only failures are shown to the owner; noting every message would wake the page for each.
            self.changes.notify();
        }
        Ok(())
    }

    /// Records a failed attempt; returns the number of attempts.
    pub async fn record_attempt(&self, id: &str, why: &str) -> Result<i64, StoreError> {
        let mut tx = self.sql.begin().await?;
        let update =
            Statement::new("UPDATE inbox SET attempts = attempts + 1, why = $2 WHERE id = $1")
                .bind(id)
                .bind(why);
        tx.run(update).await?;
        let count = Statement::new("SELECT attempts FROM inbox").then_with(" WHERE id = ", id);
        let count = tx
            .one(count)
            .await?
            .map_or(Ok(0), |row| row.int("attempts"))?;
        tx.commit().await?;
        Ok(count)
    }

    /// Failed events, latest first.
    pub async fn failed_inbound(&self, limit: u32) -> Result<Vec<InboxRow>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then(" WHERE state = 'failed' ORDER BY seq DESC")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(InboxRow::read).collect()
    }

    /// Queues a failed event again; whether there was one.
    pub async fn retry_inbound(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE inbox SET state = 'new', attempts = 0, ended = NULL WHERE id = $1 AND state = 'failed'",
        )
        .bind(id);
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Counts unprocessed and failed events.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let select = Statement::new(
            "SELECT (SELECT COUNT(*) FROM inbox WHERE state = 'new') AS waiting,
                    (SELECT COUNT(*) FROM inbox WHERE state = 'failed') AS failed",
        );
        let row = self.sql.one(select).await?;
        let count = |column: &str| match &row {
            Some(row) => row
                .int(column)
                .map(|count| u64::try_from(count).unwrap_or(0)),
            None => Ok(0),
        };
        Ok(Backlog {
            waiting: count("waiting")?,
            failed: count("failed")?,
        })
    }

    /// Deletes a bounded number of events that ended before `before`; returns how many.
    pub async fn sweep_inbox(&self, before: Timestamp) -> Result<u64, StoreError> {
        // A thousand at a time: one long delete would hold the only write connection.
        let delete = Statement::new(
            "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE ended IS NOT NULL AND ended < $1 LIMIT 1000)",
        )
        .bind(before);
        self.sql.run(delete).await
    }
}
