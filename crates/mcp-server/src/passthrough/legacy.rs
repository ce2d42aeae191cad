//! Clients that start with a handshake (up to 2025-11-25).

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{self, unfold};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use manyhands_core::ToolError;
use manyhands_upstream::ServerNotification;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::Pass;
use super::client::{ServerClient, fault};
use super::eras::{self, LEGACY};
use super::events;
use super::server_events::ServerEvents;
use super::session::LegacySession;
use super::sink::{ClientMessage, SinkOptions};
use crate::message::{
    self, Fault, INTERNAL, INVALID_PARAMS, INVALID_REQUEST, RpcMessage, answer, besides_call,
    notification, request,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Handles a message.
pub(super) async fn post(
    pass: &Arc<Pass>,
    client: ServerClient,
    headers: &HeaderMap,
    incoming: RpcMessage,
) -> Response {
    if let RpcMessage::Request { id, method, params } = &incoming
        && method == "initialize"
    {
        return match initialize(pass, client, params).await {
            Ok((session, result)) => {
                let mut response = Json(answer(id, Ok(result))).into_response();
                if let Ok(session) = HeaderValue::from_str(&session.id) {
                    response.headers_mut().insert(SESSION, session);
                }
                response
            }
            Err(fault) => fault.respond(id),
        };
    }
    let session = match session(pass, &client, headers) {
        Ok(session) => session,
        Err(refused) => return refused.respond(&Value::Null),
    };
    match incoming {
        RpcMessage::Request { id, method, params } => {
            let cancel = match session.begins(&id) {
                Ok(cancel) => cancel,
                Err(error) => return fault(error).respond(&id),
            };
            match follow(&session, &method, &params) {
                Ok(false) => {}
                Ok(true) => {
                    session.ends(&id);
                    return Json(answer(&id, Ok(json!({})))).into_response();
                }
                Err(error) => {
                    session.ends(&id);
                    return fault(error).respond(&id);
                }
            }
            let carried = match method.as_str() {
                "tools/call" => besides_call(&params),
                _ => Map::new(),
            };
            let options = SinkOptions {
                capabilities: session.capabilities.clone(),
                carried,
                calls_again: false,
                logs: Some(0), // the server filters: it received logging/setLevel
                line: session.line(),
            };
            let messages = session
                .client
                .clone()
                .start(method, params, options, cancel);
            collect(session, id, messages).await
        }
        RpcMessage::Notification { method, params } => {
            if method == "notifications/cancelled" {
                match message::cancelled(&params) {
                    Ok(id) => session.ends(id),
                    Err(fault) => return fault.respond(&Value::Null),
                }
            }
            StatusCode::ACCEPTED.into_response()
        }
        RpcMessage::Reply { id, result } => {
            session.answered(&id, result);
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// Records subscriptions of a session; returns whether the request is thereby complete.
fn follow(
    session: &LegacySession,
    method: &str,
    params: &Map<String, Value>,
) -> Result<bool, ToolError> {
    let Some(uri) = params.get("uri").and_then(Value::as_str) else {
        return Ok(false);
    };
    match method {
        "resources/subscribe" => session.follows(uri, true).map(|new| !new),
        "resources/unsubscribe" => session.follows(uri, false).map(|known| !known),
        _ => Ok(false),
    }
}

async fn initialize(
    pass: &Arc<Pass>,
    client: ServerClient,
    params: &Map<String, Value>,
) -> Result<(Arc<LegacySession>, Value), Fault> {
    let wrong = |message: &str| Err(Fault::new(INVALID_PARAMS, message));
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        return wrong("protocolVersion: must be a string");
    };
    // The specification asks servers to answer an unknown version with one they support.
    let known = LEGACY.into_iter().find(|known| *known == asked);
    let version = known.unwrap_or(LEGACY[0]);
    let Some(capabilities) = params.get("capabilities").filter(|able| able.is_object()) else {
        return wrong("capabilities: must be an object");
    };
    if !params.get("clientInfo").is_some_and(Value::is_object) {
        return wrong("clientInfo: must be an object with name and version");
    }
    let capabilities = capabilities.clone();
    // Contacted first: no session is created for a server that does not respond.
    let peer = client.server.peer(true).await.map_err(fault)?;
    let session = pass
        .sessions
        .begin(client, version, capabilities)
        .map_err(fault)?;
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": eras::offered(&peer.capabilities, false),
        "serverInfo": peer.info,
    });
    if let Some(words) = peer.instructions {
        result["instructions"] = json!(words);
    }
    Ok((session, result))
}

/// The session a request belongs to.
fn session(
    pass: &Pass,
    client: &ServerClient,
    headers: &HeaderMap,
) -> Result<Arc<LegacySession>, Fault> {
    let version = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    if version.is_some_and(|version| !LEGACY.contains(&version)) {
        let message = "MCP-Protocol-Version: unsupported version";
        return Err(Fault::new(INVALID_REQUEST, message).status(StatusCode::BAD_REQUEST));
    }
    let Some(id) = headers.get(SESSION).and_then(|value| value.to_str().ok()) else {
        let message = "Mcp-Session-Id: missing; start with initialize";
        return Err(Fault::new(INVALID_REQUEST, message).status(StatusCode::BAD_REQUEST));
    };
    pass.sessions.find(id, client).ok_or_else(|| {
        let message = "Session not found: start a new one with initialize";
        Fault::new(INVALID_REQUEST, message).status(StatusCode::NOT_FOUND)
    })
}

/// Waits for the result of a request. Responds with JSON, or with an event stream if other messages
/// come first.
async fn collect(
    session: Arc<LegacySession>,
    id: Value,
    mut messages: mpsc::Receiver<ClientMessage>,
) -> Response {
    let gone = || ClientMessage::Done(Err(Fault::new(INTERNAL, "Request cancelled")));
    let first = messages.recv().await.unwrap_or_else(gone);
    let first = match first {
        ClientMessage::Done(done) => {
            session.ends(&id);
            return match done {
                Ok(result) => Json(answer(&id, Ok(eras::legacy(result)))).into_response(),
                Err(fault) => fault.respond(&id),
            };
        }
        other => rpc_message(&session, &id, other).0,
    };
    let version = session.version;
    let rest = unfold(Some(messages), move |messages| {
        let (session, id) = (session.clone(), id.clone());
        async move {
            let mut messages = messages?;
            let out = messages.recv().await.unwrap_or_else(gone);
            let (message, ended) = rpc_message(&session, &id, out);
            Some((message, (!ended).then_some(messages)))
        }
    });
    let all = stream::once(async { first }).chain(rest);
    let all = all.map(|message| Ok::<Event, Infallible>(events::event(&message)));
    events::respond(stream::iter(primed(version)).chain(all))
}

/// Since 2025-11-25 a stream starts with an event that has an id and no data, for resumption.
fn primed(version: &str) -> Option<Result<Event, Infallible>> {
    (version >= LEGACY[0]).then(|| Ok(Event::default().id("0").data("")))
}

/// Converts a message to JSON-RPC; returns also whether it is the last.
fn rpc_message(session: &LegacySession, id: &Value, out: ClientMessage) -> (Value, bool) {
    match out {
        ClientMessage::Notification(notification) => (notification, false),
        ClientMessage::Question(question) => {
            let (number, method, params) = session.add_question(question);
            (request(number, &method, params), false)
        }
        ClientMessage::Done(done) => {
            session.ends(id);
            (answer(id, done.map(eras::legacy)), true)
        }
    }
}

/// The stream for messages that belong to no request.
pub(super) async fn listen(
    pass: &Arc<Pass>,
    client: ServerClient,
    headers: &HeaderMap,
) -> Response {
    let accepted = headers.get("accept").and_then(|value| value.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/event-stream")) {
        let words = "this endpoint streams events: send `Accept: text/event-stream`\n";
        return (StatusCode::NOT_ACCEPTABLE, words).into_response();
    }
    let session = match session(pass, &client, headers) {
        Ok(session) => session,
        Err(refused) => return refused.respond(&Value::Null),
    };
    let line = session.line().map(|(line, _)| line);
    let server_events = match ServerEvents::new(&session.client, line.as_deref(), true).await {
        Ok(server_events) => server_events,
        Err(error) => return fault(error).respond(&Value::Null),
    };
    let version = session.version;
    let notifications = unfold(
        (server_events, session),
        |(mut server_events, session)| async move {
            loop {
                let news = tokio::select! {
                    () = session.over.cancelled() => return None,
                    news = server_events.next() => news?,
                };
                let message = match news {
                    ServerNotification::Tools => {
                        notification("notifications/tools/list_changed", Value::Null)
                    }
                    ServerNotification::Prompts => {
                        notification("notifications/prompts/list_changed", Value::Null)
                    }
                    ServerNotification::Resources => {
                        notification("notifications/resources/list_changed", Value::Null)
                    }
                    ServerNotification::Updated { uri, params } if session.is_following(&uri) => {
                        notification("notifications/resources/updated", Value::Object(params))
                    }
                    ServerNotification::Log(params) => {
                        notification("notifications/message", Value::Object(params))
                    }
                    ServerNotification::Updated { .. } | ServerNotification::Other { .. } => {
                        continue;
                    }
                };
                return Some((message, (server_events, session)));
            }
        },
    );
    let notifications =
        notifications.map(|message| Ok::<Event, Infallible>(events::event(&message)));
    events::respond(stream::iter(primed(version)).chain(notifications))
}

/// Ends a session.
pub(super) fn end(pass: &Arc<Pass>, client: &ServerClient, headers: &HeaderMap) -> Response {
    match session(pass, client, headers) {
        Ok(session) => {
            pass.sessions.end(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => refused.respond(&Value::Null),
    }
}
