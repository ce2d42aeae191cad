//! HTTP with events, as it was in 2024-11-05: one stream on which the server speaks, and a place
//! it names there to which we do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{Body, HeaderMap, HeaderValue, Method};
use tokio::sync::mpsc;
use tokio::time::timeout;
use url::Url;

use super::post::{Post, failed, http, is_stream};
use crate::error::UpstreamError;
use crate::hub::Hub;
use crate::sse::{Event, Events};

/// A stream of events that is open. It is closed when its hub ends.
pub(crate) struct OldEvents(Arc<Line>);

struct Line {
    post: Post,
    /// Where messages are sent.
    endpoint: Url,
}

impl OldEvents {
    /// Opens the stream and waits for the place to send to.
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
            return Err(super::garbage("it gives no stream of events"));
        }
        let mut body = answer.body;
        let mut events = Events::new(post.limit);
        let mut early = Vec::new();
        let endpoint = loop {
            let mut found = None;
            for event in next(&mut body, &mut events, &post).await? {
                if event.name == "endpoint" && found.is_none() {
                    found = Some(endpoint(&post, &event)?);
                } else {
                    early.push(event);
                }
            }
            if let Some(found) = found {
                break found;
            }
            if early.len() > MAX_EARLY {
                return Err(super::garbage("it never names the place to send to"));
            }
        };
        let line = Arc::new(Line { post, endpoint });
        hub.tasks
            .spawn(listen(hub.clone(), line.clone(), body, events, early));
        hub.tasks.spawn(write(hub.clone(), line.clone(), queue));
        Ok(Self(line))
    }

    /// Sends a message; what it leads to comes over the stream.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(), UpstreamError> {
        self.0.send(body).await
    }
}

/// How long a message that nobody waits for may take.
const TAKING: Duration = Duration::from_secs(30);
/// How many events may come before the place to send to.
const MAX_EARLY: usize = 16;

impl Line {
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

/// The place an event names, which must be where the stream is: a server may not send our
/// messages, and what shows who we are, to somebody else.
fn endpoint(post: &Post, event: &Event) -> Result<Url, UpstreamError> {
    let text = String::from_utf8_lossy(&event.data);
    let url = post.url().join(text.trim());
    let url = url.map_err(|e| super::garbage(format!("the place it names to send to: {e}")))?;
    if url.origin() != post.url().origin() {
        return Err(super::garbage("it wants messages sent to another place"));
    }
    Ok(url)
}

async fn next(
    body: &mut Body,
    events: &mut Events,
    post: &Post,
) -> Result<Vec<Event>, UpstreamError> {
    let piece = body.chunk().await.map_err(|e| failed(&e))?;
    let Some(piece) = piece else {
        return Err(UpstreamError::Lost("it closed its stream".to_owned()));
    };
    events.push(&piece).map_err(|_| post.too_large())
}

async fn listen(
    hub: Arc<Hub>,
    line: Arc<Line>,
    mut body: Body,
    mut events: Events,
    mut came: Vec<Event>,
) {
    loop {
        for event in came {
            if event.name.is_empty() || event.name == "message" {
                hub.hear_bytes(&event.data, None);
            }
        }
        let more = tokio::select! {
            biased;
            () = hub.over() => return,
            more = next(&mut body, &mut events, &line.post) => more,
        };
        match more {
            Ok(more) => came = more,
            Err(why) => return hub.end(why),
        }
    }
}

/// Sends what nobody waits for: answers to the server's questions, requests taken back.
async fn write(hub: Arc<Hub>, line: Arc<Line>, mut queue: mpsc::Receiver<Bytes>) {
    loop {
        tokio::select! {
            biased;
            () = hub.over() => return,
            body = queue.recv() => {
                let Some(body) = body else { return };
                let sent = tokio::select! {
                    () = hub.over() => return,
                    sent = timeout(TAKING, line.send(body)) => sent.unwrap_or(Err(UpstreamError::TimedOut(TAKING))),
                };
                if let Err(why) = sent {
                    tracing::debug!(%why, "a server did not take a message");
                }
            }
        }
    }
}
