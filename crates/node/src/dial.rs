//! Dialing the gateway and being greeted.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_FULL_OUTPUT, ADDITION_OUTPUT, ADDITION_SANDBOXED,
    ADDITION_WATCH, Auth, CLOSE_UNAUTHENTICATED, Client, ClientMode, Code, ConnectParams,
    ErrorShape, Frame, HelloOk, PROTOCOL, Params, Response,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};
use url::Url;

use crate::{NodeOptions, Toolbox};

/// How long one of several addresses may take; those after it may work.
const EACH_ADDRESS: Duration = Duration::from_secs(8);
/// The largest frame that is taken.
const MAX_FRAME: usize = 64 * 1024 * 1024;
/// The id of the first request.
const GREETING: &str = "connect";

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A gateway that has let this node in.
pub(crate) struct Greeted {
    pub(crate) socket: Socket,
    /// Whether transfers are checked, resumed and acknowledged.
    pub(crate) checked: bool,
    /// The name this node has there.
    pub(crate) name: Option<String>,
    pub(crate) connection: String,
}

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreached {
    /// Dialing again would not help.
    Refused(String),
    /// It may be another time.
    Lost(String),
}

/// The socket of a gateway, however its address is written.
pub(crate) fn socket_url(gateway: &str) -> Option<Url> {
    let mut url = Url::parse(gateway.trim()).ok()?;
    let scheme = match url.scheme() {
        "http" | "ws" => "ws",
        "https" | "wss" => "wss",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    url.host_str().filter(|host| !host.is_empty())?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/ws").unwrap_or(path);
    let path = format!("{path}/ws");
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// Dials and greets. The caller bounds how long that takes.
pub(crate) async fn dial(
    url: &Url,
    connector: Option<Connector>,
    options: &NodeOptions,
    toolbox: &Toolbox,
) -> Result<Greeted, Unreached> {
    let stream = reach(url).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_FRAME))
        .max_frame_size(Some(MAX_FRAME));
    let opened = client_async_tls_with_config(url.as_str(), stream, Some(config), connector);
    let (mut socket, _) = opened
        .await
        .map_err(|error| Unreached::Lost(told(&error)))?;
    let greeting = greeting(options, toolbox).encode(GREETING);
    let sent = socket.send(Message::text(greeting)).await;
    sent.map_err(|error| Unreached::Lost(told(&error)))?;
    let hello = hello(&mut socket).await?;
    Ok(Greeted {
        socket,
        checked: hello
            .features
            .additions
            .iter()
            .any(|a| a == ADDITION_CHECKED),
        name: hello.node_id,
        connection: hello.server.connection_id,
    })
}

/// A connection to the first of the gateway's addresses that takes one.
async fn reach(url: &Url) -> Result<TcpStream, Unreached> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let failed = |why: &dyn std::fmt::Display| {
        Unreached::Lost(format!("cannot reach {host} at port {port}: {why}"))
    };
    let name = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((name, port)).await;
    let addresses: Vec<SocketAddr> = found.map_err(|error| failed(&error))?.collect();
    let mut last = failed(&"the name has no address");
    for address in addresses {
        match timeout(EACH_ADDRESS, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = failed(&error),
            Err(_) => last = failed(&"no answer"),
        }
    }
    Err(last)
}

fn greeting(options: &NodeOptions, toolbox: &Toolbox) -> ConnectParams {
    ConnectParams {
        min_protocol: PROTOCOL,
        max_protocol: PROTOCOL,
        client: Client {
            id: options.id.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: platform(),
            mode: ClientMode::Node,
            channel: None,
            account_id: None,
            session_key: None,
        },
        auth: Some(Auth {
            token: Some(options.token.expose().to_owned()),
        }),
        tools: Some(toolbox.definitions()),
        node_runtime: Some(toolbox.runtime()),
        additions: [
            ADDITION_CANCEL,
            ADDITION_CHECKED,
            ADDITION_OUTPUT,
            ADDITION_FULL_OUTPUT,
            ADDITION_WATCH,
        ]
        .into_iter()
        .chain(toolbox.is_sandboxed().then_some(ADDITION_SANDBOXED))
        .map(str::to_owned)
        .collect(),
    }
}

/// The system in the words of the protocol: `linux-x64`, `darwin-arm64`.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{machine}")
}

async fn hello(socket: &mut Socket) -> Result<HelloOk, Unreached> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                if let Ok(Frame::Res(answer)) = Frame::decode(&text) {
                    return read_hello(answer);
                }
            }
            Some(Ok(Message::Close(frame))) => {
                let (code, why) = parting(frame);
                return Err(match code {
                    CLOSE_UNAUTHENTICATED => Unreached::Refused(why),
                    _ => Unreached::Lost(why),
                });
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(Unreached::Lost(told(&error))),
            None => return Err(Unreached::Lost("the connection was closed".to_owned())),
        }
    }
}

fn read_hello(answer: Response) -> Result<HelloOk, Unreached> {
    if let Some(error) = answer.error {
        return Err(refusal(error));
    }
    let hello = serde_json::from_value(answer.payload.unwrap_or_default());
    hello.map_err(|error| Unreached::Lost(format!("the greeting makes no sense: {error}")))
}

fn refusal(error: ErrorShape) -> Unreached {
    let for_good = [
        Code::Unauthenticated,
        Code::Forbidden,
        Code::BadConnect,
        Code::Version,
    ];
    if for_good.iter().any(|code| code.number() == error.code) && error.retryable != Some(true) {
        Unreached::Refused(error.message)
    } else {
        Unreached::Lost(error.message)
    }
}

/// With which code and words the other side closed.
pub(crate) fn parting(frame: Option<CloseFrame>) -> (u16, String) {
    let said = frame.map(|frame| (u16::from(frame.code), frame.reason.to_string()));
    let (code, why) = said.unwrap_or((1005, String::new()));
    let why = match why.as_str() {
        "" => format!("the gateway closed the connection with code {code}"),
        _ => why,
    };
    (code, why)
}

/// What a socket's error means to the owner of a node.
pub(crate) fn told(error: &Error) -> String {
    match error {
        Error::Http(answer) => format!(
            "the address answered {} instead of opening a socket; is it that of a gateway?",
            answer.status()
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_way_of_writing_the_gateway_leads_to_its_socket() {
        for (gateway, url) in [
            ("http://127.0.0.1:7717", "ws://127.0.0.1:7717/ws"),
            ("https://hands.example", "wss://hands.example/ws"),
            ("ws://a:1/ws", "ws://a:1/ws"),
            ("wss://a/hands/ws/", "wss://a/hands/ws"),
            ("http://a:1/", "ws://a:1/ws"),
            ("https://a/hands/?x=1#y", "wss://a/hands/ws"),
            ("http://[::1]:7717", "ws://[::1]:7717/ws"),
        ] {
            assert_eq!(socket_url(gateway).unwrap().as_str(), url);
        }
        for wrong in ["", "a:1", "ftp://a", "/tmp", "http://"] {
            assert_eq!(socket_url(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_what_dialing_again_cannot_change_is_a_refusal() {
        for code in Code::ALL {
            let told = refusal(ErrorShape::new(code, "words"));
            let expect = match code.number() {
                102 | 103 | 401 | 403 => Unreached::Refused("words".to_owned()),
                _ => Unreached::Lost("words".to_owned()),
            };
            assert_eq!(told, expect);
        }
    }
}
