//! The core of a connection: pending requests and the routing of incoming messages.

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
use crate::hooks::{Hooks, NotificationCallback, ServerRequestHandler};
use crate::message::{self, ServerMessage};
use crate::notification::ServerNotification;

/// Server requests handled at a time; more are dropped.
const MAX_SERVER_REQUESTS: usize = 16;
/// Capacity of the send queue.
pub(crate) const QUEUE: usize = 16;
/// Marks a notification as part of a subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) type CallReply = Result<Value, UpstreamError>;

/// The core of a connection.
pub(crate) struct Hub {
    waiting: Mutex<HashMap<u64, PendingReply>>,
    next: AtomicU64,
    notifications: broadcast::Sender<ServerNotification>,
    /// Handles server requests that belong to no call.
    own: Option<Arc<dyn ServerRequestHandler>>,
    /// Number of such requests being handled.
    handling: AtomicUsize,
    /// When the last of them was answered, in milliseconds since the start.
    answered: AtomicU64,
    /// Cancellation of requests being handled, by the server's id.
    running: Mutex<HashMap<String, CancellationToken>>,
    slots: Arc<Semaphore>,
    out: mpsc::Sender<Bytes>,
    /// Fires when the connection ends.
    ended: CancellationToken,
    why: OnceLock<UpstreamError>,
    /// The connection's background tasks.
    pub(crate) tasks: TaskTracker,
    started: Instant,
    /// When something was last received, in milliseconds since the start.
    last_received: AtomicU64,
}

struct PendingReply {
    reply: oneshot::Sender<CallReply>,
    call: Arc<PendingCall>,
}

/// A request in flight.
pub(crate) struct PendingCall {
    progress: Option<NotificationCallback>,
    log: Option<NotificationCallback>,
    handler: Option<Arc<dyn ServerRequestHandler>>,
    /// Not a call, but a subscription stream.
    background: bool,
    /// Number of server requests about it being handled.
    handling: AtomicUsize,
    /// When progress was last reported, in milliseconds since the connection's start.
    touched: AtomicU64,
    /// Fires when it has ended.
    closed: CancellationToken,
    /// Fires when a subscription is acknowledged.
    pub(crate) acknowledged: CancellationToken,
}

impl PendingCall {
    pub(crate) fn new(hooks: &Hooks) -> Arc<Self> {
        Arc::new(Self::with(hooks, false))
    }

    /// A request that runs beside the calls.
    pub(crate) fn background() -> Arc<Self> {
        Arc::new(Self::with(&Hooks::default(), true))
    }

    fn with(hooks: &Hooks, background: bool) -> Self {
        Self {
            progress: hooks.progress.clone(),
            log: hooks.log.clone(),
            handler: hooks.handler.clone(),
            background,
            handling: AtomicUsize::new(0),
            touched: AtomicU64::new(0),
            closed: CancellationToken::new(),
            acknowledged: CancellationToken::new(),
        }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }
}

/// Registration of a pending request, removed on drop.
pub(crate) struct PendingSlot {
    hub: Arc<Hub>,
    pub(crate) id: u64,
    pub(crate) call: Arc<PendingCall>,
    pub(crate) reply: oneshot::Receiver<CallReply>,
    /// Whether dropping it cancels the request at the server.
    pub(crate) cancel_on_drop: bool,
}

impl Drop for PendingSlot {
    fn drop(&mut self) {
        self.call.closed.cancel();
        let unanswered = self.hub.waiting().remove(&self.id).is_some();
        if unanswered && self.cancel_on_drop && !self.hub.ended.is_cancelled() {
            let params =
                json!({ "requestId": self.id, "reason": "the caller cancelled the request" });
            let body = message::notification("notifications/cancelled", Some(&params));
            let _ = self.hub.out.try_send(body); // a full queue means that the server reads nothing
        }
    }
}

impl Hub {
    pub(crate) fn new(
        notifications: broadcast::Sender<ServerNotification>,
        own: Option<Arc<dyn ServerRequestHandler>>,
    ) -> (Arc<Self>, mpsc::Receiver<Bytes>) {
        let (out, queue) = mpsc::channel(QUEUE);
        let hub = Self {
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            notifications,
            own,
            handling: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_SERVER_REQUESTS)),
            out,
            ended: CancellationToken::new(),
            why: OnceLock::new(),
            tasks: TaskTracker::new(),
            started: Instant::now(),
            last_received: AtomicU64::new(0),
        };
        (Arc::new(hub), queue)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, PendingReply>> {
        self.waiting
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn since_start(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Time since something was received.
    pub(crate) fn quiet(&self) -> Duration {
        Duration::from_millis(
            self.since_start()
                - self
                    .last_received
                    .load(Ordering::Relaxed)
                    .min(self.since_start()),
        )
    }

    /// Number of calls waiting for a reply.
    pub(crate) fn in_flight(&self) -> usize {
        self.waiting()
            .values()
            .filter(|w| !w.call.background)
            .count()
    }

    /// Registers `call` as pending.
    pub(crate) fn register(
        self: &Arc<Self>,
        call: Arc<PendingCall>,
    ) -> Result<PendingSlot, UpstreamError> {
        let (sender, reply) = oneshot::channel();
        // Never reused: a late reply to a cancelled request must not answer another one.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let waiting = PendingReply {
            reply: sender,
            call: call.clone(),
        };
        self.waiting().insert(id, waiting);
        let slot = PendingSlot {
            hub: self.clone(),
            id,
            call,
            reply,
            cancel_on_drop: true,
        };
        // Checked after registering: `end` sets the reason first and then fails everything registered, so
        // no request can slip between the two and wait forever.
        match self.why.get() {
            Some(why) => Err(closed_error(why)),
            None => Ok(slot),
        }
    }

    /// Queues `body` for sending.
    pub(crate) async fn send(&self, body: Bytes) -> Result<(), UpstreamError> {
        tokio::select! {
            biased;
            sent = self.out.send(body) => sent.map_err(|_| self.closed_error()),
            () = self.ended.cancelled() => Err(self.closed_error()),
        }
    }

    /// The error for a request that was not sent.
    pub(crate) fn closed_error(&self) -> UpstreamError {
        let why = self.why.get();
        why.map_or_else(
            || UpstreamError::Gone("it was closed".to_owned()),
            closed_error,
        )
    }

    /// The error for a request that was in flight.
    pub(crate) fn lost_error(&self) -> UpstreamError {
        let why = self.why.get();
        why.map_or_else(
            || UpstreamError::Lost("it was closed".to_owned()),
            lost_error,
        )
    }

    pub(crate) fn why(&self) -> Option<&UpstreamError> {
        self.why.get()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.why.get().is_some()
    }

    /// Completes when the connection has ended.
    pub(crate) async fn closed(&self) {
        self.ended.cancelled().await;
    }

    /// Ends the connection; the first reason is kept.
    pub(crate) fn end(&self, why: UpstreamError) {
        // Reason before drain: see `register`, which registers first and checks the reason second.
        let _ = self.why.set(why);
        self.ended.cancel();
        let all: Vec<PendingReply> = self.waiting().drain().map(|(_, w)| w).collect();
        let Some(why) = self.why.get() else { return };
        for waiting in all {
            waiting.call.closed.cancel();
            let _ = waiting.reply.send(Err(lost_error(why)));
        }
        self.tasks.close();
    }

    /// Fails one request, or all calls if it is unknown which.
    pub(crate) fn fail(&self, id: Option<u64>, why: &UpstreamError) {
        let mut waiting = self.waiting();
        // Subscriptions survive: an oversized message is a reply to a call, not a notification.
        let known = id.and_then(|id| waiting.remove(&id));
        let failed: Vec<PendingReply> = match known {
            Some(one) => vec![one],
            None => {
                // The lock is released before the replies are sent, since receivers may use the
                // hub.
                let calls = waiting.extract_if(|_, w| !w.call.background);
                calls.map(|(_, w)| w).collect()
            }
        };
        drop(waiting);
        for one in failed {
            let _ = one.reply.send(Err(why.clone()));
        }
    }

    /// Processes received bytes; `within` is the request on whose stream they came.
    pub(crate) fn receive_bytes(self: &Arc<Self>, bytes: &[u8], within: Option<u64>) {
        self.last_received
            .store(self.since_start(), Ordering::Relaxed);
        match message::read(bytes) {
            Ok(messages) => messages.into_iter().for_each(|m| self.receive(m, within)),
            // Many programs print a greeting to standard output; the next line may be a message.
            Err(error) => tracing::debug!(
                event = "upstream_invalid_message",
                error,
                "ignored a message that is not JSON-RPC"
            ),
        }
    }

    /// Processes one message.
    pub(crate) fn receive(self: &Arc<Self>, message: ServerMessage, within: Option<u64>) {
        match message {
            ServerMessage::Reply { id, outcome } => self.on_reply(id.or(within), outcome),
            ServerMessage::Request { id, method, params } => {
                self.on_request(id, method, params, within)
            }
            ServerMessage::Notification { method, params } => {
                self.on_notification(&method, params, within)
            }
        }
    }

    fn on_reply(&self, id: Option<u64>, outcome: Result<Value, RpcError>) {
        let mut waiting = self.waiting();
        let only = || (waiting.len() == 1).then(|| waiting.keys().next().copied());
        // An error without an id refers to the only pending request, if there is exactly one.
        let id = id.or_else(|| outcome.is_err().then(only)??);
        let found = id.and_then(|id| waiting.remove(&id));
        drop(waiting);
        match found {
            Some(found) => drop(found.reply.send(outcome.map_err(UpstreamError::Rpc))),
            None => tracing::debug!(
                event = "upstream_unexpected_reply",
                ?id,
                "ignored a reply to an unknown request"
            ),
        }
    }

    fn on_notification(&self, method: &str, mut params: Map<String, Value>, within: Option<u64>) {
        match method {
            "notifications/progress" => {
                let token = params.remove("progressToken");
                let id = token.as_ref().and_then(Value::as_u64);
                let call = id.and_then(|id| self.call(id));
                if let Some(call) = call {
                    // Progress restarts the timeout even if nobody listens to it.
                    call.touched.store(self.since_start(), Ordering::Relaxed);
                    if let Some(progress) = &call.progress {
                        progress(params);
                    }
                }
            }
            "notifications/message" => match self.log_callback(within) {
                Some(log) => log(params),
                None => self.publish(ServerNotification::Log(params)),
            },
            "notifications/cancelled" => {
                let id = params.get("requestId").map(Value::to_string);
                let token = id.and_then(|id| self.running_requests().remove(&id));
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
                if let Some(notifications) = ServerNotification::of(method, params) {
                    self.publish(notifications);
                }
            }
        }
    }

    fn publish(&self, notifications: ServerNotification) {
        let _ = self.notifications.send(notifications); // nobody may be listening
    }

    fn call(&self, id: u64) -> Option<Arc<PendingCall>> {
        self.waiting().get(&id).map(|w| w.call.clone())
    }

    fn running_requests(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The receiver of log messages: the request they came with, or the only one pending.
    fn log_callback(&self, within: Option<u64>) -> Option<NotificationCallback> {
        let waiting = self.waiting();
        if let Some(one) = within.and_then(|id| waiting.get(&id)) {
            return one.call.log.clone();
        }
        let mut calls = waiting.values().filter(|w| !w.call.background);
        let (first, second) = (calls.next(), calls.next());
        first.filter(|_| second.is_none())?.call.log.clone()
    }

    /// The handler of a server request: that of the call it came with; if unknown, of the only call
    /// that has one; otherwise the connection's own.
    fn request_handler(
        &self,
        within: Option<u64>,
    ) -> (
        Option<Arc<dyn ServerRequestHandler>>,
        Option<Arc<PendingCall>>,
    ) {
        let waiting = self.waiting();
        if let Some(one) = within.and_then(|id| waiting.get(&id))
            && let Some(handler) = &one.call.handler
        {
            return (Some(handler.clone()), Some(one.call.clone()));
        }
        let mut able = waiting.values().filter(|w| w.call.handler.is_some());
        let (first, second) = (able.next(), able.next());
        match (first, second) {
            (Some(one), None) if within.is_none() => {
                (one.call.handler.clone(), Some(one.call.clone()))
            }
            // Ambiguous: answering for the wrong caller would leak its data to the server.
            _ => (self.own.clone(), None),
        }
    }

    fn on_request(self: &Arc<Self>, id: Value, method: String, params: Value, within: Option<u64>) {
        // Dropped rather than queued: a server must not make us hold unbounded requests.
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            tracing::debug!(
                event = "upstream_request_dropped",
                method,
                limit = MAX_SERVER_REQUESTS,
                "dropped a server request: too many at a time"
            );
            return;
        };
        let hub = self.clone();
        self.tasks.spawn(async move {
            let answer = tokio::select! {
                biased;
                () = hub.closed() => return,
                answer = hub.answer(&id, &method, params, within) => answer,
            };
            if let Some(answer) = answer {
                let _ = hub.send(message::reply(&id, answer)).await;
            }
            drop(slot);
        });
    }

    /// The answer to a server request; `None` if the server cancelled it.
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
                let message = format!("unknown method {method}");
                return Some(Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message)));
            }
        }
        let (handler, call) = self.request_handler(within);
        let Some(handler) = handler else {
            let message = format!("no handler for {method}");
            return Some(Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message)));
        };
        let cancelled_by_server = CancellationToken::new();
        // Registered before the handler runs, so that a cancellation cannot arrive too early.
        self.running_requests()
            .insert(id.to_string(), cancelled_by_server.clone());
        let closed = call
            .as_ref()
            .map_or_else(CancellationToken::new, |call| call.closed.clone());
        // If the call is unknown, the wait counts for every pending call: any of them may be blocked on it.
        let (handling, touched) = match &call {
            Some(call) => (&call.handling, &call.touched),
            None => (&self.handling, &self.answered),
        };
        handling.fetch_add(1, Ordering::Relaxed);
        let answer = tokio::select! {
            biased;
            answer = handler.handle(method, params) => Some(answer),
            () = cancelled_by_server.cancelled() => None,
            () = closed.cancelled() => {
                Some(Err(RpcError::new(RpcError::INTERNAL, "the request it belongs to has ended")))
            }
        };
        self.running_requests().remove(&id.to_string());
        touched.store(self.since_start(), Ordering::Relaxed);
        handling.fetch_sub(1, Ordering::Relaxed);
        answer
    }

    /// Completes when `call` was silent for `quiet`, or took longer than `longest`. Time spent on the
    /// server's own requests does not count as silence.
    pub(crate) async fn silence(
        &self,
        call: &PendingCall,
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
            let handling = [&call.handling, &self.handling];
            if handling.iter().any(|open| open.load(Ordering::Relaxed) > 0) {
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

fn closed_error(why: &UpstreamError) -> UpstreamError {
    match why {
        UpstreamError::Stopped => UpstreamError::Stopped,
        UpstreamError::Lost(why) | UpstreamError::Gone(why) => UpstreamError::Gone(why.clone()),
        other => UpstreamError::Gone(other.to_string()),
    }
}

fn lost_error(why: &UpstreamError) -> UpstreamError {
    match why {
        UpstreamError::Gone(why) => UpstreamError::Lost(why.clone()),
        other => other.clone(),
    }
}
