//! New connections: only a limited number may be unauthenticated at a time, and none for long.
//!
//! Until a request on it presents a valid token, a connection holds a seat in the gateway's lobby
//! and is evicted if too many newer ones arrive. Every kind of stalling is bounded here: sending
//! nothing, sending headers or a body byte by byte, not reading a response, and a socket that does
//! not send `connect`.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::middleware::AddExtension;
use axum_server::accept::Accept;
use manyhands_gateway::Gateway;
use manyhands_guard::{PendingConnection, TrustedProxies};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tower::Layer as _;

/// How long a new connection may take to send the headers of its first request. Hyper has its own
/// limit, but it starts only when the HTTP version is known: a connection that sends nothing, or
/// part of an HTTP/2 preface, would never reach it.
pub(crate) const REQUEST_WITHIN: Duration = Duration::from_secs(15);

/// Gives each new connection its seat.
#[derive(Clone)]
pub(crate) struct ConnectionLimiter(Arc<Gateway>);

impl ConnectionLimiter {
    pub(crate) fn new(gateway: &Arc<Gateway>) -> Self {
        Self(gateway.clone())
    }

    fn limit(
        &self,
        stream: TcpStream,
    ) -> io::Result<(LimitedStream<TcpStream>, Arc<PendingConnection>)> {
        // Small frames such as chat deltas must not wait for Nagle's algorithm.
        stream.set_nodelay(true)?;
        let address = stream.peer_addr()?.ip();
        let settings = self.0.settings.current();
        // All clients of a proxy share its address, so a per-address limit would lock them out.
        let seat = match TrustedProxies::new(&settings.trusted_proxies).trusts(address) {
            true => self.0.lobby.add_shared(address),
            false => self.0.lobby.add(address),
        };
        // Read with every connection, because the lobby counts evictions but has no metrics of its
        // own.
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
        let evictions = self.0.lobby.evictions() as f64;
        let metrics = self.0.path.metrics();
        metrics.gauge("evicted_connections").set(evictions);
        let seat = Arc::new(seat);
        Ok((LimitedStream::new(stream, seat.clone()), seat))
    }
}

impl<S> Accept<TcpStream, S> for ConnectionLimiter {
    type Stream = LimitedStream<TcpStream>;
    type Service = AddExtension<S, Arc<PendingConnection>>;
    type Future = Ready<io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let limited = self.limit(stream);
        ready(limited.map(|(stream, seat)| (stream, Extension(seat).layer(service))))
    }
}

/// A connection that ends when it is evicted or stays silent.
pub(crate) struct LimitedStream<I> {
    io: I,
    /// Present until it is authenticated.
    bounds: Option<Bounds>,
}

struct Bounds {
    seat: Arc<PendingConnection>,
    /// One each for reading and writing: a socket does both in separate tasks, and a future wakes
    /// only the task that polled it last.
    read: Pin<Box<WaitForCancellationFutureOwned>>,
    write: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Present until its first request arrives.
    silent: Option<Pin<Box<Sleep>>>,
}

impl<I> LimitedStream<I> {
    fn new(io: I, seat: Arc<PendingConnection>) -> Self {
        let bounds = Bounds {
            read: Box::pin(seat.evicted()),
            write: Box::pin(seat.evicted()),
            silent: Some(Box::pin(tokio::time::sleep(REQUEST_WITHIN))),
            seat,
        };
        Self {
            io,
            bounds: Some(bounds),
        }
    }

    fn bounds(&mut self) -> Option<&mut Bounds> {
        if self
            .bounds
            .as_ref()
            .is_some_and(|it| it.seat.is_authenticated())
        {
            self.bounds = None; // authenticated: no bounds from here on
        }
        self.bounds.as_mut()
    }

    fn may_read(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(bounds) = self.bounds() else {
            return Ok(());
        };
        // The timer covers only the first request: later ones may be far apart, as on a keep-alive
        // connection.
        if bounds.seat.has_request() {
            bounds.silent = None;
        }
        let silent = bounds.silent.as_mut();
        if silent.is_some_and(|silent| silent.as_mut().poll(cx).is_ready()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        unless(bounds.read.as_mut().poll(cx))
    }

    fn may_write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.bounds() {
            Some(bounds) => unless(bounds.write.as_mut().poll(cx)),
            None => Ok(()),
        }
    }
}

fn unless(evicted: Poll<()>) -> io::Result<()> {
    match evicted {
        Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
        Poll::Pending => Ok(()),
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for LimitedStream<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.may_read(cx)?;
        Pin::new(&mut this.io).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for LimitedStream<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.may_write(cx)?;
        Pin::new(&mut this.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.may_write(cx)?;
        Pin::new(&mut this.io).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.may_write(cx)?;
        Pin::new(&mut this.io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Not bounded: an evicted connection still has to be closed.
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}
