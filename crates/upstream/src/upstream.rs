//! One server: started when first used, shared by all, started again when it dies.

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

use crate::carrier::Tail;
use crate::connection::{Connection, Peer};
use crate::error::UpstreamError;
use crate::greet::{Greeter, Way};
use crate::hooks::{Ask, Hooks, Nobody};
use crate::hub::Answer;
use crate::news::News;
use crate::server::{Bounds, Ground, Server};
use crate::speak::Speak;

/// How many news are kept for those who are slow to read them.
const NEWS: usize = 256;
/// What has lasted this long does not count as one more failure in a row.
const LASTED: Duration = Duration::from_secs(30);
/// How long whoever asks waits for the next try rather than being told to come back.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a server that died is started again before anybody asks for it.
const MAX_UNASKED: u32 = 5;
/// How long a server may take to say that it is there; less where it is asked more often.
const STILL_THERE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10);
/// How long a stop may take.
const STOPPING: Duration = Duration::from_secs(10);

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not started, for nobody has needed it.
    Idle,
    /// Starting.
    Starting,
    /// There.
    Ready,
    /// It failed, and is tried again.
    Failing {
        /// What went wrong last.
        error: String,
        /// How often in a row.
        attempts: u32,
        /// When it is tried again.
        next_try: Timestamp,
    },
    /// Stopped for good.
    Stopped,
}

/// One server. Clones are the same one; when the last is dropped, it is stopped.
#[derive(Clone)]
pub struct Upstream(Arc<Owner>);

/// Stops the server with the last of its owners; what runs in the background holds the inside.
struct Owner(Arc<Inner>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.halt();
    }
}

struct Inner {
    server: Arc<Server>,
    ground: Ground,
    live: ArcSwapOption<Connection>,
    /// Held while it is being connected to.
    gate: Arc<Gate<Trouble>>,
    status: watch::Sender<Status>,
    news: broadcast::Sender<News>,
    /// What worked the last time.
    way: Mutex<Option<Way>>,
    places: Arc<Semaphore>,
    private: Mutex<Vec<Weak<Connection>>>,
    stderr: Mutex<Option<Tail>>,
    stopped: CancellationToken,
    tasks: TaskTracker,
}

/// Whose a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shared,
    Private,
}

/// What went wrong lately.
#[derive(Default)]
struct Trouble {
    attempts: u32,
    error: String,
    next_try: Option<(Instant, Timestamp)>,
    /// Whether it was ever there.
    known: bool,
}

impl Upstream {
    /// A server that nobody has asked anything yet.
    pub fn new(server: Server, ground: Ground) -> Self {
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

    /// As its owner describes it.
    pub fn server(&self) -> &Server {
        &self.inner().server
    }

    /// How it is.
    pub fn status(&self) -> Status {
        self.inner().status.borrow().clone()
    }

    /// How it is, whenever that changes.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.inner().status.subscribe()
    }

    /// What it tells over the shared connection from now on. Whoever falls behind is told so,
    /// and had better look at everything anew.
    pub fn changes(&self) -> broadcast::Receiver<News> {
        self.inner().news.subscribe()
    }

    /// What it says of itself, when it is there.
    pub fn peer(&self) -> Option<Peer> {
        let live = self.inner().live.load();
        live.as_ref().map(|live| live.peer().clone())
    }

    /// The last of what its program wrote to its standard error.
    pub fn stderr(&self) -> String {
        let kept = self.inner().stderr.lock();
        let kept = kept.unwrap_or_else(|held| held.into_inner());
        kept.as_ref().map(Tail::text).unwrap_or_default()
    }

    /// The shared connection, which is opened when it is not there.
    pub async fn live(&self) -> Result<Arc<Connection>, UpstreamError> {
        self.inner().live().await
    }

    /// A connection of one's own, which answers with `ask` what the server asks. Its end is not
    /// mended: whoever wants another opens one.
    pub async fn open_private(&self, ask: Option<Arc<dyn Ask>>) -> Result<Private, UpstreamError> {
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
            opened = inner.open(ask, news.clone(), Kind::Private) => Arc::new(opened?),
        };
        let mut all = inner
            .private
            .lock()
            .unwrap_or_else(|held| held.into_inner());
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&connection));
        drop(all);
        if inner.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        Ok(Private {
            connection,
            news,
            _place: place,
        })
    }

    /// Stops it for good and waits until nothing of it is left.
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
    /// Has everything end; gives what was open.
    fn halt(&self) -> Vec<Arc<Connection>> {
        self.stopped.cancel();
        self.tasks.close();
        let mut private = self.private.lock().unwrap_or_else(|held| held.into_inner());
        let mut open: Vec<_> = private.drain(..).filter_map(|one| one.upgrade()).collect();
        drop(private);
        open.extend(self.live.swap(None));
        for connection in &open {
            connection.end(UpstreamError::Stopped);
        }
        self.status.send_replace(Status::Stopped);
        open
    }

    fn current(&self) -> Option<Arc<Connection>> {
        self.live.load_full().filter(|live| !live.is_over())
    }

    async fn live(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        // Behind a pointer, so that those who find it there carry nothing of how it is made.
        Box::pin(self.connected()).await
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        if self.stopped.is_cancelled() {
            return Err(UpstreamError::Stopped);
        }
        let mut trouble = self.gate.clone().lock_owned().await;
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
        // In a task of its own: whoever asked may go, others wait for it too.
        let this = self.clone();
        let job = self.tasks.spawn(async move { this.connect(trouble).await });
        job.await
            .unwrap_or_else(|e| Err(UpstreamError::Unreachable(e.to_string())))
    }

    async fn open(
        &self,
        own: Option<Arc<dyn Ask>>,
        news: broadcast::Sender<News>,
        kind: Kind,
    ) -> Result<Connection, UpstreamError> {
        let shared = kind == Kind::Shared;
        let nobody = || (shared && self.server.asks).then(|| Arc::new(Nobody) as Arc<dyn Ask>);
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
        // What failed is found out anew: the server may be another by now.
        let way = greeted.as_ref().ok().map(|(_, _, way)| *way);
        *self.way.lock().unwrap_or_else(|held| held.into_inner()) = way;
        let (kept, peer, _) = greeted?;
        Ok(Connection::new(kept.take(), peer, self.server.clone(), own))
    }

    async fn connect(
        self: Arc<Self>,
        mut trouble: OwnedMutexGuard<Trouble>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        self.say(Status::Starting);
        let opened = tokio::select! {
            biased;
            () = self.stopped.cancelled() => return Err(UpstreamError::Stopped),
            opened = self.open(None, self.news.clone(), Kind::Shared) => opened,
        };
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                self.live.store(Some(connection.clone()));
                if self.stopped.is_cancelled() {
                    drop(self.halt());
                    return Err(UpstreamError::Stopped);
                }
                self.say(Status::Ready);
                trouble.next_try = None;
                if std::mem::replace(&mut trouble.known, true) {
                    // Nobody told what changed meanwhile.
                    for news in [News::Tools, News::Prompts, News::Resources] {
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

    /// Says how it is, unless it was stopped.
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
        // Between three quarters and five quarters, so that many do not try at once.
        let delay = delay * (192 + u32::from(byte[0]) / 2) / 256;
        let next_try = self.ground.clock.now().plus(delay);
        trouble.error = why.to_string();
        trouble.next_try = Some((Instant::now() + delay, next_try));
        let (attempts, error) = (trouble.attempts, trouble.error.clone());
        tracing::warn!(
            server = self.server.name,
            attempts,
            error,
            "a server failed"
        );
        self.say(Status::Failing {
            error,
            attempts,
            next_try,
        });
    }

    /// Boxed, since minding leads to connecting, which leads to minding.
    fn minder(self: Arc<Self>, one: Arc<Connection>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.mind(one))
    }

    /// Looks after the shared connection until it ends, and starts the server again.
    async fn mind(self: Arc<Self>, connection: Arc<Connection>) {
        self.watch_over(connection).await;
        if self.stopped.is_cancelled() {
            return;
        }
        self.bury(&mut *self.gate.lock().await);
        self.revive().await;
    }

    /// Takes note of a connection that has ended, whoever finds it first.
    fn bury(&self, trouble: &mut Trouble) {
        let Some(dead) = self.live.load_full().filter(|live| live.is_over()) else {
            return;
        };
        self.live.store(None);
        let why = dead.hub().why().cloned().unwrap_or(UpstreamError::Stopped);
        if matches!(why, UpstreamError::Gone(_)) {
            // It was closed in good order, and is opened again when it is needed.
            return self.say(Status::Idle);
        }
        if dead.age() > LASTED {
            trouble.attempts = 0;
        }
        trouble.attempts += 1;
        // The first death is followed by a new life at once.
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

    /// Comes when the connection has ended. A peer that is silent is asked
    /// whether it is there; one that nobody uses is let go.
    async fn watch_over(&self, connection: Arc<Connection>) {
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
            if hub.in_flight() > 0 {
                continue;
            }
            if timeouts
                .idle
                .is_some_and(|idle| connection.unused() >= idle)
            {
                connection.end(UpstreamError::Gone("nobody used it".to_owned()));
                continue;
            }
            let silent = doubted || hub.quiet() >= timeouts.health;
            if silent && connection.carrier().is_line() && !self.is_there(&connection).await {
                connection.end(UpstreamError::Lost(
                    "it does not answer any more".to_owned(),
                ));
            }
        }
    }

    /// Whether the server still answers, be it with an error.
    async fn is_there(&self, connection: &Connection) -> bool {
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
    async fn request(&self, method: &str, mut params: Map<String, Value>, hooks: &Hooks) -> Answer {
        let live = async || {
            tokio::select! {
                biased;
                live = self.live() => live,
                () = hooks.cancel.cancelled() => Err(UpstreamError::Cancelled),
            }
        };
        let answer = live().await?.send(method, &mut params, hooks).await;
        match answer {
            // The connection had ended before the request was sent; another may do.
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

/// A connection of one's own. Dropped, it is closed.
pub struct Private {
    connection: Arc<Connection>,
    news: broadcast::Sender<News>,
    _place: OwnedSemaphorePermit,
}

impl Private {
    /// What the server tells over it from now on.
    pub fn changes(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }
}

impl Deref for Private {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.connection.end(UpstreamError::Stopped);
    }
}
