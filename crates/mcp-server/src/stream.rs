//! `GET /mcp`: the stream on which clients before 2026-07-28 are told of changes.
//!
//! It ends with the session that it was opened in, if any. The id of every event is the view that the client knows by then,
//! so a client that comes back and names it is told what it missed, by whichever replica.

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

use super::changes::{Audience, View};
use super::sessions::Entry;

/// How often a silent stream shows that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What is told.
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
/// What a client that speaks no version was written for.
const UNSAID: &str = "2025-03-26";

/// Opens a stream.
pub(super) fn open(
    audience: &Arc<Audience>,
    asker: Admitted,
    surface: Surface,
    headers: &HeaderMap,
    entry: Entry,
) -> Result<Response, ToolError> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let accepted = said("accept").unwrap_or_default();
    if !accepted.contains("text/event-stream") {
        let words = "this is a stream of events: send `Accept: text/event-stream`\n";
        return Ok((StatusCode::NOT_ACCEPTABLE, words).into_response());
    }
    let version = version(said("mcp-protocol-version").unwrap_or(UNSAID))?;
    let known: Option<View> = match said("last-event-id") {
        Some(id) => id.parse().ok(),
        None => Some(audience.view(&asker.caller, &surface)),
    };
    // Clients before 2025-11-25 take every event for a message.
    let primed = known.filter(|_| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str());
    let event = |view: View, data: &str| Event::default().id(view.to_string()).data(data);
    let first = stream::iter(primed.map(|view| event(view, "")));
    let changes = audience.follow(asker, surface, known)?;
    let ended = async move { entry.cancel.cancelled().await };
    let events = first
        .chain(changes.map(move |view| event(view, CHANGED)))
        .take_until(Box::pin(ended))
        .map(Ok::<_, Infallible>);
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    // The caches on the way are told by `Sse`; this keeps proxies from collecting the events.
    let at_once = [(HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((at_once, events).into_response())
}

/// The version of the client, if it is one that listens here.
fn version(said: &str) -> Result<&'static ProtocolVersion, ToolError> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let wrong = |message: &str| Err(ToolError::parameter("MCP-Protocol-Version", message));
    match known.into_iter().find(|known| known.as_str() == said) {
        Some(version) if version.has_initialize() => Ok(version),
        Some(_) => wrong("asks for `subscriptions/listen` by POST, not for this stream"),
        None => wrong("is not a version that is spoken here"),
    }
}
