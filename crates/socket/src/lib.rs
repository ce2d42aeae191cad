//! The WebSocket face: one socket, one caller, many concurrent requests.
//!
//! Closing a socket cancels every call it started. A socket whose token is revoked is closed within
//! a second.
//!
//! Frames are tungstenite's; the upgrade, close codes, the closing handshake and the bytes below are ours. Whether a peer is alive is judged by bytes
//! that move, not by messages. A peer that knows only version 1 of the protocol works too; additions are announced by both sides before they are used.

mod access;
mod bridge;
mod channels;
mod chat;
mod connect;
mod cron;
mod lists;
mod messages;
mod methods;
mod node;
mod request;
mod sessions;
mod shape;
mod socket;
mod terminals;
mod watch;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response as HttpResponse};
use futures_util::StreamExt;
use http::request::Parts;
use manyhands_core::contained;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_guard::PendingConnection;
use manyhands_http_common::Refusal;
use manyhands_node_registry::ProcessNotice;
use manyhands_wire::{
    CLOSE_UNAUTHENTICATED, Code, ErrorShape, Frame, MAX_OPEN_REQUESTS, NodeExecNotice, Payload,
    Response, ToolsChangedEvent,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use chat::Runs;
use connect::PeerKind;
use methods::Peer;
use socket::{Incoming, Pulse, Socket, Upgrade, closing, violation};
use terminals::Terminals;
use watch::Watches;

/// Interval between pings.
const PING: Duration = Duration::from_secs(10);
/// A peer that sends nothing for this long, not even a pong, is considered dead.
const DEAD: Duration = Duration::from_secs(30);
/// Bytes of requests read ahead while the maximum number is open.
const READ_AHEAD: usize = 256 * 1024;

/// What the HTTP upgrade request says about the peer.
struct UpgradeInfo {
    /// Client address.
    client: IpAddr,
    /// Bearer token of the request, if any.
    token: Option<String>,
    /// The connection's slot among those that are not authenticated yet.
    seat: Option<Arc<PendingConnection>>,
}

/// Handles `GET /ws`: upgrades the connection and serves the socket.
pub async fn upgrade(State(gateway): State<Arc<Gateway>>, parts: Parts) -> HttpResponse {
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let info = match manyhands_http_common::client(&parts, &gateway) {
        Ok(client) => UpgradeInfo {
            client,
            token: manyhands_http_common::bearer(&parts).map(str::to_owned),
            seat: manyhands_http_common::seat(&parts).cloned(),
        },
        Err(error) => return Refusal(error).into_response(),
    };
    match Upgrade::of(parts) {
        Ok(upgrade) => upgrade.serve(limit, move |socket| serve(gateway, socket, info)),
        Err(refused) => refused,
    }
}

async fn serve(gateway: Arc<Gateway>, mut socket: Socket, info: UpgradeInfo) {
    let sockets = gateway.path.metrics().gauge("websocket_connections");
    sockets.increment(1);
    let outbox = socket.outbox.clone();
    let (stream, pulse) = (&mut socket.incoming, &socket.pulse);
    let close = match handshake(&gateway, stream, info).await {
        Ok((admitted, PeerKind::EditorServer(brought), hello)) => {
            // Attached before the greeting: a greeted peer may rely on the session having its
            // tools.
            match gateway
                .nodes
                .connect_editor_server(*brought, outbox.clone())
            {
                Ok(node) => {
                    let _ = outbox.messages.send(text(hello)).await;
                    node::serve_brought(&gateway, &admitted, &node, outbox, stream, pulse).await
                }
                Err(error) => {
                    let close = closing(CloseCode::Policy, &error.message);
                    let failed = Response::failed(hello.id, shape::shape(error));
                    let _ = outbox.messages.send(text(failed)).await;
                    Some(close)
                }
            }
        }
        Ok((admitted, peer, hello)) => {
            let _ = outbox.messages.send(text(hello)).await;
            match peer {
                PeerKind::Client => client(gateway, admitted, outbox.messages, stream, pulse).await,
                PeerKind::Bridge(served) => {
                    let words = outbox.messages;
                    bridge::serve(&gateway, &admitted, served, words, stream, pulse).await
                }
                PeerKind::EditorServer(_) => None, // served above
                PeerKind::Node(name, offer) => {
                    node::serve(&gateway, &admitted, name, *offer, outbox, stream, pulse).await
                }
            }
        }
        Err(AdmitError::Rejected((id, error), code)) => {
            let close = closing(code, &error.message);
            let response = Response::failed(id.unwrap_or_default(), error);
            let _ = outbox.messages.send(text(response)).await;
            Some(close)
        }
        Err(AdmitError::Closed(close)) => close,
    };
    socket.close(close).await;
    sockets.decrement(1);
}

/// Why a socket was not admitted.
enum AdmitError {
    /// Rejected, and closed with this code.
    Rejected(connect::Rejection, CloseCode),
    /// Closed by the peer, or to be closed with this frame.
    Closed(Option<CloseFrame>),
}

impl From<connect::Rejection> for AdmitError {
    fn from(rejection: connect::Rejection) -> Self {
        let code = match Code::from_number(rejection.1.code) {
            Some(Code::Unauthenticated) => CLOSE_UNAUTHENTICATED.into(),
            Some(Code::Unavailable) => CloseCode::Again,
            _ => CloseCode::Policy,
        };
        Self::Rejected(rejection, code)
    }
}

/// Waits for `connect` and authenticates the peer.
async fn handshake(
    gateway: &Gateway,
    stream: &mut Incoming,
    info: UpgradeInfo,
) -> Result<(Admitted, PeerKind, Response), AdmitError> {
    let UpgradeInfo {
        client,
        token,
        seat,
    } = info;
    // A frame may be large, so only a few sockets may send one before they authenticate.
    let known = token
        .as_deref()
        .is_some_and(|token| gateway.auth.recognises(token));
    let unknown = (!known).then(|| gateway.socket_lobby.add(client));
    let mut evicted = pin!(async {
        match &unknown {
            Some(seat) => seat.evicted().await,
            None => std::future::pending().await,
        }
    });
    let refused = |code, message: &str| AdmitError::from((None, ErrorShape::new(code, message)));
    // One deadline for all frames before `connect`, so that pings do not extend it.
    let until = Instant::now() + manyhands_wire::CONNECT_WITHIN;
    loop {
        let next = tokio::select! {
            biased;
            next = timeout_at(until, stream.next()) => next,
            () = &mut evicted => {
                let message = "too many sockets are waiting for `connect` and this one waited longest; reconnect";
                return Err(refused(Code::Unavailable, message));
            }
        };
        match next {
            Ok(Some(Ok(Message::Text(text)))) => {
                let admitted = connect::admit(gateway, &text, client, token).await?;
                if let Some(seat) = seat {
                    seat.authenticated();
                }
                return Ok(admitted);
            }
            // tungstenite writes the pong when the next frame is read.
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {}
            Ok(Some(Ok(Message::Binary(_)))) => {
                let message = "the first message must be the request `connect`, as text";
                let error = ErrorShape::new(Code::NotConnected, message);
                return Err(AdmitError::Rejected((None, error), CloseCode::Unsupported));
            }
            Ok(Some(Ok(Message::Close(_))) | None) => return Err(AdmitError::Closed(None)),
            Ok(Some(Err(error))) => return Err(AdmitError::Closed(violation(&error))),
            Err(_) => {
                let message = "no `connect` received within 15 seconds";
                return Err(refused(Code::BadConnect, message));
            }
        }
    }
}

/// Serves a client until it disconnects; returns the Close frame to send, if any. Calls started on
/// the socket are cancelled with it.
async fn client(
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: mpsc::Sender<Message>,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    let runs = Arc::new(Runs::default());
    let for_lists = gateway.clone();
    let (minds, caller, words) = (
        gateway.minds().clone(),
        admitted.caller.clone(),
        outbox.clone(),
    );
    let mut session = ClientSession {
        gateway,
        admitted,
        outbox,
        open: JoinSet::new(),
        waiting: VecDeque::new(),
        runs: runs.clone(),
        watches: Arc::default(),
        terminals: Arc::default(),
    };
    tokio::select! {
        // Events are forwarded while requests run; whichever ends first ends the socket.
        close = session.run(stream, pulse) => close,
        () = chat::forward(&minds, &caller, &words, &runs) => None,
        () = lists::forward(&for_lists, &caller, &words) => None,
    }
}

/// One client. Every request is answered, however many are sent without reading: requests beyond
/// [`MAX_OPEN_REQUESTS`] wait, and beyond the read-ahead limit they wait in TCP, which slows the
/// client down and keeps memory bounded.
///
/// Not reading cannot block a request forever. No client method needs a further frame of the same
/// socket to finish: each has its own deadline, and its response waits only for the client to read,
/// which the writer (a separate task) gives up after 30 seconds without progress. Reading ahead
/// lets pings and Close pass the waiting requests. Nodes and bridges differ: they mostly send
/// *answers* that open calls wait for, so they are never limited by the number of open calls and
/// are handled one message at a time.
struct ClientSession {
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: mpsc::Sender<Message>,
    open: JoinSet<()>,
    /// Frames read while the maximum number of requests was open, oldest first.
    waiting: VecDeque<Utf8Bytes>,
    runs: Arc<Runs>,
    watches: Arc<Watches>,
    terminals: Arc<Terminals>,
}

impl ClientSession {
    /// Serves until the peer disconnects; returns the Close frame to send, if any.
    async fn run(&mut self, stream: &mut Incoming, pulse: &Pulse) -> Option<CloseFrame> {
        let mut pings = interval(PING);
        // A machine that was suspended must not send all missed pings at once.
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let mut lapsed = pin!(gateway.auth.lapsed(&admitted));
        let stopping = gateway.stopping();
        let (mut changes, mut news) = (gateway.nodes.changes(), gateway.nodes.notices());
        loop {
            while self.open.len() < MAX_OPEN_REQUESTS
                && let Some(text) = self.waiting.pop_front()
            {
                self.take(&text);
            }
            let reads = self.has_room();
            tokio::select! {
                message = stream.next(), if reads => match message {
                    Some(Ok(Message::Text(text))) => self.waiting.push_back(text),
                    Some(Ok(Message::Binary(_))) => return Some(closing(CloseCode::Unsupported, "unexpected binary frame: no transfer is open on this socket")),
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) | None => return None,
                    Some(Err(error)) => return violation(&error),
                },
                _ = pings.tick() => {
                    // While reading is paused on purpose, silence says nothing about the peer.
                    match reads {
                        true if pulse.silent_for() > DEAD => return None,
                        true => {}
                        false => pulse.restart_idle_clock(),
                    }
                    let _ = self.outbox.try_send(Message::Ping(Default::default()));
                }
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED.into(), &ended.message)),
                Some(_) = self.open.join_next(), if !self.open.is_empty() => {}
                // Open requests finish first; the drain timeout bounds the wait.
                () = stopping.cancelled(), if self.open.is_empty() => return Some(closing(CloseCode::Restart, "the gateway is stopping")),
                Ok(()) = changes.changed() => self.send_event(&ToolsChangedEvent {}),
                event = news.recv() => {
                    if let Ok(event) = event {
                        self.forward_process_event(&event);
                    }
                }
                () = self.outbox.closed() => return None,
            }
        }
    }

    /// Whether there is room to read another frame.
    fn has_room(&self) -> bool {
        let bytes: usize = self.waiting.iter().map(|text| text.len()).sum();
        self.waiting.len() < MAX_OPEN_REQUESTS && bytes < READ_AHEAD
    }

    fn take(&mut self, frame: &str) {
        let outbox = self.outbox.clone();
        let request = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => request,
            Ok(Frame::Res(_) | Frame::Evt(_)) => return, // clients receive no requests
            Err(error) => {
                // Counted as an open request, so that a flood of malformed frames is slowed down
                // too.
                let answer = text(Response::failed("", error));
                self.open.spawn(async move {
                    let _ = outbox.send(answer).await; // the client may have disconnected
                });
                return;
            }
        };
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let (runs, watches) = (self.runs.clone(), self.watches.clone());
        let terminals = self.terminals.clone();
        self.open.spawn(async move {
            let id = request.id.clone();
            let peer = Peer {
                outbox: &outbox,
                runs: &runs,
                watches: &watches,
                terminals: &terminals,
                answered: OnceLock::new(),
                after: OnceLock::new(),
                then: OnceLock::new(),
            };
            // A panic ends one request and not the socket with all its calls.
            let answer = contained(methods::answer(&gateway, &admitted, request, &peer)).await;
            let answer = answer.unwrap_or_else(|panicked| {
                let reason = &panicked.reason;
                tracing::error!(
                    event = "socket_request_panicked",
                    reason,
                    "internal error (a bug in manyhands): socket request panicked"
                );
                Err(ErrorShape::new(Code::Internal, panicked.to_string()))
            });
            let response = match answer {
                Ok(payload) => Response::ok(id, payload),
                Err(error) => Response::failed(id, error),
            };
            let (after, then) = (peer.after.into_inner(), peer.then.into_inner());
            for message in [Some(text(response)), after].into_iter().flatten() {
                let _ = outbox.send(message).await; // the client may have disconnected
            }
            // Dropping the sender starts the watch, so its first output follows the response.
            drop(peer.answered);
            if let Some(request) = then {
                request.run(&gateway, &admitted).await;
            }
        });
    }

    /// Sends an event if the queue has room.
    fn send_event<P: Payload>(&self, payload: &P) {
        let _ = self.outbox.try_send(Message::Text(payload.encode().into()));
    }

    /// Reports a background-process event to the owner and to the caller that started the process.
    fn forward_process_event(&self, event: &ProcessNotice) {
        let caller = &self.admitted.caller;
        let started = event.origin.as_ref();
        let own = started.is_some_and(|origin| origin.caller == caller.key());
        if own || caller.is_owner() {
            self.send_event(&NodeExecNotice {
                node_id: event.node.to_string(),
                agent_id: started.map(|origin| origin.agent.clone()),
                event: event.params.clone(),
            });
        }
    }
}

fn text(response: Response) -> Message {
    Message::Text(Frame::Res(response).encode().into())
}
