//! Chat accounts and pairing requests, for the owner.

use manyhands_channels::ConnectionStatus;
use manyhands_config::ChannelMode;
use manyhands_gateway::{Admitted, Credentials, Gateway};
use manyhands_messaging::{Pair, Status};
use manyhands_wire::{
    ChannelEntry, ChannelLoginParams, ChannelResult, ChannelStatusParams, ChannelsListResult, Code,
    ErrorShape, Method, PairApproveParams, PairEntry, PairListResult, PairResult,
};
use serde_json::Value;

use super::shape::{parse, shape, value};

/// Account id used when the request names none.
const DEFAULT: &str = "default";

fn entry(status: &Status) -> ChannelEntry {
    let (state, detail) = status.words();
    let connected = status.standing == Some(ConnectionStatus::Connected);
    ChannelEntry {
        channel: status.channel.clone(),
        account_id: status.account.clone(),
        state: state.to_owned(),
        detail,
        connected_at: status.since.filter(|_| connected).map(|since| since.0),
        last_message_at: status.last.map(|last| last.0),
        name: status.me.as_ref().map(|me| me.name.clone()),
    }
}

/// Answers the owner's requests about chat accounts and pairing.
pub(super) async fn answer(
    gateway: &Gateway,
    admitted: &Admitted,
    method: Method,
    params: Value,
) -> Result<Value, ErrorShape> {
    match method {
        Method::ChannelsList => {
            let all = gateway.chats().status().await;
            let channels: Vec<ChannelEntry> = all.iter().map(entry).collect();
            let count = channels.len();
            value(&ChannelsListResult { channels, count })
        }
        Method::PairList => {
            let rows = gateway.chats().records().senders().await;
            let rows = rows.map_err(|e| shape(e.into()))?;
            let pairs = rows.into_iter().map(|row| PairEntry {
                channel: row.channel,
                sender_id: row.id,
                sender_name: row.name,
                state: row.state.as_str().to_owned(),
                owner: row.owner,
                code: row.code,
                message: row.first_message,
                requested_at: row.requested.0,
            });
            value(&PairListResult {
                pairs: pairs.collect(),
            })
        }
        Method::PairApprove | Method::PairReject => pair(gateway, admitted, method, params).await,
        Method::ChannelLogin => login(gateway, admitted, params).await,
        _ => account(gateway, admitted, method, params).await,
    }
}

async fn pair(
    gateway: &Gateway,
    admitted: &Admitted,
    method: Method,
    params: Value,
) -> Result<Value, ErrorShape> {
    let params: PairApproveParams = parse(params)?;
    let pair = Pair {
        channel: &params.channel,
        who: &params.sender_id,
    };
    let chats = gateway.chats();
    // Audited after the change, since a rejected request changes nothing.
    let done = match method {
        Method::PairApprove => chats.approve(pair, params.owner.unwrap_or(false)).await,
        _ => chats.reject(pair).await,
    };
    let done = done.map_err(shape)?;
    let about = format!("{} {}", done.channel, done.id);
    note(gateway, admitted, method, &about).await?;
    value(&PairResult {
        ok: true,
        channel: done.channel,
        sender_id: done.id,
    })
}

async fn login(gateway: &Gateway, admitted: &Admitted, params: Value) -> Result<Value, ErrorShape> {
    let params: ChannelLoginParams = parse(params)?;
    let account = params.account_id.as_deref().unwrap_or(DEFAULT);
    let mode = params.mode.map(|mode| match mode.as_str() {
        "poll" => Ok(ChannelMode::Poll),
        "socket" => Ok(ChannelMode::Socket),
        "webhook" => Ok(ChannelMode::Webhook),
        _ => Err(ErrorShape::new(
            Code::BadRequest,
            "mode: must be poll, socket or webhook",
        )),
    });
    let given = Credentials {
        token: params.token,
        app_token: params.app_token,
        secret: params.secret,
        verify_token: params.verify_token,
        number: params.number,
        mode: mode.transpose()?,
    };
    let done = gateway.login_channel(&admitted.caller, &params.channel, account, given);
    done.await.map_err(shape)?;
    let about = format!("{} {account}", params.channel);
    note(gateway, admitted, Method::ChannelLogin, &about).await?;
    stands(gateway, &params.channel, account).await
}

async fn account(
    gateway: &Gateway,
    admitted: &Admitted,
    method: Method,
    params: Value,
) -> Result<Value, ErrorShape> {
    let params: ChannelStatusParams = parse(params)?;
    let channel = params.channel.as_str();
    let account = params.account_id.as_deref().unwrap_or(DEFAULT);
    let chats = gateway.chats();
    let done = match method {
        Method::ChannelStart => chats.start_account(channel, account).await,
        Method::ChannelStop => chats.stop_account(channel, account).await,
        Method::ChannelLogout => {
            gateway
                .logout_channel(&admitted.caller, channel, account)
                .await
        }
        // `channel.status` changes nothing but must reject unknown accounts.
        _ => chats.must_exist(channel, account),
    };
    done.map_err(shape)?;
    if method != Method::ChannelStatus {
        let about = format!("{channel} {account}");
        note(gateway, admitted, method, &about).await?;
    }
    stands(gateway, channel, account).await
}

async fn stands(gateway: &Gateway, channel: &str, account: &str) -> Result<Value, ErrorShape> {
    let all = gateway.chats().status().await;
    let mut all = all.iter();
    let found = all.find(|one| one.channel == channel && one.account == account);
    value(&ChannelResult {
        ok: true,
        channel: found.map(entry),
    })
}

async fn note(
    gateway: &Gateway,
    admitted: &Admitted,
    method: Method,
    about: &str,
) -> Result<(), ErrorShape> {
    let noted = gateway.note(&admitted.caller, method.name(), about).await;
    noted.map_err(|error| shape(error.into()))
}
