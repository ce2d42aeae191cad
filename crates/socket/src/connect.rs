//! `connect`: the first request on a socket, which authenticates the peer.

use std::net::IpAddr;

use manyhands_core::{CallId, ErrorCode, NodeId};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_node_registry::{EditorServer, Offer};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_OUTPUT, ADDITION_SENT, ADDITION_SESSION,
    ADDITION_TERMINAL, ADDITION_WATCH, ClientMode, Code, ConnectParams, ErrorShape, EventKind,
    Features, Frame, HelloOk, Method, PROTOCOL, Response, Server,
};

use super::access::key;
use super::bridge::{self, BridgeAccount};
use super::shape::shape;

/// An error, and the id of the request it answers if there was one.
pub(super) type Rejection = (Option<String>, ErrorShape);

/// What kind of peer connected.
pub(super) enum PeerKind {
    /// A client that sends requests.
    Client,
    /// A node that executes calls.
    Node(NodeId, Box<Offer>),
    /// An editor's MCP server, available to one session.
    EditorServer(Box<EditorServer>),
    /// A bridge to a chat service.
    Bridge(BridgeAccount),
}

/// Authenticates the peer and builds the `hello-ok` response. The token may come in the frame or in
/// the HTTP upgrade request.
pub(super) async fn admit(
    gateway: &Gateway,
    text: &str,
    client: IpAddr,
    token: Option<String>,
) -> Result<(Admitted, PeerKind, Response), Rejection> {
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
            format!("unsupported protocol version; this gateway supports {PROTOCOL}"),
        ));
    }
    let shown = params.auth.as_ref().and_then(|auth| auth.token.clone());
    // The frame's token wins: browsers cannot set headers on a WebSocket, and a proxy may add one.
    let shown = shown.or(token);
    let refused = |error| (Some(request.id.clone()), shape(error));
    let admitted = gateway
        .auth
        .admit(client, shown.as_deref())
        .map_err(refused)?;
    let peer = match params.client.mode {
        ClientMode::Node if let Some(session) = params.client.session_key.clone() => {
            // Node and channel tokens carry no rights to sessions, so they must not add tools to
            // one.
            if admitted.caller.rights.role.only_serves() {
                let message = "only a client's or the owner's token may add tools to a session";
                return Err(refuse(Code::Forbidden, message.to_owned()));
            }
            let session = key(&admitted, &session);
            let session = session.map_err(|error| (Some(request.id.clone()), error))?;
            let name = params.client.id.clone();
            // Off the async threads: an offer may hold thousands of schemas to parse.
            let offer = Offer::read_aside(params).await;
            let offer = offer.map_err(|e| refuse(Code::BadConnect, e.text()))?;
            PeerKind::EditorServer(Box::new(EditorServer {
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
            PeerKind::Node(name, Box::new(offer))
        }
        ClientMode::Client if !admitted.caller.rights.role.only_serves() => PeerKind::Client,
        ClientMode::Client => {
            let role = admitted.caller.rights.role;
            let message = format!("a {role} token cannot connect as a client; use mode `{role}`");
            return Err(refuse(Code::Forbidden, message));
        }
        ClientMode::Channel => {
            let served = bridge::authorize(gateway, &admitted, &params);
            let served = served.map_err(|error| match error.code {
                ErrorCode::InvalidArguments => refuse(Code::BadConnect, error.text()),
                _ => refused(error),
            })?;
            PeerKind::Bridge(served)
        }
    };
    let hello = hello(gateway, &peer, admitted.caller.is_owner());
    let payload = serde_json::to_value(hello).map_err(|e| refuse(Code::Internal, e.to_string()))?;
    Ok((admitted, peer, Response::ok(request.id, payload)))
}

/// Builds the greeting with the methods and events available to this peer.
fn hello(gateway: &Gateway, peer: &PeerKind, is_owner: bool) -> HelloOk {
    let server = Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        connection_id: gateway.ids.next::<CallId>().to_string(),
    };
    let open = |method: &Method| match peer {
        PeerKind::Node(..) => method.open_to_nodes(),
        PeerKind::EditorServer(_) => matches!(method, Method::Connect | Method::ToolResult),
        PeerKind::Bridge(_) => *method == Method::Connect || method.only_for_bridges(),
        PeerKind::Client => !method.only_for_nodes() && !method.only_for_bridges(),
    };
    let offered = |event: &EventKind| match peer {
        PeerKind::Node(..) => event.is_for_nodes(),
        PeerKind::EditorServer(_) => matches!(event, EventKind::ToolInvoke | EventKind::ToolCancel),
        PeerKind::Bridge(_) => event.is_for_bridges(),
        PeerKind::Client if event.is_for_owners() => is_owner,
        PeerKind::Client => {
            !event.is_for_nodes() && !event.is_for_bridges() && !event.is_of_nodes()
        }
    };
    let methods = Method::ALL.into_iter().filter(open);
    let events = EventKind::ALL.into_iter().filter(offered);
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
                ADDITION_TERMINAL,
            ]
            .map(str::to_owned)
            .into(),
        },
    );
    if let PeerKind::Node(name, _) = peer {
        hello.node_id = Some(name.to_string());
    }
    hello
}
