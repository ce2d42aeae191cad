//! A WebSocket that speaks the v1 protocol.

use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket};

use crate::http::PATIENCE;

/// An open socket.
pub struct Socket {
    socket: WebSocket<TcpStream>,
    next: u64,
}

/// How a socket ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed {
    pub code: Option<u16>,
    pub reason: String,
}

impl Socket {
    /// Opens the socket without saying `connect`; extra headers as given.
    pub fn open(to: SocketAddr, headers: &[(&str, &str)]) -> Result<Self, Box<Error>> {
        let mut request = format!("ws://{to}/ws")
            .into_client_request()
            .expect("a url");
        for (name, value) in headers {
            let name = http_name(name);
            request
                .headers_mut()
                .insert(name, value.parse().expect("a header value"));
        }
        let stream = TcpStream::connect(to).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        match tokio_tungstenite::tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self { socket, next: 0 }),
            Err(tokio_tungstenite::tungstenite::HandshakeError::Failure(error)) => {
                Err(Box::new(error))
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Opens it and says `connect` with a token.
    #[track_caller]
    pub fn connect(to: SocketAddr, token: &str) -> Self {
        let mut socket = Self::open(to, &[]).expect("a socket");
        let hello = socket.request("connect", hello(Some(token)));
        assert_eq!(hello["ok"], true, "{hello}");
        assert_eq!(hello["payload"]["type"], "hello-ok", "{hello}");
        socket
    }

    pub fn send_text(&mut self, text: &str) {
        let _ = self.socket.send(Message::text(text.to_owned())); // the peer may have gone
    }

    pub fn send_binary(&mut self, bytes: &[u8]) {
        let _ = self.socket.send(Message::binary(bytes.to_vec()));
    }

    /// Sends a request and does not wait for its answer; gives back its id.
    pub fn ask(&mut self, method: &str, params: Value) -> String {
        self.next += 1;
        let id = format!("r{}", self.next);
        let frame = json!({ "type": "req", "id": id, "method": method, "params": params });
        self.send_text(&frame.to_string());
        id
    }

    /// The next text frame, or how the socket ended.
    pub fn frame(&mut self) -> Result<Value, Closed> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    return Ok(serde_json::from_str(&text).expect("a JSON frame"));
                }
                Ok(Message::Close(frame)) => {
                    return Err(match frame {
                        Some(frame) => Closed {
                            code: Some(frame.code.into()),
                            reason: frame.reason.to_string(),
                        },
                        None => Closed {
                            code: None,
                            reason: String::new(),
                        },
                    });
                }
                Ok(_) => {}
                Err(error) => {
                    return Err(Closed {
                        code: None,
                        reason: error.to_string(),
                    });
                }
            }
        }
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let frame = self.frame().expect("an open socket");
            if frame["type"] == "res" && frame["id"] == id.as_str() {
                return frame;
            }
        }
    }

    /// Calls a tool: the envelope, from wherever the frame carries it.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let frame = self.request("tool.invoke", json!({ "tool": tool, "args": arguments }));
        envelope(&frame)
    }

    /// How the socket ends, once all that is queued before was read.
    pub fn closed(&mut self) -> Closed {
        loop {
            if let Err(closed) = self.frame() {
                return closed;
            }
        }
    }
}

fn http_name(name: &str) -> tokio_tungstenite::tungstenite::http::HeaderName {
    name.parse().expect("a header name")
}

/// The parameters of `connect`.
pub fn hello(token: Option<&str>) -> Value {
    let client = json!({ "id": "test", "version": "1", "platform": "linux", "mode": "client" });
    let mut params = json!({ "minProtocol": 1, "maxProtocol": 1, "client": client });
    if let Some(token) = token {
        params["auth"] = json!({ "token": token });
    }
    params
}

/// The envelope in an answer to `tool.invoke`.
pub fn envelope(frame: &Value) -> Value {
    match frame["ok"].as_bool() {
        Some(true) => frame["payload"].clone(),
        _ => frame["error"]["details"].clone(),
    }
}
