//! Chat accounts and pairing of their users.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_core::Timestamp;
use manyhands_gateway::{Admitted, Credentials, Gateway};
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_messaging::{Pair, Status};
use manyhands_store::{Backlog, OutboxCounts, SenderRow, SenderState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// A chat account.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelView {
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// `off`, `stopped`, `connecting`, `connected` or `error`.
    state: &'static str,
    /// What is wrong, if anything.
    detail: Option<String>,
    /// When it entered this state.
    since: Option<Timestamp>,
    /// Display name on the platform.
    name: Option<String>,
    /// Handle on the platform.
    handle: Option<String>,
    /// Id on the platform.
    id: Option<String>,
    /// When a message was last sent or received.
    last_message_at: Option<Timestamp>,
}

impl From<Status> for ChannelView {
    fn from(status: Status) -> Self {
        let (state, detail) = status.words();
        let me = status.me.as_ref();
        Self {
            state,
            detail,
            since: status.since,
            name: me.map(|me| me.name.clone()),
            handle: me.and_then(|me| me.handle.clone()),
            id: me.map(|me| me.id.clone()),
            last_message_at: status.last,
            channel: status.channel,
            account_id: status.account,
        }
    }
}

/// A list of chat accounts.
#[derive(Serialize, JsonSchema)]
pub struct ChannelList {
    /// Number of accounts.
    count: usize,
    /// The accounts.
    channels: Vec<ChannelView>,
    /// Incoming messages not processed yet.
    inbox: Backlog,
    /// Outgoing messages not delivered.
    outbox: OutboxCounts,
}

/// Lists all accounts.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ChannelList> {
    let all = gateway.chats().status().await;
    let records = gateway.chats().records();
    answer(ChannelList {
        count: all.len(),
        channels: all.into_iter().map(ChannelView::from).collect(),
        inbox: records.backlog().await?,
        outbox: records.undelivered().await?,
    })
}

/// Writes an account change to the audit log.
async fn note(
    gateway: &Gateway,
    owner: &Admitted,
    what: &str,
    (channel, account): &(String, String),
) -> Result<(), Refusal> {
    let about = format!("{channel} {account}");
    Ok(gateway.note(&owner.caller, what, &about).await?)
}

/// The response after an account was started.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStarted {
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// Always true.
    started: bool,
}

/// Starts or restarts an account.
pub async fn start(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer<ChannelStarted> {
    // Noted only once it succeeded: the audit log lists changes, and a failed start changes nothing.
    gateway.chats().start_account(&which.0, &which.1).await?;
    note(&gateway, &owner, "channel.start", &which).await?;
    let (channel, account_id) = which;
    answer(ChannelStarted {
        channel,
        account_id,
        started: true,
    })
}

/// An account served by a bridge.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMade {
    /// Name of the service.
    channel: String,
    /// Account name.
    account_id: String,
    /// The bridge's token, shown once; null if it already has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Creates an account served by a bridge, a program of the owner.
pub async fn bridge(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer<BridgeMade> {
    let made = gateway.make_bridge(&owner.caller, &which.0, &which.1);
    let token = made.await?;
    note(&gateway, &owner, "channel.bridge", &which).await?;
    let (channel, account_id) = which;
    answer(BridgeMade {
        channel,
        account_id,
        token: token.map(|token| token.expose().to_owned()),
    })
}

/// The response after an account was stopped.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStopped {
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// Always true.
    stopped: bool,
}

/// Stops an account until it is started again.
pub async fn stop(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer<ChannelStopped> {
    gateway.chats().stop_account(&which.0, &which.1).await?;
    note(&gateway, &owner, "channel.stop", &which).await?;
    let (channel, account_id) = which;
    answer(ChannelStopped {
        channel,
        account_id,
        stopped: true,
    })
}

/// The response after a login.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogin {
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// Display name on the platform.
    name: String,
    /// Handle on the platform.
    handle: Option<String>,
    /// Id on the platform.
    id: String,
}

/// Sets the credentials of an account.
pub async fn login(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, account)): Path<(String, String)>,
    given: Result<Json<Credentials>, JsonRejection>,
) -> Answer<ChannelLogin> {
    let given = body(given)?;
    let me = gateway
        .login_channel(&owner.caller, &channel, &account, given)
        .await?;
    let about = format!("{channel} {account}");
    gateway.note(&owner.caller, "channel.login", &about).await?;
    answer(ChannelLogin {
        channel,
        account_id: account,
        name: me.name,
        handle: me.handle,
        id: me.id,
    })
}

/// The response after a logout.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogout {
    /// Platform.
    channel: String,
    /// Account name.
    account_id: String,
    /// Always true.
    logged_out: bool,
}

/// Removes an account and its credentials.
pub async fn logout(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer<ChannelLogout> {
    let (channel, account) = &which;
    gateway
        .logout_channel(&owner.caller, channel, account)
        .await?;
    note(&gateway, &owner, "channel.logout", &which).await?;
    let (channel, account_id) = which;
    answer(ChannelLogout {
        channel,
        account_id,
        logged_out: true,
    })
}

/// A person who writes to an account.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pair")]
pub struct Sender {
    /// Platform.
    channel: String,
    /// Id on the platform.
    sender_id: String,
    /// Display name.
    name: Option<String>,
    /// Handle.
    handle: Option<String>,
    /// Pairing state.
    state: SenderState,
    /// Whether this is the owner.
    owner: bool,
    /// Pairing code, which identifies them to the owner.
    code: Option<String>,
    /// Start of their first message.
    message: Option<String>,
    /// When they first wrote.
    requested_at: Timestamp,
    /// When the owner decided.
    decided_at: Option<Timestamp>,
}

impl From<SenderRow> for Sender {
    fn from(row: SenderRow) -> Self {
        Self {
            channel: row.channel,
            sender_id: row.id,
            name: row.name,
            handle: row.handle,
            state: row.state,
            owner: row.owner,
            code: row.code,
            message: row.first_message,
            requested_at: row.requested,
            decided_at: row.decided,
        }
    }
}

/// A list of people.
#[derive(Serialize, JsonSchema)]
pub struct PairList {
    /// Number of people.
    count: usize,
    /// Pending pairing requests and decided ones.
    pairs: Vec<Sender>,
}

/// Lists pairing requests, pending and decided.
pub async fn pairs(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<PairList> {
    let all = gateway.chats().records().senders().await?;
    answer(PairList {
        count: all.len(),
        pairs: all.into_iter().map(Sender::from).collect(),
    })
}

/// Options of an approval.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Whether this is the owner.
    #[serde(default)]
    owner: bool,
}

/// The response after a pairing was approved.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairApproved {
    /// Platform.
    channel: String,
    /// Id on the platform.
    sender_id: String,
    /// Display name.
    name: Option<String>,
    /// Always true.
    approved: bool,
    /// Whether this is the owner.
    owner: bool,
}

/// Approves a person, by id or pairing code.
pub async fn approve(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
    how: Result<Json<Approve>, JsonRejection>,
) -> Answer<PairApproved> {
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
    answer(PairApproved {
        channel: done.channel,
        sender_id: done.id,
        name: done.name,
        approved: true,
        owner: how.owner,
    })
}

/// The response after a pairing was rejected.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairRejected {
    /// Platform.
    channel: String,
    /// Id on the platform.
    sender_id: String,
    /// Always true.
    rejected: bool,
}

/// Rejects a person.
pub async fn reject(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
) -> Answer<PairRejected> {
    let pair = Pair {
        channel: &channel,
        who: &who,
    };
    let done = gateway.chats().reject(pair).await?;
    let about = format!("{} {}", done.channel, done.id);
    gateway.note(&owner.caller, "pair.reject", &about).await?;
    answer(PairRejected {
        channel: done.channel,
        sender_id: done.id,
        rejected: true,
    })
}

/// The response after a person was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairForgotten {
    /// Platform.
    channel: String,
    /// Id on the platform.
    sender_id: String,
    /// Always true.
    forgotten: bool,
}

/// Removes a person: they are unknown again.
pub async fn forget(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((channel, who)): Path<(String, String)>,
) -> Answer<PairForgotten> {
    let pair = Pair {
        channel: &channel,
        who: &who,
    };
    let done = gateway.chats().forget(pair).await?;
    let about = format!("{} {}", done.channel, done.id);
    gateway.note(&owner.caller, "pair.forget", &about).await?;
    answer(PairForgotten {
        channel: done.channel,
        sender_id: done.id,
        forgotten: true,
    })
}
