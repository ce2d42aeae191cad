//! The WebSocket face: one socket, one caller, many requests at a time.
//!
//! A socket ends every call it asked for when it goes, and goes within a second when its
//! token is taken back.

mod bridge;
mod channels;
mod chat;
mod connect;
mod cron;
mod lists;
mod methods;
mod node;
mod request;
mod sessions;
mod socket;
mod watch;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::request::Parts;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response as HttpResponse};
use futures_util::StreamExt;
use manyhands_core::contained;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_guard::Seat;
use manyhands_http_common::Refusal;
use manyhands_node_registry::News;
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
use connect::Guest;
use methods::Peer;
use socket::{Incoming, Pulse, Socket, Upgrade, closing, violation};
use watch::Watches;

/// How often a silent peer is asked whether it is still there.
const PING: Duration = Duration::from_secs(10);
/// A peer that sends nothing for this long, not even a pong, is gone.
const DEAD: Duration = Duration::from_secs(30);
/// How many bytes of requests are read ahead while as many are open as may be.
const READ_AHEAD: usize = 256 * 1024;

/// Whose socket it is, as far as its request says.
struct Visitor {
    /// Where it came from.
    client: IpAddr,
    /// The token of the request, if it had one.
    token: Option<String>,
    /// The connection's place among those that have not shown a valid token.
    seat: Option<Arc<Seat>>,
}

/// Takes the socket over.
pub async fn upgrade(State(gateway): State<Arc<Gateway>>, parts: Parts) -> HttpResponse {
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let visitor = match manyhands_http_common::client(&parts, &gateway) {
        Ok(client) => Visitor {
            client,
            token: manyhands_http_common::bearer(&parts).map(str::to_owned),
            seat: manyhands_http_common::seat(&parts).cloned(),
        },
        Err(error) => return Refusal(error).into_response(),
    };
    match Upgrade::of(parts) {
        Ok(upgrade) => upgrade.serve(limit, move |socket| serve(gateway, socket, visitor)),
        Err(refused) => refused,
    }
}

async fn serve(gateway: Arc<Gateway>, mut socket: Socket, visitor: Visitor) {
    let sockets = gateway.path.metrics().gauge("websocket_connections");
    sockets.increment(1);
    let outbox = socket.outbox.clone();
    let (stream, pulse) = (&mut socket.incoming, &socket.pulse);
    let close = match greeted(&gateway, stream, visitor).await {
        Ok((admitted, Guest::Brought(brought), hello)) => {
            // Before the greeting: who is greeted can rely on it that the session has the tools.
            match gateway.nodes.bring(*brought, outbox.clone()) {
                Ok(node) => {
                    let _ = outbox.words.send(text(hello)).await;
                    node::serve_brought(&gateway, &admitted, &node, outbox, stream, pulse).await
                }
                Err(error) => {
                    let close = closing(CloseCode::Policy, &error.message);
                    let failed = Response::failed(hello.id, methods::shape(error));
                    let _ = outbox.words.send(text(failed)).await;
                    Some(close)
                }
            }
        }
        Ok((admitted, guest, hello)) => {
            let _ = outbox.words.send(text(hello)).await;
            match guest {
                Guest::Client => client(gateway, admitted, outbox.words, stream, pulse).await,
                Guest::Bridge(carries) => {
                    let words = outbox.words;
                    bridge::serve(&gateway, &admitted, carries, words, stream, pulse).await
                }
                Guest::Brought(_) => None, // served above
                Guest::Node(name, offer) => {
                    node::serve(&gateway, &admitted, name, *offer, outbox, stream, pulse).await
                }
            }
        }
        Err(Ended::Refused((id, error), code)) => {
            let close = closing(code, &error.message);
            let response = Response::failed(id.unwrap_or_default(), error);
            let _ = outbox.words.send(text(response)).await;
            Some(close)
        }
        Err(Ended::Closed(close)) => close,
    };
    socket.close(close).await;
    sockets.decrement(1);
}

/// How a socket ended that was not let in.
enum Ended {
    /// It was refused, and is closed with this code.
    Refused(connect::Refused, CloseCode),
    /// The peer closed it, or it is closed with this.
    Closed(Option<CloseFrame>),
}

impl From<connect::Refused> for Ended {
    fn from(refused: connect::Refused) -> Self {
        let code = match Code::from_number(refused.1.code) {
            Some(Code::Unauthenticated) => CLOSE_UNAUTHENTICATED.into(),
            Some(Code::Unavailable) => CloseCode::Again,
            _ => CloseCode::Policy,
        };
        Self::Refused(refused, code)
    }
}

/// Waits for `connect`, and lets the peer in or says why not.
async fn greeted(
    gateway: &Gateway,
    stream: &mut Incoming,
    visitor: Visitor,
) -> Result<(Admitted, Guest, Response), Ended> {
    let Visitor {
        client,
        token,
        seat,
    } = visitor;
    // A frame may be large, so only few sockets may send one before they have shown a valid token.
    let known = token
        .as_deref()
        .is_some_and(|token| gateway.doorman.recognises(token));
    let unknown = (!known).then(|| gateway.socket_lobby.enter(client));
    let mut evicted = pin!(async {
        match &unknown {
            Some(seat) => seat.evicted().await,
            None => std::future::pending().await,
        }
    });
    let refused = |code, message: &str| Ended::from((None, ErrorShape::new(code, message)));
    let until = Instant::now() + manyhands_wire::CONNECT_WITHIN;
    loop {
        let next = tokio::select! {
            biased;
            next = timeout_at(until, stream.next()) => next,
            () = &mut evicted => {
                let message = "too many sockets have not sent `connect`, and this one had waited longest; connect again";
                return Err(refused(Code::Unavailable, message));
            }
        };
        match next {
            Ok(Some(Ok(Message::Text(text)))) => {
                let admitted = connect::admit(gateway, &text, client, token).await?;
                if let Some(seat) = seat {
                    seat.admitted();
                }
                return Ok(admitted);
            }
            // The pong is written when the next frame is read.
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {}
            Ok(Some(Ok(Message::Binary(_)))) => {
                let message = "the first message must be the request `connect`, as text";
                let error = ErrorShape::new(Code::NotConnected, message);
                return Err(Ended::Refused((None, error), CloseCode::Unsupported));
            }
            Ok(Some(Ok(Message::Close(_))) | None) => return Err(Ended::Closed(None)),
            Ok(Some(Err(error))) => return Err(Ended::Closed(violation(&error))),
            Err(_) => {
                let message = "no `connect` came within 15 seconds";
                return Err(refused(Code::BadConnect, message));
            }
        }
    }
}

/// Serves a client until it goes, or says why its socket is closed. Every call that the socket
/// asked for ends with it.
async fn client(
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: mpsc::Sender<Message>,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    let runs = Arc::new(Runs::default());
    let house = gateway.clone();
    let (minds, caller, words) = (
        gateway.minds().clone(),
        admitted.caller.clone(),
        outbox.clone(),
    );
    let mut session = Session {
        gateway,
        admitted,
        outbox,
        open: JoinSet::new(),
        waiting: VecDeque::new(),
        runs: runs.clone(),
        watches: Arc::default(),
    };
    tokio::select! {
        close = session.run(stream, pulse) => close,
        () = chat::forward(&minds, &caller, &words, &runs) => None,
        () = lists::forward(&house, &caller, &words) => None,
    }
}

/// One client. Every request is answered, however many it sends without reading: requests beyond
/// [`MAX_OPEN_REQUESTS`] wait, and beyond what is read ahead they wait in TCP, so that the client is slowed down and
/// memory stays bounded.
///
/// Not reading cannot block a request for good. None of a client's methods needs a further frame of the same socket to
/// end: each has a deadline of its own, and its answer waits only for the client to read, which the writer (a task of
/// its own) gives up after 30 seconds without progress. Reading ahead is for what may come behind the waiting requests:
/// pings and Close. Nodes and bridges are different: what they send are mostly *answers* to the gateway, for which
/// its open calls wait, so theirs is never limited by how many calls are open; it is taken one message at a time.
struct Session {
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: mpsc::Sender<Message>,
    open: JoinSet<()>,
    /// What was read while as many were open as may be, oldest first.
    waiting: VecDeque<Utf8Bytes>,
    runs: Arc<Runs>,
    watches: Arc<Watches>,
}

impl Session {
    /// Serves until the peer goes, or says why the socket is closed.
    async fn run(&mut self, stream: &mut Incoming, pulse: &Pulse) -> Option<CloseFrame> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let mut lapsed = pin!(gateway.doorman.lapsed(&admitted));
        let stopping = gateway.stopping();
        let (mut changes, mut news) = (gateway.nodes.changes(), gateway.nodes.news());
        loop {
            while self.open.len() < MAX_OPEN_REQUESTS
                && let Some(text) = self.waiting.pop_front()
            {
                self.take(&text);
            }
            let reads = self.reads_on();
            tokio::select! {
                message = stream.next(), if reads => match message {
                    Some(Ok(Message::Text(text))) => self.waiting.push_back(text),
                    Some(Ok(Message::Binary(_))) => return Some(closing(CloseCode::Unsupported, "no transfer was given to this socket")),
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) | None => return None,
                    Some(Err(error)) => return violation(&error),
                },
                _ = pings.tick() => {
                    match reads {
                        true if pulse.silent_for() > DEAD => return None,
                        true => {}
                        false => pulse.not_listening(),
                    }
                    let _ = self.outbox.try_send(Message::Ping(Default::default()));
                }
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED.into(), &ended.message)),
                Some(_) = self.open.join_next(), if !self.open.is_empty() => {}
                () = stopping.cancelled(), if self.open.is_empty() => return Some(closing(CloseCode::Restart, "the gateway is stopping")),
                Ok(()) = changes.changed() => self.tell(&ToolsChangedEvent {}),
                told = news.recv() => {
                    if let Ok(told) = told {
                        self.announce(&told);
                    }
                }
                () = self.outbox.closed() => return None,
            }
        }
    }

    /// Whether there is room for what the client sends next.
    fn reads_on(&self) -> bool {
        let bytes: usize = self.waiting.iter().map(|text| text.len()).sum();
        self.waiting.len() < MAX_OPEN_REQUESTS && bytes < READ_AHEAD
    }

    fn take(&mut self, frame: &str) {
        let outbox = self.outbox.clone();
        let request = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => request,
            Ok(Frame::Res(_) | Frame::Evt(_)) => return, // nothing was asked of this peer
            Err(error) => {
                let answer = text(Response::failed("", error));
                self.open.spawn(async move {
                    let _ = outbox.send(answer).await; // the peer may have gone
                });
                return;
            }
        };
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let (runs, watches) = (self.runs.clone(), self.watches.clone());
        self.open.spawn(async move {
            let id = request.id.clone();
            let peer = Peer {
                outbox: &outbox,
                runs: &runs,
                watches: &watches,
                answered: OnceLock::new(),
                after: OnceLock::new(),
                then: OnceLock::new(),
            };
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
                let _ = outbox.send(message).await; // the peer may have gone
            }
            drop(peer.answered);
            if let Some(request) = then {
                request.carry_out(&gateway, &admitted).await;
            }
        });
    }

    /// Tells the peer something, if it has room for it.
    fn tell<P: Payload>(&self, payload: &P) {
        let _ = self.outbox.try_send(Message::Text(payload.encode().into()));
    }

    /// Tells of a program in the background: to the owner, and to whoever started it.
    fn announce(&self, news: &News) {
        let caller = &self.admitted.caller;
        let started = news.origin.as_ref();
        let own = started.is_some_and(|origin| origin.caller == caller.key());
        if own || caller.is_owner() {
            self.tell(&NodeExecNotice {
                node_id: news.node.to_string(),
                agent_id: started.map(|origin| origin.agent.clone()),
                news: news.told.clone(),
            });
        }
    }
}

fn text(response: Response) -> Message {
    Message::Text(Frame::Res(response).encode().into())
}
