//! `connect`: the first frame, and who it lets in.

use std::net::SocketAddr;

use manyhands_core::{CallId, ErrorCode, Role};
use manyhands_wire::{
    ClientMode, Code, ConnectParams, ErrorShape, Features, Frame, HelloOk, Method, PROTOCOL,
    Response, Server,
};

use super::methods::shape;
use crate::doorman::Admitted;
use crate::gateway::Gateway;

/// A refusal, with the id of the request when there was one.
pub(super) type Refused = (Option<String>, ErrorShape);

/// Lets the peer in and greets it, or says why not. The token may come in the frame or in
/// the HTTP request before it.
pub(super) fn admit(
    gateway: &Gateway,
    text: &str,
    peer: SocketAddr,
    token: Option<String>,
) -> Result<(Admitted, Response), Refused> {
    let request = match Frame::decode(text) {
        Ok(Frame::Req(request)) => request,
        Ok(_) => {
            return Err((
                None,
                ErrorShape::new(
                    Code::NotConnected,
                    "the first frame must be the request `connect`",
                ),
            ));
        }
        Err(error) => return Err((None, error)),
    };
    let refuse = |code, message: String| (Some(request.id.clone()), ErrorShape::new(code, message));
    if request.method != Method::Connect.name() {
        return Err(refuse(
            Code::NotConnected,
            "send `connect` first".to_owned(),
        ));
    }
    let params: ConnectParams = serde_json::from_value(request.params.clone().unwrap_or_default())
        .map_err(|e| refuse(Code::BadConnect, format!("connect: {e}")))?;
    if params.min_protocol > PROTOCOL || params.max_protocol < PROTOCOL {
        return Err(refuse(
            Code::Version,
            format!("this gateway speaks protocol {PROTOCOL}"),
        ));
    }
    let shown = params.auth.and_then(|auth| auth.token).or(token);
    let admitted = gateway
        .doorman
        .admit(peer.ip(), shown.as_deref())
        .map_err(|error| (Some(request.id.clone()), shape(error)))?;
    if params.client.mode != ClientMode::Client || admitted.caller.rights.role == Role::Node {
        return Err(refuse(
            Code::Forbidden,
            "only clients connect here: use mode `client` and a token that is not a node's"
                .to_owned(),
        ));
    }
    let server = Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        connection_id: gateway.ids.next::<CallId>().to_string(),
    };
    let features = Features {
        methods: Method::ALL
            .iter()
            .map(|method| method.name().to_owned())
            .collect(),
        events: Vec::new(),
    };
    let hello = HelloOk::new(server, features);
    let payload = serde_json::to_value(hello).map_err(|e| refuse(Code::Internal, e.to_string()))?;
    Ok((admitted, Response::ok(request.id, payload)))
}

/// The wire's number for one of our codes.
pub(super) fn number(code: ErrorCode) -> Code {
    match code {
        ErrorCode::InvalidArguments | ErrorCode::TooLarge => Code::BadRequest,
        ErrorCode::Unauthenticated => Code::Unauthenticated,
        ErrorCode::Forbidden
        | ErrorCode::DeniedByPolicy
        | ErrorCode::ApprovalRequired
        | ErrorCode::ApprovalDenied => Code::Forbidden,
        ErrorCode::UnknownTool | ErrorCode::NotFound => Code::NotFound,
        ErrorCode::Conflict => Code::Conflict,
        ErrorCode::RateLimited
        | ErrorCode::BudgetExceeded
        | ErrorCode::Unavailable
        | ErrorCode::StorageFull => Code::Unavailable,
        ErrorCode::DeadlineExceeded => Code::Timeout,
        ErrorCode::Cancelled | ErrorCode::Failed | ErrorCode::Internal => Code::Internal,
    }
}
