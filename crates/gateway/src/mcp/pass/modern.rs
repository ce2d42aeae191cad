//! Clients whose requests stand alone (since 2026-07-28).

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
use super::eras::{self, LEGACY, META_CAPABILITIES, META_SUBSCRIPTION, META_VERSION, MODERN};
use super::errand::{Errand, fault, unknown};
use super::events;
use super::paused::Waiting;
use super::voice::{Manner, Out, Question, Stretch};
use crate::mcp::message::{
    Fault, HEADER_MISMATCH, INTERNAL, INVALID_PARAMS, Incoming, METHOD_NOT_FOUND,
    MISSING_CAPABILITY, UNSUPPORTED_VERSION, answer, besides_call, notification,
};

/// How many resources one stream follows.
const MAX_FOLLOWED: usize = 256;

/// Whether a message is of this era.
pub(in crate::mcp) fn is_modern(headers: &HeaderMap, incoming: &Incoming) -> bool {
    let said = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    let meta = match incoming {
        Incoming::Request { params, .. } | Incoming::Notification { params, .. } => params
            .get("_meta")
            .is_some_and(|meta| meta.get(META_VERSION).is_some()),
        Incoming::Reply { .. } => false,
    };
    meta || said.is_some_and(|said| !LEGACY.contains(&said))
}

/// Answers a message.
pub(super) async fn post(
    pass: &Arc<Pass>,
    errand: Errand,
    headers: &HeaderMap,
    incoming: Incoming,
) -> Response {
    let Incoming::Request {
        id,
        method,
        mut params,
    } = incoming
    else {
        return StatusCode::ACCEPTED.into_response();
    };
    if let Err(fault) = check(&errand, headers, &method, &params) {
        return fault.respond(&id);
    }
    let capabilities = eras::capabilities(&mut params);
    match method.as_str() {
        "server/discover" => match discover(&errand).await {
            Ok(result) => Json(answer(&id, Ok(result))).into_response(),
            Err(fault) => fault.respond(&id),
        },
        "subscriptions/listen" => listen(&errand, &id, &params).await,
        "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "initialize" => unknown(&method).status(StatusCode::NOT_FOUND).respond(&id),
        _ => {
            let heard = match begin(pass, errand.clone(), &method, params, capabilities) {
                Ok(heard) => heard,
                Err(fault) => return fault.respond(&id),
            };
            collect(pass.clone(), errand, id, method, heard).await
        }
    }
}

/// Holds what the headers say against what the message says.
fn check(
    errand: &Errand,
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), Fault> {
    let refuse =
        |code, message: String| Err(Fault::new(code, message).status(StatusCode::BAD_REQUEST));
    let meta = params.get("_meta").and_then(|meta| meta.get(META_VERSION));
    let Some(version) = meta.and_then(Value::as_str) else {
        return refuse(
            INVALID_PARAMS,
            format!("_meta.{META_VERSION}: it is required"),
        );
    };
    let header = headers
        .get("mcp-protocol-version")
        .and_then(|value| value.to_str().ok());
    if header != Some(version) {
        let message = "MCP-Protocol-Version and _meta do not name the same version";
        return refuse(HEADER_MISMATCH, message.to_owned());
    }
    let capabilities = params
        .get("_meta")
        .and_then(|meta| meta.get(META_CAPABILITIES));
    if !capabilities.is_some_and(Value::is_object) {
        return refuse(
            INVALID_PARAMS,
            format!("_meta.{META_CAPABILITIES}: it must be an object"),
        );
    }
    if version != MODERN {
        let shown: String = version.chars().take(40).collect();
        let supported: Vec<&str> = std::iter::once(MODERN).chain(LEGACY).collect();
        let data = json!({ "supported": supported, "requested": shown });
        let fault = Fault::new(
            UNSUPPORTED_VERSION,
            format!("version {shown} is not spoken here"),
        );
        return Err(fault.data(data).status(StatusCode::BAD_REQUEST));
    }
    let offer = errand.server.offer();
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| method == "tools/call");
    let tool = name
        .and_then(|name| offer.tools.get(name))
        .map(|tool| &tool.definition);
    let wanted = expected(method, params, tool);
    for (name, value) in &wanted {
        let sent = headers.get(name).and_then(decoded);
        if sent.is_none() || sent != decoded(value) {
            let message = format!("header {name} is missing, or does not say what the body says");
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
            format!("header {extra} says what the body does not"),
        ),
        _ => Ok(()),
    }
}

/// Starts a request, or goes on with one that waited for an answer.
fn begin(
    pass: &Arc<Pass>,
    errand: Errand,
    method: &str,
    params: Map<String, Value>,
    capabilities: Value,
) -> Result<Stretch, Fault> {
    let token = params.get("_meta").and_then(|m| m.get("progressToken"));
    let token = token.cloned();
    let state = params.get("requestState").and_then(Value::as_str);
    if let Some(state) = state.filter(|state| Waiting::is_ours(state)) {
        let answers = params.get("inputResponses").unwrap_or(&Value::Null);
        let server = errand.server.name().as_str();
        let heard = pass
            .waiting
            .go_on(state, errand.asker.token, server, answers);
        let mut heard = heard.ok_or_else(|| {
            Fault::new(
                INVALID_PARAMS,
                "requestState: nothing waits under it; make the call anew",
            )
        })?;
        heard.token = token;
        return Ok(heard);
    }
    let logs = eras::log_level(&params);
    let talks = capabilities
        .as_object()
        .is_some_and(|able| !able.is_empty());
    let line = talks
        .then(|| pass.floor(&errand, &capabilities))
        .transpose()
        .map_err(fault)?;
    let mut carried = match method {
        "tools/call" => besides_call(&params),
        _ => Map::new(),
    };
    if let Some(Value::Object(meta)) = carried.get_mut("_meta") {
        meta.remove("progressToken");
    }
    let manner = Manner {
        capabilities,
        carried,
        calls_again: true,
        logs,
        line,
    };
    let rest = errand.start(method.to_owned(), params, manner, CancellationToken::new());
    let first = VecDeque::new();
    Ok(Stretch { first, rest, token })
}

/// Waits for what comes of a request: one answer, or a stream where more is told before it.
async fn collect(
    pass: Arc<Pass>,
    errand: Errand,
    id: Value,
    method: String,
    mut heard: Stretch,
) -> Response {
    let gone = || Out::Done(Err(Fault::new(INTERNAL, "the call was cut off")));
    let first = heard.next().await.unwrap_or_else(gone);
    let told = match first {
        Out::Told(told) => told,
        Out::Done(done) => return finish(&id, &method, done),
        Out::Asked(question) => {
            let done = pause(&pass, &errand, question, heard).await;
            return finish(&id, &method, done);
        }
    };
    let rest = unfold(Some(heard), move |heard| {
        let (pass, errand, id, method) = (pass.clone(), errand.clone(), id.clone(), method.clone());
        async move {
            let mut heard = heard?;
            let message = match heard.next().await? {
                Out::Told(told) => return Some((told, Some(heard))),
                Out::Done(done) => done,
                Out::Asked(question) => pause(&pass, &errand, question, heard).await,
            };
            let message = answer(&id, message.map(|result| eras::modern(&method, result)));
            Some((message, None))
        }
    });
    let all = stream::once(async { told }).chain(rest);
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

/// Lets a call wait, and says what it waits for.
async fn pause(
    pass: &Pass,
    errand: &Errand,
    question: Question,
    mut heard: Stretch,
) -> Result<Value, Fault> {
    let questions = heard.gather(question).await;
    let mut requests = Map::new();
    let mut keyed = Vec::new();
    for (number, question) in (1..).zip(questions) {
        let key = format!("question-{number}");
        let asked = json!({ "method": question.method, "params": question.params });
        requests.insert(key.clone(), asked);
        keyed.push((key, question));
    }
    let server = errand.server.name().as_str();
    let ids = &errand.gateway.ids;
    let kept = pass
        .waiting
        .keep(ids, errand.asker.token, server, keyed, heard);
    let state =
        kept.ok_or_else(|| Fault::new(INTERNAL, "too many calls wait for an answer already"))?;
    Ok(json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
    }))
}

/// What the server is and can do.
async fn discover(errand: &Errand) -> Result<Value, Fault> {
    let peer = errand.server.peer(false).await.map_err(fault)?;
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

/// A stream on which changes are told.
async fn listen(errand: &Errand, id: &Value, params: &Map<String, Value>) -> Response {
    let wanted = params.get("notifications").cloned().unwrap_or_default();
    let wants = |key: &str| wanted[key] == true;
    let uris: Vec<String> = wanted["resourceSubscriptions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|uri| uri.as_str().map(str::to_owned))
        .take(MAX_FOLLOWED)
        .collect();
    let follower = match Follower::start(errand, &uris).await {
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
    let told = unfold(follower, move |mut follower| async move {
        let news = follower.next().await?;
        Some((news, follower))
    });
    let told = told.filter_map(move |news| {
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
    let all = stream::once(async { opening }).chain(told);
    events::respond(all.map(|message| Ok::<Event, Infallible>(events::event(&message))))
}

/// Hears what changes at a server, and follows resources as long as it is there.
struct Follower {
    hearing: super::hearing::Hearing,
    errand: Errand,
    uris: Vec<String>,
}

impl Follower {
    async fn start(errand: &Errand, uris: &[String]) -> Result<Self, Fault> {
        let hearing = super::hearing::Hearing::new(errand, None, false)
            .await
            .map_err(fault)?;
        for uri in uris {
            errand
                .server
                .subscribe(uri, false, Hooks::default())
                .await
                .map_err(fault)?;
        }
        Ok(Self {
            hearing,
            errand: errand.clone(),
            uris: uris.to_vec(),
        })
    }

    async fn next(&mut self) -> Option<ServerNotification> {
        self.hearing.next().await
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let (server, uris) = (self.errand.server.clone(), std::mem::take(&mut self.uris));
        if uris.is_empty() {
            return;
        }
        tokio::spawn(async move {
            for uri in uris {
                server.unsubscribe(&uri, false).await;
            }
        });
    }
}
