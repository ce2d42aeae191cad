//! Senders, chats and notes of accounts.

use manyhands_core::{ChatRef, PeerKind, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::Chats;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// Maximum open pairing requests.
const MAX_PAIRING_REQUESTS: i64 = 1_000;

/// Whether a sender may message the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SenderState {
    /// Pairing requested.
    Asking,
    /// Approved.
    Approved,
    /// Rejected.
    Rejected,
}

impl SenderState {
    /// Its name in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

impl std::str::FromStr for SenderState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Asking, Self::Approved, Self::Rejected];
        all.into_iter().find(|one| one.as_str() == text).ok_or(())
    }
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderRow {
    /// The platform.
    pub channel: String,
    /// The platform's id of the sender.
    pub id: String,
    /// Display name.
    pub name: Option<String>,
    /// Handle.
    pub handle: Option<String>,
    /// Whether they may message the agents.
    pub state: SenderState,
    /// Whether it is the owner.
    pub owner: bool,
    /// The pairing code.
    pub code: Option<String>,
    /// Beginning of their first message.
    pub first_message: Option<String>,
    /// The chat of their first message.
    pub chat: ChatRef,
    /// When pairing was requested.
    pub requested: Timestamp,
    /// When the owner decided.
    pub decided: Option<Timestamp>,
}

/// A chat that had messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRow {
    /// The platform.
    pub channel: String,
    /// Our account.
    pub account: String,
    /// The chat.
    pub chat: String,
    /// Its kind.
    pub kind: PeerKind,
    /// Its name.
    pub name: Option<String>,
    /// When the last message arrived.
    pub last: Timestamp,
}

const SENDER: &str =
    "SELECT channel, id, name, handle, state, owner, code, said, place, asked, decided FROM sender";

impl SenderRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let place = row.text("place")?;
        Ok(Self {
            channel: row.text("channel")?,
            id: row.text("id")?,
            name: row.text_or_null("name")?,
            handle: row.text_or_null("handle")?,
            state: row
                .text("state")?
                .parse()
                .map_err(|()| StoreError::corrupt("a sender has an unknown state".to_owned()))?,
            owner: row.int("owner")? != 0,
            code: row.text_or_null("code")?,
            first_message: row.text_or_null("said")?,
            chat: serde_json::from_str(&place)
                .map_err(|e| StoreError::corrupt(format!("the chat of a sender: {e}")))?,
            requested: Timestamp(row.int("asked")?),
            decided: row.int_or_null("decided")?.map(Timestamp),
        })
    }
}

impl Chats {
    /// One sender.
    pub async fn sender(&self, channel: &str, id: &str) -> Result<Option<SenderRow>, StoreError> {
        let select = Statement::new(SENDER)
            .then_with(" WHERE channel = ", channel)
            .then_with(" AND id = ", id);
        let row = self.sql.one(select).await?;
        row.as_ref().map(SenderRow::read).transpose()
    }

    /// All senders.
    pub async fn senders(&self) -> Result<Vec<SenderRow>, StoreError> {
        let select = Statement::new(SENDER).then(" ORDER BY asked DESC, channel, id LIMIT 10000");
        let rows = self.sql.all(select).await?;
        rows.iter().map(SenderRow::read).collect()
    }

    /// Records a pairing request, unless the sender is known or too many requests are open. Whether it is new.
    pub async fn request_pairing(&self, sender: &SenderRow) -> Result<bool, StoreError> {
        let place = serde_json::to_string(&sender.chat).map_err(|e| StoreError::Invalid {
            what: e.to_string(),
        })?;
        let mut tx = self.sql.begin().await?;
        // Counted inside the write transaction: strangers choose when they write, and must not exceed the limit
        // together.
        let count = Statement::new("SELECT COUNT(*) AS count FROM sender WHERE state = 'asking'");
        let count = tx.one(count).await?.map_or(Ok(0), |row| row.int("count"))?;
        if count >= MAX_PAIRING_REQUESTS {
            tx.abandon().await;
            return Ok(false);
        }
        let insert = Statement::new(
            "INSERT INTO sender (channel, id, name, handle, state, owner, code, said, place, asked)
             VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9) ON CONFLICT (channel, id) DO NOTHING",
        )
        .bind(sender.channel.as_str())
        .bind(sender.id.as_str())
        .bind(sender.name.clone())
        .bind(sender.handle.clone())
        .bind(sender.state.as_str())
        .bind(sender.code.clone())
        .bind(sender.first_message.clone())
        .bind(place)
        .bind(sender.requested);
        let new = tx.run(insert).await?;
        tx.commit().await?;
        Ok(self.changed(new))
    }

    /// Approves or rejects a sender, again if already decided; whether there was one.
    pub async fn decide_sender(
        &self,
        channel: &str,
        id: &str,
        state: SenderState,
        owner: bool,
    ) -> Result<bool, StoreError> {
        let update = Statement::new(
            // The code is removed with the decision, so that it cannot be used a second time.
            "UPDATE sender SET state = $3, owner = $4, code = NULL, decided = $5 WHERE channel = $1 AND id = $2",
        )
        .bind(channel)
        .bind(id)
        .bind(state.as_str())
        .bind(i64::from(owner))
        .bind(self.clock.now());
        Ok(self.changed(self.sql.run(update).await?))
    }

    /// Removes a sender; whether there was one.
    pub async fn remove_sender(&self, channel: &str, id: &str) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM sender")
            .then_with(" WHERE channel = ", channel)
            .then_with(" AND id = ", id);
        Ok(self.changed(self.sql.run(delete).await?))
    }

    /// Removes undecided pairing requests from before `before`.
    pub async fn sweep_senders(&self, before: Timestamp) -> Result<u64, StoreError> {
        let delete = Statement::new("DELETE FROM sender WHERE state = 'asking'")
            .then_with(" AND asked < ", before);
        self.sql.run(delete).await
    }

    /// Records a message in a chat.
    pub async fn record_chat(&self, place: &ChatRef, name: Option<&str>) -> Result<(), StoreError> {
        // COALESCE below: most messages do not carry the name of their chat, and must not erase it.
        let put = Statement::new(
            "INSERT INTO channel_chat (channel, account, chat, kind, name, last) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (channel, account, chat) DO UPDATE SET kind = excluded.kind,
                 name = COALESCE(excluded.name, channel_chat.name), last = excluded.last",
        )
        .bind(place.channel.as_str())
        .bind(place.account.as_str())
        .bind(place.chat.as_str())
        .bind(place.kind.as_str())
        .bind(name.map(str::to_owned))
        .bind(self.clock.now());
        self.sql.run(put).await.map(drop)
    }

    /// One chat.
    pub async fn chat(
        &self,
        channel: &str,
        account: &str,
        chat: &str,
    ) -> Result<Option<ChatRow>, StoreError> {
        let select =
            Statement::new("SELECT channel, account, chat, kind, name, last FROM channel_chat")
                .then_with(" WHERE channel = ", channel)
                .then_with(" AND account = ", account)
                .then_with(" AND chat = ", chat);
        let row = self.sql.one(select).await?;
        row.as_ref().map(chat_of).transpose()
    }

    /// Chats, the most recently used first.
    pub async fn chats(&self, limit: u32) -> Result<Vec<ChatRow>, StoreError> {
        let select =
            Statement::new("SELECT channel, account, chat, kind, name, last FROM channel_chat")
                .then(" ORDER BY last DESC, channel, account, chat")
                .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(chat_of).collect()
    }

    /// A stored value of an account.
    pub async fn account_value(
        &self,
        channel: &str,
        account: &str,
        name: &str,
    ) -> Result<Option<String>, StoreError> {
        let select = Statement::new("SELECT value FROM channel_note")
            .then_with(" WHERE channel = ", channel)
            .then_with(" AND account = ", account)
            .then_with(" AND name = ", name);
        let row = self.sql.one(select).await?;
        row.map(|row| row.text("value")).transpose()
    }

    /// Stores a value for an account.
    pub async fn set_account_value(
        &self,
        channel: &str,
        account: &str,
        name: &str,
        value: &str,
    ) -> Result<(), StoreError> {
        let put = Statement::new(
            "INSERT INTO channel_note (channel, account, name, value) VALUES ($1, $2, $3, $4)
             ON CONFLICT (channel, account, name) DO UPDATE SET value = excluded.value",
        )
        .bind(channel)
        .bind(account)
        .bind(name)
        .bind(value);
        self.sql.run(put).await.map(drop)
    }
}

fn chat_of(row: &Row) -> Result<ChatRow, StoreError> {
    Ok(ChatRow {
        channel: row.text("channel")?,
        account: row.text("account")?,
        chat: row.text("chat")?,
        kind: match row.text("kind")?.as_str() {
            "group" => PeerKind::Group,
            "channel" => PeerKind::Channel,
            "thread" => PeerKind::Thread,
            _ => PeerKind::Dm,
        },
        name: row.text_or_null("name")?,
        last: Timestamp(row.int("last")?),
    })
}
