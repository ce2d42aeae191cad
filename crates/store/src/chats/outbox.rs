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

/// How the key of a message to a contact begins.
const CONTACT: &str = "contact:";
/// What a resent message has at the end of its key, beside that of the first attempt.
const RESENT: char = '+';

/// The idempotency key of an outgoing message: one that is queued again under the same key is sent
/// once. The text is stored as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OutboxKey(String);

impl OutboxKey {
    /// A key of any text that its sender makes unique.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// How the keys of all parts of a message to a contact begin, so that it is found again by its
    /// hashed id.
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
    /// The account of ours.
    pub account: String,
    /// The chat.
    pub lane: ChatLane,
    /// What is said, as JSON.
    pub body: String,
    /// The conversation that it comes from.
    pub session_key: Option<String>,
}

/// Where something that is to be said stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutboxState {
    /// It waits for its turn.
    Pending,
    /// It is on its way.
    Sending,
    /// It arrived.
    Sent,
    /// It did not arrive, and is not tried again by itself.
    Failed,
    /// It may have arrived or not.
    Unknown,
    /// The owner let go of it.
    Dropped,
}

impl OutboxState {
    /// The word for it.
    pub fn word(self) -> &'static str {
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
        all.into_iter().find(|one| one.word() == text).ok_or(())
    }
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its id.
    pub id: String,
    /// Its idempotency key.
    pub key: OutboxKey,
    /// Its place among all.
    pub seq: i64,
    /// The platform.
    pub channel: String,
    /// The account of ours.
    pub account: String,
    /// The chat.
    pub lane: ChatLane,
    /// What is said, as JSON.
    pub body: String,
    /// Where it stands.
    pub state: OutboxState,
    /// How often it was tried.
    pub attempts: i64,
    /// Not before this.
    pub due: Timestamp,
    /// What went wrong last.
    pub why: Option<String>,
    /// The platform's id of it.
    pub message: Option<String>,
    /// The conversation that it comes from.
    pub session_key: Option<String>,
    /// Since when it is to be said.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEnd {
    /// It arrived.
    Sent {
        /// The platform's id of it.
        message: Option<String>,
    },
    /// It did not; it is tried again.
    Again {
        /// Not before this.
        due: Timestamp,
        /// What went wrong.
        why: String,
    },
    /// It did not, and never will.
    Failed {
        /// Why.
        why: String,
    },
    /// It may have arrived or not.
    Unknown {
        /// Why that is not known.
        why: String,
        /// Whether it is said once more.
        again: bool,
    },
}

/// What did not arrive, or may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "OutboxCount")]
pub struct OutboxCounts {
    /// How many did not arrive.
    pub failed: u64,
    /// Of how many that is not known.
    pub unknown: u64,
    /// How many wait.
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
            state: row
                .text("state")?
                .parse()
                .map_err(|()| StoreError::corrupt("a message in no state".to_owned()))?,
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
    /// Keeps what is to be said, in this order; what is known by its key already stays as it is. The
    /// ids of all of them.
    pub async fn say(&self, all: &[NewOutbound]) -> Result<Vec<String>, StoreError> {
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

    /// The first of each chat of an account that waits: those that are due, the oldest first, then
    /// those that are next, so that chats that have to wait stand in nobody's way.
    pub async fn next_to_say(
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

    /// Whether something is still to be said in a chat.
    pub async fn is_waiting(&self, lane: &str) -> Result<bool, StoreError> {
        let select = Statement::new("SELECT seq FROM outbox WHERE ")
            .then(OPEN)
            .then_with(" AND lane = ", lane)
            .then(" LIMIT 1");
        Ok(self.sql.one(select).await?.is_some())
    }

    /// Notes that it is on its way: from here on a crash leaves it unknown whether it arrived.
    pub async fn sending(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE id = $1 AND state = 'pending'",
        )
        .bind(id);
        Ok(self.sql.run(update).await? > 0)
    }

    /// Notes how an attempt ended. What is said once more is a message of its own, which takes the
    /// place of this one in its chat.
    pub async fn sent(&self, id: &str, end: &SendEnd) -> Result<(), StoreError> {
        let now = self.clock.now();
        let update = match end {
            SendEnd::Sent { message } => Statement::new(
                "UPDATE outbox SET state = 'sent', message = $2, why = NULL, ended = $3 WHERE id = $1 AND state = 'sending'",
            )
            .bind(id)
            .bind(message.clone())
            .bind(now),
            SendEnd::Again { due, why } => Statement::new(
                "UPDATE outbox SET state = 'pending', due = $2, why = $3 WHERE id = $1 AND state = 'sending'",
            )
            .bind(id)
            .bind(*due)
            .bind(why.as_str()),
            // It may not even have been possible to begin.
            SendEnd::Failed { why } => ended("failed", id, why, now).then(" AND state IN ('pending', 'sending')"),
            SendEnd::Unknown { why, .. } => ended("unknown", id, why, now).then(" AND state = 'sending'"),
        };
        let mut tx = self.sql.begin().await?;
        tx.run(update).await?;
        if let SendEnd::Unknown { again: true, .. } = end {
            self.once_more(&mut tx, id).await?;
        }
        tx.commit().await?;
        if let SendEnd::Failed { .. } | SendEnd::Unknown { .. } = end {
            self.changes.note();
        }
        Ok(())
    }

    /// Says something once more in its own place of the chat: the first is moved aside.
    async fn once_more(&self, tx: &mut Tx, id: &str) -> Result<(), StoreError> {
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
        // The id goes on with what is said: a platform that knows it by that takes it once.
        let first = self.ids.next::<Uuid>().to_string();
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
        .bind(format!("said once more, because of {first} it is not known whether it arrived"))
        .bind(row.session_key);
        tx.run(insert).await.map(drop)
    }

    /// Notes that something that was sent did not arrive after all; whether it was ours.
    pub async fn bounced(
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

    /// What was on its way when the gateway last ended.
    pub async fn was_sending(&self) -> Result<Vec<OutboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then(" WHERE state = 'sending' ORDER BY seq");
        let rows = self.sql.all(select).await?;
        rows.iter().map(OutboxRow::read).collect()
    }

    /// One of them.
    pub async fn outbound(&self, id: &str) -> Result<Option<OutboxRow>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(OutboxRow::read).transpose()
    }

    /// The first in a chat whose key begins like that.
    pub async fn said_as(&self, lane: &str, prefix: &str) -> Result<Option<OutboxRow>, StoreError> {
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

    /// What is in a state, or in any that the owner should look at; the latest first.
    pub async fn outbox(
        &self,
        state: Option<OutboxState>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let select = match state {
            Some(state) => Statement::new(COLUMNS).then_with(" WHERE state = ", state.word()),
            None => Statement::new(COLUMNS)
                .then(" WHERE state IN ('pending', 'sending', 'failed', 'unknown')"),
        };
        let select = select
            .then(" ORDER BY created DESC, seq DESC")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(OutboxRow::read).collect()
    }

    /// How much did not arrive, or waits.
    pub async fn lost(&self) -> Result<OutboxCounts, StoreError> {
        let select = Statement::new(
            // Each half as its index has it, so that what was sent is not looked through.
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

    /// Has something tried again that failed or is of unknown end, at the end of its chat; whether
    /// there was such a thing.
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

    /// Lets go of something that has not arrived; whether there was such a thing.
    pub async fn let_go(&self, id: &str) -> Result<bool, StoreError> {
        let update = Statement::new(
            "UPDATE outbox SET state = 'dropped', ended = $2 WHERE id = $1 AND state IN ('pending', 'failed', 'unknown')",
        )
        .bind(id)
        .bind(self.clock.now());
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Forgets what ended before `before`, a bounded number at a time; how many that were.
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
