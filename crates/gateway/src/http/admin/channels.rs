//! Chats on platforms: accounts, people who ask to be known, and what did not arrive.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::ToolError;
use manyhands_store::{InboxRow, OutboxRow, OutboxState, SenderRow};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{body, query};
use crate::chats::{Credentials, Pair, Status};
use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};

/// The most rows of one answer.
const MOST: u32 = 1_000;
/// How much of a message is shown in a list.
const SHOWN: usize = 200;

/// An account as its owner sees it.
pub(crate) fn shown(status: &Status) -> Value {
    let (state, detail) = status.words();
    json!({
        "channel": status.channel,
        "accountId": status.account,
        "state": state,
        "detail": detail,
        "since": status.since,
        "name": status.me.as_ref().map(|me| me.name.clone()),
        "handle": status.me.as_ref().and_then(|me| me.handle.clone()),
        "id": status.me.as_ref().map(|me| me.id.clone()),
        "lastMessageAt": status.last,
    })
}

/// Every account.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let all = gateway.chats().status().await;
    let all: Vec<Value> = all.iter().map(shown).collect();
    let records = gateway.chats().records();
    let (heard, said) = (records.backlog().await?, records.lost().await?);
    answer(json!({
        "count": all.len(),
        "channels": all,
        "inbox": { "waiting": heard.waiting, "failed": heard.failed },
        "outbox": { "waiting": said.waiting, "failed": said.failed, "unknown": said.unknown },
    }))
}

/// Writes what was done with an account into the audit, and answers with it.
async fn done(
    gateway: &Gateway,
    owner: &Admitted,
    what: &str,
    (channel, account): (String, String),
    word: &str,
) -> Answer {
    let about = format!("{channel} {account}");
    gateway.note(&owner.caller, what, &about).await?;
    answer(json!({ "channel": channel, "accountId": account, word: true }))
}

/// Starts an account, or begins anew with it.
pub async fn start(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer {
    gateway.chats().start_account(&which.0, &which.1).await?;
    done(&gateway, &owner, "channel.start", which, "started").await
}

/// Stops an account, until it is started again.
pub async fn stop(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer {
    gateway.chats().stop_account(&which.0, &which.1).await?;
    done(&gateway, &owner, "channel.stop", which, "stopped").await
}

/// Gives an account its credentials.
pub async fn login(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, account)): Path<(String, String)>,
    given: Result<Json<Credentials>, JsonRejection>,
) -> Answer {
    let given = body(given)?;
    let me = gateway
        .login_channel(&owner.caller, &channel, &account, given)
        .await?;
    let about = format!("{channel} {account}");
    gateway.note(&owner.caller, "channel.login", &about).await?;
    answer(json!({
        "channel": channel,
        "accountId": account,
        "name": me.name,
        "handle": me.handle,
        "id": me.id,
    }))
}

/// Forgets an account and its credentials.
pub async fn logout(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer {
    let (channel, account) = &which;
    gateway
        .logout_channel(&owner.caller, channel, account)
        .await?;
    done(&gateway, &owner, "channel.logout", which, "loggedOut").await
}

/// Somebody as the owner sees them.
pub(crate) fn sender(row: &SenderRow) -> Value {
    json!({
        "channel": row.channel,
        "senderId": row.id,
        "name": row.name,
        "handle": row.handle,
        "state": row.state,
        "owner": row.owner,
        "code": row.code,
        "message": row.said,
        "requestedAt": row.asked,
        "decidedAt": row.decided,
    })
}

/// Everybody who asks to be known, and those who were decided about.
pub async fn pairs(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let all = gateway.chats().records().senders().await?;
    let all: Vec<Value> = all.iter().map(sender).collect();
    answer(json!({ "count": all.len(), "pairs": all }))
}

/// How somebody is let in.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Whether it is the owner.
    #[serde(default)]
    owner: bool,
}

/// Lets somebody speak, by their id or their code.
pub async fn approve(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
    how: Result<Json<Approve>, JsonRejection>,
) -> Answer {
    let how = body(how)?;
    let pair = Pair {
        channel: &channel,
        who: &who,
    };
    let done = gateway.chats().approve(pair, how.owner).await?;
    let about = format!(
        "{} {}{}",
        done.channel,
        done.id,
        if how.owner { " as owner" } else { "" }
    );
    gateway.note(&owner.caller, "pair.approve", &about).await?;
    answer(
        json!({ "channel": done.channel, "senderId": done.id, "name": done.name, "approved": true, "owner": how.owner }),
    )
}

/// Lets somebody not speak.
pub async fn reject(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
) -> Answer {
    let pair = Pair {
        channel: &channel,
        who: &who,
    };
    let done = gateway.chats().reject(pair).await?;
    let about = format!("{} {}", done.channel, done.id);
    gateway.note(&owner.caller, "pair.reject", &about).await?;
    answer(json!({ "channel": done.channel, "senderId": done.id, "rejected": true }))
}

/// Forgets somebody: they are a stranger again.
pub async fn forget(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
) -> Answer {
    let pair = Pair {
        channel: &channel,
        who: &who,
    };
    let done = gateway.chats().forget(pair).await?;
    let about = format!("{} {}", done.channel, done.id);
    gateway.note(&owner.caller, "pair.forget", &about).await?;
    answer(json!({ "channel": done.channel, "senderId": done.id, "forgotten": true }))
}

/// Which messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// `pending`, `sending`, `sent`, `failed`, `unknown` or `dropped`; all that did not arrive when not said.
    state: Option<String>,
    /// How many at most; 100 when not said, 1000 at most.
    limit: Option<u32>,
}

fn outbound(row: &OutboxRow) -> Value {
    let said: Value = serde_json::from_str(&row.body).unwrap_or_default();
    let text = said["say"]["text"]
        .as_str()
        .or(said["say"]["name"].as_str());
    let text: Option<String> = text.map(|text| text.chars().take(SHOWN).collect());
    json!({
        "id": row.id,
        "channel": row.channel,
        "accountId": row.account,
        "to": said["to"]["chat"],
        "state": row.state,
        "text": text,
        "attempts": row.attempts,
        "due": row.due,
        "error": row.why,
        "messageId": row.message,
        "sessionKey": row.session_key,
        "createdAt": row.created,
        "endedAt": row.ended,
    })
}

/// What is to be said, or was.
pub async fn outbox(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer {
    let which = query(which)?;
    let state = which.state.map(|state| state.parse::<OutboxState>());
    let state = state.transpose().map_err(|()| {
        let message = "must be pending, sending, sent, failed, unknown or dropped";
        Refusal(ToolError::parameter("state", message))
    })?;
    let limit = which.limit.unwrap_or(100).min(MOST);
    let records = gateway.chats().records();
    let (rows, lost) = (records.outbox(state, limit).await?, records.lost().await?);
    let rows: Vec<Value> = rows.iter().map(outbound).collect();
    answer(json!({
        "count": rows.len(),
        "messages": rows,
        "waiting": lost.waiting,
        "failed": lost.failed,
        "unknown": lost.unknown,
    }))
}

/// Has a message tried again that did not arrive.
pub async fn resend(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer {
    gateway.chats().resend(&id).await?;
    gateway.note(&owner.caller, "outbox.resend", &id).await?;
    answer(json!({ "id": id, "resent": true }))
}

/// Lets go of a message that did not arrive.
pub async fn let_go(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer {
    gateway.chats().let_go(&id).await?;
    gateway.note(&owner.caller, "outbox.drop", &id).await?;
    answer(json!({ "id": id, "dropped": true }))
}

fn inbound(row: &InboxRow) -> Value {
    let said: Value = serde_json::from_str(&row.body).unwrap_or_default();
    let text = said["what"]["text"].as_str();
    let text: Option<String> = text.map(|text| text.chars().take(SHOWN).collect());
    json!({
        "id": row.id,
        "channel": row.channel,
        "accountId": row.account,
        "from": said["place"]["sender"],
        "name": said["place"]["senderName"],
        "chat": said["place"]["chat"],
        "text": text,
        "attempts": row.attempts,
        "error": row.why,
        "receivedAt": row.received,
    })
}

/// What was heard and could not be worked on.
pub async fn inbox(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let rows = gateway.chats().records().failed(MOST).await?;
    let rows: Vec<Value> = rows.iter().map(inbound).collect();
    answer(json!({ "count": rows.len(), "messages": rows }))
}

/// Has something worked on again that could not be.
pub async fn retry(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer {
    gateway.chats().rehear(&id).await?;
    gateway.note(&owner.caller, "inbox.retry", &id).await?;
    answer(json!({ "id": id, "retried": true }))
}
