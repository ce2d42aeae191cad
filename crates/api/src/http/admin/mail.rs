//! Outgoing chat messages that are queued or failed, and incoming ones that could not be processed.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use manyhands_core::{Timestamp, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{InboxRow, OutboxCounts, OutboxRow, OutboxState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::query;

/// Most messages in one response.
const MOST: u32 = 1_000;
/// Characters of a message shown in a list.
const SHOWN: usize = 200;

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutboxQuery {
    /// `pending`, `sending`, `sent`, `failed`, `unknown` or `dropped`; all undelivered ones by
    /// default.
    #[schemars(extend("enum" = ["pending", "sending", "sent", "failed", "unknown", "dropped", null]))]
    state: Option<String>,
    /// Maximum number; 100 by default, at most 1000.
    limit: Option<u32>,
}

/// An outgoing message.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outbound {
    /// Its id.
    id: String,
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// The chat.
    to: Option<String>,
    /// Delivery state.
    state: OutboxState,
    /// Start of the text, or a file name.
    text: Option<String>,
    /// Delivery attempts.
    attempts: i64,
    /// Earliest time of the next attempt.
    due: Timestamp,
    /// Last error.
    error: Option<String>,
    /// Message id on the platform.
    message_id: Option<String>,
    /// Session it comes from.
    session_key: Option<String>,
    /// When it was written.
    created_at: Timestamp,
    /// When it was delivered or given up.
    ended_at: Option<Timestamp>,
}

impl From<OutboxRow> for Outbound {
    fn from(row: OutboxRow) -> Self {
        let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
        // Read loosely: a row of another version is still listed, if only by its state.
        let text = text_of(&body["say"]["text"]).or(text_of(&body["say"]["name"]));
        Self {
            id: row.id,
            channel: row.channel,
            account_id: row.account,
            to: text_of(&body["to"]["chat"]),
            state: row.state,
            text: text.map(beginning),
            attempts: row.attempts,
            due: row.due,
            error: row.why,
            message_id: row.message,
            session_key: row.session_key,
            created_at: row.created,
            ended_at: row.ended,
        }
    }
}

/// The text of a message, if it has one.
fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn beginning(text: String) -> String {
    text.chars().take(SHOWN).collect()
}

/// A list of outgoing messages.
#[derive(Serialize, JsonSchema)]
pub struct Outbox {
    /// Number of messages.
    count: usize,
    /// The messages.
    messages: Vec<Outbound>,
    #[serde(flatten)]
    lost: OutboxCounts,
}

/// Lists outgoing messages.
pub async fn outbox(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<OutboxQuery>, QueryRejection>,
) -> Answer<Outbox> {
    let which = query(which)?;
    let state = which.state.map(|state| state.parse::<OutboxState>());
    let state = state.transpose().map_err(|()| {
        let message = "must be pending, sending, sent, failed, unknown or dropped";
        Refusal(ToolError::parameter("state", message))
    })?;
    let limit = which.limit.unwrap_or(100).min(MOST);
    let records = gateway.chats().records();
    let rows = records.outbox(state, limit).await?;
    answer(Outbox {
        count: rows.len(),
        messages: rows.into_iter().map(Outbound::from).collect(),
        lost: records.undelivered().await?,
    })
}

/// The response after a message was queued again.
#[derive(Serialize, JsonSchema)]
pub struct OutboxResent {
    /// Its id.
    id: String,
    /// Always true.
    resent: bool,
}

/// Retries an undelivered message.
pub async fn resend(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<OutboxResent> {
    gateway.chats().resend(&id).await?;
    gateway.note(&owner.caller, "outbox.resend", &id).await?;
    answer(OutboxResent { id, resent: true })
}

/// The response after a message was dropped.
#[derive(Serialize, JsonSchema)]
pub struct OutboxDropped {
    /// Its id.
    id: String,
    /// Always true.
    dropped: bool,
}

/// Drops an undelivered message.
pub async fn drop_message(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<OutboxDropped> {
    gateway.chats().let_go(&id).await?;
    gateway.note(&owner.caller, "outbox.drop", &id).await?;
    answer(OutboxDropped { id, dropped: true })
}

/// An incoming message.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// Our id of it.
    id: String,
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// Sender's id on the platform.
    from: Option<String>,
    /// Sender's display name.
    name: Option<String>,
    /// The chat.
    chat: Option<String>,
    /// Start of the text.
    text: Option<String>,
    /// Processing attempts.
    attempts: i64,
    /// Why processing failed.
    error: Option<String>,
    /// When it was received.
    received_at: Timestamp,
}

impl From<InboxRow> for Inbound {
    fn from(row: InboxRow) -> Self {
        let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
        let place = &body["place"];
        Self {
            id: row.id,
            channel: row.channel,
            account_id: row.account,
            from: text_of(&place["sender"]),
            name: text_of(&place["senderName"]),
            chat: text_of(&place["chat"]),
            text: text_of(&body["what"]["text"]).map(beginning),
            attempts: row.attempts,
            error: row.why,
            received_at: row.received,
        }
    }
}

/// Incoming messages that could not be processed.
#[derive(Serialize, JsonSchema)]
pub struct Inbox {
    /// Number of messages.
    count: usize,
    /// The messages.
    messages: Vec<Inbound>,
}

/// Lists incoming messages that could not be processed.
pub async fn inbox(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<Inbox> {
    let rows = gateway.chats().records().failed_inbound(MOST).await?;
    answer(Inbox {
        count: rows.len(),
        messages: rows.into_iter().map(Inbound::from).collect(),
    })
}

/// The response after a message was queued again.
#[derive(Serialize, JsonSchema)]
pub struct InboxRetried {
    /// Its id.
    id: String,
    /// Always true.
    retried: bool,
}

/// Retries an incoming message.
pub async fn retry(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<InboxRetried> {
    gateway.chats().rehear(&id).await?;
    gateway.note(&owner.caller, "inbox.retry", &id).await?;
    answer(InboxRetried { id, retried: true })
}
