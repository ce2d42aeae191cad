//! Extractors that authenticate a request: any valid token, or only the owner's.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use http::header;
use http::request::Parts;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_guard::{PendingConnection, TrustedProxies};

use crate::refusal::Refusal;

/// A request with a valid token.
pub struct Authenticated(pub Admitted);

/// A request with the owner's token.
pub struct Owner(pub Admitted);

impl FromRequestParts<Arc<Gateway>> for Authenticated {
    type Rejection = Refusal;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        admit(parts, gateway).map(Self).map_err(Refusal)
    }
}

impl FromRequestParts<Arc<Gateway>> for Owner {
    type Rejection = Refusal;

    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        let admitted = admit(parts, gateway)?;
        if admitted.caller.is_owner() {
            return Ok(Self(admitted));
        }
        // Naming the token and its role shows the user which token they used by mistake.
        let message = format!(
            "this needs the owner's token; {:?} is a {} token",
            admitted.caller.name, admitted.caller.rights.role
        );
        Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)))
    }
}

/// Authenticates the bearer of the request.
pub fn admit(parts: &Parts, gateway: &Gateway) -> Result<Admitted, ToolError> {
    let client = client(parts, gateway)?;
    let admitted = gateway.auth.admit(client, bearer(parts))?;
    proved(parts);
    Ok(admitted)
}

/// Marks the request's connection as authenticated: it is no longer evicted to make room for
/// others.
pub fn proved(parts: &Parts) {
    if let Some(seat) = seat(parts) {
        seat.authenticated();
    }
}

/// The connection's slot among those that are not authenticated yet.
pub fn seat(parts: &Parts) -> Option<&Arc<PendingConnection>> {
    parts.extensions.get::<Arc<PendingConnection>>()
}

/// The token in the Authorization header, or under `/v1` in `x-api-key`, where Anthropic's clients
/// send it. Tokens are accepted nowhere else, least of all in a cookie: browsers attach those on
/// their own, also to requests to other servers on the same host.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
        let key = parts.headers.get("x-api-key");
        let key = key.filter(|_| parts.uri.path().starts_with("/v1/"));
        return key?.to_str().ok().map(str::trim);
    };
    let value = value.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The client's address: that of the connection, or the one reported by a trusted proxy.
pub fn client(parts: &Parts, gateway: &Gateway) -> Result<IpAddr, ToolError> {
    let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let connection = info
        .map(|info| info.0.ip())
        .ok_or_else(|| ToolError::internal("the peer's address is unknown"))?;
    let settings = gateway.settings.current();
    // Forwarded headers count only from configured proxies: anybody can send them.
    let proxies = TrustedProxies::new(&settings.trusted_proxies);
    Ok(proxies.client(connection, &parts.headers))
}
