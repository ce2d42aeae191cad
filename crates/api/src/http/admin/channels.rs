//! Chats on platforms: accounts, and people who ask to be known.

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

/// An account on a platform, as its owner sees it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelView {
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// `off`, `stopped`, `connecting`, `connected` or `error`.
    state: &'static str,
    /// What is wrong, if something is.
    detail: Option<String>,
    /// Since when it stands so.
    since: Option<Timestamp>,
    /// What it is called there.
    name: Option<String>,
    /// Its handle there.
    handle: Option<String>,
    /// Its id there.
    id: Option<String>,
    /// When something was last said or heard.
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

/// Accounts on platforms.
#[derive(Serialize, JsonSchema)]
pub struct ChannelList {
    /// How many.
    count: usize,
    /// The accounts.
    channels: Vec<ChannelView>,
    /// What was heard and is not done.
    inbox: Backlog,
    /// What is to be said and did not arrive.
    outbox: OutboxCounts,
}

/// Every account.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ChannelList> {
    let all = gateway.chats().status().await;
    let records = gateway.chats().records();
    answer(ChannelList {
        count: all.len(),
        channels: all.into_iter().map(ChannelView::from).collect(),
        inbox: records.backlog().await?,
        outbox: records.lost().await?,
    })
}

/// Writes what was done with an account into the audit.
async fn note(
    gateway: &Gateway,
    owner: &Admitted,
    what: &str,
    (channel, account): &(String, String),
) -> Result<(), Refusal> {
    let about = format!("{channel} {account}");
    Ok(gateway.note(&owner.caller, what, &about).await?)
}

/// An account that was started.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStarted {
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// Always true.
    started: bool,
}

/// Starts an account, or begins anew with it.
pub async fn start(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(which): Path<(String, String)>,
) -> Answer<ChannelStarted> {
    gateway.chats().start_account(&which.0, &which.1).await?;
    note(&gateway, &owner, "channel.start", &which).await?;
    let (channel, account_id) = which;
    answer(ChannelStarted {
        channel,
        account_id,
        started: true,
    })
}

/// An account that a bridge carries.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMade {
    /// The service.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// The bridge's token, shown once; none when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Lets a program of the owner's carry a service.
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

/// An account that was stopped.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStopped {
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// Always true.
    stopped: bool,
}

/// Stops an account, until it is started again.
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

/// An account that was given its credentials.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogin {
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// What it is called there.
    name: String,
    /// Its handle there.
    handle: Option<String>,
    /// Its id there.
    id: String,
}

/// Gives an account its credentials.
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

/// An account that was forgotten.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelLogout {
    /// The platform.
    channel: String,
    /// The account of ours.
    account_id: String,
    /// Always true.
    logged_out: bool,
}

/// Forgets an account and its credentials.
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

/// Somebody who writes, as the owner sees them.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Pair")]
pub struct Sender {
    /// The platform.
    channel: String,
    /// Who, as the platform names them.
    sender_id: String,
    /// What they are called.
    name: Option<String>,
    /// Their handle.
    handle: Option<String>,
    /// Whether they may speak.
    state: SenderState,
    /// Whether it is the owner.
    owner: bool,
    /// What the owner is told to know them by.
    code: Option<String>,
    /// The beginning of what they said.
    message: Option<String>,
    /// When they first asked.
    requested_at: Timestamp,
    /// When it was decided.
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
            message: row.said,
            requested_at: row.asked,
            decided_at: row.decided,
        }
    }
}

/// People who write.
#[derive(Serialize, JsonSchema)]
pub struct PairList {
    /// How many.
    count: usize,
    /// Those who ask to be known, and those who were decided about.
    pairs: Vec<Sender>,
}

/// Everybody who asks to be known, and those who were decided about.
pub async fn pairs(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<PairList> {
    let all = gateway.chats().records().senders().await?;
    answer(PairList {
        count: all.len(),
        pairs: all.into_iter().map(Sender::from).collect(),
    })
}

/// How somebody is let in.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Whether it is the owner.
    #[serde(default)]
    owner: bool,
}

/// Somebody who may speak.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairApproved {
    /// The platform.
    channel: String,
    /// Who, as the platform names them.
    sender_id: String,
    /// What they are called.
    name: Option<String>,
    /// Always true.
    approved: bool,
    /// Whether it is the owner.
    owner: bool,
}

/// Lets somebody speak, by their id or their code.
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

/// Somebody who may not speak.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairRejected {
    /// The platform.
    channel: String,
    /// Who, as the platform names them.
    sender_id: String,
    /// Always true.
    rejected: bool,
}

/// Lets somebody not speak.
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

/// Somebody who was forgotten.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairForgotten {
    /// The platform.
    channel: String,
    /// Who, as the platform names them.
    sender_id: String,
    /// Always true.
    forgotten: bool,
}

/// Forgets somebody: they are a stranger again.
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
