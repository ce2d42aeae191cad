//! Who asks over HTTP: extractors that let a bearer in, or only the owner.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use http::header;
use http::request::Parts;
use manyhands_core::{ErrorCode, ToolError};

use super::refusal::Refusal;
use crate::doorman::Admitted;
use crate::gateway::Gateway;

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
    let peer = peer(parts)?;
    gateway.doorman.admit(peer.ip(), bearer(parts))
}

/// The token in the Authorization header. It counts nowhere else, least of all in a cookie: browsers add those by
/// themselves, also to requests to other servers of the same host.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The address at the other end of the connection.
pub fn peer(parts: &Parts) -> Result<SocketAddr, ToolError> {
    let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    info.map(|info| info.0)
        .ok_or_else(|| ToolError::internal("the peer's address is not known"))
}
