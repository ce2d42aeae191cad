//! Clients that begin with a handshake (until 2025-11-25).

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
use super::eras::{self, LEGACY};
use super::errand::{Errand, fault};
use super::events;
use super::hearing::Hearing;
use super::session::Session;
use super::voice::{Manner, Out};
use crate::mcp::message::{
    self, Fault, INTERNAL, INVALID_PARAMS, INVALID_REQUEST, Incoming, answer, besides_call,
    notification, request,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Answers a message.
pub(super) async fn post(
    pass: &Arc<Pass>,
    errand: Errand,
    headers: &HeaderMap,
    incoming: Incoming,
) -> Response {
    if let Incoming::Request { id, method, params } = &incoming
        && method == "initialize"
    {
        return match initialize(pass, errand, params).await {
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
    let session = match session(pass, &errand, headers) {
        Ok(session) => session,
        Err(refused) => return refused.respond(&Value::Null),
    };
    match incoming {
        Incoming::Request { id, method, params } => {
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
            let manner = Manner {
                capabilities: session.capabilities.clone(),
                carried,
                calls_again: false,
                logs: Some(0), // the server was told the level
                line: session.line(),
            };
            let heard = session.errand.clone().start(method, params, manner, cancel);
            collect(session, id, heard).await
        }
        Incoming::Notification { method, params } => {
            if method == "notifications/cancelled" {
                match message::cancelled(&params) {
                    Ok(id) => session.ends(id),
                    Err(fault) => return fault.respond(&Value::Null),
                }
            }
            StatusCode::ACCEPTED.into_response()
        }
        Incoming::Reply { id, result } => {
            session.answered(&id, result);
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// Notes which resources a conversation follows; whether there is nothing more to be done.
fn follow(session: &Session, method: &str, params: &Map<String, Value>) -> Result<bool, ToolError> {
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
    errand: Errand,
    params: &Map<String, Value>,
) -> Result<(Arc<Session>, Value), Fault> {
    let wrong = |message: &str| Err(Fault::new(INVALID_PARAMS, message));
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        return wrong("protocolVersion: must be a string");
    };
    let known = LEGACY.into_iter().find(|known| *known == asked);
    let version = known.unwrap_or(LEGACY[0]);
    let Some(capabilities) = params.get("capabilities").filter(|able| able.is_object()) else {
        return wrong("capabilities: must be an object");
    };
    if !params.get("clientInfo").is_some_and(Value::is_object) {
        return wrong("clientInfo: must be an object with name and version");
    }
    let capabilities = capabilities.clone();
    let peer = errand.server.peer(true).await.map_err(fault)?;
    let session = pass
        .sessions
        .begin(errand, version, capabilities)
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

/// The conversation that a request belongs to.
fn session(pass: &Pass, errand: &Errand, headers: &HeaderMap) -> Result<Arc<Session>, Fault> {
    let version = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    if version.is_some_and(|version| !LEGACY.contains(&version)) {
        let message = "MCP-Protocol-Version: it is not a version that is spoken here";
        return Err(Fault::new(INVALID_REQUEST, message).status(StatusCode::BAD_REQUEST));
    }
    let Some(id) = headers.get(SESSION).and_then(|value| value.to_str().ok()) else {
        let message = "Mcp-Session-Id: it is missing; begin with initialize";
        return Err(Fault::new(INVALID_REQUEST, message).status(StatusCode::BAD_REQUEST));
    };
    pass.sessions.find(id, errand).ok_or_else(|| {
        let message = "Session not found: begin anew with initialize";
        Fault::new(INVALID_REQUEST, message).status(StatusCode::NOT_FOUND)
    })
}

/// Waits for what comes of a request: one answer, or a stream where more is said before it.
async fn collect(session: Arc<Session>, id: Value, mut heard: mpsc::Receiver<Out>) -> Response {
    let gone = || Out::Done(Err(Fault::new(INTERNAL, "Request cancelled")));
    let first = heard.recv().await.unwrap_or_else(gone);
    let first = match first {
        Out::Done(done) => {
            session.ends(&id);
            return match done {
                Ok(result) => Json(answer(&id, Ok(eras::legacy(result)))).into_response(),
                Err(fault) => fault.respond(&id),
            };
        }
        other => said(&session, &id, other).0,
    };
    let version = session.version;
    let rest = unfold(Some(heard), move |heard| {
        let (session, id) = (session.clone(), id.clone());
        async move {
            let mut heard = heard?;
            let out = heard.recv().await.unwrap_or_else(gone);
            let (message, ended) = said(&session, &id, out);
            Some((message, (!ended).then_some(heard)))
        }
    });
    let all = stream::once(async { first }).chain(rest);
    let all = all.map(|message| Ok::<Event, Infallible>(events::event(&message)));
    events::respond(stream::iter(primed(version)).chain(all))
}

/// Since 2025-11-25 a stream begins with an event that only has an id.
fn primed(version: &str) -> Option<Result<Event, Infallible>> {
    (version >= LEGACY[0]).then(|| Ok(Event::default().id("0").data("")))
}

/// One thing that comes of a request as a message, and whether it is the last.
fn said(session: &Session, id: &Value, out: Out) -> (Value, bool) {
    match out {
        Out::Told(told) => (told, false),
        Out::Asked(question) => {
            let (number, method, params) = session.ask(question);
            (request(number, &method, params), false)
        }
        Out::Done(done) => {
            session.ends(id);
            (answer(id, done.map(eras::legacy)), true)
        }
    }
}

/// The stream on which a conversation is told what belongs to no request.
pub(super) async fn listen(pass: &Arc<Pass>, errand: Errand, headers: &HeaderMap) -> Response {
    let accepted = headers.get("accept").and_then(|value| value.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/event-stream")) {
        let words = "this is a stream of events: send `Accept: text/event-stream`\n";
        return (StatusCode::NOT_ACCEPTABLE, words).into_response();
    }
    let session = match session(pass, &errand, headers) {
        Ok(session) => session,
        Err(refused) => return refused.respond(&Value::Null),
    };
    let line = session.line().map(|(line, _)| line);
    let hearing = match Hearing::new(&session.errand, line.as_deref(), true).await {
        Ok(hearing) => hearing,
        Err(error) => return fault(error).respond(&Value::Null),
    };
    let version = session.version;
    let told = unfold((hearing, session), |(mut hearing, session)| async move {
        loop {
            let news = tokio::select! {
                () = session.over.cancelled() => return None,
                news = hearing.next() => news?,
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
                ServerNotification::Updated { .. } | ServerNotification::Other { .. } => continue,
            };
            return Some((message, (hearing, session)));
        }
    });
    let told = told.map(|message| Ok::<Event, Infallible>(events::event(&message)));
    events::respond(stream::iter(primed(version)).chain(told))
}

/// Ends a conversation.
pub(super) fn end(pass: &Arc<Pass>, errand: &Errand, headers: &HeaderMap) -> Response {
    match session(pass, errand, headers) {
        Ok(session) => {
            pass.sessions.end(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => refused.respond(&Value::Null),
    }
}
