//! A gateway that says what a test tells it to, and a machine that lends it its hands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use manyhands_core::{Clock, Ids, Secret, SeededEntropy, SystemClock};
use manyhands_guard::Supervisor;
use manyhands_node::{
    BackoffPlan, Confinement, NodeError, NodeLog, NodeOptions, ToolSettings, Toolbox, run,
};
use manyhands_wire::{ADDITION_CANCEL, ADDITION_CHECKED, BinaryFrame};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};
use tokio_util::sync::CancellationToken;

/// What our own gateway announces.
pub const ADDITIONS: &[&str] = &[ADDITION_CANCEL, ADDITION_CHECKED];

pub struct Gateway {
    listener: TcpListener,
}

impl Gateway {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    /// The next socket, with what it said first.
    pub async fn accept(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.unwrap();
        let socket = accept_async(stream).await.unwrap();
        let mut peer = Peer {
            socket,
            connect: Value::Null,
        };
        let (_, method, params) = peer.request().await;
        assert_eq!(method, "connect");
        peer.connect = params;
        peer
    }

    /// The next socket, greeted with these additions.
    pub async fn complete_handshake(&self, additions: &[&str]) -> Peer {
        let mut peer = self.accept().await;
        peer.answer(
            "connect",
            json!({
                "type": "hello-ok", "protocol": 1,
                "server": { "version": "1", "connectionId": "c" },
                "features": { "methods": [], "events": [], "additions": additions },
            }),
        )
        .await;
        peer
    }
}

pub struct Peer {
    pub socket: WebSocketStream<TcpStream>,
    pub connect: Value,
}

/// What a node says.
pub enum Received {
    Text(Value),
    Bytes(u32, Vec<u8>),
}

impl Peer {
    pub async fn next(&mut self) -> Received {
        loop {
            match self
                .socket
                .next()
                .await
                .expect("a socket")
                .expect("a frame")
            {
                Message::Text(text) => return Received::Text(serde_json::from_str(&text).unwrap()),
                Message::Binary(bytes) => {
                    let frame = BinaryFrame::decode(&bytes).unwrap();
                    return Received::Bytes(frame.transfer, frame.bytes.to_vec());
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub async fn text(&mut self) -> Value {
        match self.next().await {
            Received::Text(text) => text,
            Received::Bytes(id, bytes) => panic!("{} bytes of transfer {id}", bytes.len()),
        }
    }

    pub async fn request(&mut self) -> (String, String, Value) {
        let text = self.text().await;
        assert_eq!(text["type"], "req", "{text}");
        let word = |name: &str| text[name].as_str().unwrap().to_owned();
        (word("id"), word("method"), text["params"].clone())
    }

    /// The parameters of the next request, which must be for `method`. It is answered.
    pub async fn expect_request(&mut self, method: &str) -> Value {
        let (id, asked, params) = self.request().await;
        assert_eq!(asked, method, "{params}");
        self.answer(&id, json!({ "ok": true })).await;
        params
    }

    pub async fn answer(&mut self, id: &str, payload: Value) {
        let answer = json!({ "type": "res", "id": id, "ok": true, "payload": payload });
        self.send_frame(answer).await;
    }

    pub async fn refuse(&mut self, id: &str, code: u16, message: &str) {
        let error = json!({ "code": code, "message": message });
        let answer = json!({ "type": "res", "id": id, "ok": false, "error": error });
        self.send_frame(answer).await;
    }

    pub async fn send_event(&mut self, event: &str, payload: Value) {
        self.send_frame(json!({ "type": "evt", "event": event, "payload": payload }))
            .await;
    }

    pub async fn send_frame(&mut self, frame: Value) {
        let sent = self.socket.send(Message::text(frame.to_string())).await;
        sent.unwrap();
    }

    pub async fn bytes(&mut self, transfer: u32, bytes: &[u8]) {
        let frame = BinaryFrame { transfer, bytes };
        self.socket.send(frame.encode().into()).await.unwrap();
    }

    pub async fn invoke(&mut self, call: &str, tool: &str, args: Value) {
        let ask = json!({ "callId": call, "tool": tool, "args": args });
        self.send_event("tool.invoke", ask).await;
    }

    pub async fn call(&mut self, call: &str, tool: &str, args: Value) -> Value {
        self.invoke(call, tool, args).await;
        let answer = self.expect_request("tool.result").await;
        assert_eq!(answer["callId"], call);
        answer
    }

    pub async fn close(&mut self, code: u16, reason: &str) {
        let close = CloseFrame {
            code: code.into(),
            reason: reason.to_owned().into(),
        };
        self.socket.close(Some(close)).await.unwrap();
    }
}

/// A machine with a workspace.
pub struct Machine {
    pub dir: tempfile::TempDir,
    pub toolbox: Toolbox,
    pub log: NodeLog,
    pub stop: CancellationToken,
}

impl Machine {
    pub fn new() -> Self {
        Self::confined(|_| Confinement::default())
    }

    pub fn confined(confinement: impl FnOnce(&Path) -> Confinement) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let env = [
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = ToolSettings {
            terminals: false,
            confinement: confinement(&work),
            workspace: work,
            env: BTreeMap::from(env),
            supervisor: Supervisor::new(400),
            clock: clock.clone(),
            ids: Ids::new(clock.clone(), Arc::new(SeededEntropy::new(5))),
        };
        Self {
            toolbox: Toolbox::new(settings).unwrap(),
            log: NodeLog::new(clock),
            stop: CancellationToken::new(),
            dir,
        }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub fn options(&self, gateway: &Gateway) -> NodeOptions {
        let id = "laptop".parse().unwrap();
        let soon = Duration::from_millis(1);
        NodeOptions {
            backoff: BackoffPlan {
                first: soon,
                longest: soon,
                replaced: soon,
                stable_after: Duration::ZERO,
            },
            state_dir: Some(self.dir.path().join("state")),
            ..NodeOptions::new(gateway.url(), Secret::new("t0ken"), id)
        }
    }

    pub fn run(&self, options: NodeOptions) -> JoinHandle<Result<(), NodeError>> {
        let (toolbox, log, stop) = (self.toolbox.clone(), self.log.clone(), self.stop.clone());
        tokio::spawn(run(options, toolbox, log, stop))
    }

    /// A machine at work for a gateway that has greeted it.
    pub async fn at_work(&self, gateway: &Gateway, additions: &[&str]) -> Peer {
        drop(self.run(self.options(gateway)));
        gateway.complete_handshake(additions).await
    }

    /// The names in the workspace, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.at("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// How many parts of files are noted.
    pub fn notes(&self) -> usize {
        let notes = std::fs::read_dir(self.dir.path().join("state/parts"));
        notes.map_or(0, Iterator::count)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Polls until `condition` is true; the test runner sets the deadline.
#[allow(
    clippy::disallowed_methods,
    reason = "a pause between polls, not a wait for time to pass"
)]
pub async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        // Off the runtime: a paused clock would jump ahead while this sleeps on it.
        let pause = || std::thread::sleep(Duration::from_millis(1));
        tokio::task::spawn_blocking(pause).await.unwrap();
    }
}
