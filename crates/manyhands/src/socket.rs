//! WebSocket client of a gateway.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use manyhands_core::{Envelope, ErrorCode, Secret, ToolError};
use manyhands_wire::{
    Auth, Client, ClientMode, Code, ConnectParams, ErrorShape, Event, Frame, HelloOk, PROTOCOL,
    Params,
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use url::Url;

use crate::remote::absent;

/// Timeout for connecting and the handshake together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// After this long without a message the gateway is pinged; after twice as long the connection is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// Maximum frame size.
const MAX_FRAME: usize = 64 * 1024 * 1024;

/// An authenticated connection. Requests still running are cancelled when it is dropped.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    url: String,
    sent: u64,
    /// A ping was sent and not answered yet.
    pinged: bool,
    /// Protocol additions the gateway supports.
    additions: Vec<String>,
}

/// A message from the gateway.
pub enum Incoming {
    /// An event.
    Event(Event),
    /// The response to the request with this id.
    Response(String, Result<Value, Envelope>),
}

impl Socket {
    /// Connects to the gateway at `url`.
    pub async fn open(url: &str, token: Option<&Secret>) -> Result<Self, Envelope> {
        Self::open_as(url, token, &greeting()).await
    }

    /// Connects with other connect parameters; the token is added.
    pub async fn open_as(
        url: &str,
        token: Option<&Secret>,
        greeting: &ConnectParams,
    ) -> Result<Self, Envelope> {
        let greeting = ConnectParams {
            auth: token.map(|token| Auth {
                token: Some(token.expose().to_owned()),
            }),
            ..greeting.clone()
        };
        let greeted = timeout(CONNECT_TIMEOUT, Self::greeted(url, &greeting));
        greeted
            .await
            .unwrap_or_else(|_| Err(failed(absent(url, &"the handshake timed out"))))
    }

    async fn greeted(url: &str, greeting: &ConnectParams) -> Result<Self, Envelope> {
        let Some(address) = socket_url(url) else {
            let wrong = format!("{url:?} is not a gateway URL");
            return Err(failed(ToolError::new(ErrorCode::InvalidArguments, wrong)));
        };
        // It fails if a provider is installed already, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME))
            .max_frame_size(Some(MAX_FRAME));
        let dialed = connect_async_with_config(address.as_str(), Some(config), true).await;
        let (stream, _) = dialed.map_err(|error| failed(absent(url, &error)))?;
        let mut socket = Self {
            stream,
            url: url.to_owned(),
            sent: 0,
            pinged: false,
            additions: Vec::new(),
        };
        let hello = socket.request(greeting, |_| {}).await?;
        let hello: Option<HelloOk> = serde_json::from_value(hello).ok();
        socket.additions = hello
            .map(|hello| hello.features.additions)
            .unwrap_or_default();
        Ok(socket)
    }

    /// Returns whether the gateway supports a protocol addition.
    pub fn knows(&self, addition: &str) -> bool {
        self.additions.iter().any(|known| known == addition)
    }

    /// Sends a request, passes every event to `on_event` until the response arrives, and returns that. Events
    /// refer to this request by the id from [`next_id`](Self::next_id).
    pub async fn request<P: Params>(
        &mut self,
        params: &P,
        mut on_event: impl FnMut(Event),
    ) -> Result<Value, Envelope> {
        let id = self.send(params).await?;
        loop {
            match self.receive().await? {
                Incoming::Event(event) => on_event(event),
                Incoming::Response(to, answer) if to == id => return answer,
                // The response to an earlier request that nobody waits for any more.
                Incoming::Response(..) => {}
            }
        }
    }

    /// Sends a request without waiting; returns its id.
    pub async fn send<P: Params>(&mut self, params: &P) -> Result<String, Envelope> {
        let id = self.next_id();
        self.sent += 1;
        let sent = self.stream.send(Message::text(params.encode(&id))).await;
        sent.map_err(|error| self.lost(&error))?;
        Ok(id)
    }

    /// Receives the next message; an error means the connection is lost. Cancel-safe.
    pub async fn receive(&mut self) -> Result<Incoming, Envelope> {
        loop {
            let next = match timeout(IDLE_TIMEOUT, self.stream.next()).await {
                Ok(next) => next,
                // Two silent intervals: not even the ping was answered, so the peer is gone.
                Err(_) if self.pinged => {
                    let gone = Error::Io(std::io::ErrorKind::TimedOut.into());
                    return Err(self.lost(&gone));
                }
                Err(_) => {
                    self.pinged = true;
                    let sent = self.stream.send(Message::Ping(Default::default())).await;
                    sent.map_err(|error| self.lost(&error))?;
                    continue;
                }
            };
            self.pinged = false;
            let text = match next {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => return Err(self.closed(frame)),
                // Pongs and binary frames need no handling, but have shown that the peer is alive.
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(self.lost(&error)),
                None => return Err(self.lost(&Error::ConnectionClosed)),
            };
            match Frame::decode(&text) {
                Ok(Frame::Evt(event)) => return Ok(Incoming::Event(event)),
                Ok(Frame::Res(answer)) => {
                    let said = match answer.error {
                        Some(error) => Err(envelope(error)),
                        None => Ok(answer.payload.unwrap_or_default()),
                    };
                    return Ok(Incoming::Response(answer.id, said));
                }
                _ => {}
            }
        }
    }

    /// Id of the next request.
    pub fn next_id(&self) -> String {
        format!("cli-{}", self.sent + 1)
    }

    fn lost(&self, error: &Error) -> Envelope {
        let message = format!("lost the connection to {}: {error}", self.url);
        failed(ToolError::new(ErrorCode::Unavailable, message))
    }

    fn closed(&self, frame: Option<CloseFrame>) -> Envelope {
        let why = frame.filter(|frame| !frame.reason.is_empty());
        let why = why.map_or_else(String::new, |frame| format!(": {}", frame.reason));
        let message = format!("{} closed the connection{why}", self.url);
        failed(ToolError::new(ErrorCode::Unavailable, message))
    }
}

/// Describes this client.
pub fn client() -> Client {
    Client {
        id: "manyhands".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: std::env::consts::OS.to_owned(),
        mode: ClientMode::Client,
        channel: None,
        account_id: None,
        session_key: None,
    }
}

fn greeting() -> ConnectParams {
    ConnectParams {
        min_protocol: PROTOCOL,
        max_protocol: PROTOCOL,
        client: client(),
        auth: None,
        tools: None,
        node_runtime: None,
        additions: Vec::new(),
    }
}

/// WebSocket URL of the gateway at a URL.
fn socket_url(gateway: &str) -> Option<Url> {
    let mut url = Url::parse(gateway).ok()?;
    let scheme = match url.scheme() {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    let path = url.path().trim_end_matches('/');
    let path = format!("{}/ws", path.strip_suffix("/ws").unwrap_or(path));
    url.set_path(&path);
    // A pasted URL may carry a login code, which must not end up in the gateway's access log.
    url.set_query(None);
    Some(url)
}

fn failed(error: ToolError) -> Envelope {
    Envelope::from(Err(error))
}

/// Converts a wire error; a gateway sends the complete envelope in `details`.
fn envelope(error: ErrorShape) -> Envelope {
    // The envelope has the hint and the retry delay, which the wire error has not.
    let whole = error.details.clone().map(serde_json::from_value);
    if let Some(Ok(whole)) = whole {
        return whole;
    }
    let code = match Code::from_number(error.code) {
        Some(Code::Unauthenticated) => ErrorCode::Unauthenticated,
        Some(Code::Forbidden) => ErrorCode::Forbidden,
        Some(Code::NotFound) => ErrorCode::NotFound,
        Some(Code::Unavailable) => ErrorCode::Unavailable,
        _ => ErrorCode::Failed,
    };
    failed(ToolError::new(code, error.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_gateway_url_leads_to_its_socket() {
        for (gateway, url) in [
            ("http://127.0.0.1:7717", "ws://127.0.0.1:7717/ws"),
            ("https://hands.example/", "wss://hands.example/ws"),
            ("ws://a:1/ws", "ws://a:1/ws"),
        ] {
            assert_eq!(socket_url(gateway).unwrap().as_str(), url);
        }
        assert_eq!(socket_url("ftp://a"), None);
        assert_eq!(socket_url("a:1"), None);
    }

    #[test]
    fn an_error_is_told_whole_where_the_gateway_sent_it_whole() {
        let whole = failed(ToolError::parameter("source", "is required"));
        let mut shape = ErrorShape::new(Code::BadRequest, "source: is required");
        shape.details = serde_json::to_value(&whole).ok();
        assert_eq!(envelope(shape), whole);
        let mut bare = ErrorShape::new(Code::Forbidden, "no");
        bare.details = Some(json!({ "theirs": 1 }));
        let told = envelope(bare);
        assert_eq!(
            (told.code, told.error.as_deref()),
            (Some(ErrorCode::Forbidden), Some("no"))
        );
    }
}
