//! `connect`: the first frame, and who it lets in.

use std::net::IpAddr;

use manyhands_core::{CallId, ErrorCode, NodeId};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_node_registry::{EditorServer, Offer};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_OUTPUT, ADDITION_SENT, ADDITION_SESSION,
    ADDITION_WATCH, ClientMode, Code, ConnectParams, ErrorShape, EventKind, Features, Frame,
    HelloOk, Method, PROTOCOL, Response, Server,
};

use super::access::key;
use super::bridge::{self, Carries};
use super::shape::shape;

/// A refusal, with the id of the request when there was one.
pub(super) type Refused = (Option<String>, ErrorShape);

/// Who was let in.
pub(super) enum Guest {
    /// Somebody who asks.
    Client,
    /// A machine that is asked.
    Node(NodeId, Box<Offer>),
    /// An MCP server of an editor, for one session.
    EditorServer(Box<EditorServer>),
    /// A program that carries a chat service.
    Bridge(Carries),
}

/// Lets the peer in and greets it, or says why not. The token may come in the frame or in
/// the HTTP request before it.
pub(super) async fn admit(
    gateway: &Gateway,
    text: &str,
    client: IpAddr,
    token: Option<String>,
) -> Result<(Admitted, Guest, Response), Refused> {
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
    let shown = params.auth.as_ref().and_then(|auth| auth.token.clone());
    let shown = shown.or(token);
    let refused = |error| (Some(request.id.clone()), shape(error));
    let admitted = gateway
        .doorman
        .admit(client, shown.as_deref())
        .map_err(refused)?;
    let guest = match params.client.mode {
        ClientMode::Node if let Some(session) = params.client.session_key.clone() => {
            if admitted.caller.rights.role.only_serves() {
                let message =
                    "only a client's token or the owner's brings tools along for a session";
                return Err(refuse(Code::Forbidden, message.to_owned()));
            }
            let session = key(&admitted, &session);
            let session = session.map_err(|error| (Some(request.id.clone()), error))?;
            let name = params.client.id.clone();
            let offer = Offer::read_aside(params).await;
            let offer = offer.map_err(|e| refuse(Code::BadConnect, e.text()))?;
            Guest::EditorServer(Box::new(EditorServer {
                name,
                offer,
                session,
            }))
        }
        ClientMode::Node => {
            let name = gateway
                .nodes
                .name_for(&admitted.caller, admitted.token, &params.client.id);
            let name = name.map_err(|error| match error.code {
                ErrorCode::InvalidArguments => refuse(Code::BadConnect, error.text()),
                _ => refused(error),
            })?;
            let offer = Offer::read_aside(params).await;
            let offer = offer.map_err(|e| refuse(Code::BadConnect, e.text()))?;
            Guest::Node(name, Box::new(offer))
        }
        ClientMode::Client if !admitted.caller.rights.role.only_serves() => Guest::Client,
        ClientMode::Client => {
            let role = admitted.caller.rights.role;
            let message = format!("a {role}'s token connects a {role}: use mode `{role}`");
            return Err(refuse(Code::Forbidden, message));
        }
        ClientMode::Channel => {
            let may = bridge::carries(gateway, &admitted, &params);
            let may = may.map_err(|error| match error.code {
                ErrorCode::InvalidArguments => refuse(Code::BadConnect, error.text()),
                _ => refused(error),
            })?;
            Guest::Bridge(may)
        }
    };
    let hello = hello(gateway, &guest, admitted.caller.is_owner());
    let payload = serde_json::to_value(hello).map_err(|e| refuse(Code::Internal, e.to_string()))?;
    Ok((admitted, guest, Response::ok(request.id, payload)))
}

/// The greeting: what this peer may ask, and what it may be told.
fn hello(gateway: &Gateway, guest: &Guest, is_owner: bool) -> HelloOk {
    let server = Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        connection_id: gateway.ids.next::<CallId>().to_string(),
    };
    let open = |method: &Method| match guest {
        Guest::Node(..) => method.open_to_nodes(),
        Guest::EditorServer(_) => matches!(method, Method::Connect | Method::ToolResult),
        Guest::Bridge(_) => *method == Method::Connect || method.only_for_bridges(),
        Guest::Client => !method.only_for_nodes() && !method.only_for_bridges(),
    };
    let told = |event: &EventKind| match guest {
        Guest::Node(..) => event.is_for_nodes(),
        Guest::EditorServer(_) => matches!(event, EventKind::ToolInvoke | EventKind::ToolCancel),
        Guest::Bridge(_) => event.is_for_bridges(),
        Guest::Client if event.is_for_owners() => is_owner,
        Guest::Client => !event.is_for_nodes() && !event.is_for_bridges() && !event.is_of_nodes(),
    };
    let methods = Method::ALL.into_iter().filter(open);
    let events = EventKind::ALL.into_iter().filter(told);
    let mut hello = HelloOk::new(
        server,
        Features {
            methods: methods.map(|method| method.name().to_owned()).collect(),
            events: events.map(|event| event.name().to_owned()).collect(),
            additions: [
                ADDITION_CANCEL,
                ADDITION_CHECKED,
                ADDITION_OUTPUT,
                ADDITION_WATCH,
                ADDITION_SENT,
                ADDITION_SESSION,
            ]
            .map(str::to_owned)
            .into(),
        },
    );
    if let Guest::Node(name, _) = guest {
        hello.node_id = Some(name.to_string());
    }
    hello
}
