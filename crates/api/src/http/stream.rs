//! Server-sent event responses.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, HeaderName, header};

/// Interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Whether the client accepts a stream of events.
pub(super) fn wanted(headers: &HeaderMap) -> bool {
    // Some clients send the header more than once.
    let accepted = headers.get_all(header::ACCEPT).iter();
    let named = |value: &http::HeaderValue| {
        let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
        text.contains("text/event-stream")
    };
    accepted.into_iter().any(named)
}

/// A response that streams `events`.
pub(super) fn response(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<_, Infallible>);
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // `Sse` disables caching; this header disables buffering in nginx and similar proxies.
    let at_once = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (at_once, events).into_response()
}
