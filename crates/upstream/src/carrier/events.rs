//! HTTP with SSE as of 2024-11-05: the server sends everything on one stream, which first names the
//! endpoint that we POST to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{Body, HeaderMap, HeaderValue, Method, SseEvent, SseParser};
use tokio::sync::mpsc;
use tokio::time::timeout;
use url::Url;

use super::post::{Post, failed, http, is_stream};
use crate::error::UpstreamError;
use crate::hub::Hub;

/// An open event stream, closed when its hub ends.
pub(crate) struct LegacySse(Arc<EventsChannel>);

struct EventsChannel {
    post: Post,
    /// URL that messages are POSTed to.
    endpoint: Url,
}

impl LegacySse {
    /// Opens the stream and waits for the `endpoint` event.
    pub(crate) async fn open(
        post: Post,
        hub: &Arc<Hub>,
        queue: mpsc::Receiver<Bytes>,
    ) -> Result<Self, UpstreamError> {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("cache-control", HeaderValue::from_static("no-store"));
        let answer = post.send(&Method::GET, post.url(), &headers, None).await?;
        if !answer.status.is_success() {
            let (status, body) = post.refusal(answer).await;
            return Err(http(status, &body));
        }
        if !is_stream(&answer) {
            return Err(super::garbage("the response is not an event stream"));
        }
        let mut body = answer.body;
        let mut events = SseParser::new(post.limit);
        let mut early = Vec::new();
        let endpoint = loop {
            let mut found = None;
            for event in next(&mut body, &mut events, &post).await? {
                if event.name == "endpoint" && found.is_none() {
                    found = Some(endpoint(&post, &event)?);
                } else {
                    // Some servers send log messages before the endpoint; `listen` handles them first.
                    early.push(event);
                }
            }
            if let Some(found) = found {
                break found;
            }
            if early.len() > MAX_EARLY {
                return Err(super::garbage("it sent no endpoint event"));
            }
        };
        let channel = Arc::new(EventsChannel { post, endpoint });
        hub.tasks
            .spawn(listen(hub.clone(), channel.clone(), body, events, early));
        hub.tasks.spawn(write(hub.clone(), channel.clone(), queue));
        Ok(Self(channel))
    }

    /// Sends a message; its response arrives on the stream.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(), UpstreamError> {
        self.0.send(body).await
    }
}

/// Timeout of a message that has no waiting caller.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum events before the `endpoint` event.
const MAX_EARLY: usize = 16;

impl EventsChannel {
    async fn send(&self, body: Bytes) -> Result<(), UpstreamError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("application/json"));
        let sent = self
            .post
            .send(&Method::POST, &self.endpoint, &headers, Some(body));
        let answer = sent.await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let (status, body) = self.post.refusal(answer).await;
        Err(http(status, &body))
    }
}

/// The URL in an `endpoint` event, which must have the stream's origin: otherwise a server could
/// redirect our messages and credentials to another host.
fn endpoint(post: &Post, event: &SseEvent) -> Result<Url, UpstreamError> {
    let text = String::from_utf8_lossy(&event.data);
    let url = post.url().join(text.trim());
    let url = url.map_err(|e| super::garbage(format!("invalid endpoint: {e}")))?;
    if url.origin() != post.url().origin() {
        return Err(super::garbage("its endpoint has another origin"));
    }
    Ok(url)
}

async fn next(
    body: &mut Body,
    events: &mut SseParser,
    post: &Post,
) -> Result<Vec<SseEvent>, UpstreamError> {
    let chunk = body.chunk().await.map_err(|e| failed(&e))?;
    let Some(chunk) = chunk else {
        return Err(UpstreamError::Lost("it closed the stream".to_owned()));
    };
    events.push(&chunk).map_err(|_| post.too_large())
}

async fn listen(
    hub: Arc<Hub>,
    channel: Arc<EventsChannel>,
    mut body: Body,
    mut events: SseParser,
    mut early: Vec<SseEvent>,
) {
    loop {
        for event in early {
            if event.name.is_empty() || event.name == "message" {
                hub.receive_bytes(&event.data, None);
            }
        }
        let more = tokio::select! {
            biased;
            () = hub.closed() => return,
            more = next(&mut body, &mut events, &channel.post) => more,
        };
        match more {
            Ok(more) => early = more,
            Err(why) => return hub.end(why),
        }
    }
}

/// Sends what nobody waits for: answers to the server's questions, requests taken back.
async fn write(hub: Arc<Hub>, channel: Arc<EventsChannel>, mut queue: mpsc::Receiver<Bytes>) {
    loop {
        tokio::select! {
            biased;
            () = hub.closed() => return,
            body = queue.recv() => {
                let Some(body) = body else { return };
                let sent = tokio::select! {
                    () = hub.closed() => return,
                    sent = timeout(SEND_TIMEOUT, channel.send(body)) => sent.unwrap_or(Err(UpstreamError::TimedOut(SEND_TIMEOUT))),
                };
                if let Err(why) = sent {
                    tracing::debug!(event = "upstream_message_not_sent", error = %why, "cannot send a message to the server");
                }
            }
        }
    }
}
