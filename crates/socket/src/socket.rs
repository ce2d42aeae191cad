//! One WebSocket (RFC 6455): the upgrade, the byte stream below the frames, and the closing
//! handshake.
//!
//! Framing is tungstenite's. This module adds what it leaves to its user: a protocol violation is
//! answered with the matching close code, a Close is answered before the connection ends, and a
//! connection ends with FIN, not with a reset that could overtake the Close frame.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_http_common::Refusal;
use manyhands_node_registry::NodeOutbox;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Read buffer per socket. There may be thousands of sockets; a node's offer still fits.
const READ_BUFFER: usize = 16 * 1024;
/// Messages queued for a slow reader.
pub(super) const MAX_QUEUED: usize = 128;
/// File chunks queued for a slow reader.
const MAX_PIECES: usize = 8;
/// How long a blocked write may make no progress.
const STALLED: Duration = Duration::from_secs(30);
/// How often a blocked write is checked.
const CHECK: Duration = Duration::from_secs(1);
/// Bytes still read while a write is blocked. Pongs pile up behind a blocked write, so this bounds
/// them; it is not zero because the peer may have to finish a message before it reads.
const READ_WHILE_BLOCKED: usize = 1024 * 1024;
/// Time limit for the closing handshake and the end of the connection.
const CLOSED_WITHIN: Duration = Duration::from_secs(1);

/// Stream of frames from the peer.
pub(super) type Incoming = SplitStream<WebSocketStream<Io>>;

/// A valid upgrade request.
pub(super) struct Upgrade {
    on_upgrade: OnUpgrade,
    accept: String,
}

impl Upgrade {
    /// Validates the opening handshake (RFC 6455, section 4.2.1).
    #[allow(clippy::result_large_err, reason = "the response is sent at once")]
    pub(super) fn of(mut parts: Parts) -> Result<Self, Response> {
        let wrong = |message: &str| {
            let error = ToolError::new(ErrorCode::InvalidArguments, message);
            Err(
                Refusal(error.hint("open a WebSocket (RFC 6455, version 13) on /ws"))
                    .into_response(),
            )
        };
        if parts.method != Method::GET {
            return wrong("a WebSocket must be opened with GET");
        }
        let headers = &parts.headers;
        if !names(headers, header::CONNECTION, "upgrade")
            || !names(headers, header::UPGRADE, "websocket")
        {
            return wrong("the headers `Connection: Upgrade` and `Upgrade: websocket` are missing");
        }
        if !names(headers, header::SEC_WEBSOCKET_VERSION, "13") {
            let refused = [(header::SEC_WEBSOCKET_VERSION, "13")];
            return Err((StatusCode::UPGRADE_REQUIRED, refused).into_response());
        }
        let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY) else {
            return wrong("the header `Sec-WebSocket-Key` is missing");
        };
        let accept = derive_accept_key(key.as_bytes());
        match parts.extensions.remove::<OnUpgrade>() {
            Some(on_upgrade) => Ok(Self { on_upgrade, accept }),
            None => wrong("this connection cannot be upgraded"),
        }
    }

    /// Sends the 101 response and serves the socket once the connection is handed over. Messages
    /// larger than `limit` bytes are a violation.
    pub(super) fn serve<F>(
        self,
        limit: usize,
        serve: impl FnOnce(Socket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send,
    {
        let on_upgrade = self.on_upgrade;
        // The upgrade completes only after the 101 response is sent, so it cannot be awaited here.
        tokio::spawn(async move {
            if let Ok(upgraded) = on_upgrade.await {
                serve(Socket::new(upgraded, limit).await).await;
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let fields = [
            (header::CONNECTION, "upgrade"),
            (header::UPGRADE, "websocket"),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept.as_str()),
        ];
        let fields = fields.map(|(name, value)| Some((name, value.parse().ok()?)));
        response.headers_mut().extend(fields.into_iter().flatten());
        response
    }
}

/// Whether a comma-separated header contains this token.
fn names(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    let mut listed = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    listed.any(|one| one.trim().eq_ignore_ascii_case(wanted))
}

/// A socket. Incoming frames are read by the serving task; a separate task writes.
pub(super) struct Socket {
    pub(super) incoming: Incoming,
    pub(super) outbox: NodeOutbox,
    pub(super) pulse: Pulse,
    writer: AbortOnDropHandle<SplitSink<WebSocketStream<Io>, Message>>,
    stop_writing: CancellationToken,
}

impl Socket {
    async fn new(connection: Upgraded, limit: usize) -> Self {
        let pulse = Pulse::default();
        let io = Io {
            connection: TokioIo::new(connection),
            pulse: pulse.clone(),
        };
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_message_size(Some(limit))
            .max_frame_size(Some(limit));
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (sink, incoming) = socket.split();
        let (messages, queued) = mpsc::channel(MAX_QUEUED);
        let (bulk, pieces) = mpsc::channel(MAX_PIECES);
        let stop_writing = CancellationToken::new();
        let writing = write(sink, queued, pieces, pulse.clone(), stop_writing.clone());
        Self {
            incoming,
            outbox: NodeOutbox { messages, bulk },
            pulse,
            writer: AbortOnDropHandle::new(tokio::spawn(writing)),
            stop_writing,
        }
    }

    /// Ends the connection: with this Close frame, or, after the peer closed it, with `None`.
    pub(super) async fn close(self, with: Option<CloseFrame>) {
        let Self {
            incoming,
            outbox,
            writer,
            stop_writing,
            ..
        } = self;
        let closing = async {
            match with {
                // Queued behind the responses that are already waiting.
                Some(close) => drop(outbox.messages.send(Message::Close(Some(close))).await),
                None => stop_writing.cancel(),
            }
            let Ok(sink) = writer.await else { return };
            let Ok(mut socket) = sink.reunite(incoming) else {
                return;
            };
            // Reading sends the answer to the peer's Close, or waits for its answer to ours. After
            // a violation the stream has ended, so this returns immediately.
            while let Some(Ok(_)) = socket.next().await {}
            let mut io = socket.into_inner();
            let _ = io.shutdown().await;
            // Closing a connection with unread bytes resets it, and the reset can overtake the
            // Close frame.
            let mut rest = [0; 4096];
            while io.read(&mut rest).await.is_ok_and(|read| read > 0) {}
        };
        // A peer that neither reads nor answers must not keep a closed socket alive.
        let _ = timeout(CLOSED_WITHIN, closing).await;
    }
}

/// Writes queued messages, control messages before file chunks, until a Close frame is written, the
/// peer stalls, or `stop` fires.
async fn write(
    mut sink: SplitSink<WebSocketStream<Io>, Message>,
    mut words: mpsc::Receiver<Message>,
    mut pieces: mpsc::Receiver<Message>,
    pulse: Pulse,
    stop: CancellationToken,
) -> SplitSink<WebSocketStream<Io>, Message> {
    loop {
        let message = tokio::select! {
            // Biased: control messages must not wait behind file chunks.
            biased;
            () = stop.cancelled() => break,
            word = words.recv() => word,
            Some(piece) = pieces.recv() => Some(piece),
        };
        let Some(message) = message else { break };
        let last = matches!(message, Message::Close(_));
        let sent = tokio::select! {
            sent = sink.send(message) => sent.is_ok(),
            () = pulse.stalled() => false,
            () = stop.cancelled() => false,
        };
        if last || !sent {
            break;
        }
    }
    sink
}

/// The Close frame for a read error; `None` if the peer closed or disappeared.
pub(super) fn violation(error: &Error) -> Option<CloseFrame> {
    let code = match error {
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => return None,
        Error::Protocol(_) => CloseCode::Protocol,
        Error::Utf8(_) => CloseCode::Invalid,
        Error::Capacity(_) => CloseCode::Size,
        _ => return None,
    };
    Some(closing(code, &error.to_string()))
}

/// Builds a Close frame, cutting the reason to fit: RFC 6455 allows 123 bytes.
pub(super) fn closing(code: CloseCode, reason: &str) -> CloseFrame {
    let end = reason.floor_char_boundary(reason.len().min(120));
    CloseFrame {
        code,
        reason: reason[..end].into(),
    }
}

/// When bytes last moved on a connection, in either direction. Bytes rather than messages: a large
/// message over a slow link is not silence, nor is a peer that reads one slowly.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Mutex<Activity>>);

struct Activity {
    /// When the peer was last known alive: it sent bytes, or accepted some after a blocked write.
    seen: Instant,
    /// Since when a write has been blocked.
    blocked: Option<Instant>,
    /// Bytes read since then.
    read: usize,
    /// Reader waiting for the write to make progress.
    reader: Option<Waker>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Activity {
            seen: Instant::now(),
            blocked: None,
            read: 0,
            reader: None,
        })))
    }
}

impl Pulse {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the peer was last known alive.
    pub(super) fn silent_for(&self) -> Duration {
        self.activity().seen.elapsed()
    }

    /// Restarts the idle clock after a time in which nothing was read on purpose.
    pub(super) fn restart_idle_clock(&self) {
        self.activity().seen = Instant::now();
    }

    /// Resolves when a write has been blocked for longer than `STALLED`.
    async fn stalled(&self) {
        loop {
            sleep(CHECK).await;
            let blocked = self.activity().blocked;
            if blocked.is_some_and(|since| since.elapsed() > STALLED) {
                return;
            }
        }
    }

    fn wrote<T>(&self, written: &Poll<io::Result<T>>) {
        let mut activity = self.activity();
        match written {
            Poll::Pending => drop(activity.blocked.get_or_insert_with(Instant::now)),
            Poll::Ready(_) => {
                if activity.blocked.take().is_some() {
                    activity.seen = Instant::now();
                    activity.read = 0;
                }
                if let Some(reader) = activity.reader.take() {
                    reader.wake();
                }
            }
        }
    }
}

/// The byte stream below the frames, which records activity.
pub(super) struct Io {
    connection: TokioIo<Upgraded>,
    pulse: Pulse,
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let mut activity = self.pulse.activity();
            if activity.blocked.is_some() && activity.read >= READ_WHILE_BLOCKED {
                activity.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.connection).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            let mut activity = self.pulse.activity();
            activity.seen = Instant::now();
            if activity.blocked.is_some() {
                activity.read += bytes;
            }
        }
        read
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.pulse.wrote(&written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.connection).poll_flush(context);
        self.pulse.wrote(&flushed);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
