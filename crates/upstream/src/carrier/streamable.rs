//! Streamable HTTP: each request is a POST, and its messages arrive in the response.

use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{HeaderMap, HeaderValue, Method, Response, SseParser};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::post::{Post, failed, http, is_stream};
use super::{Head, garbage};
use crate::error::UpstreamError;
use crate::hub::{CallReply, Hub, PendingSlot};
use crate::message::{self, ServerMessage};

/// Attempts to resume a broken stream without receiving anything.
const MAX_RESUMES: usize = 5;
/// Delay before resuming, unless the server specifies one.
const RESUME_DELAY: Duration = Duration::from_millis(500);
/// Maximum delay that a server may request.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Time a server gets to accept or refuse the GET stream.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of ending a session.
const DELETE_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of a message that has no waiting caller.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Concurrent messages without a waiting caller.
const MAX_CONCURRENT_SENDS: usize = 4;

/// A Streamable HTTP endpoint.
#[derive(Clone)]
pub(crate) struct Streamable(Arc<Inner>);

struct Inner {
    post: Post,
    protocol: RwLock<ProtocolMode>,
    /// Sent with every request once the server has issued it.
    session: OnceLock<HeaderValue>,
}

/// The negotiated protocol.
#[derive(Clone, Default)]
struct ProtocolMode {
    version: Option<HeaderValue>,
    /// Whether requests are mirrored in headers.
    modern: bool,
}

impl Streamable {
    pub(crate) fn new(post: Post, hub: &Arc<Hub>, queue: mpsc::Receiver<Bytes>) -> Self {
        let this = Self(Arc::new(Inner {
            post,
            protocol: RwLock::default(),
            session: OnceLock::new(),
        }));
        hub.tasks.spawn(this.clone().write(hub.clone(), queue));
        this
    }

    /// Whether the server issued a session id.
    pub(crate) fn has_session(&self) -> bool {
        self.0.session.get().is_some()
    }

    /// Sets the protocol version that each following request declares.
    pub(crate) fn set_protocol(&self, version: Option<&str>, modern: bool) {
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        let mut protocol = self
            .0
            .protocol
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *protocol = ProtocolMode { version, modern };
    }

    fn protocol(&self) -> ProtocolMode {
        let protocol = self
            .0
            .protocol
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        protocol.clone()
    }

    fn headers(&self, accept: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static(accept));
        if let Some(version) = self.protocol().version {
            headers.insert("mcp-protocol-version", version);
        }
        if let Some(session) = self.0.session.get() {
            headers.insert("mcp-session-id", session.clone());
        }
        headers
    }

    async fn post(&self, body: Bytes, head: Option<&Head<'_>>) -> Result<Response, UpstreamError> {
        let mut headers = self.headers("application/json, text/event-stream");
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(head) = head.filter(|_| self.protocol().modern) {
            crate::headers::put(&mut headers, head.method, head.params, head.mirrored);
        }
        let post = &self.0.post;
        let answer = post
            .send(&Method::POST, post.url(), &headers, Some(body))
            .await?;
        // In the old era the session id comes with the response to `initialize`.
        if head.is_some_and(|head| head.method == "initialize")
            && let Some(session) = answer.headers.get("mcp-session-id")
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            let _ = self.0.session.set(session);
        }
        Ok(answer)
    }

    /// Sends a request and reads its reply.
    pub(crate) async fn exchange(
        &self,
        hub: &Arc<Hub>,
        slot: &mut PendingSlot,
        body: Bytes,
        head: &Head<'_>,
    ) -> CallReply {
        let mut answer = self.post(body.clone(), Some(head)).await;
        // A pooled connection may be closed just as it is reused. Read-only requests are sent once
        // more; for all others it is unknown whether the server executed them.
        if matches!(answer, Err(UpstreamError::Lost(_))) && changes_nothing(head.method) {
            answer = self.post(body, Some(head)).await;
        }
        let answer = answer?;
        let status = answer.status.as_u16();
        if !answer.status.is_success() {
            if status == 404 && self.0.session.get().is_some() {
                hub.end(UpstreamError::Gone("its session has expired".to_owned()));
                return Err(hub.closed_error());
            }
            let (status, body) = self.0.post.refusal(answer).await;
            return Err(refused(status, &body));
        }
        if is_stream(&answer) {
            return self.read(hub, slot, answer).await;
        }
        let body = self.0.post.read_body(answer.body).await?;
        if body.is_empty() {
            return Err(garbage(format!(
                "empty response to a request (HTTP {status})"
            )));
        }
        hub.receive_bytes(&body, Some(slot.id));
        slot.reply
            .try_recv()
            .unwrap_or_else(|_| Err(garbage("its response is not JSON-RPC")))
    }

    /// Reads a stream until the reply arrives; a broken stream is resumed if the server numbered its
    /// events.
    async fn read(&self, hub: &Arc<Hub>, slot: &mut PendingSlot, answer: Response) -> CallReply {
        let mut events = SseParser::new(self.0.post.limit);
        let mut body = answer.body;
        let mut resumes = 0;
        loop {
            let broken = loop {
                match body.chunk().await {
                    Ok(Some(chunk)) => {
                        let completed = events.push(&chunk).map_err(|_| self.0.post.too_large())?;
                        for event in completed.into_iter().filter(|event| !event.data.is_empty()) {
                            resumes = 0;
                            hub.receive_bytes(&event.data, Some(slot.id));
                        }
                        if let Ok(answer) = slot.reply.try_recv() {
                            return answer;
                        }
                    }
                    Ok(None) => break "it closed the stream".to_owned(),
                    Err(error) => break failed(&error).to_string(),
                }
            };
            let from = events.last_id().map(str::to_owned);
            // The modern era has no resumption: a broken stream means that the request is lost.
            let legacy = !self.protocol().modern;
            let Some(from) = from.filter(|_| legacy && resumes < MAX_RESUMES) else {
                return Err(UpstreamError::Lost(broken));
            };
            resumes += 1;
            sleep(events.retry().unwrap_or(RESUME_DELAY).min(MAX_RETRY_DELAY)).await;
            match self.open(Some(&from)).await {
                Ok(again) if again.status.is_success() && is_stream(&again) => body = again.body,
                _ => return Err(UpstreamError::Lost(broken)),
            }
        }
    }

    async fn open(&self, from: Option<&str>) -> Result<Response, UpstreamError> {
        let mut headers = self.headers("text/event-stream");
        if let Some(from) = from.and_then(|from| HeaderValue::from_str(from).ok()) {
            headers.insert("last-event-id", from);
        }
        let post = &self.0.post;
        post.send(&Method::GET, post.url(), &headers, None).await
    }

    /// Follows the server's unsolicited messages, and ends the session when the hub ends. Returns once
    /// the server has accepted or refused the stream: messages sent before that, including questions
    /// about a request, would be lost.
    pub(crate) async fn listen(self, hub: &Arc<Hub>) {
        let accepted_or_refused = CancellationToken::new();
        hub.tasks
            .spawn(self.keep_listening(hub.clone(), accepted_or_refused.clone()));
        // Some servers answer only together with their first message.
        let _ = timeout(LISTEN_TIMEOUT, accepted_or_refused.cancelled()).await;
    }

    async fn keep_listening(self, hub: Arc<Hub>, accepted_or_refused: CancellationToken) {
        tokio::select! {
            () = hub.closed() => {}
            () = self.follow(&hub, accepted_or_refused) => hub.closed().await,
        }
        if self.0.session.get().is_some() {
            let headers = self.headers("application/json");
            let post = &self.0.post;
            let ended = post.send(&Method::DELETE, post.url(), &headers, None);
            let _ = timeout(DELETE_TIMEOUT, ended).await; // it forgets the session by itself in time
        }
    }

    async fn follow(&self, hub: &Arc<Hub>, accepted_or_refused: CancellationToken) {
        let mut events = SseParser::new(self.0.post.limit);
        let mut failures = 0;
        while failures <= MAX_RESUMES {
            let from = events.last_id().map(str::to_owned);
            let opened = self.open(from.as_deref()).await;
            accepted_or_refused.cancel();
            match opened {
                Ok(answer) if answer.status.is_success() && is_stream(&answer) => {
                    let mut body = answer.body;
                    while let Ok(Some(chunk)) = body.chunk().await {
                        // An oversized event cannot be skipped: the parser has lost its position in the stream.
                        let Ok(completed) = events.push(&chunk) else {
                            return;
                        };
                        for event in completed.into_iter().filter(|event| !event.data.is_empty()) {
                            failures = 0;
                            hub.receive_bytes(&event.data, None);
                        }
                    }
                }
                // The server has no unsolicited messages.
                Ok(answer) if answer.status.is_client_error() => return,
                Ok(_) => {}
                Err(UpstreamError::Unreachable(why)) if failures == MAX_RESUMES => {
                    return hub.end(UpstreamError::Lost(why));
                }
                Err(UpstreamError::Unreachable(_) | UpstreamError::Lost(_)) => {}
                Err(_) => return,
            }
            let wait = events
                .retry()
                .unwrap_or(RESUME_DELAY * 2_u32.pow(failures as u32));
            sleep(wait.clamp(Duration::from_millis(50), MAX_RETRY_DELAY)).await;
            failures += 1;
        }
    }

    /// Sends messages without a waiting caller: replies to the server and cancellations.
    async fn write(self, hub: Arc<Hub>, mut queue: mpsc::Receiver<Bytes>) {
        let slots = Arc::new(Semaphore::new(MAX_CONCURRENT_SENDS));
        loop {
            let body = tokio::select! {
                biased;
                () = hub.closed() => return,
                body = queue.recv() => body,
            };
            let (Some(body), Ok(slot)) = (body, slots.clone().acquire_owned().await) else {
                return;
            };
            let (this, connection) = (self.clone(), hub.clone());
            hub.tasks.spawn(async move {
                tokio::select! {
                    () = connection.closed() => {}
                    sent = timeout(SEND_TIMEOUT, this.post(body, None)) => match sent.unwrap_or(Err(UpstreamError::TimedOut(SEND_TIMEOUT))) {
                        Ok(answer) if answer.status.is_success() => {}
                        Ok(answer) => tracing::debug!(event = "upstream_message_rejected", status = %answer.status, "the server rejected a message"),
                        Err(error) => tracing::debug!(event = "upstream_message_not_sent", %error, "cannot send a message to the server"),
                    }
                }
                drop(slot);
            });
        }
    }

    /// Sends a notification and waits until it was accepted.
    pub(crate) async fn notify(&self, body: Bytes) -> Result<(), UpstreamError> {
        let answer = self.post(body, None).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let (status, body) = self.0.post.refusal(answer).await;
        Err(refused(status, &body))
    }
}

/// The error of a refused request: the server's own if it is JSON-RPC.
fn refused(status: u16, body: &[u8]) -> UpstreamError {
    let parsed = message::read(body).ok().and_then(|mut all| all.pop());
    match parsed {
        Some(ServerMessage::Reply {
            outcome: Err(error),
            ..
        }) => UpstreamError::Rpc(error),
        _ => http(status, body),
    }
}

fn changes_nothing(method: &str) -> bool {
    method.ends_with("/list")
        || matches!(
            method,
            "ping" | "server/discover" | "resources/read" | "prompts/get" | "completion/complete"
        )
}
