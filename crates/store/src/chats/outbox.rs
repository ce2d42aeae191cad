//! The outbox: outgoing messages, in order within each chat, kept until their outcome is known.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use manyhands_core::{ChatLane, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::Chats;
use crate::error::StoreError;
use crate::sql::{Row, Statement, Tx};

/// Prefix of keys of messages to contacts.
const CONTACT: &str = "contact:";
/// Suffix of the key of a resent message.
const RESENT: char = '+';

/// The idempotency key of an outgoing message: one that is queued again under the same key is sent
/// once. The text is stored as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutboxKey(String);

impl OutboxKey {
    /// A key; the sender makes it unique.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Prefix of the keys of all parts of a message to a contact, to find it by its hashed id.
    pub fn contact_prefix(hashed_id: &str) -> String {
        format!("{CONTACT}{hashed_id}:")
    }

    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the message goes to a contact, whose reachability is recorded.
    pub fn is_to_contact(&self) -> bool {
        self.0.starts_with(CONTACT)
    }

    /// Whether it was resent, because it is unknown whether the first attempt arrived.
    pub fn is_resend(&self) -> bool {
        self.0.ends_with(RESENT)
    }

    /// The key under which the message is resent.
    #[must_use]
    pub fn resend(&self) -> Self {
        Self(format!("{}{RESENT}", self.0))
    }
}

impl fmt::Display for OutboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Every stored text is a key, so that no row becomes unreadable.
impl FromStr for OutboxKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

/// A new outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutbound {
    /// Its idempotency key.
    pub key: OutboxKey,
    /// The platform.
    pub channel: String,
    /// Our account.
    pub account: String,
    /// The chat.
    pub lane: ChatLane,
    /// The message, as JSON.
    pub body: String,
    /// The session that it comes from.
    pub session_key: Option<String>,
}

/// State of an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutboxState {
    /// Queued.
    Pending,
    /// Being sent.
    Sending,
    /// Sent.
    Sent,
    /// Failed, and not retried automatically.
    Failed,
    /// May have arrived or not.
    Unknown,
    /// Dropped by the owner.
    Dropped,
}

impl OutboxState {
    /// Its name in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dropped => "dropped",
        }
    }
}

impl std::str::FromStr for OutboxState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [
            Self::Pending,
            Self::Sending,
            Self::Sent,
            Self::Failed,
            Self::Unknown,
            Self::Dropped,
        ];
        all.into_iter().find(|one| one.as_str() == text).ok_or(())
    }
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its id.
    pub id: String,
    /// Its idempotency key.
    pub key: OutboxKey,
    /// Its sequence number, which orders it within its chat.
    pub seq: i64,
    /// The platform.
    pub channel: String,
    /// Our account.
    pub account: String,
    /// The chat.
    pub lane: ChatLane,
    /// The message, as JSON.
    pub body: String,
    /// Its state.
    pub state: OutboxState,
    /// Number of attempts.
    pub attempts: i64,
    /// Not to be sent before this.
    pub due: Timestamp,
    /// The last error.
    pub why: Option<String>,
    /// The platform's id of it.
    pub message: Option<String>,
    /// The session that it comes from.
    pub session_key: Option<String>,
    /// When it was queued.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// Result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendResult {
    /// It was sent.
    Sent {
        /// The platform's id of it.
        message: Option<String>,
    },
    /// It failed and will be retried.
    Retry {
        /// Not before this.
        due: Timestamp,
        /// The error.
        why: String,
    },
    /// It failed permanently.
    Failed {
        /// Why.
        why: String,
    },
    /// It may have arrived or not.
    Unknown {
        /// Why this is unknown.
        why: String,
        /// Whether to resend it.
        resend: bool,
    },
}

/// Numbers of messages that were not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "OutboxCount")]
pub struct OutboxCounts {
    /// Failed.
    pub failed: u64,
    /// May have arrived or not.
    pub unknown: u64,
    /// Queued or being sent.
    pub waiting: u64,
}

const COLUMNS: &str = "SELECT id, key, seq, channel, account, lane, body, state, attempts, due, why, message, session_key, created, ended FROM outbox";
const OPEN: &str = "state IN ('pending', 'sending')";

impl OutboxRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.text("id")?,
            key: row.parsed("key")?,
            seq: row.int("seq")?,
            channel: row.text("channel")?,
            account: row.text("account")?,
            lane: row.parsed("lane")?,
            body: row.text("body")?,
            state: row.text("state")?.parse().map_err(|()| {
                StoreError::corrupt("an outgoing message has an unknown state".to_owned())
            })?,
            attempts: row.int("attempts")?,
            due: Timestamp(row.int("due")?),
            why: row.text_or_null("why")?,
            message: row.text_or_null("message")?,
            session_key: row.text_or_null("session_key")?,
            created: Timestamp(row.int("created")?),
            ended: row.int_or_null("ended")?.map(Timestamp),
        })
    }
}

impl Chats {
    /// Queues messages in this order and returns their ids. Those whose key is known stay unchanged.
    pub async fn send(&self, all: &[NewOutbound]) -> Result<Vec<String>, StoreError> {
        let mut tx = self.sql.begin().await?;
        let ids = self.put(&mut tx, all).await?;
        tx.commit().await?;
        Ok(ids)
    }

    pub(super) async fn put(
        &self,
        tx: &mut Tx,
        all: &[NewOutbound],
    ) -> Result<Vec<String>, StoreError> {
        let now = self.clock.now();
        let mut ids = Vec::with_capacity(all.len());
        for one in all {
            // A turn that is repeated after a crash queues the same parts again; their keys find the first ones.
            let known = Statement::new("SELECT id FROM outbox")
                .then_with(" WHERE key = ", one.key.as_str());
            if let Some(row) = tx.one(known).await? {
                ids.push(row.text("id")?);
                continue;
            }
            let id = self.ids.next::<Uuid>().to_string();
            let insert = Statement::new(
                "INSERT INTO outbox (id, key, seq, channel, account, lane, body, state, attempts, due, session_key, created)
                 VALUES ($1, $2, (SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox), $3, $4, $5, $6, 'pending', 0, $7, $8, $7)",
            )
            .bind(id.as_str())
            .bind(one.key.as_str())
            .bind(one.channel.as_str())
            .bind(one.account.as_str())
            .bind(one.lane.as_str())
            .bind(one.body.as_str())
            .bind(now)
            .bind(one.session_key.clone());
            tx.run(insert).await?;
            ids.push(id);
        }
        Ok(ids)
    }

    /// The next message of each chat of an account: due ones first, oldest first, so that chats waiting for a retry do
    /// not use up the limit.
    pub async fn next_outbound(
        &self,
        channel: &str,
        account: &str,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then(" WHERE seq IN (SELECT MIN(seq) FROM outbox WHERE ")
            .then(OPEN)
            .then(" GROUP BY lane)")
            .then_with(" AND channel = ", channel)
            .then_with(" AND account = ", account)
            .then_with(" ORDER BY CASE WHEN due > ", self.clock.now())
            .then(" THEN due ELSE 0 END, seq")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(OutboxRow::read).collect()
    }

    /// Whether messages are queued for a chat.
    pub async fn has_outbound(&self, lane: &str) -> Result<bool, StoreError> {
        let select = Statement::new("SELECT seq FROM outbox WHERE ")
            .then(OPEN)
            .then_with(" AND lane = ", lane)
            .then(" LIMIT 1");
        Ok(self.sql.one(select).await?.is_some())
    }

    /// Marks a message as being sent: from here on a crash leaves it unknown whether it arrived. False if it is no longer
    /// queued.
    pub async fn mark_sending(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE id = $1 AND state = 'pending'",
        )
        .bind(id);
        Ok(self.sql.run(update).await? > 0)
    }

    /// Records the result of an attempt. A resent message is a new row, which takes the position of this one in its chat.
    pub async fn finish_attempt(&self, id: &str, end: &SendResult) -> Result<(), StoreError> {
        let now = self.clock.now();
        let update = match end {
            // Every end requires the state that its attempt began in: a late report of an earlier attempt changes
            // nothing.
            SendResult::Sent { message } => Statement::new(
                "UPDATE outbox SET state = 'sent', message = $2, why = NULL, ended = $3 WHERE id = $1 AND state = 'sending'",
            )
            .bind(id)
            .bind(message.clone())
            .bind(now),
            SendResult::Retry { due, why } => Statement::new(
                "UPDATE outbox SET state = 'pending', due = $2, why = $3 WHERE id = $1 AND state = 'sending'",
            )
            .bind(id)
            .bind(*due)
            .bind(why.as_str()),
            // Also from `pending`: a message can fail before its attempt begins, for instance when its file is gone.
            SendResult::Failed { why } => ended("failed", id, why, now).then(" AND state IN ('pending', 'sending')"),
            SendResult::Unknown { why, .. } => ended("unknown", id, why, now).then(" AND state = 'sending'"),
        };
        let mut tx = self.sql.begin().await?;
        tx.run(update).await?;
        if let SendResult::Unknown { resend: true, .. } = end {
            self.queue_copy(&mut tx, id).await?;
        }
        tx.commit().await?;
        if let SendResult::Failed { .. } | SendResult::Unknown { .. } = end {
            self.changes.notify();
        }
        Ok(())
    }

    /// Queues a copy in the position of the original, whose row moves out of the order.
    async fn queue_copy(&self, tx: &mut Tx, id: &str) -> Result<(), StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id);
        let Some(row) = tx.one(select).await? else {
            return Ok(());
        };
        let row = OutboxRow::read(&row)?;
        let key = row.key.resend();
        let known =
            Statement::new("SELECT id FROM outbox").then_with(" WHERE key = ", key.as_str());
        if tx.one(known).await?.is_some() {
            return Ok(());
        }
        // The copy takes over the id and the original gets a new one: platforms that deduplicate by our id then deliver
        // the message only once.
        let first = self.ids.next::<Uuid>().to_string();
        // The sequence number is unique and goes to the copy, so the original gets a negative one, which is never
        // assigned otherwise.
        let aside = Statement::new(
            "UPDATE outbox SET id = $2, seq = (SELECT COALESCE(MIN(seq), 0) - 1 FROM outbox WHERE seq < 0) WHERE id = $1",
        )
        .bind(id)
        .bind(first.as_str());
        tx.run(aside).await?;
        let now = self.clock.now();
        let insert = Statement::new(
            "INSERT INTO outbox (id, key, seq, channel, account, lane, body, state, attempts, due, why, session_key, created)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 0, $8, $9, $10, $8)",
        )
        .bind(id)
        .bind(key.as_str())
        .bind(row.seq)
        .bind(row.channel)
        .bind(row.account)
        .bind(row.lane.as_str())
        .bind(row.body)
        .bind(now)
        .bind(format!("resent: it is unknown whether {first} arrived"))
        .bind(row.session_key);
        tx.run(insert).await.map(drop)
    }

    /// Records that a sent message was not delivered after all; whether it was ours.
    pub async fn mark_bounced(
        &self,
        channel: &str,
        account: &str,
        message: &str,
        why: &str,
    ) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'failed', why = $4 WHERE channel = $1 AND account = $2 AND message = $3 AND state = 'sent'",
        )
        .bind(channel)
        .bind(account)
        .bind(message)
        .bind(why);
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Messages that were being sent when the gateway last ended.
    pub async fn interrupted(&self) -> Result<Vec<OutboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then(" WHERE state = 'sending' ORDER BY seq");
        let rows = self.sql.all(select).await?;
        rows.iter().map(OutboxRow::read).collect()
    }

    /// One outgoing message.
    pub async fn outbound(&self, id: &str) -> Result<Option<OutboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(OutboxRow::read).transpose()
    }

    /// The first message of a chat whose key starts with `prefix`.
    pub async fn outbound_by_key(
        &self,
        lane: &str,
        prefix: &str,
    ) -> Result<Option<OutboxRow>, StoreError> {
        // A range of the unique index: the last character is a separator, and its successor ends it.
        let mut end = prefix.to_owned();
        let last = end.pop().and_then(|last| char::from_u32(last as u32 + 1));
        end.extend(last);
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE key >= ", prefix)
            .then_with(" AND key < ", end)
            .then_with(" AND lane = ", lane)
            .then(" ORDER BY seq LIMIT 1");
        let row = self.sql.one(select).await?;
        row.as_ref().map(OutboxRow::read).transpose()
    }

    /// Messages in a state, or in any state but sent and dropped; latest first.
    pub async fn outbox(
        &self,
        state: Option<OutboxState>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let select = match state {
            Some(state) => Statement::new(COLUMNS).then_with(" WHERE state = ", state.as_str()),
            None => Statement::new(COLUMNS)
                .then(" WHERE state IN ('pending', 'sending', 'failed', 'unknown')"),
        };
        let select = select
            .then(" ORDER BY created DESC, seq DESC")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(OutboxRow::read).collect()
    }

    /// Counts undelivered messages.
    pub async fn undelivered(&self) -> Result<OutboxCounts, StoreError> {
        let select = Statement::new(
            // One partial index per half: a single query would scan every message ever sent.
            "SELECT 'waiting' AS state, COUNT(*) AS count FROM outbox WHERE state IN ('pending', 'sending')
             UNION ALL
             SELECT state, COUNT(*) AS count FROM outbox WHERE state IN ('failed', 'unknown') GROUP BY state",
        );
        let mut lost = OutboxCounts::default();
        for row in self.sql.all(select).await? {
            let count = u64::try_from(row.int("count")?).unwrap_or(0);
            match row.text("state")?.as_str() {
                "failed" => lost.failed += count,
                "unknown" => lost.unknown += count,
                _ => lost.waiting += count,
            }
        }
        Ok(lost)
    }

    /// Queues a failed message, or one of unknown outcome, at the end of its chat; whether there was one.
    pub async fn resend(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'pending', attempts = 0, due = $2, ended = NULL,
                 seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox)
             WHERE id = $1 AND state IN ('failed', 'unknown')",
        )
        .bind(id)
        .bind(self.clock.now());
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Drops an undelivered message; whether there was one.
    pub async fn drop_outbound(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'dropped', ended = $2 WHERE id = $1 AND state IN ('pending', 'failed', 'unknown')",
        )
        .bind(id)
        .bind(self.clock.now());
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Deletes a bounded number of messages that ended before `before`; returns how many.
    pub async fn sweep_outbox(&self, before: Timestamp) -> Result<u64, StoreError> {
        let delete = Statement::new(
            "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE ended IS NOT NULL AND ended < $1 LIMIT 1000)",
        )
        .bind(before);
        self.sql.run(delete).await
    }
}

fn ended(state: &str, id: &str, why: &str, now: Timestamp) -> Statement {
    Statement::new("UPDATE outbox SET state = $2, why = $3, ended = $4 WHERE id = $1")
        .bind(id)
        .bind(state)
        .bind(why)
        .bind(now)
}
