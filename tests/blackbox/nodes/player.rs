//! A node that somebody else might have written: nothing but the protocol as it was published.

use std::collections::VecDeque;
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use crate::harness::Gateway;
use crate::http::PATIENCE;
use crate::nodes::fixture::wait_online;

/// A node that the test plays.
pub struct Player {
    socket: WebSocket<TcpStream>,
    /// Heard and not asked for yet.
    words: VecDeque<Value>,
    pieces: VecDeque<Vec<u8>>,
    next: u64,
}

/// How a greeting was refused.
#[derive(Debug)]
pub struct Refused {
    pub code: i64,
    pub message: String,
    /// With which code the socket was closed.
    pub closed: Option<u16>,
}

/// A greeting word by word as it was published: three tools, as such nodes offer them.
pub fn greeting(name: &str, token: &str) -> Value {
    let schema = |parameter: &str| {
        json!({
            "type": "object",
            "properties": { parameter: { "type": "string" }, "timeout": { "type": "number" } },
            "required": [parameter],
        })
    };
    let tool = |name: &str, parameter: &str| json!({ "name": name, "description": format!("the {name} of others"), "inputSchema": schema(parameter) });
    json!({
        "minProtocol": 1,
        "maxProtocol": 1,
        "client": { "id": name, "version": "9.9", "platform": "plan9-mips", "mode": "node" },
        "auth": { "token": token },
        "tools": [tool("Bash", "command"), tool("Read", "path"), tool("Write", "path")],
        "nodeRuntime": {
            "hostCapabilities": ["filesystem.read", "filesystem.write", "shell.exec"],
            "toolCapabilities": {
                "Bash": ["shell.exec"],
                "Read": ["filesystem.read"],
                "Write": ["filesystem.write"],
            },
        },
    })
}

impl Player {
    /// Joins as the owner would connect it, and waits until its tools are there.
    #[track_caller]
    pub fn join(gateway: &Gateway, name: &str) -> Self {
        Self::join_with(gateway, name, greeting(name, &gateway.owner))
    }

    /// The same with another greeting.
    #[track_caller]
    pub fn join_with(gateway: &Gateway, name: &str, greeting: Value) -> Self {
        let (player, _) = Self::greet(gateway.addr, greeting).expect("a greeting");
        wait_online(gateway, name);
        player
    }

    /// Opens a socket and says `connect`: with the gateway's greeting, or how it was refused.
    pub fn greet(to: SocketAddr, greeting: Value) -> Result<(Self, Value), Refused> {
        let mut player = Self::open(to);
        let answer = player.say("connect", greeting);
        if answer["ok"] == true {
            return Ok((player, answer["payload"].clone()));
        }
        Err(Refused {
            code: answer["error"]["code"].as_i64().expect("a code"),
            message: answer["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            closed: player.closed().0,
        })
    }

    fn open(to: SocketAddr) -> Self {
        let request = format!("ws://{to}/ws")
            .into_client_request()
            .expect("a url");
        let stream = TcpStream::connect(to).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        let config = WebSocketConfig::default()
            .max_frame_size(None)
            .max_message_size(None);
        let opened = tokio_tungstenite::tungstenite::client::client_with_config(
            request,
            stream,
            Some(config),
        );
        Self {
            socket: opened.expect("a socket").0,
            words: VecDeque::new(),
            pieces: VecDeque::new(),
            next: 0,
        }
    }

    /// Sends a request and does not wait for its answer.
    pub fn tell(&mut self, method: &str, params: Value) -> String {
        self.next += 1;
        let id = format!("q{}", self.next);
        let frame = json!({ "type": "req", "id": id, "method": method, "params": params });
        let _ = self.socket.send(Message::text(frame.to_string())); // the gateway may have gone
        id
    }

    /// Tells an event.
    pub fn mention(&mut self, event: &str, payload: Value) {
        let frame = json!({ "type": "evt", "event": event, "payload": payload });
        let _ = self.socket.send(Message::text(frame.to_string())); // the gateway may have gone
    }

    /// Sends a request and waits for its answer; what comes in between is kept.
    #[track_caller]
    pub fn say(&mut self, method: &str, params: Value) -> Value {
        let id = self.tell(method, params);
        self.wait(|frame| frame["type"] == "res" && frame["id"] == id.as_str())
    }

    /// The same, when it must be taken: whether it was dropped.
    #[track_caller]
    pub fn answer(&mut self, method: &str, params: Value) -> bool {
        let said = self.say(method, params);
        assert_eq!(said["payload"]["ok"], true, "{method}: {said}");
        said["payload"]["dropped"] == true
    }

    /// Waits for an event: its payload.
    #[track_caller]
    pub fn event(&mut self, name: &str) -> Value {
        let frame = self.wait(|frame| frame["type"] == "evt" && frame["event"] == name);
        frame["payload"].clone()
    }

    /// Waits for the next call: its id and its whole payload.
    #[track_caller]
    pub fn called(&mut self) -> (String, Value) {
        let payload = self.event("tool.invoke");
        let id = payload["callId"].as_str().expect("an id").to_owned();
        (id, payload)
    }

    #[track_caller]
    fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.words.iter().position(&fits) {
            return self.words.remove(at).expect("it is there");
        }
        loop {
            let before = self.words.len();
            self.hear()
                .unwrap_or_else(|closed| panic!("the socket was closed: {closed:?}"));
            if self.words.len() > before && fits(&self.words[before]) {
                return self.words.pop_back().expect("it is there");
            }
        }
    }

    /// The next piece of a file: of which transfer, and its bytes.
    #[track_caller]
    pub fn piece(&mut self) -> (u32, Vec<u8>) {
        while self.pieces.is_empty() {
            self.hear()
                .unwrap_or_else(|closed| panic!("the socket was closed: {closed:?}"));
        }
        let frame = self.pieces.pop_front().expect("it is there");
        let (head, bytes) = frame.split_at(4);
        (
            u32::from_le_bytes(head.try_into().expect("4 bytes")),
            bytes.to_vec(),
        )
    }

    /// Sends a piece of a file.
    pub fn send_piece(&mut self, transfer: u32, bytes: &[u8]) {
        let mut frame = transfer.to_le_bytes().to_vec();
        frame.extend_from_slice(bytes);
        self.send_bytes(frame);
    }

    /// Sends a binary frame as it is.
    pub fn send_bytes(&mut self, frame: Vec<u8>) {
        let _ = self.socket.send(Message::binary(frame)); // the gateway may have gone
    }

    fn hear(&mut self) -> Result<(), (Option<u16>, String)> {
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                self.words
                    .push_back(serde_json::from_str(&text).expect("JSON"));
                Ok(())
            }
            Ok(Message::Binary(bytes)) => {
                self.pieces.push_back(bytes.to_vec());
                Ok(())
            }
            Ok(Message::Close(frame)) => {
                let frame = frame.map(|frame| (u16::from(frame.code), frame.reason.to_string()));
                let (code, reason) = frame.unzip();
                Err((code, reason.unwrap_or_default()))
            }
            Ok(_) => Ok(()),
            Err(error) => Err((None, error.to_string())),
        }
    }

    /// How the socket is closed: the code and the words.
    pub fn closed(&mut self) -> (Option<u16>, String) {
        loop {
            if let Err(closed) = self.hear() {
                return closed;
            }
        }
    }

    /// Says goodbye and goes.
    pub fn leave(mut self) {
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
        self.closed();
    }

    /// Goes without a word.
    pub fn vanish(self) {
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
    }
}
