//! Who asks over HTTP: extractors that let a bearer in, or only the owner.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use http::header;
use http::request::Parts;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_guard::{Seat, TrustedProxies};

use crate::refusal::Refusal;

/// Anybody with a valid token.
pub struct Asker(pub Admitted);

/// The owner, for administration.
pub struct Owner(pub Admitted);

impl FromRequestParts<Arc<Gateway>> for Asker {
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
        let message = format!(
            "this needs the owner's token; {:?} is a {} token",
            admitted.caller.name, admitted.caller.rights.role
        );
        Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)))
    }
}

/// Lets the bearer of the request in.
pub fn admit(parts: &Parts, gateway: &Gateway) -> Result<Admitted, ToolError> {
    let client = client(parts, gateway)?;
    let admitted = gateway.doorman.admit(client, bearer(parts))?;
    proved(parts);
    Ok(admitted)
}

/// The connection of this request showed whose it is: it does not give way to others any more.
pub fn proved(parts: &Parts) {
    if let Some(seat) = seat(parts) {
        seat.admitted();
    }
}

/// The place of the request's connection among those that have not shown whose they are.
pub fn seat(parts: &Parts) -> Option<&Arc<Seat>> {
    parts.extensions.get::<Arc<Seat>>()
}

/// The token in the Authorization header, or under `/v1` in `x-api-key`, where Anthropic's clients send it. It counts
/// nowhere else, least of all in a cookie: browsers add those by themselves, also to requests to other servers of the
/// same host.
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

/// The address the request came from: that of the connection, or what a trusted proxy says.
pub fn client(parts: &Parts, gateway: &Gateway) -> Result<IpAddr, ToolError> {
    let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let connection = info
        .map(|info| info.0.ip())
        .ok_or_else(|| ToolError::internal("the peer's address is not known"))?;
    let settings = gateway.settings.current();
    let proxies = TrustedProxies::new(&settings.trusted_proxies);
    Ok(proxies.client(connection, &parts.headers))
}
