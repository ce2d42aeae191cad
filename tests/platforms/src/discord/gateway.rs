//! The gateway: greetings, heartbeats, events, and going on where a connection broke.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{APP, Discord, Inner, TOKEN};

/// What a bot wants to be told that Discord must have allowed.
const CONTENT: u64 = 1 << 15;

/// The open socket.
pub(super) struct Line {
    number: usize,
    out: mpsc::Sender<Message>,
}

impl Discord {
    /// Tells an event on the socket, or to whoever resumes the session. Gives its number.
    pub fn deliver(&self, name: &str, event: Value) -> u64 {
        let mut world = self.inner.world();
        let sequence = world.log.len() as u64 + 1;
        let said = json!({ "op": 0, "t": name, "s": sequence, "d": event });
        if let Some(line) = &world.line {
            let _ = line.out.try_send(Message::text(said.to_string()));
        }
        world.log.push(said);
        sequence
    }

    /// Says something else than an event.
    pub fn say(&self, op: u64, d: Value) {
        self.raw(Message::text(
            json!({ "op": op, "d": d, "s": null, "t": null }).to_string(),
        ));
    }

    /// Says anything.
    pub fn babble(&self, text: &str) {
        self.raw(Message::text(text.to_owned()));
    }

    /// Closes the socket with a code.
    pub fn close(&self, code: u16) {
        let reason = "".into();
        self.raw(Message::Close(Some(CloseFrame { code, reason })));
    }

    fn raw(&self, frame: Message) {
        if let Some(line) = &self.inner.world().line {
            let _ = line.out.try_send(frame);
        }
    }

    /// The session is forgotten: whoever wants to resume it must begin anew.
    pub fn forget_session(&self) {
        self.inner.world().session = None;
    }

    /// Heartbeats are wanted every so many milliseconds by whoever connects from now on.
    pub fn beat_every(&self, milliseconds: u64) {
        self.inner.world().interval = milliseconds;
    }

    /// Whether heartbeats stay without an answer from now on.
    pub fn be_deaf(&self, deaf: bool) {
        self.inner.world().deaf = deaf;
    }

    /// Whoever wants to begin a session is sent away with this code.
    pub fn refuse(&self, code: Option<u16>) {
        self.inner.world().refuses = code;
    }

    /// So many sessions may still begin.
    pub fn starts_left(&self, count: u64) {
        self.inner.world().starts_left = count;
    }

    /// Waits until sessions were begun and resumed so often.
    pub async fn sessions(&self, begun: usize, resumed: usize) {
        self.until(|world| {
            let fits = world.identified >= begun && world.resumed >= resumed;
            (fits && world.line.is_some()).then_some(())
        })
        .await;
    }

    /// How often sessions were begun and resumed.
    pub fn counts(&self) -> (usize, usize) {
        let world = self.inner.world();
        (world.identified, world.resumed)
    }

    /// Waits until so many heartbeats came.
    pub async fn heartbeats(&self, count: usize) {
        self.until(|world| (world.heartbeats >= count).then_some(()))
            .await;
    }

    /// Waits until nobody is connected.
    pub async fn alone(&self) {
        self.until(|world| world.line.is_none().then_some(())).await;
    }
}

/// Opens a socket.
pub(super) async fn link(
    Shared(inner): Shared<Arc<Inner>>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    let query = query.unwrap_or_default();
    let wanted = ["v=10", "encoding=json"];
    if !wanted
        .iter()
        .all(|part| query.split('&').any(|one| one == *part))
    {
        return StatusCode::BAD_REQUEST.into_response();
    }
    upgrade.on_upgrade(async move |socket| serve(socket, inner).await)
}

async fn serve(mut socket: WebSocket, inner: Arc<Inner>) {
    let (out, mut waiting) = mpsc::channel(4_096);
    let (number, interval) = {
        let mut world = inner.world();
        world.lines += 1;
        (world.lines, world.interval)
    };
    let hello = json!({ "op": 10, "d": { "heartbeat_interval": interval }, "s": null, "t": null });
    let _ = out.try_send(Message::text(hello.to_string()));
    let mut known = false;
    loop {
        tokio::select! {
            frame = waiting.recv() => {
                let Some(frame) = frame else { break };
                let last = matches!(frame, Message::Close(_));
                if socket.send(frame).await.is_err() || last {
                    break;
                }
            }
            heard = socket.recv() => {
                let Some(Ok(frame)) = heard else { break };
                let Message::Text(text) = frame else { continue };
                let said: Value = serde_json::from_str(&text).unwrap_or_default();
                if let Err(code) = take(&inner, &said, &mut known, number, &out) {
                    let close = CloseFrame { code, reason: "".into() };
                    let _ = socket.send(Message::Close(Some(close))).await;
                    break;
                }
            }
        }
        inner.change();
    }
    let mut world = inner.world();
    if world
        .line
        .as_ref()
        .is_some_and(|line| line.number == number)
    {
        world.line = None;
    }
    drop(world);
    inner.change();
}

/// Takes what a client says; a code where it is sent away.
fn take(
    inner: &Inner,
    said: &Value,
    known: &mut bool,
    number: usize,
    out: &mpsc::Sender<Message>,
) -> Result<(), u16> {
    let mut world = inner.world();
    let tell = |what: Value| {
        let _ = out.try_send(Message::text(what.to_string()));
    };
    let good = said["d"]["token"] == TOKEN && !world.revoked;
    match said["op"].as_u64() {
        Some(1) => {
            let last = world.log.len() as u64;
            let sequence = &said["d"];
            if !(sequence.is_null() || sequence.as_u64().is_some_and(|sequence| sequence <= last)) {
                return Err(4007);
            }
            world.heartbeats += 1;
            if !world.deaf {
                tell(json!({ "op": 11, "d": null }));
            }
        }
        Some(2 | 6) if *known => return Err(4005),
        Some(2 | 6) if !good => return Err(4004),
        Some(2) => {
            let intents = said["d"]["intents"].as_u64().ok_or(4013_u16)?;
            let properties = &said["d"]["properties"];
            let named = ["os", "browser", "device"]
                .iter()
                .all(|name| properties[name].is_string());
            if !named {
                return Err(4002);
            }
            if let Some(code) = world
                .refuses
                .filter(|code| *code != 4014 || intents & CONTENT != 0)
            {
                return Err(code);
            }
            world.identified += 1;
            let session = format!("session-{}", world.identified);
            let ready = json!({
                "v": 10, "session_id": session, "resume_gateway_url": world.gateway,
                "user": super::world::bot(),
                "guilds": [{ "id": super::SERVER, "unavailable": true }],
                "application": { "id": APP, "flags": 0 }, "shard": [0, 1],
            });
            let server = world.server();
            world.session = Some(session);
            world.log.clear();
            for (name, d) in [("READY", ready), ("GUILD_CREATE", server)] {
                let sequence = world.log.len() as u64 + 1;
                let event = json!({ "op": 0, "t": name, "s": sequence, "d": d });
                tell(event.clone());
                world.log.push(event);
            }
            *known = true;
        }
        Some(6) => {
            let since = said["d"]["seq"].as_u64().ok_or(4007_u16)?;
            if world.session.is_none()
                || said["d"]["session_id"].as_str() != world.session.as_deref()
            {
                tell(json!({ "op": 9, "d": false }));
                return Ok(());
            }
            let missed = world
                .log
                .iter()
                .filter(|event| event["s"].as_u64() > Some(since));
            missed.cloned().for_each(tell);
            world.resumed += 1;
            let sequence = world.log.len() as u64 + 1;
            let event = json!({ "op": 0, "t": "RESUMED", "s": sequence, "d": {} });
            world.log.push(event.clone());
            tell(event);
            *known = true;
        }
        _ => return Err(4001),
    }
    if *known {
        let out = out.clone();
        world.line = Some(Line { number, out });
    }
    Ok(())
}
