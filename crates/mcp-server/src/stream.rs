//! `GET /mcp`: the stream of change notifications for clients before 2026-07-28.
//!
//! It ends with the session it was opened in, if any. The id of every event is the client's view at
//! that time, so a client that reconnects with `Last-Event-ID` learns what it missed, on any
//! replica.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, StatusCode};
use manyhands_core::ToolError;
use manyhands_gateway::Admitted;
use manyhands_gateway::listing::Surface;
use rmcp::model::ProtocolVersion;

use super::changes::{ChangeFeed, View};
use super::sessions::OpenEntry;

/// Interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The notification.
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
/// Version assumed for a client that names none.
const ASSUMED_VERSION: &str = "2025-03-26";

/// Opens a stream.
pub(super) fn open(
    feed: &Arc<ChangeFeed>,
    admitted: Admitted,
    surface: Surface,
    headers: &HeaderMap,
    entry: OpenEntry,
) -> Result<Response, ToolError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let accepted = header("accept").unwrap_or_default();
    if !accepted.contains("text/event-stream") {
        let words = "this endpoint streams events: send `Accept: text/event-stream`\n";
        return Ok((StatusCode::NOT_ACCEPTABLE, words).into_response());
    }
    let version = version(header("mcp-protocol-version").unwrap_or(ASSUMED_VERSION))?;
    let known: Option<View> = match header("last-event-id") {
        Some(id) => id.parse().ok(),
        None => Some(feed.view(&admitted.caller, &surface)),
    };
    // Clients before 2025-11-25 parse every event as a message, so they get no empty first event.
    let primed = known.filter(|_| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str());
    let event = |view: View, data: &str| Event::default().id(view.to_string()).data(data);
    let first = stream::iter(primed.map(|view| event(view, "")));
    let changes = feed.follow(admitted, surface, known)?;
    let ended = async move { entry.cancel.cancelled().await };
    let events = first
        .chain(changes.map(move |view| event(view, CHANGED)))
        .take_until(Box::pin(ended))
        .map(Ok::<_, Infallible>);
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // `Sse` disables caching; this header disables buffering in nginx and similar proxies.
    let at_once = [(HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((at_once, events).into_response())
}

/// The client's version, if it uses this stream.
fn version(said: &str) -> Result<&'static ProtocolVersion, ToolError> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let wrong = |message: &str| Err(ToolError::parameter("MCP-Protocol-Version", message));
    match known.into_iter().find(|known| known.as_str() == said) {
        Some(version) if version.has_initialize() => Ok(version),
        Some(_) => wrong("this version uses `subscriptions/listen` by POST instead of this stream"),
        None => wrong("unsupported version"),
    }
}
