//! An established connection, and a request over it from start to end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_telemetry::inject_meta;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::carrier::{Carrier, Head, garbage};
use crate::client::McpClient;
use crate::error::{RpcError, UpstreamError};
use crate::headers::{self, Mirrored};
use crate::hooks::{Hooks, ServerRequestHandler};
use crate::hub::{CallReply, Hub, PendingCall, PendingSlot};
use crate::link::ServerLink;
use crate::listen::ChangeListener;
use crate::message;
use crate::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, modern_meta};
use crate::peer::{Era, Peer};
use crate::server::Server;
use crate::trace;

/// Timeout of closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum questions in one result.
const MAX_QUESTIONS: usize = 32;
/// Delay before repeating a request whose result asked only for time.
const POLL_DELAY: Duration = Duration::from_millis(200);

/// A connection to a server. Dropping it closes it.
pub struct ServerConnection {
    link: Arc<ServerLink>,
    peer: Peer,
    server: Arc<Server>,
    /// Handles requests of the server that belong to no call, or to one without a handler.
    own: Option<Arc<dyn ServerRequestHandler>>,
    /// Follows changes in the modern era, which uses a separate request for that.
    listener: Option<ChangeListener>,
    /// Arguments mirrored in headers, by tool.
    mirrored: RwLock<HashMap<String, Arc<[Mirrored]>>>,
    /// Log level, which the modern era sends with each request.
    log_level: Mutex<Option<Value>>,
    opened: Instant,
    /// When it was last used.
    used: Mutex<Instant>,
    /// Notified when a request timed out.
    pub(crate) suspect: Notify,
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        self.link.hub.end(UpstreamError::Stopped);
    }
}

impl ServerConnection {
    pub(crate) fn new(
        link: Arc<ServerLink>,
        peer: Peer,
        server: Arc<Server>,
        own: Option<Arc<dyn ServerRequestHandler>>,
    ) -> Self {
        // In the legacy era notifications come over the connection itself.
        let listener = (peer.era == Era::Modern)
            .then(|| ChangeListener::start(link.clone(), &peer, server.capabilities.clone()));
        Self {
            link,
            peer,
            server,
            own,
            listener,
            mirrored: RwLock::default(),
            log_level: Mutex::default(),
            opened: Instant::now(),
            used: Mutex::new(Instant::now()),
            suspect: Notify::new(),
        }
    }

    /// The server's description of itself.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Whether the server can tell this connection's requests from others, and so send requests over
    /// it. A legacy HTTP server without sessions cannot.
    pub fn is_conversation(&self) -> bool {
        match self.carrier() {
            Carrier::Streamable(streamable) => streamable.has_session(),
            Carrier::Pipe | Carrier::LegacySse(_) => true,
        }
    }

    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.link.hub.is_closed()
    }

    /// Completes when it has ended.
    pub async fn closed(&self) {
        self.link.hub.closed().await;
    }

    /// Closes it and waits for its tasks.
    pub async fn close(&self) {
        self.end(UpstreamError::Stopped);
        let _ = timeout(CLOSE_TIMEOUT, self.hub().tasks.wait()).await;
    }

    pub(crate) fn end(&self, why: UpstreamError) {
        self.hub().end(why);
    }

    /// Checks whether the server replies, without counting as use.
    pub(crate) async fn check(&self, hooks: &Hooks) -> CallReply {
        let method = match self.peer.era {
            Era::Modern => "server/discover",
            Era::Legacy => "ping",
        };
        self.once(method, &mut Map::new(), hooks).await
    }

    /// Time since it was opened.
    pub(crate) fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Time since it was last used.
    pub(crate) fn unused(&self) -> Duration {
        let used = self
            .used
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        used.elapsed()
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.link.hub
    }

    pub(crate) fn carrier(&self) -> &Carrier {
        &self.link.carrier
    }

    /// Sends a request, translated to the server's era.
    pub(crate) async fn send(
        &self,
        method: &str,
        params: &mut Map<String, Value>,
        hooks: &Hooks,
    ) -> CallReply {
        *self
            .used
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = Instant::now();
        let Some(listener) = &self.listener else {
            return self.once(method, params, hooks).await;
        };
        match method {
            "ping" => {
                // The modern era has no ping; any cheap request shows that the server replies.
                self.once("server/discover", &mut Map::new(), hooks).await?;
                Ok(json!({}))
            }
            "logging/setLevel" => {
                let mut level = self
                    .log_level
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner());
                // Sent with each later request: the modern era has no state on the server.
                *level = params.get("level").cloned();
                Ok(json!({}))
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                let uri = params.get("uri").and_then(Value::as_str);
                let uri = uri.ok_or_else(|| {
                    RpcError::new(RpcError::INVALID_PARAMS, "uri: it must be a text")
                })?;
                let limit = hooks.timeout.unwrap_or(self.server.timeouts.call);
                let changed = listener.subscribe(uri, method == "resources/subscribe");
                tokio::select! {
                    () = hooks.cancel.cancelled() => Err(UpstreamError::Cancelled),
                    changed = timeout(limit, changed) => match changed {
                        Ok(changed) => changed.map(|()| json!({})),
                        Err(_) => Err(UpstreamError::TimedOut(limit)),
                    },
                }
            }
            _ => self.rounds(method, params, hooks).await,
        }
    }

    /// Sends a request of the modern era, answering questions in its results.
    async fn rounds(
        &self,
        method: &str,
        params: &mut Map<String, Value>,
        hooks: &Hooks,
    ) -> CallReply {
        let mut relisted = false;
        let mut round = 0;
        loop {
            let result = match self.once(method, params, hooks).await {
                // The tool mirrors arguments that we did not know of: list the tools again, once.
                Err(UpstreamError::Rpc(error))
                    if error.code == RpcError::HEADER_MISMATCH
                        && method == "tools/call"
                        && !std::mem::replace(&mut relisted, true) =>
                {
                    self.list_tools(&Hooks {
                        cancel: hooks.cancel.clone(),
                        ..Hooks::default()
                    })
                    .await?;
                    continue;
                }
                other => other?,
            };
            let handler = hooks.handler.as_ref().or(self.own.as_ref());
            let needs_input =
                result.get("resultType").and_then(Value::as_str) == Some("input_required");
            let Some(handler) = handler.filter(|_| needs_input) else {
                return Ok(self.record_mirrored(method, params, result));
            };
            // Bounded: a server could ask for input forever.
            round += 1;
            if round > self.server.bounds.rounds {
                return Err(garbage("too many rounds of questions"));
            }
            // A question may wait for a person; the caller's cancellation must still get through.
            let answers = tokio::select! {
                biased;
                () = hooks.cancel.cancelled() => return Err(UpstreamError::Cancelled),
                () = self.hub().closed() => return Err(self.hub().closed_error()),
                answers = answers(&**handler, &result) => answers?,
            };
            put(params, "inputResponses", answers.map(Value::Object));
            put(params, "requestState", result.get("requestState").cloned());
        }
    }

    /// Sends one request and waits for its reply.
    async fn once(
        &self,
        method: &str,
        params: &mut Map<String, Value>,
        hooks: &Hooks,
    ) -> CallReply {
        let call = PendingCall::new(hooks);
        let slot = self.hub().register(call.clone())?;
        let (id, is_line) = (slot.id, self.carrier().shares_one_stream());
        let version = &self.peer.version;
        let mut span = trace::begin(method, params, &self.server.name, version, is_line);
        let answer = span.run(self.answered(method, params, hooks, call, slot));
        let answer = answer.await;
        trace::describe(&mut span, id, &answer);
        answer
    }

    async fn answered(
        &self,
        method: &str,
        params: &mut Map<String, Value>,
        hooks: &Hooks,
        call: Arc<PendingCall>,
        mut slot: PendingSlot,
    ) -> CallReply {
        let hub = self.hub();
        // With a stream per request, the modern era cancels a request by closing its stream.
        slot.cancel_on_drop = self.carrier().shares_one_stream() || self.peer.era == Era::Legacy;
        self.add_meta(params, slot.id, &call, hooks);
        let body = message::request(slot.id, method, params);
        let limit = self.server.bounds.message;
        if body.len() > limit {
            // It was never sent, so there is nothing to cancel.
            slot.cancel_on_drop = false;
            return Err(UpstreamError::TooLarge {
                what: "the request",
                limit,
            });
        }
        let mirrored = self.mirrored_of(method, params);
        let head = Head {
            method,
            params,
            mirrored: mirrored.as_deref().unwrap_or_default(),
        };
        let timeouts = &self.server.timeouts;
        let quiet = hooks.timeout.unwrap_or(timeouts.call);
        // `biased`: a reply that is already here wins over a timeout or cancellation in the same poll.
        let answer = tokio::select! {
            biased;
            answer = self.carrier().exchange(hub, &mut slot, body, &head) => answer,
            () = hooks.cancel.cancelled() => Err(UpstreamError::Cancelled),
            () = hub.closed(), if !self.carrier().shares_one_stream() => Err(hub.lost_error()),
            after = hub.silence(&call, quiet, timeouts.longest.max(quiet)) => {
                self.suspect.notify_one();
                Err(UpstreamError::TimedOut(after))
            }
        };
        // Other requests in flight may still succeed; end the connection only if this was the last.
        if let Err(why @ UpstreamError::Unreachable(_)) = &answer
            && hub.in_flight() <= 1
        {
            hub.end(why.clone());
        }
        answer
    }

    /// Adds the metadata that goes with each request.
    fn add_meta(
        &self,
        params: &mut Map<String, Value>,
        id: u64,
        call: &PendingCall,
        hooks: &Hooks,
    ) {
        let mut meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        // Before ours: a caller must not overwrite the fields of the protocol.
        for (key, value) in &hooks.meta {
            meta.insert(key.clone(), value.clone());
        }
        // A caller's own token would be mistaken for one of ours.
        meta.remove("progressToken");
        if call.wants_progress() {
            meta.insert("progressToken".to_owned(), id.into());
        }
        match self.peer.era {
            Era::Modern => {
                let level = meta.remove(LOG_LEVEL).or_else(|| {
                    let level = self
                        .log_level
                        .lock()
                        .unwrap_or_else(|poisoned| poisoned.into_inner());
                    level.clone()
                });
                let handler = hooks.handler.as_ref().or(self.own.as_ref());
                let capabilities = match (handler, &hooks.capabilities) {
                    (Some(handler), _) => handler.capabilities(),
                    (None, Some(capabilities)) => capabilities.clone(),
                    (None, None) => self.server.capabilities.clone(),
                };
                meta.extend(modern_meta(&self.peer.version, capabilities));
                put(&mut meta, LOG_LEVEL, level);
            }
            Era::Legacy => {
                for key in [
                    PROTOCOL_VERSION,
                    CLIENT_INFO,
                    CLIENT_CAPABILITIES,
                    LOG_LEVEL,
                ] {
                    meta.remove(key);
                }
            }
        }
        inject_meta(&mut meta);
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
    }

    fn repeats_in_headers(&self) -> bool {
        self.peer.era == Era::Modern && !self.carrier().shares_one_stream()
    }

    fn mirrored_of(&self, method: &str, params: &Map<String, Value>) -> Option<Arc<[Mirrored]>> {
        if method != "tools/call" || !self.repeats_in_headers() {
            return None;
        }
        let name = params.get("name")?.as_str()?;
        let known = self
            .mirrored
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get(name).cloned()
    }

    /// Records which arguments are mirrored in headers, and drops tools whose annotations are invalid:
    /// they could not be called.
    fn record_mirrored(
        &self,
        method: &str,
        params: &Map<String, Value>,
        mut result: Value,
    ) -> Value {
        if method != "tools/list" || !self.repeats_in_headers() {
            return result;
        }
        // Locked for the whole page, so that a concurrent call sees either the old or the new list.
        let mut known = self
            .mirrored
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        // The first page of a new listing replaces what an earlier listing said.
        if !params.contains_key("cursor") {
            known.clear();
        }
        let Some(Value::Array(tools)) = result.get_mut("tools") else {
            return result;
        };
        let limit = self.server.bounds.entries;
        tools.retain(|tool| match headers::mirrored(tool) {
            Ok(found) => {
                let name = tool.get("name").and_then(Value::as_str);
                if let Some(name) = name.filter(|_| !found.is_empty() && known.len() < limit) {
                    known.insert(name.to_owned(), found.into());
                }
                true
            }
            Err(why) => {
                tracing::warn!(
                    event = "upstream_tool_skipped",
                    server = self.server.name,
                    reason = why,
                    "skipped a tool with invalid header annotations"
                );
                false
            }
        });
        result
    }
}

#[async_trait]
impl McpClient for ServerConnection {
    async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        hooks: &Hooks,
    ) -> CallReply {
        self.send(method, &mut params, hooks).await
    }

    fn bounds(&self) -> &crate::Bounds {
        &self.server.bounds
    }
}

fn put(into: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => into.insert(key.to_owned(), value),
        None => into.remove(key),
    };
}

/// Answers the questions in a result.
async fn answers(
    handler: &dyn ServerRequestHandler,
    result: &Value,
) -> Result<Option<Map<String, Value>>, UpstreamError> {
    let Some(Value::Object(questions)) = result.get("inputRequests") else {
        // The server asked for nothing but time; asking again at once would be a busy loop.
        sleep(POLL_DELAY).await;
        return Ok(None);
    };
    if questions.len() > MAX_QUESTIONS {
        return Err(garbage(format!(
            "it asks more than {MAX_QUESTIONS} questions at once"
        )));
    }
    let mut answers = Map::new();
    for (key, question) in questions {
        let method = question.get("method").and_then(Value::as_str).unwrap_or("");
        if !matches!(
            method,
            "elicitation/create" | "sampling/createMessage" | "roots/list"
        ) {
            return Err(garbage(format!(
                "it sent an unsupported request {method:?}"
            )));
        }
        let params = question.get("params").cloned().unwrap_or_default();
        answers.insert(key.clone(), handler.handle(method, params).await?);
    }
    Ok(Some(answers))
}
