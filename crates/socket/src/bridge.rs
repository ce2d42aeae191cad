//! A bridge's connection: it reports messages from its chat service and receives messages to send.

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

use super::shape::{shape, value};
use super::socket::{Incoming, Pulse, closing, violation};
use super::{DEAD, PING, text};

/// Account id used when the request names none.
const DEFAULT: &str = "default";

/// The chat account a bridge connection serves.
pub(super) struct BridgeAccount {
    channel: String,
    account: String,
    /// Whether the bridge reports the delivery of each message it was given.
    reports_delivery: bool,
}

/// Checks which chat account the bridge may serve.
///
/// A `channel` token serves only the service it was issued for; the owner's token serves any. The
/// account must be enabled in the settings, so that disabling it also locks out its bridge.
pub(super) fn authorize(
    gateway: &Gateway,
    admitted: &Admitted,
    params: &ConnectParams,
) -> Result<BridgeAccount, ToolError> {
    let client = &params.client;
    let missing =
        || ToolError::parameter("client.channel", "required: the name of the chat service");
    let channel = client.channel.clone().ok_or_else(missing)?;
    let account = client.account_id.clone();
    let account = account.unwrap_or_else(|| DEFAULT.to_owned());
    let caller = &admitted.caller;
    let own = caller.rights.role == Role::Channel && caller.name == channel;
    if !own && !caller.is_owner() {
        let message = format!("this token is not valid for the channel {channel:?}");
        return Err(ToolError::new(ErrorCode::Forbidden, message).hint(format!(
            "create one with `manyhands channel bridge {channel}`"
        )));
    }
    let settings = gateway.settings.current();
    let bridge = settings.channels.bridges.get(channel.as_str());
    let known = bridge.and_then(|bridge| bridge.accounts.get(&account));
    if known.is_none_or(|account| !account.enabled) {
        let message = format!("no enabled bridge account {account:?} for channel {channel:?}");
        return Err(ToolError::new(ErrorCode::Forbidden, message).hint(format!(
            "create it with `manyhands channel bridge {channel} --account {account}`"
        )));
    }
    Ok(BridgeAccount {
        channel,
        account,
        reports_delivery: params.additions.iter().any(|one| one == ADDITION_SENT),
    })
}

/// Serves a bridge until it disconnects; returns the Close frame to send, if any.
pub(super) async fn serve(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    served: BridgeAccount,
    outbox: mpsc::Sender<Message>,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    let seat = gateway.chats().seat(&served.channel, &served.account);
    let seated = seat.sit(outbox.clone(), served.reports_delivery);
    let (channel, account) = (served.channel.as_str(), served.account.as_str());
    tracing::info!(
        event = "bridge_connected",
        channel,
        account,
        "bridge connected"
    );
    let session = BridgeSession {
        gateway,
        admitted,
        served: &served,
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
    served: &'a BridgeAccount,
    seated: &'a Arc<Seated>,
    outbox: &'a mpsc::Sender<Message>,
}

impl BridgeSession<'_> {
    async fn run(&self, stream: &mut Incoming, pulse: &Pulse) -> Option<CloseFrame> {
        // `Delay` keeps one ping per interval after a stall instead of a burst of missed ones.
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut lapsed = pin!(self.gateway.auth.lapsed(self.admitted));
        let stopping = self.gateway.stopping();
        loop {
            // Biased: a revoked token or a replaced connection must win over further frames.
            tokio::select! {
                biased;
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED.into(), &ended.message)),
                () = self.seated.gone() => return Some(closing(CloseCode::Policy, "replaced by a newer connection of this bridge")),
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
                        Some(Ok(Message::Binary(_))) => return Some(closing(CloseCode::Unsupported, "a bridge must not send binary frames")),
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        Some(Ok(Message::Close(_))) | None => return None,
                        Some(Err(error)) => return violation(&error),
                    }
                    // Reset the idle clock only after the frame is handled: writing it to disk may
                    // have taken longer than the dead-peer limit.
                    pulse.restart_idle_clock();
                }
            }
        }
    }

    /// Handles one frame. Awaited in the read loop, so that messages are stored in the order in
    /// which they arrive.
    async fn take(&self, frame: &str) {
        let response = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => {
                let id = request.id.clone();
                match self.request(request).await {
                    Ok(payload) => Response::ok(id, payload),
                    Err(error) => Response::failed(id, error),
                }
            }
            Ok(Frame::Res(_) | Frame::Evt(_)) => return, // the gateway sends bridges no requests
            Err(error) => Response::failed("", error),
        };
        let _ = self.outbox.send(text(response)).await; // the bridge may have disconnected
    }

    async fn request(&self, request: Request) -> Result<Value, ErrorShape> {
        match Method::from_name(&request.method) {
            Some(Method::ChannelInbound) => {
                let message = ChannelInboundParams::read(request.params)?;
                let BridgeAccount {
                    channel, account, ..
                } = self.served;
                if message.channel != *channel || message.account_id != *account {
                    let message = format!("this connection serves only {channel}/{account}");
                    return Err(ErrorShape::new(Code::Forbidden, message));
                }
                let stored = self.gateway.chats().told_by_bridge(message).await;
                value(&stored.map_err(shape)?)
            }
            Some(Method::ChannelSent) => {
                let sent = ChannelSentParams::read(request.params)?;
                value(&Taken::new(self.seated.said(sent)))
            }
            Some(Method::Connect) => {
                let message = "this socket is already connected";
                Err(ErrorShape::new(Code::BadConnect, message))
            }
            _ => {
                let message = "a bridge may call only channel.inbound and channel.sent";
                Err(ErrorShape::new(Code::Forbidden, message))
            }
        }
    }
}
