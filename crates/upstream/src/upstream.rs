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
use crate::client::McpClient;
use crate::connection::ServerConnection;
use crate::error::UpstreamError;
use crate::handshake::{Handshake, KnownProtocol};
use crate::hooks::{DeclineAll, Hooks, ServerRequestHandler};
use crate::hub::CallReply;
use crate::notification::ServerNotification;
use crate::peer::Peer;
use crate::server::{Bounds, Server, UpstreamDeps};

/// Capacity of the notification channel, for slow receivers.
const NOTIFICATION_CAPACITY: usize = 256;
/// A connection that lasted this long resets the count of consecutive failures.
const STABLE_AFTER: Duration = Duration::from_secs(30);
/// Callers wait this long for the next attempt instead of failing.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(1);
/// Restarts of a dead server before anyone needs it.
const MAX_RECONNECTS: u32 = 5;
/// Timeout of a health check, shorter if checks are more frequent.
const HEALTH_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10);
/// Timeout of stopping.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

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
pub struct Upstream(Arc<StopGuard>);

/// Stops the server when the last handle is dropped; background tasks hold only the inner part.
struct StopGuard(Arc<Inner>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.halt();
    }
}

struct Inner {
    server: Arc<Server>,
    deps: UpstreamDeps,
    live: ArcSwapOption<ServerConnection>,
    /// Held while connecting.
    gate: Arc<Gate<FailureState>>,
    status: watch::Sender<Status>,
    notifications: broadcast::Sender<ServerNotification>,
    /// The protocol that worked last time.
    last_protocol: Mutex<Option<KnownProtocol>>,
    slots: Arc<Semaphore>,
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
struct FailureState {
    attempts: u32,
    error: String,
    next_try: Option<(Instant, Timestamp)>,
    /// Whether it was ever connected.
    known: bool,
}

impl Upstream {
    /// A server that is not started yet.
    pub fn new(server: Server, deps: UpstreamDeps) -> Self {
        let inner = Inner {
            slots: Arc::new(Semaphore::new(server.bounds.private)),
            server: Arc::new(server),
            deps,
            live: ArcSwapOption::empty(),
            gate: Arc::default(),
            status: watch::Sender::new(Status::Idle),
            notifications: broadcast::Sender::new(NOTIFICATION_CAPACITY),
            last_protocol: Mutex::default(),
            private: Mutex::default(),
            stderr: Mutex::default(),
            stopped: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Self(Arc::new(StopGuard(Arc::new(inner))))
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
        self.inner().notifications.subscribe()
    }

    /// Its description of itself, if connected.
    pub fn peer(&self) -> Option<Peer> {
        let live = self.inner().live.load();
        live.as_ref().map(|live| live.peer().clone())
    }

    /// The end of its program's standard error.
    pub fn stderr(&self) -> String {
        let tail = self.inner().stderr.lock();
        let tail = tail.unwrap_or_else(|poisoned| poisoned.into_inner());
        tail.as_ref().map(StderrTail::text).unwrap_or_default()
    }

    /// The shared connection, opened if necessary.
    pub async fn live(&self) -> Result<Arc<ServerConnection>, UpstreamError> {
        self.inner().live().await
    }

    /// Opens a private connection whose server requests `handler` handles. It is not reopened when it ends.
    pub async fn open_private(
        &self,
        handler: Option<Arc<dyn ServerRequestHandler>>,
    ) -> Result<Private, UpstreamError> {
        let inner = self.inner();
        if inner.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        let max = inner.server.bounds.private;
        let slot = inner.slots.clone().try_acquire_owned();
        let slot = slot.map_err(|_| UpstreamError::Busy { max })?;
        let notifications = broadcast::Sender::new(NOTIFICATION_CAPACITY);
        let connection = tokio::select! {
            biased;
            () = inner.stopped.cancelled() => return Err(UpstreamError::Stopped),
            opened = inner.open(handler, notifications.clone(), ConnectionKind::Private) => Arc::new(opened?),
        };
        let mut all = inner
            .private
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&connection));
        drop(all);
        // `stop` may have drained the list just before this connection was added to it.
        if inner.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        Ok(Private {
            connection,
            notifications,
            _slot: slot,
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
        let _ = timeout(STOP_TIMEOUT, closed).await;
    }
}

impl Inner {
    /// Ends everything; returns the open connections.
    fn halt(&self) -> Vec<Arc<ServerConnection>> {
        self.stopped.cancel();
        self.tasks.close();
        let mut private = self
            .private
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
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
        self.live.load_full().filter(|live| !live.is_closed())
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
        let mut failures = self.gate.clone().lock_owned().await;
        // Another caller may have connected, or noticed the failure, while this one waited for the gate.
        self.clear_ended(&mut failures);
        if let Some(live) = self.current() {
            return Ok(live);
        }
        if let Some((at, next_try)) = failures.next_try {
            if at.saturating_duration_since(Instant::now()) > MAX_RETRY_WAIT {
                return Err(UpstreamError::Failing {
                    error: failures.error.clone(),
                    attempts: failures.attempts,
                    next_try,
                });
            }
            sleep_until(at).await;
        }
        // In its own task: the caller may be dropped, while others wait for the same connection.
        let this = self.clone();
        let job = self
            .tasks
            .spawn(async move { this.connect(failures).await });
        job.await
            .unwrap_or_else(|e| Err(UpstreamError::Unreachable(e.to_string())))
    }

    async fn open(
        &self,
        own: Option<Arc<dyn ServerRequestHandler>>,
        notifications: broadcast::Sender<ServerNotification>,
        kind: ConnectionKind,
    ) -> Result<ServerConnection, UpstreamError> {
        let shared = kind == ConnectionKind::Shared;
        let decline_all = || {
            (shared && self.server.accepts_requests)
                .then(|| Arc::new(DeclineAll) as Arc<dyn ServerRequestHandler>)
        };
        let handshake = Handshake {
            server: &self.server,
            deps: &self.deps,
            own: own.clone().or_else(decline_all),
            notifications,
            programs: &self.tasks,
            stderr: shared.then_some(&self.stderr),
        };
        let last = *self
            .last_protocol
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let negotiated = handshake.handshake(last).await;
        // After a failure the protocol is negotiated again: the server may have been replaced.
        let last_protocol = negotiated
            .as_ref()
            .ok()
            .map(|(_, _, last_protocol)| *last_protocol);
        *self
            .last_protocol
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = last_protocol;
        let (link, peer, _) = negotiated?;
        Ok(ServerConnection::new(
            link.into_inner(),
            peer,
            self.server.clone(),
            own,
        ))
    }

    async fn connect(
        self: Arc<Self>,
        mut failures: OwnedMutexGuard<FailureState>,
    ) -> Result<Arc<ServerConnection>, UpstreamError> {
        self.set_status(Status::Starting);
        let opened = tokio::select! {
            biased;
            () = self.stopped.cancelled() => return Err(UpstreamError::Stopped),
            opened = self.open(None, self.notifications.clone(), ConnectionKind::Shared) => opened,
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
                self.set_status(Status::Ready);
                failures.next_try = None;
                if std::mem::replace(&mut failures.known, true) {
                    // Notifications sent while disconnected were missed.
                    for notifications in [
                        ServerNotification::Tools,
                        ServerNotification::Prompts,
                        ServerNotification::Resources,
                    ] {
                        let _ = self.notifications.send(notifications);
                    }
                }
                self.tasks
                    .spawn(self.clone().supervise_boxed(connection.clone()));
                Ok(connection)
            }
            Err(why) => {
                failures.attempts += 1;
                let delay = retry_delay(&self.server, failures.attempts);
                self.failed(&mut failures, &why, delay);
                Err(why)
            }
        }
    }

    /// Publishes the state, unless it was stopped.
    fn set_status(&self, status: Status) {
        self.status.send_if_modified(|now| {
            let change = *now != Status::Stopped && *now != status;
            if change {
                *now = status;
            }
            change
        });
    }

    fn failed(&self, failures: &mut FailureState, why: &UpstreamError, delay: Duration) {
        let mut byte = [0];
        self.deps.entropy.fill(&mut byte);
        // Jitter between 75 % and 125 %, so that many servers do not retry at once.
        let delay = delay * (192 + u32::from(byte[0]) / 2) / 256;
        let next_try = self.deps.clock.now().plus(delay);
        failures.error = why.to_string();
        failures.next_try = Some((Instant::now() + delay, next_try));
        let (attempts, error) = (failures.attempts, failures.error.clone());
        tracing::warn!(
            event = "upstream_failed",
            server = self.server.name,
            retry_in = ?delay,
            attempts,
            error,
            "MCP server failed; will retry"
        );
        self.set_status(Status::Failing {
            error,
            attempts,
            next_try,
        });
    }

    /// Boxed, since the future is recursive: minding leads to connecting, which leads to minding.
    fn supervise_boxed(
        self: Arc<Self>,
        one: Arc<ServerConnection>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.supervise(one))
    }

    /// Watches the shared connection until it ends, then restarts the server.
    async fn supervise(self: Arc<Self>, connection: Arc<ServerConnection>) {
        self.monitor(connection).await;
        if self.stopped.is_cancelled() {
            return;
        }
        self.clear_ended(&mut *self.gate.lock().await);
        self.reconnect().await;
    }

    /// Records the end of a connection, by whichever task notices it first.
    fn clear_ended(&self, failures: &mut FailureState) {
        let Some(dead) = self.live.load_full().filter(|live| live.is_closed()) else {
            return;
        };
        self.live.store(None);
        let why = dead.hub().why().cloned().unwrap_or(UpstreamError::Stopped);
        if matches!(why, UpstreamError::Gone(_)) {
            // It was closed in good order and is reopened on demand.
            return self.set_status(Status::Idle);
        }
        // A server that ran well for a while is not in a crash loop.
        if dead.age() > STABLE_AFTER {
            failures.attempts = 0;
        }
        failures.attempts += 1;
        // The first failure is retried immediately.
        let delay = match failures.attempts {
            1 => Duration::ZERO,
            more => retry_delay(&self.server, more - 1),
        };
        self.failed(failures, &why, delay);
    }

    async fn reconnect(self: &Arc<Self>) {
        for _ in 0..MAX_RECONNECTS {
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
    async fn monitor(&self, connection: Arc<ServerConnection>) {
        let hub = connection.hub();
        let timeouts = &self.server.timeouts;
        let tick = timeouts
            .idle
            .map_or(timeouts.health, |idle| idle.min(timeouts.health));
        loop {
            let suspected = tokio::select! {
                biased;
                () = connection.closed() => return,
                () = connection.suspect.notified() => true,
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
            let check_needed = suspected || hub.quiet() >= timeouts.health;
            if check_needed
                && connection.carrier().shares_one_stream()
                && !self.responds(&connection).await
            {
                connection.end(UpstreamError::Lost("it does not respond".to_owned()));
            }
        }
    }

    /// Whether the server still replies, even with an error.
    async fn responds(&self, connection: &ServerConnection) -> bool {
        let health = self.server.timeouts.health;
        let hooks = Hooks {
            timeout: Some(health.clamp(*HEALTH_TIMEOUT.start(), *HEALTH_TIMEOUT.end())),
            ..Hooks::default()
        };
        let answer = connection.check(&hooks).await;
        !matches!(
            answer,
            Err(UpstreamError::TimedOut(_) | UpstreamError::Lost(_))
        )
    }
}

fn retry_delay(server: &Server, attempts: u32) -> Duration {
    let timeouts = &server.timeouts;
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1).min(20));
    timeouts
        .backoff
        .saturating_mul(doubled)
        .min(timeouts.backoff_max)
}

#[async_trait]
impl McpClient for Upstream {
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
    notifications: broadcast::Sender<ServerNotification>,
    _slot: OwnedSemaphorePermit,
}

impl Private {
    /// Notifications over it from now on.
    pub fn changes(&self) -> broadcast::Receiver<ServerNotification> {
        self.notifications.subscribe()
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
