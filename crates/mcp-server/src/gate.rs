//! Handles requests to `/mcp` before the MCP transport: rejects malformed JSON-RPC, gives clients
//! up to protocol 2025-11-25 their sessions, and cancels their requests.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use manyhands_core::TokenId;
use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use serde_json::{Map, Value};

use super::message::{self, Fault, INTERNAL, INVALID_PARAMS, INVALID_REQUEST, RpcMessage};
use super::passthrough::is_modern;
use super::sessions::{SESSION, SignedSessions};
use super::{LocalHands, McpFace};

/// The MCP transport.
pub(super) type Service = StreamableHttpService<McpFace<LocalHands>, NeverSessionManager>;

/// Handles a POST.
pub(super) async fn post(
    service: Service,
    sessions: &Arc<SignedSessions>,
    token: TokenId,
    request: Request,
) -> Response {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
        return forward(service, request).await; // its error names the accepted type
    }
    let (parts, body) = request.into_parts();
    let mut bare = Request::new(body);
    *bare.extensions_mut() = parts.extensions.clone(); // the body limit is one of them
    let read = Bytes::from_request(bare, &()).await;
    let body = match read {
        Ok(body) => body,
        Err(rejection) => {
            let fault = Fault::new(INVALID_REQUEST, rejection.body_text());
            return fault.status(rejection.status()).respond(&Value::Null);
        }
    };
    let incoming = match message::read(&body) {
        Ok(incoming) => incoming,
        Err((id, fault)) => return fault.respond(&id),
    };
    // The transport would treat a cursor of the wrong type as none.
    if let RpcMessage::Request { id, method, params } = &incoming
        && method == "tools/list"
        && let Err(fault) = message::one_page(params)
    {
        return fault.respond(id);
    }
    // The session is looked up in them after the request is put together again.
    let headers = parts.headers.clone();
    let request = Request::from_parts(parts, Body::from(body));
    if is_modern(&headers, &incoming) {
        return forward(service, request).await;
    }
    older(service, sessions, token, &headers, incoming, request).await
}

async fn older(
    service: Service,
    sessions: &Arc<SignedSessions>,
    token: TokenId,
    headers: &HeaderMap,
    incoming: RpcMessage,
    request: Request,
) -> Response {
    if let RpcMessage::Request { id, method, params } = &incoming
        && method == "initialize"
    {
        return match initialize(params) {
            Err(fault) => fault.respond(id),
            Ok(()) => {
                let mut response = forward(service, request).await;
                let session = HeaderValue::from_str(&sessions.begin(token));
                // Only a successful handshake gets a session id.
                if let (StatusCode::OK, Ok(session)) = (response.status(), session) {
                    response.headers_mut().insert(SESSION, session);
                }
                response
            }
        };
    }
    let asked = match &incoming {
        RpcMessage::Request { id, .. } => id.clone(),
        _ => Value::Null,
    };
    // Checked before the transport sees the message, which knows nothing of sessions.
    let session = match sessions.session_of(token, headers) {
        Ok(session) => session,
        Err(fault) => return fault.respond(&asked),
    };
    match incoming {
        RpcMessage::Request { id, .. } => {
            let entry = match sessions.open(token, session, Some(id.clone())) {
                Ok(entry) => entry,
                Err(fault) => return fault.respond(&id),
            };
            // Dropping the transport's response future has the same effect as a client that
            // disconnects: it cancels the call.
            tokio::select! {
                biased;
                () = entry.cancel.cancelled() => {
                    Fault::new(INTERNAL, "Request cancelled").respond(&id)
                }
                response = forward(service, request) => response,
            }
        }
        RpcMessage::Notification { method, params } if method == "notifications/cancelled" => {
            match message::cancelled(&params) {
                Ok(id) => {
                    sessions.cancel(token, session.as_deref(), id);
                    StatusCode::ACCEPTED.into_response()
                }
                Err(fault) => fault.respond(&Value::Null),
            }
        }
        RpcMessage::Notification { .. } | RpcMessage::Reply { .. } => {
            forward(service, request).await
        }
    }
}

/// Checks that the parameters of `initialize` are complete.
fn initialize(params: &Map<String, Value>) -> Result<(), Fault> {
    let params = Value::Object(params.clone());
    let read = serde_json::from_value::<InitializeRequestParams>(params);
    read.map(drop)
        .map_err(|error| Fault::new(INVALID_PARAMS, format!("initialize: {error}")))
}

async fn forward(service: Service, request: Request) -> Response {
    service.handle(request).await.into_response()
}

/// Ends the session named by a DELETE.
pub(super) fn end(sessions: &SignedSessions, token: TokenId, headers: &HeaderMap) -> Response {
    match sessions.session_of(token, headers) {
        Ok(Some(session)) => {
            sessions.end(token, session);
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(None) => {
            let message = "Mcp-Session-Id: is required";
            let fault = Fault::new(INVALID_REQUEST, message).status(StatusCode::BAD_REQUEST);
            fault.respond(&Value::Null)
        }
        Err(fault) => fault.respond(&Value::Null),
    }
}
