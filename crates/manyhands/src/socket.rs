//! A gateway, asked over its socket.

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

/// How long dialing and being greeted may take together.
const GREETED_WITHIN: Duration = Duration::from_secs(15);
/// After so long without a word a gateway is asked whether it is still there, and after twice that it is not.
const SILENCE: Duration = Duration::from_secs(45);
/// The largest frame that is taken.
const MAX_FRAME: usize = 64 * 1024 * 1024;

/// A gateway that has let this client in. Whatever it was asked ends when this is dropped.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    url: String,
    asked: u64,
    /// Nothing was heard for a while, and it was asked whether it is still there.
    pinged: bool,
    /// The additions to the protocol that the gateway knows.
    additions: Vec<String>,
}

/// What a gateway says.
pub enum Heard {
    /// Something that was not asked for.
    Event(Event),
    /// The answer to the request of this id.
    Answer(String, Result<Value, Envelope>),
}

impl Socket {
    /// Dials the gateway at `url` and is greeted.
    pub async fn open(url: &str, token: Option<&Secret>) -> Result<Self, Envelope> {
        Self::open_as(url, token, &greeting()).await
    }

    /// The same with another greeting, to which the token is added.
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
        let greeted = timeout(GREETED_WITHIN, Self::greeted(url, &greeting));
        greeted
            .await
            .unwrap_or_else(|_| Err(failed(absent(url, &"it did not greet in time"))))
    }

    async fn greeted(url: &str, greeting: &ConnectParams) -> Result<Self, Envelope> {
        let Some(address) = socket_url(url) else {
            let wrong = format!("{url:?} is not the address of a gateway");
            return Err(failed(ToolError::new(ErrorCode::InvalidArguments, wrong)));
        };
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME))
            .max_frame_size(Some(MAX_FRAME));
        let dialed = connect_async_with_config(address.as_str(), Some(config), true).await;
        let (stream, _) = dialed.map_err(|error| failed(absent(url, &error)))?;
        let mut socket = Self {
            stream,
            url: url.to_owned(),
            asked: 0,
            pinged: false,
            additions: Vec::new(),
        };
        let hello = socket.ask(greeting, |_| {}).await?;
        let hello: Option<HelloOk> = serde_json::from_value(hello).ok();
        socket.additions = hello
            .map(|hello| hello.features.additions)
            .unwrap_or_default();
        Ok(socket)
    }

    /// Whether the gateway knows an addition to the protocol.
    pub fn knows(&self, addition: &str) -> bool {
        self.additions.iter().any(|known| known == addition)
    }

    /// Asks, tells `hear` every event until the answer is there, and gives that back. The events
    /// name this request by the id that [`next_id`](Self::next_id) gave before.
    pub async fn ask<P: Params>(
        &mut self,
        params: &P,
        mut hear: impl FnMut(Event),
    ) -> Result<Value, Envelope> {
        let id = self.say(params).await?;
        loop {
            match self.hear().await? {
                Heard::Event(event) => hear(event),
                Heard::Answer(to, answer) if to == id => return answer,
                Heard::Answer(..) => {}
            }
        }
    }

    /// Asks without waiting; the answer is heard under this id.
    pub async fn say<P: Params>(&mut self, params: &P) -> Result<String, Envelope> {
        let id = self.next_id();
        self.asked += 1;
        let sent = self.stream.send(Message::text(params.encode(&id))).await;
        sent.map_err(|error| self.lost(&error))?;
        Ok(id)
    }

    /// What comes next; an error means that the connection is no more. Nothing is lost when this
    /// is dropped before it is done.
    pub async fn hear(&mut self) -> Result<Heard, Envelope> {
        loop {
            let next = match timeout(SILENCE, self.stream.next()).await {
                Ok(next) => next,
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
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(self.lost(&error)),
                None => return Err(self.lost(&Error::ConnectionClosed)),
            };
            match Frame::decode(&text) {
                Ok(Frame::Evt(event)) => return Ok(Heard::Event(event)),
                Ok(Frame::Res(answer)) => {
                    let said = match answer.error {
                        Some(error) => Err(envelope(error)),
                        None => Ok(answer.payload.unwrap_or_default()),
                    };
                    return Ok(Heard::Answer(answer.id, said));
                }
                _ => {}
            }
        }
    }

    /// The id that the next request will have.
    pub fn next_id(&self) -> String {
        format!("cli-{}", self.asked + 1)
    }

    fn lost(&self, error: &Error) -> Envelope {
        let message = format!("the connection to {} broke: {error}", self.url);
        failed(ToolError::new(ErrorCode::Unavailable, message))
    }

    fn closed(&self, frame: Option<CloseFrame>) -> Envelope {
        let why = frame.filter(|frame| !frame.reason.is_empty());
        let why = why.map_or_else(String::new, |frame| format!(": {}", frame.reason));
        let message = format!("{} closed the connection{why}", self.url);
        failed(ToolError::new(ErrorCode::Unavailable, message))
    }
}

/// Who this program is.
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

/// The socket of the gateway at an address.
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
    url.set_query(None);
    Some(url)
}

fn failed(error: ToolError) -> Envelope {
    Envelope::from(Err(error))
}

/// An error of the wire as every other face tells it; a gateway puts the whole into the details.
fn envelope(error: ErrorShape) -> Envelope {
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
    fn any_way_of_writing_the_gateway_leads_to_its_socket() {
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
