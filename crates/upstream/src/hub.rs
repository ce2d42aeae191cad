//! The middle of a connection: which requests wait, and whose business each message is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::{RpcError, UpstreamError};
use crate::hooks::{Ask, Hooks, Told};
use crate::message::{self, Incoming};
use crate::news::News;

/// How many questions of a server are answered at a time; more are passed over.
const MAX_ASKED: usize = 16;
/// How many messages wait to be written.
pub(crate) const QUEUE: usize = 16;
/// The marker that a notification belongs to a subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) type Answer = Result<Value, UpstreamError>;

/// The middle of a connection.
pub(crate) struct Hub {
    waiting: Mutex<HashMap<u64, Waiting>>,
    next: AtomicU64,
    news: broadcast::Sender<News>,
    /// Answers what belongs to no one request.
    own: Option<Arc<dyn Ask>>,
    /// How many questions that belong to no one request are with somebody.
    asking: AtomicUsize,
    /// When the last of those was answered, in milliseconds since the start.
    answered: AtomicU64,
    /// What the server asked and may take back, by its own id.
    asked: Mutex<HashMap<String, CancellationToken>>,
    places: Arc<Semaphore>,
    out: mpsc::Sender<Bytes>,
    /// Fires when the connection ends.
    ended: CancellationToken,
    why: OnceLock<UpstreamError>,
    /// What the connection keeps running.
    pub(crate) tasks: TaskTracker,
    started: Instant,
    /// When something came last, in milliseconds since the start.
    heard: AtomicU64,
}

struct Waiting {
    reply: oneshot::Sender<Answer>,
    call: Arc<Call>,
}

/// A request on its way.
pub(crate) struct Call {
    progress: Option<Told>,
    log: Option<Told>,
    ask: Option<Arc<dyn Ask>>,
    /// Nobody's call: a stream of news.
    background: bool,
    /// How many questions about it are with somebody.
    asking: AtomicUsize,
    /// When progress was told last, in milliseconds since the connection's start.
    touched: AtomicU64,
    /// Fires when it is over.
    over: CancellationToken,
    /// Fires when a subscription is acknowledged.
    pub(crate) acknowledged: CancellationToken,
}

impl Call {
    pub(crate) fn new(hooks: &Hooks) -> Arc<Self> {
        Arc::new(Self::with(hooks, false))
    }

    /// One that runs beside the calls.
    pub(crate) fn background() -> Arc<Self> {
        Arc::new(Self::with(&Hooks::default(), true))
    }

    fn with(hooks: &Hooks, background: bool) -> Self {
        Self {
            progress: hooks.progress.clone(),
            log: hooks.log.clone(),
            ask: hooks.ask.clone(),
            background,
            asking: AtomicUsize::new(0),
            touched: AtomicU64::new(0),
            over: CancellationToken::new(),
            acknowledged: CancellationToken::new(),
        }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }
}

/// A place among those that wait, given up when dropped.
pub(crate) struct Place {
    hub: Arc<Hub>,
    pub(crate) id: u64,
    pub(crate) call: Arc<Call>,
    pub(crate) reply: oneshot::Receiver<Answer>,
    /// Whether to tell the server when nobody waits any more.
    pub(crate) take_back: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.call.over.cancel();
        let unanswered = self.hub.waiting().remove(&self.id).is_some();
        if unanswered && self.take_back && !self.hub.ended.is_cancelled() {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            let body = message::notification("notifications/cancelled", Some(&params));
            let _ = self.hub.out.try_send(body); // a full queue means that it is not read
        }
    }
}

impl Hub {
    pub(crate) fn new(
        news: broadcast::Sender<News>,
        own: Option<Arc<dyn Ask>>,
    ) -> (Arc<Self>, mpsc::Receiver<Bytes>) {
        let (out, queue) = mpsc::channel(QUEUE);
        let hub = Self {
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            news,
            own,
            asking: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            asked: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_ASKED)),
            out,
            ended: CancellationToken::new(),
            why: OnceLock::new(),
            tasks: TaskTracker::new(),
            started: Instant::now(),
            heard: AtomicU64::new(0),
        };
        (Arc::new(hub), queue)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(|held| held.into_inner())
    }

    fn since_start(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long nothing has come.
    pub(crate) fn quiet(&self) -> Duration {
        Duration::from_millis(
            self.since_start() - self.heard.load(Ordering::Relaxed).min(self.since_start()),
        )
    }

    /// How many calls wait for an answer.
    pub(crate) fn in_flight(&self) -> usize {
        self.waiting()
            .values()
            .filter(|w| !w.call.background)
            .count()
    }

    /// A place for `call` among those that wait.
    pub(crate) fn place(self: &Arc<Self>, call: Arc<Call>) -> Result<Place, UpstreamError> {
        let (sender, reply) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting {
            reply: sender,
            call: call.clone(),
        };
        self.waiting().insert(id, waiting);
        let place = Place {
            hub: self.clone(),
            id,
            call,
            reply,
            take_back: true,
        };
        // Asked after it was put there: whoever ends the connection empties the places later.
        match self.why.get() {
            Some(why) => Err(gone(why)),
            None => Ok(place),
        }
    }

    /// Has `body` written.
    pub(crate) async fn send(&self, body: Bytes) -> Result<(), UpstreamError> {
        tokio::select! {
            biased;
            sent = self.out.send(body) => sent.map_err(|_| self.gone()),
            () = self.ended.cancelled() => Err(self.gone()),
        }
    }

    /// Why there is no more connection.
    pub(crate) fn gone(&self) -> UpstreamError {
        let why = self.why.get();
        why.map_or_else(|| UpstreamError::Gone("it was closed".to_owned()), gone)
    }

    /// What has become of a request that was on its way.
    pub(crate) fn lost(&self) -> UpstreamError {
        let why = self.why.get();
        why.map_or_else(|| UpstreamError::Lost("it was closed".to_owned()), lost)
    }

    pub(crate) fn why(&self) -> Option<&UpstreamError> {
        self.why.get()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.why.get().is_some()
    }

    /// Comes when the connection has ended.
    pub(crate) async fn over(&self) {
        self.ended.cancelled().await;
    }

    /// Ends the connection; the first reason counts.
    pub(crate) fn end(&self, why: UpstreamError) {
        let _ = self.why.set(why);
        self.ended.cancel();
        let all: Vec<Waiting> = self.waiting().drain().map(|(_, w)| w).collect();
        let Some(why) = self.why.get() else { return };
        for waiting in all {
            waiting.call.over.cancel();
            let _ = waiting.reply.send(Err(lost(why)));
        }
        self.tasks.close();
    }

    /// Fails one request, or all when it is not known which.
    pub(crate) fn fail(&self, id: Option<u64>, why: &UpstreamError) {
        let mut waiting = self.waiting();
        let known = id.and_then(|id| waiting.remove(&id));
        let failed: Vec<Waiting> = match known {
            Some(one) => vec![one],
            None => {
                let calls = waiting.extract_if(|_, w| !w.call.background);
                calls.map(|(_, w)| w).collect()
            }
        };
        drop(waiting);
        for one in failed {
            let _ = one.reply.send(Err(why.clone()));
        }
    }

    /// Takes one piece of what the server sent; `within` is the request on whose stream it came.
    pub(crate) fn hear_bytes(self: &Arc<Self>, bytes: &[u8], within: Option<u64>) {
        self.heard.store(self.since_start(), Ordering::Relaxed);
        match message::read(bytes) {
            Ok(messages) => messages.into_iter().for_each(|m| self.hear(m, within)),
            // Many a program greets on its standard output; the next line may be a message.
            Err(why) => tracing::debug!(why, "a server sent something that is not JSON-RPC"),
        }
    }

    /// Takes one message.
    pub(crate) fn hear(self: &Arc<Self>, message: Incoming, within: Option<u64>) {
        match message {
            Incoming::Reply { id, outcome } => self.replied(id.or(within), outcome),
            Incoming::Request { id, method, params } => self.asked(id, method, params, within),
            Incoming::Notification { method, params } => self.told(&method, params, within),
        }
    }

    fn replied(&self, id: Option<u64>, outcome: Result<Value, RpcError>) {
        let mut waiting = self.waiting();
        let only = || (waiting.len() == 1).then(|| waiting.keys().next().copied());
        // An error without an id is about the one request there is, if there is one.
        let id = id.or_else(|| outcome.is_err().then(only)??);
        let found = id.and_then(|id| waiting.remove(&id));
        drop(waiting);
        match found {
            Some(found) => drop(found.reply.send(outcome.map_err(UpstreamError::Rpc))),
            None => tracing::debug!(?id, "a server answered what nobody asked"),
        }
    }

    fn told(&self, method: &str, mut params: Map<String, Value>, within: Option<u64>) {
        match method {
            "notifications/progress" => {
                let token = params.remove("progressToken");
                let id = token.as_ref().and_then(Value::as_u64);
                let call = id.and_then(|id| self.call(id));
                if let Some(call) = call {
                    call.touched.store(self.since_start(), Ordering::Relaxed);
                    if let Some(progress) = &call.progress {
                        progress(params);
                    }
                }
            }
            "notifications/message" => match self.who_hears(within) {
                Some(log) => log(params),
                None => self.tell(News::Log(params)),
            },
            "notifications/cancelled" => {
                let id = params.get("requestId").map(Value::to_string);
                let token = id.and_then(|id| self.asked_of().remove(&id));
                if let Some(token) = token {
                    token.cancel();
                }
            }
            "notifications/subscriptions/acknowledged" => {
                let id = params.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION));
                let id = id.and_then(Value::as_u64).or(within);
                if let Some(call) = id.and_then(|id| self.call(id)) {
                    call.acknowledged.cancel();
                }
            }
            _ => {
                if let Some(news) = News::of(method, params) {
                    self.tell(news);
                }
            }
        }
    }

    fn tell(&self, news: News) {
        let _ = self.news.send(news); // nobody may be listening
    }

    fn call(&self, id: u64) -> Option<Arc<Call>> {
        self.waiting().get(&id).map(|w| w.call.clone())
    }

    fn asked_of(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.asked.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Who is told what is logged: the request it came with, or the only one there is.
    fn who_hears(&self, within: Option<u64>) -> Option<Told> {
        let waiting = self.waiting();
        if let Some(one) = within.and_then(|id| waiting.get(&id)) {
            return one.call.log.clone();
        }
        let mut calls = waiting.values().filter(|w| !w.call.background);
        let (first, second) = (calls.next(), calls.next());
        first.filter(|_| second.is_none())?.call.log.clone()
    }

    /// Who answers a question: the request it came with; where that is not known, the only one
    /// that can; and else the connection's own.
    fn who_answers(&self, within: Option<u64>) -> (Option<Arc<dyn Ask>>, Option<Arc<Call>>) {
        let waiting = self.waiting();
        if let Some(one) = within.and_then(|id| waiting.get(&id))
            && let Some(ask) = &one.call.ask
        {
            return (Some(ask.clone()), Some(one.call.clone()));
        }
        let mut able = waiting.values().filter(|w| w.call.ask.is_some());
        let (first, second) = (able.next(), able.next());
        match (first, second) {
            (Some(one), None) if within.is_none() => (one.call.ask.clone(), Some(one.call.clone())),
            _ => (self.own.clone(), None),
        }
    }

    fn asked(self: &Arc<Self>, id: Value, method: String, params: Value, within: Option<u64>) {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            tracing::debug!(method, "a server asks too much at a time");
            return;
        };
        let hub = self.clone();
        self.tasks.spawn(async move {
            let answer = tokio::select! {
                biased;
                () = hub.over() => return,
                answer = hub.answer(&id, &method, params, within) => answer,
            };
            if let Some(answer) = answer {
                let _ = hub.send(message::reply(&id, answer)).await;
            }
            drop(place);
        });
    }

    /// The answer to a question; `None` when nobody wants it any more.
    async fn answer(
        &self,
        id: &Value,
        method: &str,
        params: Value,
        within: Option<u64>,
    ) -> Option<Result<Value, RpcError>> {
        match method {
            "ping" => return Some(Ok(json!({}))),
            "elicitation/create" | "sampling/createMessage" | "roots/list" => {}
            _ => {
                let message = format!("there is no {method} here");
                return Some(Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message)));
            }
        }
        let (ask, call) = self.who_answers(within);
        let Some(ask) = ask else {
            let message = format!("nobody here answers {method}");
            return Some(Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message)));
        };
        let taken_back = CancellationToken::new();
        self.asked_of().insert(id.to_string(), taken_back.clone());
        let over = call
            .as_ref()
            .map_or_else(CancellationToken::new, |call| call.over.clone());
        // It may belong to any request that waits, where it is not known to which.
        let (asking, touched) = match &call {
            Some(call) => (&call.asking, &call.touched),
            None => (&self.asking, &self.answered),
        };
        asking.fetch_add(1, Ordering::Relaxed);
        let answer = tokio::select! {
            biased;
            answer = ask.ask(method, params) => Some(answer),
            () = taken_back.cancelled() => None,
            () = over.cancelled() => {
                Some(Err(RpcError::new(RpcError::INTERNAL, "the request it belongs to is over")))
            }
        };
        self.asked_of().remove(&id.to_string());
        touched.store(self.since_start(), Ordering::Relaxed);
        asking.fetch_sub(1, Ordering::Relaxed);
        answer
    }

    /// Comes when `call` was silent for `quiet`, or took longer than `longest`. Time in which
    /// somebody is asked is not silence.
    pub(crate) async fn silence(
        &self,
        call: &Call,
        quiet: Duration,
        longest: Duration,
    ) -> Duration {
        let start = Instant::now();
        let last = start + longest;
        let mut due = start + quiet;
        loop {
            sleep_until(due.min(last)).await;
            let now = Instant::now();
            if now >= last {
                return longest;
            }
            let asking = [&call.asking, &self.asking];
            if asking.iter().any(|open| open.load(Ordering::Relaxed) > 0) {
                due = now + quiet;
                continue;
            }
            let touched = call.touched.load(Ordering::Relaxed);
            let touched = touched.max(self.answered.load(Ordering::Relaxed));
            let touched = self.started + Duration::from_millis(touched);
            if touched + quiet <= now {
                return quiet;
            }
            due = touched + quiet;
        }
    }
}

fn gone(why: &UpstreamError) -> UpstreamError {
    match why {
        UpstreamError::Stopped => UpstreamError::Stopped,
        UpstreamError::Lost(why) | UpstreamError::Gone(why) => UpstreamError::Gone(why.clone()),
        other => UpstreamError::Gone(other.to_string()),
    }
}

fn lost(why: &UpstreamError) -> UpstreamError {
    match why {
        UpstreamError::Gone(why) => UpstreamError::Lost(why.clone()),
        other => other.clone(),
    }
}
