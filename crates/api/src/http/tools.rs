//! Listing and calling tools over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path as UrlPath, Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode};
use manyhands_core::{
    AgentId, CallId, CallRequest, CatalogueEntry, ErrorCode, Invoke as _, ToolError,
};
use manyhands_gateway::Gateway;
use manyhands_gateway::listing::{self, Surface, ToolList};
use manyhands_http_common::{Answer, Authenticated, Refusal, answer, respond};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::patterns;

/// Response header with the call id, which identifies the call in the audit log.
const CALL: HeaderName = HeaderName::from_static("x-manyhands-call");

/// Options of a call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallQuery {
    /// Agent the call is made for, with its workspace; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    pub agent: Option<String>,
    /// Seconds to wait for the owner's approval, at most 600; 0 by default.
    #[schemars(range(max = 600))]
    pub wait: Option<u64>,
    /// Seconds the call may take, if less than the tool's own limit.
    pub timeout: Option<u64>,
    /// PCID of the account to use with a tool of an MCP server; the first of its service by
    /// default.
    pub connection: Option<String>,
}

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// `all` by default; `small`, one of `mcp.profiles`, or `default` for the profile of `/mcp`.
    pub profile: Option<String>,
}

/// Lists the tools this token may call.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Answer<ToolList> {
    let query = super::admin::query(query)?;
    let settings = gateway.settings.current();
    let surface = match query.profile.as_deref() {
        None => Surface::All,
        Some("default") => Surface::named(&settings, None)?,
        named => Surface::named(&settings, named)?,
    };
    answer(listing::grouped(&*gateway.path, &admitted.caller, &surface))
}

/// Calls a tool.
pub async fn call(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    UrlPath(tool): UrlPath<String>,
    query: Result<Query<CallQuery>, axum::extract::rejection::QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let request = query
        .map_err(|e| ToolError::new(ErrorCode::InvalidArguments, e.body_text()))
        .and_then(|Query(query)| {
            let arguments = arguments(body)?;
            let mut request = CallRequest::new(tool, arguments, admitted.caller.clone());
            apply(&mut request, query, &gateway)?;
            Ok(request)
        });
    match request {
        Ok(mut request) => {
            // Chosen here, so that the response of a failed call names it too.
            let id: CallId = gateway.ids.next();
            request.id = Some(id);
            let mut response = respond(gateway.invoke(&admitted, request).await);
            if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
                response.headers_mut().insert(CALL, id);
            }
            response
        }
        Err(error) => Refusal(error).into_response(),
    }
}

fn apply(request: &mut CallRequest, query: CallQuery, gateway: &Gateway) -> Result<(), ToolError> {
    if let Some(agent) = query.agent {
        request.agent = agent
            .parse::<AgentId>()
            .map_err(|e| ToolError::parameter("agent", e.to_string()))?;
    }
    if let Some(wait) = query.wait {
        if wait > 600 {
            return Err(ToolError::parameter("wait", "must be at most 600 seconds"));
        }
        request.approval_wait = Duration::from_secs(wait);
    }
    request.deadline = query.timeout.map(Duration::from_secs);
    if let Some(pcid) = query.connection
        && let Some(tool) = gateway.path.catalogue().resolve(&request.tool)
    {
        let service = gateway.servers.service_of(tool.spec()).ok_or_else(|| {
            let message = format!("{} does not use connections", request.tool);
            let hint = match tool {
                CatalogueEntry::Forwarder(_) => "pass PCID among its parameters instead",
                CatalogueEntry::Tool(_) => "omit it",
            };
            ToolError::parameter("connection", message).hint(hint)
        })?;
        request.connections = Arc::new([(service, pcid)].into());
    }
    Ok(())
}

/// The arguments in the body: a JSON object, or empty for none.
fn arguments(body: Result<Bytes, BytesRejection>) -> Result<Value, ToolError> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ToolError::new(
            ErrorCode::TooLarge,
            "the request is larger than limits.request_bytes",
        ),
        _ => ToolError::new(ErrorCode::InvalidArguments, rejection.body_text()),
    })?;
    // Tools without required parameters can be called without a body.
    if body.is_empty() {
        return Ok(json!({}));
    }
    let arguments = serde_json::from_slice(&body).map_err(|e| {
        ToolError::new(
            ErrorCode::InvalidArguments,
            format!("the body is not JSON: {e}"),
        )
    })?;
    match arguments {
        // The path would treat null as no arguments, for which the documented form is an empty
        // body.
        Value::Null => Err(ToolError::new(
            ErrorCode::InvalidArguments,
            "the body must be a JSON object with the arguments, or empty",
        )),
        arguments => Ok(arguments),
    }
}
