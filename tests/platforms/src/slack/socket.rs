//! Socket Mode: greetings, envelopes and their acknowledgements.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Slack, State};

/// A word to the task of a socket, which is not passed on.
const MUTE: &[u8] = b"mute";

/// An open socket.
pub(super) struct Line {
    id: usize,
    out: mpsc::Sender<Message>,
}

/// An envelope that was handed out.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    id: String,
    kind: String,
    payload: Value,
    tries: u32,
}

impl Sent {
    fn frame(&self) -> Message {
        let envelope = json!({
            "envelope_id": self.id, "type": self.kind, "payload": self.payload,
            "accepts_response_payload": self.kind != "events_api",
            "retry_attempt": self.tries, "retry_reason": if self.tries > 0 { "timeout" } else { "" },
        });
        Message::text(envelope.to_string())
    }
}

impl Slack {
    /// Tells something on the newest socket, or on the next one that opens. Gives the envelope's id.
    pub fn deliver(&self, kind: &str, payload: Value) -> String {
        let mut world = self.state.world();
        world.count += 1;
        let sent = Sent {
            id: format!("env-{}", world.count),
            kind: kind.to_owned(),
            payload,
            tries: 0,
        };
        let id = sent.id.clone();
        if let Some(line) = world.lines.last() {
            let _ = line.out.try_send(sent.frame());
        }
        world.sent.push(sent);
        id
    }

    /// Tells everything again that was not acknowledged.
    pub fn retry(&self) {
        let mut world = self.state.world();
        let acks = world.acks.clone();
        let frames: Vec<Message> = world
            .sent
            .iter_mut()
            .filter(|sent| !acks.contains(&sent.id))
            .map(|sent| {
                sent.tries += 1;
                sent.frame()
            })
            .collect();
        if let Some(line) = world.lines.last() {
            for frame in frames {
                let _ = line.out.try_send(frame);
            }
        }
    }

    /// Announces on the newest socket that it goes (`warning`, `refresh_requested`) or that no
    /// other will be given (`link_disabled`).
    pub fn announce(&self, reason: &str) {
        let debug = json!({ "host": "applink-1" });
        let said = json!({ "type": "disconnect", "reason": reason, "debug_info": debug });
        self.raw(Message::text(said.to_string()));
    }

    /// Sends a ping on the newest socket.
    pub fn ping(&self) {
        self.raw(Message::Ping("Ping from applink".into()));
    }

    /// Sends any text on the newest socket.
    pub fn say(&self, text: &str) {
        self.raw(Message::text(text.to_owned()));
    }

    /// Tells something on the oldest socket that is still open.
    pub fn deliver_on_oldest(&self, kind: &str, payload: Value) -> String {
        let mut world = self.state.world();
        let newest = world.lines.pop();
        drop(world);
        let id = self.deliver(kind, payload);
        self.state.world().lines.extend(newest);
        id
    }

    /// Lets the newest socket stay open and say nothing any more, not even to a ping.
    pub fn mute(&self) {
        self.raw(Message::Binary(MUTE.into()));
    }

    fn raw(&self, frame: Message) {
        if let Some(line) = self.state.world().lines.last() {
            let _ = line.out.try_send(frame);
        }
    }

    /// Closes the oldest socket.
    pub fn close_oldest(&self) {
        if let Some(line) = self.state.world().lines.first() {
            let _ = line.out.try_send(Message::Close(None));
        }
    }

    /// The envelopes that were acknowledged, in order.
    pub fn acks(&self) -> Vec<String> {
        self.state.world().acks.clone()
    }

    /// Waits until an envelope is acknowledged.
    pub async fn acked(&self, id: &str) {
        self.until(|world| world.acks.iter().any(|ack| ack == id).then_some(()))
            .await;
    }

    /// Waits until pings were answered so often.
    pub async fn ponged(&self, times: usize) {
        self.until(|world| (world.pongs >= times).then_some(()))
            .await;
    }

    /// Waits until so many sockets were opened in all, and so many are open.
    pub async fn sockets(&self, opened: usize, open: usize) {
        self.until(|world| (world.opened == opened && world.lines.len() == open).then_some(()))
            .await;
    }
}

/// Opens a socket for a ticket that was given.
pub(super) async fn link(
    Shared(state): Shared<Arc<State>>,
    Query(query): Query<HashMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let ticket = query.get("ticket").cloned().unwrap_or_default();
    let mut world = state.world();
    // A ticket is good for one socket.
    let Some(at) = world.tickets.iter().position(|one| *one == ticket) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    world.tickets.remove(at);
    drop(world);
    upgrade.on_upgrade(async move |socket| serve(socket, state).await)
}

async fn serve(mut socket: WebSocket, state: Arc<State>) {
    let hello = json!({
        "type": "hello", "num_connections": 1,
        "debug_info": { "host": "applink-1", "approximate_connection_time": 18060 },
        "connection_info": { "app_id": super::APP },
    });
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    let (out, mut waiting) = mpsc::channel(1_024);
    let id = {
        let mut world = state.world();
        world.opened += 1;
        let id = world.opened;
        // What nobody acknowledged, or nobody could be told, is told to whoever comes now.
        if world.lines.is_empty() {
            let acks = world.acks.clone();
            for sent in world
                .sent
                .iter_mut()
                .filter(|sent| !acks.contains(&sent.id))
            {
                let _ = out.try_send(sent.frame());
                sent.tries += 1;
            }
        }
        world.lines.push(Line { id, out });
        id
    };
    state.change();
    loop {
        tokio::select! {
            frame = waiting.recv() => {
                let Some(frame) = frame else { break };
                if matches!(&frame, Message::Binary(word) if word == MUTE) {
                    std::future::pending::<()>().await;
                }
                let last = matches!(frame, Message::Close(_));
                if socket.send(frame).await.is_err() || last {
                    break;
                }
            }
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) => {
                    let said: Value = serde_json::from_str(&text).unwrap_or_default();
                    let id = said["envelope_id"].as_str().unwrap_or_default().to_owned();
                    state.world().acks.push(id);
                }
                Some(Ok(Message::Pong(_))) => state.world().pongs += 1,
                Some(Ok(_)) => {}
                _ => break,
            }
        }
        state.change();
    }
    state.world().lines.retain(|line| line.id != id);
    state.change();
}
