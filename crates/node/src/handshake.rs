//! Connects to the gateway and performs the handshake.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_FULL_OUTPUT, ADDITION_OUTPUT, ADDITION_SANDBOXED,
    ADDITION_TERMINAL, ADDITION_WATCH, Auth, CLOSE_UNAUTHENTICATED, Client, ClientMode, Code,
    ConnectParams, ErrorShape, Frame, HelloOk, PROTOCOL, Params, Response,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};
use url::Url;

use crate::{NodeOptions, Toolbox};

/// Connect timeout per address; later addresses may work.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum frame size.
const MAX_FRAME: usize = 64 * 1024 * 1024;
/// Id of the connect request.
const CONNECT_ID: &str = "connect";

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// An accepted connection.
pub(crate) struct Accepted {
    pub(crate) socket: Socket,
    /// Whether transfers are verified, resumed and acknowledged.
    pub(crate) checked: bool,
    /// The node's name on the gateway.
    pub(crate) name: Option<String>,
    pub(crate) connection: String,
}

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConnectError {
    /// Permanent: reconnecting would not help.
    Refused(String),
    /// Temporary: retry later.
    Lost(String),
}

/// Returns the WebSocket URL for any form of gateway URL.
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
    // People paste both forms; a proxy may serve the gateway below a path.
    let path = path.strip_suffix("/ws").unwrap_or(path);
    let path = format!("{path}/ws");
    url.set_path(&path);
    // A pasted URL may carry a query or a fragment; neither belongs to the address of the socket.
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// Connects and performs the handshake. The caller applies the timeout.
pub(crate) async fn dial(
    url: &Url,
    connector: Option<Connector>,
    options: &NodeOptions,
    toolbox: &Toolbox,
) -> Result<Accepted, ConnectError> {
    // Addresses are tried one by one here: the WebSocket library would give up after the first.
    let stream = reach(url).await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_FRAME))
        .max_frame_size(Some(MAX_FRAME));
    let opened = client_async_tls_with_config(url.as_str(), stream, Some(config), connector);
    let (mut socket, _) = opened
        .await
        .map_err(|error| ConnectError::Lost(describe(&error)))?;
    let connect_request = connect_request(options, toolbox).encode(CONNECT_ID);
    let sent = socket.send(Message::text(connect_request)).await;
    sent.map_err(|error| ConnectError::Lost(describe(&error)))?;
    let hello = hello(&mut socket).await?;
    Ok(Accepted {
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

/// Connects to the first of the gateway's addresses that accepts.
async fn reach(url: &Url) -> Result<TcpStream, ConnectError> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    // Only the last error is reported: with several addresses the first is often IPv6 without a route.
    let failed = |why: &dyn std::fmt::Display| {
        ConnectError::Lost(format!("cannot reach {host} at port {port}: {why}"))
    };
    let name = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((name, port)).await;
    let addresses: Vec<SocketAddr> = found.map_err(|error| failed(&error))?.collect();
    // A lookup may succeed without any address.
    let mut last = failed(&"the name does not resolve");
    for address in addresses {
        match timeout(ADDRESS_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Small frames such as pings and results must not wait for Nagle's algorithm.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = failed(&error),
            Err(_) => last = failed(&"timed out"),
        }
    }
    Err(last)
}

fn connect_request(options: &NodeOptions, toolbox: &Toolbox) -> ConnectParams {
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
        // Declared only if true: agents use the tools of a sandboxed node without approval.
        .chain(toolbox.is_sandboxed().then_some(ADDITION_SANDBOXED))
        .chain(toolbox.allows_terminals().then_some(ADDITION_TERMINAL))
        .map(str::to_owned)
        .collect(),
    }
}

/// Platform name in the protocol: `linux-x64`, `darwin-arm64`.
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

async fn hello(socket: &mut Socket) -> Result<HelloOk, ConnectError> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                // Anything before the response is ignored: nothing is set up yet that could handle it.
                if let Ok(Frame::Res(answer)) = Frame::decode(&text) {
                    return read_hello(answer);
                }
            }
            Some(Ok(Message::Close(frame))) => {
                let (code, why) = close_reason(frame);
                return Err(match code {
                    // A revoked token stays revoked: dialing again would only fill the gateway's log.
                    CLOSE_UNAUTHENTICATED => ConnectError::Refused(why),
                    _ => ConnectError::Lost(why),
                });
            }
            // Pings may arrive before the response.
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(ConnectError::Lost(describe(&error))),
            None => return Err(ConnectError::Lost("the connection was closed".to_owned())),
        }
    }
}

fn read_hello(answer: Response) -> Result<HelloOk, ConnectError> {
    if let Some(error) = answer.error {
        return Err(refusal(error));
    }
    let hello = serde_json::from_value(answer.payload.unwrap_or_default());
    hello.map_err(|error| ConnectError::Lost(format!("invalid hello: {error}")))
}

fn refusal(error: ErrorShape) -> ConnectError {
    // Everything else may be a gateway that is restarting or overloaded.
    let permanent = [
        Code::Unauthenticated,
        Code::Forbidden,
        Code::BadConnect,
        Code::Version,
    ];
    // The gateway knows better than the code whether a retry can succeed.
    if permanent.iter().any(|code| code.number() == error.code) && error.retryable != Some(true) {
        ConnectError::Refused(error.message)
    } else {
        ConnectError::Lost(error.message)
    }
}

/// Close code and reason, with a default for an empty reason.
pub(crate) fn close_reason(frame: Option<CloseFrame>) -> (u16, String) {
    let close_frame = frame.map(|frame| (u16::from(frame.code), frame.reason.to_string()));
    // 1005 is the code that RFC 6455 reserves for a close frame without one.
    let (code, why) = close_frame.unwrap_or((1005, String::new()));
    let why = match why.as_str() {
        "" => format!("the gateway closed the connection with code {code}"),
        _ => why,
    };
    (code, why)
}

/// Describes a socket error for the node's owner.
pub(crate) fn describe(error: &Error) -> String {
    match error {
        Error::Http(answer) => format!(
            "unexpected HTTP status {} instead of a WebSocket; is this the URL of a gateway?",
            answer.status()
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gateway_url_leads_to_its_socket() {
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
    fn only_permanent_errors_are_refusals() {
        for code in Code::ALL {
            let error = refusal(ErrorShape::new(code, "words"));
            let expect = match code.number() {
                102 | 103 | 401 | 403 => ConnectError::Refused("words".to_owned()),
                _ => ConnectError::Lost("words".to_owned()),
            };
            assert_eq!(error, expect);
        }
    }
}
