//! One server: started on first use, shared by all callers, restarted when it dies.

use std::ops::{Deref, RangeInclusive};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use manyhands_core::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{
    Mutex as Gate, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, broadcast, watch,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::carrier::StderrTail;
use crate::connection::ServerConnection;
use crate::error::UpstreamError;
use crate::greet::{Greeter, KnownProtocol};
use crate::hooks::{Hooks, Nobody, ServerRequestHandler};
use crate::hub::CallReply;
use crate::news::ServerNotification;
use crate::peer::Peer;
use crate::server::{Bounds, Server, UpstreamDeps};
use crate::speak::Speak;

/// Capacity of the notification channel, for slow receivers.
const NEWS: usize = 256;
/// A connection that lasted this long resets the count of consecutive failures.
const LASTED: Duration = Duration::from_secs(30);
/// Callers wait this long for the next attempt instead of failing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Restarts of a dead server before anyone needs it.
const MAX_UNASKED: u32 = 5;
/// Timeout of a health check, shorter if checks are more frequent.
const STILL_THERE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10);
/// Timeout of stopping.
const STOPPING: Duration = Duration::from_secs(10);

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not started yet.
    Idle,
    /// Starting.
    Starting,
    /// Connected.
    Ready,
    /// It failed and will be retried.
    Failing {
        /// The last error.
        error: String,
        /// Consecutive failures.
        attempts: u32,
        /// Time of the next attempt.
        next_try: Timestamp,
    },
    /// Stopped permanently.
    Stopped,
}

/// One server. Clones share it; dropping the last one stops it.
#[derive(Clone)]
pub struct Upstream(Arc<Owner>);

/// Stops the server when the last handle is dropped; background tasks hold only the inner part.
struct Owner(Arc<Inner>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.halt();
    }
}

struct Inner {
    server: Arc<Server>,
    ground: UpstreamDeps,
    live: ArcSwapOption<ServerConnection>,
    /// Held while connecting.
    gate: Arc<Gate<Trouble>>,
    status: watch::Sender<Status>,
    news: broadcast::Sender<ServerNotification>,
    /// The protocol that worked last time.
    way: Mutex<Option<KnownProtocol>>,
    places: Arc<Semaphore>,
    private: Mutex<Vec<Weak<ServerConnection>>>,
    stderr: Mutex<Option<StderrTail>>,
    stopped: CancellationToken,
    tasks: TaskTracker,
}

/// Who uses a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionKind {
    Shared,
    Private,
}

/// Recent failures.
#[derive(Default)]
struct Trouble {
    attempts: u32,
    error: String,
    next_try: Option<(Instant, Timestamp)>,
    /// Whether it was ever connected.
    known: bool,
}

impl Upstream {
    /// A server that is not started yet.
    pub fn new(server: Server, ground: UpstreamDeps) -> Self {
        let inner = Inner {
            places: Arc::new(Semaphore::new(server.bounds.private)),
            server: Arc::new(server),
            ground,
            live: ArcSwapOption::empty(),
            gate: Arc::default(),
            status: watch::Sender::new(Status::Idle),
            news: broadcast::Sender::new(NEWS),
            way: Mutex::default(),
            private: Mutex::default(),
            stderr: Mutex::default(),
            stopped: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Self(Arc::new(Owner(Arc::new(inner))))
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.0.0
    }

    /// Its configuration.
    pub fn server(&self) -> &Server {
        &self.inner().server
    }

    /// Its current state.
    pub fn status(&self) -> Status {
        self.inner().status.borrow().clone()
    }

    /// Watches its state.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.inner().status.subscribe()
    }

    /// Notifications over the shared connection from now on. A receiver that falls behind gets a lag
    /// error and should reload everything.
    pub fn changes(&self) -> broadcast::Receiver<ServerNotification> {
        self.inner().news.subscribe()
    }

    /// Its description of itself, if connected.
    pub fn peer(&self) -> Option<Peer> {
        let live = self.inner().live.load();
        live.as_ref().map(|live| live.peer().clone())
    }

    /// The end of its program's standard error.
    pub fn stderr(&self) -> String {
        let kept = self.inner().stderr.lock();
        let kept = kept.unwrap_or_else(|held| held.into_inner());
        kept.as_ref().map(StderrTail::text).unwrap_or_default()
    }

    /// The shared connection, opened if necessary.
    pub async fn live(&self) -> Result<Arc<ServerConnection>, UpstreamError> {
        self.inner().live().await
    }

    /// Opens a private connection whose server requests `ask` handles. It is not reopened when it ends.
    pub async fn open_private(
        &self,
        ask: Option<Arc<dyn ServerRequestHandler>>,
    ) -> Result<Private, UpstreamError> {
        let inner = self.inner();
        if inner.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        let max = inner.server.bounds.private;
        let place = inner.places.clone().try_acquire_owned();
        let place = place.map_err(|_| UpstreamError::Busy { max })?;
        let news = broadcast::Sender::new(NEWS);
        let connection = tokio::select! {
            biased;
            () = inner.stopped.cancelled() => return Err(UpstreamError::Stopped),
            opened = inner.open(ask, news.clone(), ConnectionKind::Private) => Arc::new(opened?),
        };
        let mut all = inner
            .private
            .lock()
            .unwrap_or_else(|held| held.into_inner());
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&connection));
        drop(all);
        // `stop` may have drained the list just before this connection was added to it.
        if inner.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        Ok(Private {
            connection,
            news,
            _place: place,
        })
    }

    /// Stops it permanently and waits for its tasks.
    pub async fn stop(&self) {
        let inner = self.inner();
        let open = inner.halt();
        let closed = async {
            for connection in open {
                connection.close().await;
            }
            inner.tasks.wait().await;
        };
        let _ = timeout(STOPPING, closed).await;
    }
}

impl Inner {
    /// Ends everything; returns the open connections.
    fn halt(&self) -> Vec<Arc<ServerConnection>> {
        self.stopped.cancel();
        self.tasks.close();
        let mut private = self.private.lock().unwrap_or_else(|held| held.into_inner());
        let mut open: Vec<_> = private.drain(..).filter_map(|one| one.upgrade()).collect();
        drop(private);
        open.extend(self.live.swap(None));
        for connection in &open {
            connection.end(UpstreamError::Stopped);
        }
        // Last, since observers of `Stopped` may assume that no connection is left.
        self.status.send_replace(Status::Stopped);
        open
    }

    fn current(&self) -> Option<Arc<ServerConnection>> {
        self.live.load_full().filter(|live| !live.is_over())
    }

    async fn live(self: &Arc<Self>) -> Result<Arc<ServerConnection>, UpstreamError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        // Boxed, so that the common case does not carry the large connect future.
        Box::pin(self.connected()).await
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<ServerConnection>, UpstreamError> {
        if self.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        // One connection attempt at a time: callers that arrive meanwhile wait here and share its
        // result.
        let mut trouble = self.gate.clone().lock_owned().await;
        // Another caller may have connected, or noticed the failure, while this one waited for the gate.
        self.bury(&mut trouble);
        if let Some(live) = self.current() {
            return Ok(live);
        }
        if let Some((at, next_try)) = trouble.next_try {
            if at.saturating_duration_since(Instant::now()) > PATIENCE {
                return Err(UpstreamError::Failing {
                    error: trouble.error.clone(),
                    attempts: trouble.attempts,
                    next_try,
                });
            }
            sleep_until(at).await;
        }
        // In its own task: the caller may be dropped, while others wait for the same connection.
        let this = self.clone();
        let job = self.tasks.spawn(async move { this.connect(trouble).await });
        job.await
            .unwrap_or_else(|e| Err(UpstreamError::Unreachable(e.to_string())))
    }

    async fn open(
        &self,
        own: Option<Arc<dyn ServerRequestHandler>>,
        news: broadcast::Sender<ServerNotification>,
        kind: ConnectionKind,
    ) -> Result<ServerConnection, UpstreamError> {
        let shared = kind == ConnectionKind::Shared;
        let nobody = || {
            (shared && self.server.asks).then(|| Arc::new(Nobody) as Arc<dyn ServerRequestHandler>)
        };
        let greeter = Greeter {
            server: &self.server,
            ground: &self.ground,
            own: own.clone().or_else(nobody),
            news,
            lives: &self.tasks,
            stderr: shared.then_some(&self.stderr),
        };
        let last = *self.way.lock().unwrap_or_else(|held| held.into_inner());
        let greeted = greeter.greet(last).await;
        // After a failure the protocol is negotiated again: the server may have been replaced.
        let way = greeted.as_ref().ok().map(|(_, _, way)| *way);
        *self.way.lock().unwrap_or_else(|held| held.into_inner()) = way;
        let (kept, peer, _) = greeted?;
        Ok(ServerConnection::new(
            kept.take(),
            peer,
            self.server.clone(),
            own,
        ))
    }

    async fn connect(
        self: Arc<Self>,
        mut trouble: OwnedMutexGuard<Trouble>,
    ) -> Result<Arc<ServerConnection>, UpstreamError> {
        self.say(Status::Starting);
        let opened = tokio::select! {
            biased;
            () = self.stopped.cancelled() => return Err(UpstreamError::Stopped),
            opened = self.open(None, self.news.clone(), ConnectionKind::Shared) => opened,
        };
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                self.live.store(Some(connection.clone()));
                // `stop` may have looked for an open connection just before this one was stored.
                if self.stopped.is_cancelled() {
                    drop(self.halt());
                    return Err(UpstreamError::Stopped);
                }
                self.say(Status::Ready);
                trouble.next_try = None;
                if std::mem::replace(&mut trouble.known, true) {
                    // Notifications sent while disconnected were missed.
                    for news in [
                        ServerNotification::Tools,
                        ServerNotification::Prompts,
                        ServerNotification::Resources,
                    ] {
                        let _ = self.news.send(news);
                    }
                }
                self.tasks.spawn(self.clone().minder(connection.clone()));
                Ok(connection)
            }
            Err(why) => {
                trouble.attempts += 1;
                let delay = trouble_delay(&self.server, trouble.attempts);
                self.failed(&mut trouble, &why, delay);
                Err(why)
            }
        }
    }

    /// Publishes the state, unless it was stopped.
    fn say(&self, status: Status) {
        self.status.send_if_modified(|now| {
            let change = *now != Status::Stopped && *now != status;
            if change {
                *now = status;
            }
            change
        });
    }

    fn failed(&self, trouble: &mut Trouble, why: &UpstreamError, delay: Duration) {
        let mut byte = [0];
        self.ground.entropy.fill(&mut byte);
        // Jitter between 75 % and 125 %, so that many servers do not retry at once.
        let delay = delay * (192 + u32::from(byte[0]) / 2) / 256;
        let next_try = self.ground.clock.now().plus(delay);
        trouble.error = why.to_string();
        trouble.next_try = Some((Instant::now() + delay, next_try));
        let (attempts, error) = (trouble.attempts, trouble.error.clone());
        tracing::warn!(
            event = "upstream_failed",
            server = self.server.name,
            retry_in = ?delay,
            attempts,
            error,
            "MCP server failed; will retry"
        );
        self.say(Status::Failing {
            error,
            attempts,
            next_try,
        });
    }

    /// Boxed, since the future is recursive: minding leads to connecting, which leads to minding.
    fn minder(
        self: Arc<Self>,
        one: Arc<ServerConnection>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.mind(one))
    }

    /// Watches the shared connection until it ends, then restarts the server.
    async fn mind(self: Arc<Self>, connection: Arc<ServerConnection>) {
        self.watch_over(connection).await;
        if self.stopped.is_cancelled() {
            return;
        }
        self.bury(&mut *self.gate.lock().await);
        self.revive().await;
    }

    /// Records the end of a connection, by whichever task notices it first.
    fn bury(&self, trouble: &mut Trouble) {
        let Some(dead) = self.live.load_full().filter(|live| live.is_over()) else {
            return;
        };
        self.live.store(None);
        let why = dead.hub().why().cloned().unwrap_or(UpstreamError::Stopped);
        if matches!(why, UpstreamError::Gone(_)) {
            // It was closed in good order and is reopened on demand.
            return self.say(Status::Idle);
        }
        // A server that ran well for a while is not in a crash loop.
        if dead.age() > LASTED {
            trouble.attempts = 0;
        }
        trouble.attempts += 1;
        // The first failure is retried immediately.
        let delay = match trouble.attempts {
            1 => Duration::ZERO,
            more => trouble_delay(&self.server, more - 1),
        };
        self.failed(trouble, &why, delay);
    }

    async fn revive(self: &Arc<Self>) {
        for _ in 0..MAX_UNASKED {
            let at = self.gate.lock().await.next_try.map(|(at, _)| at);
            let Some(at) = at else { return };
            tokio::select! {
                () = self.stopped.cancelled() => return,
                () = sleep_until(at) => {}
            }
            if self.live().await.is_ok() {
                return;
            }
        }
    }

    /// Completes when the connection has ended. A silent server is pinged; an unused connection is
    /// closed.
    async fn watch_over(&self, connection: Arc<ServerConnection>) {
        let hub = connection.hub();
        let timeouts = &self.server.timeouts;
        let tick = timeouts
            .idle
            .map_or(timeouts.health, |idle| idle.min(timeouts.health));
        loop {
            let doubted = tokio::select! {
                biased;
                () = connection.over() => return,
                () = connection.doubt.notified() => true,
                () = sleep(tick) => false,
            };
            // A busy server need not answer pings; its calls have timeouts of their own.
            if hub.in_flight() > 0 {
                continue;
            }
            if timeouts
                .idle
                .is_some_and(|idle| connection.unused() >= idle)
            {
                connection.end(UpstreamError::Gone("it was idle".to_owned()));
                continue;
            }
            let silent = doubted || hub.quiet() >= timeouts.health;
            if silent && connection.carrier().is_line() && !self.is_there(&connection).await {
                connection.end(UpstreamError::Lost("it does not respond".to_owned()));
            }
        }
    }

    /// Whether the server still replies, even with an error.
    async fn is_there(&self, connection: &ServerConnection) -> bool {
        let health = self.server.timeouts.health;
        let hooks = Hooks {
            timeout: Some(health.clamp(*STILL_THERE.start(), *STILL_THERE.end())),
            ..Hooks::default()
        };
        let answer = connection.check(&hooks).await;
        !matches!(
            answer,
            Err(UpstreamError::TimedOut(_) | UpstreamError::Lost(_))
        )
    }
}

fn trouble_delay(server: &Server, attempts: u32) -> Duration {
    let timeouts = &server.timeouts;
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1).min(20));
    timeouts
        .backoff
        .saturating_mul(doubled)
        .min(timeouts.backoff_max)
}

#[async_trait]
impl Speak for Upstream {
    async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        hooks: &Hooks,
    ) -> CallReply {
        let live = async || {
            tokio::select! {
                biased;
                live = self.live() => live,
                () = hooks.cancel.cancelled() => Err(UpstreamError::Cancelled),
            }
        };
        let answer = live().await?.send(method, &mut params, hooks).await;
        match answer {
            // The connection had ended before the request was sent, so it is safe to send it again.
            Err(UpstreamError::Gone(_) | UpstreamError::Unreachable(_)) => {
                live().await?.send(method, &mut params, hooks).await
            }
            answer => answer,
        }
    }

    fn bounds(&self) -> &Bounds {
        &self.inner().server.bounds
    }
}

/// A private connection. Dropping it closes it.
pub struct Private {
    connection: Arc<ServerConnection>,
    news: broadcast::Sender<ServerNotification>,
    _place: OwnedSemaphorePermit,
}

impl Private {
    /// Notifications over it from now on.
    pub fn changes(&self) -> broadcast::Receiver<ServerNotification> {
        self.news.subscribe()
    }
}

impl Deref for Private {
    type Target = ServerConnection;

    fn deref(&self) -> &ServerConnection {
        &self.connection
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.connection.end(UpstreamError::Stopped);
    }
}
