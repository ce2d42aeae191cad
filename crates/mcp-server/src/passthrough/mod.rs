//! `/mcp/{server}`: one MCP server as it is, with its tools under their own names.
//!
//! Client and server may speak different eras of the protocol; messages are translated between
//! them. Tools are called through the call path like any other. Questions a server asks during a
//! call go to the client that made the call, in its era's form. Messages are passed as JSON values,
//! so that fields unknown to the gateway survive.

mod client;
mod eras;
mod events;
mod legacy;
mod modern;
mod paused;
mod server_events;
mod session;
mod sink;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use axum::Extension;
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode};
use manyhands_core::{AgentId, Caller, ErrorCode, Invoke, Pattern, Question, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use serde_json::Value;

use super::message::{self, Fault, INVALID_REQUEST};
use client::ServerClient;
use paused::PausedCalls;
use session::LegacySessions;
use sink::ActiveRequests;

pub(super) use modern::is_modern;

/// Private server sessions for clients without sessions.
const MAX_PRIVATE_SESSIONS: usize = 64;

/// State kept between requests.
struct Pass {
    gateway: Arc<Gateway>,
    sessions: LegacySessions,
    paused: PausedCalls,
    /// Private server sessions of clients without sessions, by name.
    private_sessions: Mutex<BTreeMap<String, (ServerClient, Arc<ActiveRequests>)>>,
}

impl Pass {
    /// A private server session for a request whose client can answer questions. It serves one
    /// request at a time, so that a question of the server belongs to that request.
    fn private_session(
        &self,
        client: &ServerClient,
        capabilities: &Value,
    ) -> Result<(String, Arc<ActiveRequests>), ToolError> {
        // Capabilities are declared when a server session opens, so clients with different ones
        // cannot share it.
        let mut able = DefaultHasher::new();
        capabilities.to_string().hash(&mut able);
        let (token, server) = (client.admitted.token, client.server.name());
        let name = format!("{token}/{server}/{:x}", able.finish());
        let mut private_sessions = self.private_sessions.lock().expect("no panic while held");
        for number in 0..MAX_PRIVATE_SESSIONS {
            let name = format!("{name}/{number}");
            if let Some((known, active)) = private_sessions.get(&name) {
                let same = Arc::ptr_eq(&known.server, &client.server);
                if same && active.take() {
                    return Ok((name, active.clone()));
                }
                if same || !active.is_idle() {
                    continue;
                }
            }
            // At the limit an idle session makes room; busy ones are never closed.
            if private_sessions.len() >= MAX_PRIVATE_SESSIONS {
                let quiet = private_sessions
                    .iter()
                    .find(|(_, (_, active))| active.is_idle());
                let Some(quiet) = quiet.map(|(name, _)| name.clone()) else {
                    break;
                };
                if let Some((client, _)) = private_sessions.remove(&quiet) {
                    client.server.hang_up(&quiet);
                }
            }
            let active: Arc<ActiveRequests> = Arc::default();
            active.take();
            private_sessions.insert(name.clone(), (client.clone(), active.clone()));
            return Ok((name, active));
        }
        let message = format!(
            "the limit of {MAX_PRIVATE_SESSIONS} interactive calls is reached; retry later"
        );
        Err(ToolError::new(ErrorCode::RateLimited, message))
    }

    /// Authorizes the caller for a server.
    fn client(&self, server: &str, admitted: Admitted) -> Result<ServerClient, ToolError> {
        let server = self.gateway.servers.get(server)?;
        let access = server.access("connect");
        let main = AgentId::main();
        // Checks only whether the caller has any access to the server: tools, resources and prompts
        // are authorized one by one.
        let mut caller = Caller::clone(&admitted.caller);
        caller.rights.tools = vec![Pattern::new("*")];
        let question = Question::available(&caller, &main, &access);
        self.gateway.path.authorize(question).refused(&access)?;
        Ok(ServerClient {
            gateway: self.gateway.clone(),
            server,
            admitted,
        })
    }
}

/// Serves `/mcp/{server}` to authenticated requests. Host and Origin have been checked before.
pub fn route<R: IntoResponse + 'static>(
    gateway: &Arc<Gateway>,
    refuse: fn(ToolError) -> R,
) -> MethodRouter<Arc<Gateway>> {
    let pass = Arc::new(Pass {
        gateway: gateway.clone(),
        sessions: LegacySessions::default(),
        paused: PausedCalls::default(),
        private_sessions: Mutex::default(),
    });
    let (listening, ending) = (pass.clone(), pass.clone());
    let post = async move |Path(server): Path<String>,
                           Extension(admitted): Extension<Admitted>,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| {
        let client = pass.client(&server, admitted).map_err(refuse)?;
        Ok::<Response, R>(answer(&pass, client, &headers, body).await)
    };
    let listen = async move |Path(server): Path<String>,
                             Extension(admitted): Extension<Admitted>,
                             headers: HeaderMap| {
        let client = listening.client(&server, admitted).map_err(refuse)?;
        Ok::<Response, R>(legacy::listen(&listening, client, &headers).await)
    };
    let end = async move |Path(server): Path<String>,
                          Extension(admitted): Extension<Admitted>,
                          headers: HeaderMap| {
        let client = ending.client(&server, admitted).map_err(refuse)?;
        Ok::<Response, R>(legacy::end(&ending, &client, &headers))
    };
    get(listen).post(post).delete(end)
}

async fn answer(
    pass: &Arc<Pass>,
    client: ServerClient,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            let fault = Fault::new(INVALID_REQUEST, rejection.body_text());
            return fault.status(rejection.status()).respond(&Value::Null);
        }
    };
    let kind = headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
        let fault = Fault::new(INVALID_REQUEST, "Content-Type: must be application/json");
        return fault
            .status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .respond(&Value::Null);
    }
    match message::read(&body) {
        Ok(incoming) if modern::is_modern(headers, &incoming) => {
            modern::post(pass, client, headers, incoming).await
        }
        Ok(incoming) => legacy::post(pass, client, headers, incoming).await,
        Err((id, fault)) => fault.respond(&id),
    }
}
