//! A node's connection: it answers calls and reports events; it cannot call tools itself.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use manyhands_core::NodeId;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_node_registry::{ConnectedNode, FromNode, NodeOutbox, Offer};
use manyhands_wire::{
    CLOSE_UNAUTHENTICATED, Code, ErrorShape, EventKind, Frame, LogsResultParams, Method,
    NodeExecEventParams, Params, Payload as _, ProcessOutputEvent, Request, Response, Taken,
    TerminalOutputEvent, ToolOutputEvent, ToolResultParams, TransferAcceptParams, TransferAckEvent,
    TransferCompleteParams, TransferDoneParams, TransferMetaParams,
};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::methods::tools;
use super::shape::{shape, value};
use super::socket::{Incoming, Pulse, closing, violation};
use super::{DEAD, PING, text};

/// How often a stopping gateway checks whether a node has answered every call.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Registers a node and serves it until it disconnects; returns the Close frame to send, if any.
pub(super) async fn serve(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    name: NodeId,
    offer: Offer,
    outbox: NodeOutbox,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    // Only a node's own token is tied to its record: the owner's token and temporary tokens may
    // connect any node.
    let own = !admitted.caller.is_owner() && !gateway.auth.is_temporary(admitted.token);
    let token = own.then_some(admitted.token);
    let joined = gateway.nodes.join(name, offer, token, outbox.clone());
    let node = match joined {
        Ok(node) => node,
        Err(error) => return Some(closing(CloseCode::Again, &error.text())),
    };
    tracing::info!(event = "node_connected", node = %node.id(), "node connected");
    let session = NodeSession {
        gateway,
        admitted,
        node: &node,
        outbox: &outbox,
        brought: false,
    };
    let close = session.run(stream, pulse).await;
    gateway.nodes.leave(&node);
    tracing::info!(event = "node_disconnected", node = %node.id(), reason = node.why(), "node disconnected");
    close
}

/// Serves an editor's MCP server until the editor disconnects; returns the Close frame to send, if
/// any.
pub(super) async fn serve_brought(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    node: &Arc<ConnectedNode>,
    outbox: NodeOutbox,
    stream: &mut Incoming,
    pulse: &Pulse,
) -> Option<CloseFrame> {
    tracing::info!(event = "session_server_connected", server = %node.id(), "editor connected an MCP server to its session");
    let session = NodeSession {
        gateway,
        admitted,
        node,
        outbox: &outbox,
        brought: true,
    };
    let close = session.run(stream, pulse).await;
    gateway.nodes.disconnect_editor_server(node);
    tracing::info!(event = "session_server_disconnected", server = %node.id(), "editor disconnected an MCP server");
    close
}

struct NodeSession<'a> {
    gateway: &'a Arc<Gateway>,
    admitted: &'a Admitted,
    node: &'a Arc<ConnectedNode>,
    outbox: &'a NodeOutbox,
    /// The peer provides tools to one session and may only answer calls of them.
    brought: bool,
}

impl NodeSession<'_> {
    async fn run(&self, stream: &mut Incoming, pulse: &Pulse) -> Option<CloseFrame> {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut lapsed = pin!(self.gateway.auth.lapsed(self.admitted));
        let mut closing_time = pin!(self.closing_time());
        loop {
            // Biased: a revoked token or a removed node must win over further frames.
            tokio::select! {
                biased;
                ended = &mut lapsed => return Some(closing(CLOSE_UNAUTHENTICATED.into(), &ended.message)),
                () = self.node.closed().cancelled() => {
                    return Some(closing(CloseCode::Policy, self.node.why().unwrap_or("gone")));
                }
                () = &mut closing_time => return Some(closing(CloseCode::Restart, "the gateway is stopping")),
                () = self.outbox.messages.closed() => return None,
                _ = pings.tick() => {
                    if pulse.silent_for() > DEAD {
                        return None;
                    }
                    let _ = self.outbox.messages.try_send(Message::Ping(Default::default()));
                }
                message = stream.next() => {
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text).await,
                        Some(Ok(Message::Binary(frame))) => self.node.on_binary_frame(frame).await,
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        Some(Ok(Message::Close(_))) | None => return None,
                        Some(Err(error)) => return violation(&error),
                    }
                    // Reset the idle clock only after the frame is handled: a slow file may have
                    // taken longer than the dead-peer limit.
                    pulse.restart_idle_clock();
                }
            }
        }
    }

    /// Resolves when the gateway is stopping and no call waits for this node.
    async fn closing_time(&self) {
        self.gateway.stopping().cancelled().await;
        while !self.node.is_idle() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn take(&self, frame: &str) {
        let request = match Frame::decode(frame) {
            Ok(Frame::Req(request)) => request,
            Ok(Frame::Evt(event)) => {
                if event.event == EventKind::ToolOutput.name() {
                    if let Some(output) = ToolOutputEvent::read(event) {
                        self.node.on_tool_output(&output);
                    }
                } else if event.event == EventKind::ProcessOutput.name() {
                    if let Some(output) = ProcessOutputEvent::read(event) {
                        self.node.on_process_output(output);
                    }
                } else if event.event == EventKind::TerminalOutput.name() {
                    if let Some(output) = TerminalOutputEvent::read(event) {
                        self.node.on_terminal_output(output);
                    }
                } else if let Some(ack) = TransferAckEvent::read(event) {
                    self.node
                        .on_transfer_message(ack.transfer_id, FromNode::Ack(ack.bytes))
                        .await;
                }
                return;
            }
            Ok(Frame::Res(_)) => return, // the gateway sends nodes no requests
            Err(error) => return self.answer(Response::failed("", error)).await,
        };
        let id = request.id.clone();
        let response = match self.request(request).await {
            Ok(payload) => Response::ok(id, payload),
            Err(error) => Response::failed(id, error),
        };
        self.answer(response).await;
    }

    async fn answer(&self, response: Response) {
        let _ = self.outbox.messages.send(text(response)).await; // the node may have disconnected
    }

    /// Passes a transfer message on; rejects it unless the transfer was assigned to this node.
    async fn transfer(&self, id: u32, what: FromNode) -> Result<bool, ErrorShape> {
        match self.node.on_transfer_message(id, what).await {
            true => Ok(true),
            false => {
                let message = format!("no transfer {id} is open on this node");
                Err(ErrorShape::new(Code::NotFound, message))
            }
        }
    }

    async fn request(&self, request: Request) -> Result<Value, ErrorShape> {
        let Request { method, params, .. } = request;
        let open = |method: &Method| match self.brought {
            true => matches!(method, Method::Connect | Method::ToolResult),
            false => method.open_to_nodes(),
        };
        let method = Method::from_name(&method).filter(open);
        let node = self.node;
        let wanted = match method {
            Some(Method::ToolsList) => return value(&tools(self.gateway, self.admitted)),
            Some(Method::Connect) => {
                let message = "this socket is already connected";
                return Err(ErrorShape::new(Code::BadConnect, message));
            }
            Some(Method::ToolResult) => {
                let answer = ToolResultParams::read(params)?;
                let call = answer.call_id.clone();
                let wanted = node.on_result(answer);
                if !wanted {
                    tracing::info!(event = "late_result_dropped", node = %node.id(), call, "dropped a result that no call waits for any more");
                }
                wanted
            }
            Some(Method::LogsResult) => node.on_log(LogsResultParams::read(params)?),
            Some(Method::NodeExecEvent) => {
                let event = NodeExecEventParams::read(params)?;
                let new = self.gateway.handle_process_event(node.id(), event).await;
                new.map_err(shape)?
            }
            Some(Method::TransferMeta) => {
                let meta = TransferMetaParams::read(params)?;
                self.transfer(meta.transfer_id, FromNode::Meta(meta))
                    .await?
            }
            Some(Method::TransferAccept) => {
                let accept = TransferAcceptParams::read(params)?;
                self.transfer(accept.transfer_id, FromNode::Accept(accept))
                    .await?
            }
            Some(Method::TransferComplete) => {
                let complete = TransferCompleteParams::read(params)?;
                self.transfer(complete.transfer_id, FromNode::Complete(complete))
                    .await?
            }
            Some(Method::TransferDone) => {
                let done = TransferDoneParams::read(params)?;
                self.transfer(done.transfer_id, FromNode::Done(done))
                    .await?
            }
            _ => {
                let message = "a node may only answer calls, report its events and call tools.list";
                return Err(ErrorShape::new(Code::Forbidden, message));
            }
        };
        value(&Taken::new(wanted))
    }
}
