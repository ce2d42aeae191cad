//! Responses sent as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::HeaderName;
use serde_json::Value;

/// Interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A JSON-RPC message as an event.
pub(super) fn event(message: &Value) -> Event {
    Event::default().event("message").data(message.to_string())
}

/// A response that streams events.
pub(super) fn respond(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // `Sse` disables caching; this header disables buffering in nginx and similar proxies.
    let at_once = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (at_once, events).into_response()
}
