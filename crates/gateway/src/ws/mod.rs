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
mod watch;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::request::Parts;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::{IntoResponse as _, Response as HttpResponse};
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use manyhands_core::contained;
use manyhands_guard::Seat;
use manyhands_wire::{
    CLOSE_UNAUTHENTICATED, Code, ErrorShape, Frame, NodeExecNotice, Payload, Response,
    ToolsChangedEvent,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::http;
use crate::nodes::{News, Outbox};
use chat::Runs;
use connect::Guest;
use methods::Peer;
use watch::Watches;

/// What is read at a time. Each socket holds as much, and there may be thousands: what a node
/// says of itself fits.
const READ_BUFFER: usize = 16 * 1024;
/// How often a silent peer is asked whether it is still there.
const PING: Duration = Duration::from_secs(10);
/// A peer that says nothing for this long is gone.
const DEAD: Duration = Duration::from_secs(30);
/// How many requests one socket may have open.
const MAX_OPEN: usize = 64;
/// How many answers may wait for a slow reader before the socket is given up.
const MAX_QUEUED: usize = 128;
/// How many pieces of files may wait for it.
const MAX_PIECES: usize = 8;
/// How long a closed socket may take to go.
const CLOSED_WITHIN: Duration = Duration::from_millis(800);
/// How long a slow reader may hold up one answer.
const SLOW: Duration = Duration::from_secs(30);

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
pub async fn upgrade(
    State(gateway): State<Arc<Gateway>>,
    parts: Parts,
    socket: WebSocketUpgrade,
) -> HttpResponse {
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let visitor = match http::client(&parts, &gateway) {
        Ok(client) => Visitor {
            client,
            token: http::bearer(&parts).map(str::to_owned),
            seat: http::seat(&parts).cloned(),
        },
        Err(error) => return http::Refusal(error).into_response(),
    };
    socket
        .max_message_size(limit)
        .max_frame_size(limit)
        .read_buffer_size(READ_BUFFER)
        .on_upgrade(move |socket| serve(gateway, socket, visitor))
}

async fn serve(gateway: Arc<Gateway>, socket: WebSocket, visitor: Visitor) {
    let sockets = gateway.path.metrics().gauge("websocket_connections");
    sockets.increment(1);
    let (sink, mut stream) = socket.split();
    let (words, queued) = mpsc::channel(MAX_QUEUED);
    let (bulk, pieces) = mpsc::channel(MAX_PIECES);
    let outbox = Outbox { words, bulk };
    let writer = tokio::spawn(write(sink, queued, pieces));
    let admitted = greeted(&gateway, &mut stream, visitor).await;
    match admitted {
        Ok((admitted, guest, hello)) => {
            let _ = outbox.words.send(text(hello)).await;
            let words = outbox.words.clone();
            let close = match guest {
                Guest::Client => client(gateway, admitted, outbox, &mut stream).await,
                Guest::Bridge(carries) => {
                    bridge::serve(&gateway, &admitted, carries, outbox.words, &mut stream).await
                }
                Guest::Node(name, offer) => {
                    node::serve(&gateway, &admitted, name, *offer, outbox, &mut stream).await
                }
            };
            if let Some(close) = close {
                let _ = words.try_send(Message::Close(Some(close)));
            }
        }
        Err((id, error)) => {
            let code = match Code::from_number(error.code) {
                Some(Code::Unauthenticated) => CLOSE_UNAUTHENTICATED,
                Some(Code::Unavailable) => close_code::AGAIN,
                _ => close_code::POLICY,
            };
            let reason = error.message.clone();
            let response = Response::failed(id.unwrap_or_default(), error);
            let _ = outbox.words.try_send(text(response));
            let _ = outbox
                .words
                .try_send(Message::Close(Some(closing(code, &reason))));
        }
    }
    // A peer that does not read does not keep a socket that was closed.
    let mut writer = writer;
    if timeout(CLOSED_WITHIN, &mut writer).await.is_err() {
        writer.abort();
    }
    sockets.decrement(1);
}

/// Waits for `connect`, and lets the peer in or says why not.
async fn greeted(
    gateway: &Gateway,
    stream: &mut (impl StreamExt<Item = Result<Message, axum::Error>> + Unpin),
    visitor: Visitor,
) -> Result<(Admitted, Guest, Response), connect::Refused> {
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
    let evicted = async {
        match &unknown {
            Some(seat) => seat.evicted().await,
            None => std::future::pending().await,
        }
    };
    let refused = |code, message: &str| (None, ErrorShape::new(code, message));
    let first = tokio::select! {
        biased;
        first = timeout(manyhands_wire::CONNECT_WITHIN, stream.next()) => first,
        () = evicted => {
            let message = "too many sockets have not sent `connect`, and this one had waited longest; connect again";
            return Err(refused(Code::Unavailable, message));
        }
    };
    match first {
        Ok(Some(Ok(Message::Text(text)))) => {
            let admitted = connect::admit(gateway, &text, client, token).await?;
            if let Some(seat) = seat {
                seat.admitted();
            }
            Ok(admitted)
        }
        Ok(Some(Ok(_))) => Err(refused(
            Code::NotConnected,
            "the first frame must be the request `connect`",
        )),
        Ok(_) => Err(refused(Code::BadConnect, "no `connect` came")),
        Err(_) => Err(refused(
            Code::BadConnect,
            "no `connect` came within 15 seconds",
        )),
    }
}

/// Serves a client until it goes, or says why its socket is closed. Every call that the socket
/// asked for ends with it.
async fn client(
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: Outbox,
    stream: &mut (impl StreamExt<Item = Result<Message, axum::Error>> + Unpin),
) -> Option<CloseFrame> {
    let runs = Arc::new(Runs::default());
    let house = gateway.clone();
    let (minds, caller, words) = (
        gateway.minds().clone(),
        admitted.caller.clone(),
        outbox.words.clone(),
    );
    let mut session = Session {
        gateway,
        admitted,
        outbox: outbox.words,
        open: JoinSet::new(),
        runs: runs.clone(),
        watches: Arc::default(),
    };
    tokio::select! {
        close = session.run(stream) => close,
        () = chat::forward(&minds, &caller, &words, &runs) => None,
        () = lists::forward(&house, &caller, &words) => None,
    }
}

/// Writes what is queued, words before pieces of files; a reader too slow for one of them is
/// given up.
async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut words: mpsc::Receiver<Message>,
    mut pieces: mpsc::Receiver<Message>,
) {
    loop {
        let message = tokio::select! {
            biased;
            word = words.recv() => word,
            Some(piece) = pieces.recv() => Some(piece),
        };
        let Some(message) = message else { break };
        let last = matches!(message, Message::Close(_));
        let sent = timeout(SLOW, sink.send(message)).await;
        if last || !matches!(sent, Ok(Ok(()))) {
            break;
        }
    }
}

struct Session {
    gateway: Arc<Gateway>,
    admitted: Admitted,
    outbox: mpsc::Sender<Message>,
    open: JoinSet<()>,
    runs: Arc<Runs>,
    watches: Arc<Watches>,
}

impl Session {
    /// Serves until the peer goes, or says why the socket is closed.
    async fn run(
        &mut self,
        stream: &mut (impl StreamExt<Item = Result<Message, axum::Error>> + Unpin),
    ) -> Option<CloseFrame> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let mut lapsed = pin!(gateway.doorman.lapsed(&admitted));
        let stopping = gateway.stopping();
        let (mut changes, mut news) = (gateway.nodes.changes(), gateway.nodes.news());
        loop {
            tokio::select! {
                message = stream.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text),
                        Some(Ok(Message::Binary(_))) => return Some(closing(close_code::UNSUPPORTED, "no transfer was given to this socket")),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                    }
                }
                _ = pings.tick() => {
                    if heard.elapsed() > DEAD {
                        return None;
                    }
                    let _ = self.outbox.try_send(Message::Ping(Default::default()));
                }
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED, &ended.message)),
                Some(_) = self.open.join_next(), if !self.open.is_empty() => {}
                () = stopping.cancelled(), if self.open.is_empty() => return Some(closing(close_code::RESTART, "the gateway is stopping")),
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

    fn take(&mut self, frame: &str) {
        let request = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => request,
            Ok(Frame::Res(_) | Frame::Evt(_)) => return, // nothing was asked of this peer
            Err(error) => return self.answer(Response::failed("", error)),
        };
        if self.open.len() >= MAX_OPEN {
            let error = ErrorShape::new(
                Code::Unavailable,
                format!("{MAX_OPEN} requests are open on this socket; wait for one to end"),
            );
            return self.answer(Response::failed(request.id, error));
        }
        let (gateway, admitted) = (self.gateway.clone(), self.admitted.clone());
        let (outbox, runs) = (self.outbox.clone(), self.runs.clone());
        let watches = self.watches.clone();
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
                tracing::error!(reason, "internal error: a request on a socket panicked");
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

    /// Answers at once, or not at all: a peer with a full queue reads nothing anyway.
    fn answer(&self, response: Response) {
        let _ = self.outbox.try_send(text(response));
    }
}

fn text(response: Response) -> Message {
    Message::Text(Frame::Res(response).encode().into())
}

fn closing(code: u16, reason: &str) -> CloseFrame {
    // A close frame carries at most 123 bytes of reason.
    let end = reason.floor_char_boundary(reason.len().min(120));
    CloseFrame {
        code,
        reason: reason[..end].into(),
    }
}
