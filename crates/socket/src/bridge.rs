//! A bridge's socket: it tells what people write on its service, and is given what is to be sent.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use manyhands_core::{ErrorCode, Role, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_messaging::Seated;
use manyhands_wire::{
    ADDITION_SENT, CLOSE_UNAUTHENTICATED, ChannelInboundParams, ChannelSentParams, Code,
    ConnectParams, ErrorShape, Frame, Method, Params, Request, Response, Taken,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::methods::{shape, value};
use super::socket::{Incoming, Pulse, closing, violation};
use super::{DEAD, PING, text};

/// The account that is meant where none is named.
const DEFAULT: &str = "default";

/// What a bridge carries, and how.
pub(super) struct Carries {
    channel: String,
    account: String,
    /// Whether it says what became of what it was given.
    says: bool,
}

/// What somebody may carry who was let in.
pub(super) fn carries(
    gateway: &Gateway,
    asker: &Admitted,
    params: &ConnectParams,
) -> Result<Carries, ToolError> {
    let client = &params.client;
    let missing = || ToolError::parameter("client.channel", "must name the service");
    let channel = client.channel.clone().ok_or_else(missing)?;
    let account = client.account_id.clone();
    let account = account.unwrap_or_else(|| DEFAULT.to_owned());
    let caller = &asker.caller;
    let own = caller.rights.role == Role::Channel && caller.name == channel;
    if !own && !caller.is_owner() {
        let message = format!("this token does not carry {channel:?}");
        return Err(ToolError::new(ErrorCode::Forbidden, message).hint(format!(
            "`manyhands channel bridge {channel}` makes one that does"
        )));
    }
    let settings = gateway.settings.current();
    let bridge = settings.channels.bridges.get(channel.as_str());
    let known = bridge.and_then(|bridge| bridge.accounts.get(&account));
    if known.is_none_or(|account| !account.enabled) {
        let message = format!("no bridge carries the account {account:?} of {channel:?} here");
        return Err(ToolError::new(ErrorCode::Forbidden, message).hint(format!(
            "`manyhands channel bridge {channel} --account {account}` makes it"
        )));
    }
    Ok(Carries {
        channel,
        account,
        says: params.additions.iter().any(|one| one == ADDITION_SENT),
    })
}

/// Serves a bridge until it goes, or says why its socket is closed.
pub(super) async fn serve(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    carries: Carries,
    outbox: mpsc::Sender<Message>,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    let seat = gateway.chats().seat(&carries.channel, &carries.account);
    let seated = seat.sit(outbox.clone(), carries.says);
    let (channel, account) = (carries.channel.as_str(), carries.account.as_str());
    tracing::info!(
        event = "bridge_connected",
        channel,
        account,
        "bridge connected"
    );
    let session = BridgeSession {
        gateway,
        admitted,
        carries: &carries,
        seated: &seated,
        outbox: &outbox,
    };
    let close = session.run(stream, pulse).await;
    seat.rise(&seated);
    tracing::info!(
        event = "bridge_disconnected",
        channel,
        account,
        "bridge disconnected"
    );
    close
}

struct BridgeSession<'a> {
    gateway: &'a Arc<Gateway>,
    admitted: &'a Admitted,
    carries: &'a Carries,
    seated: &'a Arc<Seated>,
    outbox: &'a mpsc::Sender<Message>,
}

impl BridgeSession<'_> {
    async fn run(&self, stream: &mut Incoming, pulse: &Pulse) -> Option<CloseFrame> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut lapsed = pin!(self.gateway.doorman.lapsed(self.admitted));
        let stopping = self.gateway.stopping();
        loop {
            tokio::select! {
                biased;
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED.into(), &ended.message)),
                () = self.seated.gone() => return Some(closing(CloseCode::Policy, "another bridge took its place")),
                () = stopping.cancelled() => return Some(closing(CloseCode::Restart, "the gateway is stopping")),
                () = self.outbox.closed() => return None,
                _ = pings.tick() => {
                    if pulse.silent_for() > DEAD {
                        return None;
                    }
                    let _ = self.outbox.try_send(Message::Ping(Default::default()));
                }
                message = stream.next() => {
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text).await,
                        Some(Ok(Message::Binary(_))) => return Some(closing(CloseCode::Unsupported, "a bridge sends no transfers")),
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        Some(Ok(Message::Close(_))) | None => return None,
                        Some(Err(error)) => return violation(&error),
                    }
                    // Only now: taking it may have waited for the disk.
                    pulse.not_listening();
                }
            }
        }
    }

    /// One after the other: messages stay in the order in which they are told.
    async fn take(&self, frame: &str) {
        let response = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => {
                let id = request.id.clone();
                match self.request(request).await {
                    Ok(payload) => Response::ok(id, payload),
                    Err(error) => Response::failed(id, error),
                }
            }
            Ok(Frame::Res(_) | Frame::Evt(_)) => return, // nothing was asked of it
            Err(error) => Response::failed("", error),
        };
        let _ = self.outbox.send(text(response)).await; // it may have gone
    }

    async fn request(&self, request: Request) -> Result<Value, ErrorShape> {
        match Method::from_name(&request.method) {
            Some(Method::ChannelInbound) => {
                let told = ChannelInboundParams::read(request.params)?;
                let Carries {
                    channel, account, ..
                } = self.carries;
                if told.channel != *channel || told.account_id != *account {
                    let message =
                        format!("this socket carries {channel}/{account} and nothing else");
                    return Err(ErrorShape::new(Code::Forbidden, message));
                }
                let kept = self.gateway.chats().told_by_bridge(told).await;
                value(&kept.map_err(shape)?)
            }
            Some(Method::ChannelSent) => {
                let sent = ChannelSentParams::read(request.params)?;
                value(&Taken::new(self.seated.said(sent)))
            }
            Some(Method::Connect) => {
                let message = "this socket is connected already";
                Err(ErrorShape::new(Code::BadConnect, message))
            }
            _ => {
                let message = "a bridge tells what people write and what became of what it was given, and nothing else";
                Err(ErrorShape::new(Code::Forbidden, message))
            }
        }
    }
}
