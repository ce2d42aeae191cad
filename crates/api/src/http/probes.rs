//! `/healthz`, `/readyz`, `/metrics`, and the greeting at `/`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use manyhands_core::{ErrorCode, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Refusal, admit};

use crate::metrics::exposition;

/// Liveness: the process responds.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Readiness: the store responds.
pub async fn readyz(State(gateway): State<Arc<Gateway>>) -> Response {
    match gateway.store.check().await {
        Ok(()) if !gateway.is_stopping() => ready(&gateway).into_response(),
        // A load balancer stops sending requests while running calls finish.
        Ok(()) => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response(),
        Err(error) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("not ready: {error}\n"),
        )
            .into_response(),
    }
}

/// Low disk space is a warning only: the owner must be able to reach the gateway to fix it.
fn ready(gateway: &Gateway) -> String {
    let space = gateway.store.disk().space();
    match space.is_low() {
        true => format!(
            "ready\nwarning: disk space is low ({} bytes free, limits.min_free_bytes = {}): only the owner can write\n",
            space.free, space.min_free
        ),
        false => "ready\n".to_owned(),
    }
}

/// Prometheus metrics, with a token, or without one if `metrics.open` is set. A local client
/// address proves nothing: every local user and every page in a local browser has one.
pub async fn metrics(State(gateway): State<Arc<Gateway>>, parts: Parts) -> Response {
    if !gateway.settings.current().metrics.open
        && let Err(error) = may_measure(&parts, &gateway)
    {
        return Refusal(error).into_response();
    }
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (kind, exposition(&gateway).await).into_response()
}

/// Rejects node and bridge tokens, which are for their own work only.
fn may_measure(parts: &Parts, gateway: &Gateway) -> Result<(), ToolError> {
    let role = admit(parts, gateway)?.caller.rights.role;
    if role.only_serves() {
        let message = format!("a {role} token cannot read metrics");
        let error = ToolError::new(ErrorCode::Forbidden, message);
        return Err(error.hint("use a read-only token"));
    }
    Ok(())
}

/// Plain-text greeting for browsers.
pub async fn greeting() -> String {
    format!(
        "manyhands {}\n\nMCP: /mcp   HTTP: /api (described in /api/openapi.json)   WebSocket: /ws\n\
         Each needs a token: `manyhands token create`.\n\n\
         The page would be here, but was not built into this program: `make up` does, where there is Node.js.\n",
        env!("CARGO_PKG_VERSION")
    )
}
