//! Messages on platforms: those that wait or did not arrive, and those that could not be worked on.

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

/// The most rows of one answer.
const MOST: u32 = 1_000;
/// How much of a message is shown in a list.
const SHOWN: usize = 200;

/// Which messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// `pending`, `sending`, `sent`, `failed`, `unknown` or `dropped`; all that did not arrive when not said.
    #[schemars(extend("enum" = ["pending", "sending", "sent", "failed", "unknown", "dropped", null]))]
    state: Option<String>,
    /// How many at most; 100 when not said, 1000 at most.
    limit: Option<u32>,
}

/// A message that is to be said, or was.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outbound {
    /// Its id.
    id: String,
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// The chat.
    to: Option<String>,
    /// Where it stands.
    state: OutboxState,
    /// The beginning of it, or the name of a file.
    text: Option<String>,
    /// How often it was tried.
    attempts: i64,
    /// Not before this.
    due: Timestamp,
    /// What went wrong last.
    error: Option<String>,
    /// The platform's id of it.
    message_id: Option<String>,
    /// The conversation that it comes from.
    session_key: Option<String>,
    /// When it was written.
    created_at: Timestamp,
    /// When it arrived, or was given up.
    ended_at: Option<Timestamp>,
}

impl From<OutboxRow> for Outbound {
    fn from(row: OutboxRow) -> Self {
        let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
        let text = said(&body["say"]["text"]).or(said(&body["say"]["name"]));
        Self {
            id: row.id,
            channel: row.channel,
            account_id: row.account,
            to: said(&body["to"]["chat"]),
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

/// A text, where there is one.
fn said(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn beginning(text: String) -> String {
    text.chars().take(SHOWN).collect()
}

/// What is to be said, or was.
#[derive(Serialize, JsonSchema)]
pub struct Outbox {
    /// How many are listed.
    count: usize,
    /// The messages.
    messages: Vec<Outbound>,
    #[serde(flatten)]
    lost: OutboxCounts,
}

/// What is to be said, or was.
pub async fn outbox(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
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
        lost: records.lost().await?,
    })
}

/// A message that is tried again.
#[derive(Serialize, JsonSchema)]
pub struct OutboxResent {
    /// Its id.
    id: String,
    /// Always true.
    resent: bool,
}

/// Has a message tried again that did not arrive.
pub async fn resend(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<OutboxResent> {
    gateway.chats().resend(&id).await?;
    gateway.note(&owner.caller, "outbox.resend", &id).await?;
    answer(OutboxResent { id, resent: true })
}

/// A message that was let go of.
#[derive(Serialize, JsonSchema)]
pub struct OutboxDropped {
    /// Its id.
    id: String,
    /// Always true.
    dropped: bool,
}

/// Lets go of a message that did not arrive.
pub async fn let_go(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<OutboxDropped> {
    gateway.chats().let_go(&id).await?;
    gateway.note(&owner.caller, "outbox.drop", &id).await?;
    answer(OutboxDropped { id, dropped: true })
}

/// A message that was heard.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// Our id of it.
    id: String,
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// Who wrote, as the platform names them.
    from: Option<String>,
    /// What they are called.
    name: Option<String>,
    /// The chat.
    chat: Option<String>,
    /// The beginning of what they said.
    text: Option<String>,
    /// How often it was tried.
    attempts: i64,
    /// Why it went no further.
    error: Option<String>,
    /// When it was heard.
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
            from: said(&place["sender"]),
            name: said(&place["senderName"]),
            chat: said(&place["chat"]),
            text: said(&body["what"]["text"]).map(beginning),
            attempts: row.attempts,
            error: row.why,
            received_at: row.received,
        }
    }
}

/// What was heard and could not be worked on.
#[derive(Serialize, JsonSchema)]
pub struct Inbox {
    /// How many.
    count: usize,
    /// The messages.
    messages: Vec<Inbound>,
}

/// What was heard and could not be worked on.
pub async fn inbox(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<Inbox> {
    let rows = gateway.chats().records().failed(MOST).await?;
    answer(Inbox {
        count: rows.len(),
        messages: rows.into_iter().map(Inbound::from).collect(),
    })
}

/// A message that is worked on again.
#[derive(Serialize, JsonSchema)]
pub struct InboxRetried {
    /// Its id.
    id: String,
    /// Always true.
    retried: bool,
}

/// Has something worked on again that could not be.
pub async fn retry(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<InboxRetried> {
    gateway.chats().rehear(&id).await?;
    gateway.note(&owner.caller, "inbox.retry", &id).await?;
    answer(InboxRetried { id, retried: true })
}
