//! Answers that come in pieces.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::HeaderName;
use serde_json::Value;

/// How often a silent stream shows that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One message as an event.
pub(super) fn event(message: &Value) -> Event {
    Event::default().event("message").data(message.to_string())
}

/// A stream of events.
pub(super) fn respond(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // The caches on the way are told by `Sse`; this keeps proxies from collecting the events.
    let at_once = [(HeaderName::from_static("x-accel-buffering"), "no")];
    (at_once, events).into_response()
}
