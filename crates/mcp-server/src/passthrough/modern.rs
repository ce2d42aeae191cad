//! Clients without sessions (since 2026-07-28).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{self, unfold};
use http::{HeaderMap, StatusCode};
use manyhands_upstream::{Hooks, ServerNotification, decoded, expected};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Pass;
use super::client::{ServerClient, fault, unknown};
use super::eras::{self, LEGACY, META_CAPABILITIES, META_SUBSCRIPTION, META_VERSION, MODERN};
use super::events;
use super::paused::PausedCalls;
use super::sink::{ClientMessage, MessageStream, Question, SinkOptions};
use crate::message::{
    Fault, HEADER_MISMATCH, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    RpcMessage, UNSUPPORTED_VERSION, answer, besides_call, notification,
};

/// Resources one stream may subscribe to.
const MAX_FOLLOWED: usize = 256;

/// Whether a message belongs to the era without sessions.
pub(crate) fn is_modern(headers: &HeaderMap, incoming: &RpcMessage) -> bool {
    let said = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    let meta = match incoming {
        RpcMessage::Request { params, .. } | RpcMessage::Notification { params, .. } => params
            .get("_meta")
            .is_some_and(|meta| meta.get(META_VERSION).is_some()),
        RpcMessage::Reply { .. } => false,
    };
    meta || said.is_some_and(|said| !LEGACY.contains(&said))
}

/// Handles a message.
pub(super) async fn post(
    pass: &Arc<Pass>,
    client: ServerClient,
    headers: &HeaderMap,
    incoming: RpcMessage,
) -> Response {
    let RpcMessage::Request {
        id,
        method,
        mut params,
    } = incoming
    else {
        return StatusCode::ACCEPTED.into_response();
    };
    if let Err(fault) = check(&client, headers, &method, &params) {
        return fault.respond(&id);
    }
    let capabilities = eras::capabilities(&mut params);
    match method.as_str() {
        "server/discover" => match discover(&client).await {
            Ok(result) => Json(answer(&id, Ok(result))).into_response(),
            Err(fault) => fault.respond(&id),
        },
        "subscriptions/listen" => listen(&client, &id, &params).await,
        "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "initialize" => unknown(&method).status(StatusCode::NOT_FOUND).respond(&id),
        _ => {
            let messages = match begin(pass, client.clone(), &method, params, capabilities) {
                Ok(messages) => messages,
                Err(fault) => return fault.respond(&id),
            };
            collect(pass.clone(), client, id, method, messages).await
        }
    }
}

/// Checks that headers and body agree, as the specification requires: proxies route by the headers.
fn check(
    client: &ServerClient,
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), Fault> {
    let refuse =
        |code, message: String| Err(Fault::new(code, message).status(StatusCode::BAD_REQUEST));
    let meta = params.get("_meta").and_then(|meta| meta.get(META_VERSION));
    let Some(version) = meta.and_then(Value::as_str) else {
        return refuse(INVALID_PARAMS, format!("_meta.{META_VERSION}: required"));
    };
    let header = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    if header != Some(version) {
        let message = "MCP-Protocol-Version and _meta name different versions";
        return refuse(HEADER_MISMATCH, message.to_owned());
    }
    let capabilities = params
        .get("_meta")
        .and_then(|meta| meta.get(META_CAPABILITIES));
    if !capabilities.is_some_and(Value::is_object) {
        return refuse(
            INVALID_PARAMS,
            format!("_meta.{META_CAPABILITIES}: must be an object"),
        );
    }
    if version != MODERN {
        let shown: String = version.chars().take(40).collect();
        let supported: Vec<&str> = std::iter::once(MODERN).chain(LEGACY).collect();
        let data = json!({ "supported": supported, "requested": shown });
        let fault = Fault::new(
            UNSUPPORTED_VERSION,
            format!("unsupported protocol version {shown}"),
        );
        return Err(fault.data(data).status(StatusCode::BAD_REQUEST));
    }
    let offer = client.server.offer();
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| method == "tools/call");
    let tool = name
        .and_then(|name| offer.tools.get(name))
        .map(|tool| &tool.definition);
    // Tools may map parameters to headers, so their definition is needed.
    let wanted = expected(method, params, tool);
    for (name, value) in &wanted {
        let sent = headers.get(name).and_then(decoded);
        if sent.is_none() || sent != decoded(value) {
            let message = format!("header {name} is missing or does not match the body");
            return refuse(HEADER_MISMATCH, message);
        }
    }
    let repeated = |name: &str| name.starts_with("mcp-param-");
    let extra = headers
        .keys()
        .find(|name| repeated(name.as_str()) && !wanted.contains_key(*name));
    match extra {
        Some(extra) if tool.is_some() => refuse(
            HEADER_MISMATCH,
            format!("header {extra} has no counterpart in the body"),
        ),
        _ => Ok(()),
    }
}

/// Starts a request, or resumes one that waited for an answer.
fn begin(
    pass: &Arc<Pass>,
    client: ServerClient,
    method: &str,
    params: Map<String, Value>,
    capabilities: Value,
) -> Result<MessageStream, Fault> {
    let token = params.get("_meta").and_then(|m| m.get("progressToken"));
    let token = token.cloned();
    let state = params.get("requestState").and_then(Value::as_str);
    if let Some(state) = state.filter(|state| PausedCalls::is_ours(state)) {
        let answers = params.get("inputResponses").unwrap_or(&Value::Null);
        let server = client.server.name().as_str();
        let messages = pass
            .paused
            .resume(state, client.admitted.token, server, answers);
        let mut messages = messages.ok_or_else(|| {
            Fault::new(
                INVALID_PARAMS,
                "requestState: unknown or expired; repeat the call without it",
            )
        })?;
        messages.token = token;
        return Ok(messages);
    }
    let logs = eras::log_level(&params);
    let talks = capabilities
        .as_object()
        .is_some_and(|able| !able.is_empty());
    let line = talks
        .then(|| pass.private_session(&client, &capabilities))
        .transpose()
        .map_err(fault)?;
    let mut carried = match method {
        "tools/call" => besides_call(&params),
        _ => Map::new(),
    };
    if let Some(Value::Object(meta)) = carried.get_mut("_meta") {
        // The progress token belongs to this HTTP request; a resumed call has another one.
        meta.remove("progressToken");
    }
    let options = SinkOptions {
        capabilities,
        carried,
        calls_again: true,
        logs,
        line,
    };
    let rest = client.start(method.to_owned(), params, options, CancellationToken::new());
    let first = VecDeque::new();
    Ok(MessageStream { first, rest, token })
}

/// Waits for the result of a request. Responds with JSON, or with an event stream if other messages
/// come first.
async fn collect(
    pass: Arc<Pass>,
    client: ServerClient,
    id: Value,
    method: String,
    mut messages: MessageStream,
) -> Response {
    let gone = || ClientMessage::Done(Err(Fault::new(INTERNAL, "the call was interrupted")));
    let first = messages.next().await.unwrap_or_else(gone);
    let notification = match first {
        ClientMessage::Notification(notification) => notification,
        ClientMessage::Done(done) => return finish(&id, &method, done),
        ClientMessage::Question(question) => {
            let done = pause(&pass, &client, question, messages).await;
            return finish(&id, &method, done);
        }
    };
    let rest = unfold(Some(messages), move |messages| {
        let (pass, client, id, method) = (pass.clone(), client.clone(), id.clone(), method.clone());
        async move {
            let mut messages = messages?;
            let message = match messages.next().await? {
                ClientMessage::Notification(notification) => {
                    return Some((notification, Some(messages)));
                }
                ClientMessage::Done(done) => done,
                ClientMessage::Question(question) => {
                    pause(&pass, &client, question, messages).await
                }
            };
            let message = answer(&id, message.map(|result| eras::modern(&method, result)));
            Some((message, None))
        }
    });
    let all = stream::once(async { notification }).chain(rest);
    events::respond(all.map(|message| Ok::<Event, Infallible>(events::event(&message))))
}

fn finish(id: &Value, method: &str, done: Result<Value, Fault>) -> Response {
    match done {
        Ok(result) => Json(answer(id, Ok(eras::modern(method, result)))).into_response(),
        Err(fault) => {
            let status = match fault.code {
                METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
                MISSING_CAPABILITY => StatusCode::BAD_REQUEST,
                _ => fault.status,
            };
            fault.status(status).respond(id)
        }
    }
}

/// Suspends a call and returns its questions as the result.
async fn pause(
    pass: &Pass,
    client: &ServerClient,
    question: Question,
    mut messages: MessageStream,
) -> Result<Value, Fault> {
    let questions = messages.gather(question).await;
    let mut requests = Map::new();
    let mut keyed = Vec::new();
    for (number, question) in (1..).zip(questions) {
        let key = format!("question-{number}");
        let asked = json!({ "method": question.method, "params": question.params });
        requests.insert(key.clone(), asked);
        keyed.push((key, question));
    }
    let server = client.server.name().as_str();
    let ids = &client.gateway.ids;
    let kept = pass
        .paused
        .store(ids, client.admitted.token, server, keyed, messages);
    let state = kept.ok_or_else(|| {
        Fault::new(
            INTERNAL,
            "too many calls are waiting for an answer; retry later",
        )
    })?;
    Ok(json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
    }))
}

/// Describes the server and its capabilities.
async fn discover(client: &ServerClient) -> Result<Value, Fault> {
    let peer = client.server.peer(false).await.map_err(fault)?;
    let mut result = json!({
        "supportedVersions": [MODERN, LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3]],
        "capabilities": eras::offered(&peer.capabilities, true),
        "serverInfo": peer.info,
        "_meta": { "io.modelcontextprotocol/serverInfo": peer.info },
    });
    if let Some(words) = peer.instructions {
        result["instructions"] = json!(words);
    }
    Ok(eras::modern("server/discover", result))
}

/// A stream of change notifications.
async fn listen(client: &ServerClient, id: &Value, params: &Map<String, Value>) -> Response {
    let wanted = params.get("notifications").cloned().unwrap_or_default();
    let wants = |key: &str| wanted[key] == true;
    let uris: Vec<String> = wanted["resourceSubscriptions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|uri| uri.as_str().map(str::to_owned))
        .take(MAX_FOLLOWED)
        .collect();
    let follower = match ResourceFollower::start(client, &uris).await {
        Ok(follower) => follower,
        Err(fault) => return fault.respond(id),
    };
    let mut agreed = Map::new();
    for key in [
        "toolsListChanged",
        "promptsListChanged",
        "resourcesListChanged",
    ] {
        if wants(key) {
            agreed.insert(key.to_owned(), true.into());
        }
    }
    if !uris.is_empty() {
        agreed.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    let meta = json!({ META_SUBSCRIPTION: id });
    let opening = notification(
        "notifications/subscriptions/acknowledged",
        json!({ "notifications": agreed, "_meta": meta }),
    );
    let (tools, prompts, resources) = (
        wants("toolsListChanged"),
        wants("promptsListChanged"),
        wants("resourcesListChanged"),
    );
    let changes = unfold(follower, move |mut follower| async move {
        let news = follower.next().await?;
        Some((news, follower))
    });
    let changes = changes.filter_map(move |news| {
        let message = match news {
            ServerNotification::Tools if tools => {
                Some(("notifications/tools/list_changed", json!({})))
            }
            ServerNotification::Prompts if prompts => {
                Some(("notifications/prompts/list_changed", json!({})))
            }
            ServerNotification::Resources if resources => {
                Some(("notifications/resources/list_changed", json!({})))
            }
            ServerNotification::Updated { uri, params } if uris.contains(&uri) => {
                Some(("notifications/resources/updated", Value::Object(params)))
            }
            _ => None,
        };
        let message = message.map(|(method, mut params)| {
            params["_meta"] = meta.clone();
            notification(method, params)
        });
        std::future::ready(message)
    });
    let all = stream::once(async { opening }).chain(changes);
    events::respond(all.map(|message| Ok::<Event, Infallible>(events::event(&message))))
}

/// Events of a server; subscriptions to its resources end when this is dropped.
struct ResourceFollower {
    events_from: super::server_events::ServerEvents,
    client: ServerClient,
    uris: Vec<String>,
}

impl ResourceFollower {
    async fn start(client: &ServerClient, uris: &[String]) -> Result<Self, Fault> {
        let events_from = super::server_events::ServerEvents::new(client, None, false)
            .await
            .map_err(fault)?;
        for uri in uris {
            client
                .server
                .subscribe(uri, false, Hooks::default())
                .await
                .map_err(fault)?;
        }
        Ok(Self {
            events_from,
            client: client.clone(),
            uris: uris.to_vec(),
        })
    }

    async fn next(&mut self) -> Option<ServerNotification> {
        self.events_from.next().await
    }
}

impl Drop for ResourceFollower {
    fn drop(&mut self) {
        let (server, uris) = (self.client.server.clone(), std::mem::take(&mut self.uris));
        if uris.is_empty() {
            return;
        }
        // Drop cannot await, so the server is told in the background.
        tokio::spawn(async move {
            for uri in uris {
                server.unsubscribe(&uri, false).await;
            }
        });
    }
}
