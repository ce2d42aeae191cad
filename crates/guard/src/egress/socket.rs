//! WebSocket upgrades through the same checked client.

use reqwest::StatusCode;
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use url::Url;

use super::exchange::Deadline;
use super::{Egress, EgressError, check_headers, parse};

/// Headers of the upgrade that callers cannot set.
const HANDSHAKE: [HeaderName; 4] = [
    SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION,
];

impl Egress {
    /// Opens a WebSocket at `url` (`ws://` or `wss://`) and returns the raw connection right after
    /// the upgrade. Redirects are not followed, so `headers` reach only the named host.
    pub async fn socket(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + std::fmt::Debug + use<>, EgressError>
    {
        check_headers(&headers)?;
        if let Some(name) = headers.keys().find(|name| HANDSHAKE.contains(name)) {
            return Err(EgressError::Header(name.to_string()));
        }
        let url = web(url)?;
        self.check(&url)?;
        let deadline = Deadline::after(self.policy.total_timeout);
        deadline.bound(self.upgrade(&url, headers)).await?
    }

    async fn upgrade(
        &self,
        url: &Url,
        mut headers: HeaderMap,
    ) -> Result<reqwest::Upgraded, EgressError> {
        let client = self.transport.upgrading(url).await?;
        let key = generate_key();
        let said = HeaderValue::from_str(&key)
            .map_err(|_| EgressError::Header(SEC_WEBSOCKET_KEY.to_string()))?;
        headers.insert(SEC_WEBSOCKET_KEY, said);
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let asked = headers.contains_key(SEC_WEBSOCKET_PROTOCOL);
        let host = url.host_str().unwrap_or_default();
        let failed = |error: reqwest::Error| EgressError::from_client(&error, host);
        let answer = client.get(url.clone()).headers(headers).send().await;
        let answer = answer.map_err(failed)?;
        agreed(answer.status(), answer.headers(), &key, asked)?;
        answer.upgrade().await.map_err(failed)
    }
}

/// Whether the server accepted exactly this upgrade request.
fn agreed(
    status: StatusCode,
    headers: &HeaderMap,
    key: &str,
    protocol: bool,
) -> Result<(), EgressError> {
    let no = |why: String| Err(EgressError::Http(why));
    if status != StatusCode::SWITCHING_PROTOCOLS {
        return no(format!("{status} instead of an upgrade to a WebSocket"));
    }
    let holds = |name: HeaderName, word: &str| {
        let mut said = headers.get_all(name).iter();
        said.any(|value| {
            let value = value.to_str().unwrap_or_default();
            value
                .split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(word))
        })
    };
    if !holds(UPGRADE, "websocket") || !holds(CONNECTION, "upgrade") {
        return no("the server switched to a protocol other than WebSocket".to_owned());
    }
    let expected = derive_accept_key(key.as_bytes());
    if headers.get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes) != Some(expected.as_bytes()) {
        return no("the server accepted a different WebSocket request".to_owned());
    }
    let unasked = !protocol && headers.contains_key(SEC_WEBSOCKET_PROTOCOL);
    if unasked || headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        return no("the server chose a subprotocol that was not offered".to_owned());
    }
    Ok(())
}

/// The URL with the HTTP scheme that the client speaks until the upgrade.
fn web(text: &str) -> Result<Url, EgressError> {
    let text = text.trim();
    let web = match text.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ws") => format!("http:{rest}"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("wss") => format!("https:{rest}"),
        Some((scheme, _)) => return Err(EgressError::Scheme(scheme.to_owned())),
        None => text.to_owned(),
    };
    parse(&web)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{SinkExt, StreamExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
    use tokio_tungstenite::tungstenite::protocol::{Message, Role};
    use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

    use super::super::fake::{FakeServer, Scripted, egress, ok, policy, redirect};
    use super::*;

    /// Says back what it hears, and the header `x-key` first.
    async fn echo() -> (u16, tokio::task::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve(stream).await
        });
        (port, task)
    }

    async fn serve(stream: TcpStream) -> usize {
        let mut key = String::new();
        #[allow(clippy::result_large_err, reason = "the shape the library wants")]
        let look = |request: &Request, response: Response| {
            let said = request.headers().get("x-key");
            key = said.map_or(String::new(), |key| key.to_str().unwrap().to_owned());
            Ok(response)
        };
        let mut socket = accept_hdr_async(stream, look).await.unwrap();
        socket.send(Message::text(key)).await.unwrap();
        let mut heard = 0;
        while let Some(Ok(message)) = socket.next().await {
            heard += 1;
            if message.is_text() {
                socket.send(message).await.unwrap();
            }
        }
        heard
    }

    #[tokio::test]
    async fn a_socket_carries_messages_both_ways() {
        let (port, task) = echo().await;
        let mut headers = HeaderMap::new();
        headers.insert("x-key", HeaderValue::from_static("open"));
        let url = format!("ws://127.0.0.1:{port}/link?ticket=1");
        let open = egress(&["127.0.0.0/8"]);
        let raw = open.socket(&url, headers).await.unwrap();
        let mut socket = WebSocketStream::from_raw_socket(raw, Role::Client, None).await;
        assert_eq!(
            socket.next().await.unwrap().unwrap(),
            Message::text("open"),
            "what was sent right behind the upgrade is not lost"
        );
        socket.send(Message::text("hello")).await.unwrap();
        assert_eq!(
            socket.next().await.unwrap().unwrap(),
            Message::text("hello")
        );
        socket.close(None).await.unwrap();
        assert_eq!(task.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_socket_reaches_no_private_address() {
        let server = FakeServer::answering(ok("reached")).await;
        let port = server.address.port();
        for host in ["127.0.0.1", "localhost", "0x7f.1", "[::ffff:7f00:1]"] {
            let url = format!("ws://{host}:{port}/");
            let refused = egress(&[]).socket(&url, HeaderMap::new()).await;
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, EgressError::Private { .. }),
                "{host}: {refused}"
            );
        }
        let lookup = Scripted::new(&[&["127.0.0.1", "10.0.0.1"]]);
        let mixed = Arc::new(Egress::new(policy(&["127.0.0.0/8"]), lookup));
        let url = format!("ws://mixed.test:{port}/");
        let refused = mixed.socket(&url, HeaderMap::new()).await;
        assert!(matches!(refused, Err(EgressError::Private { .. })));
        assert!(server.heard().is_empty());
        let (port, _task) = echo().await;
        let lookup = Scripted::new(&[&["127.0.0.1"]]);
        let clean = Egress::new(policy(&["127.0.0.0/8"]), lookup);
        let url = format!("ws://mixed.test:{port}/");
        assert!(clean.socket(&url, HeaderMap::new()).await.is_ok());
    }

    #[tokio::test]
    async fn only_an_answer_to_our_own_key_opens_a_socket() {
        let open = egress(&["127.0.0.0/8"]);
        let upgrade = |more: &str| {
            format!("HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n{more}\r\n")
        };
        let (elsewhere, _) = echo().await;
        for (answer, word) in [
            (ok("hello"), "200 OK instead"),
            (
                redirect(302, &format!("ws://127.0.0.1:{elsewhere}/")),
                "302 Found instead",
            ),
            (upgrade(""), "a different WebSocket request"),
            (
                upgrade("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                "a different WebSocket request",
            ),
            (
                "HTTP/1.1 101 X\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n".to_owned(),
                "other than WebSocket",
            ),
        ] {
            let server = FakeServer::answering(answer).await;
            let url = server.url("127.0.0.1").replace("http:", "ws:");
            let refused = open.socket(&url, HeaderMap::new()).await.unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
            let heard = server.heard()[0].to_ascii_lowercase();
            assert!(heard.contains("sec-websocket-version: 13"), "{heard}");
        }
        for scheme in ["http", "https", "file", "wsx"] {
            let refused = open
                .socket(
                    &format!("{scheme}://127.0.0.1:{elsewhere}/"),
                    HeaderMap::new(),
                )
                .await;
            assert!(refused.is_err(), "{scheme}");
        }
        for name in ["host", "upgrade", "sec-websocket-key"] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static("x"));
            let url = format!("ws://127.0.0.1:{elsewhere}/");
            let refused = open.socket(&url, headers).await;
            assert!(matches!(refused, Err(EgressError::Header(_))), "{name}");
        }
        let url = format!("ws://127.0.0.1:{elsewhere}/");
        assert!(open.socket(&url, HeaderMap::new()).await.is_ok(), "control");
    }

    #[test]
    fn a_protocol_that_was_not_offered_is_refused() {
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let mut headers = HeaderMap::new();
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        let accept = HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        let check = |headers: &HeaderMap, protocol| {
            agreed(StatusCode::SWITCHING_PROTOCOLS, headers, key, protocol).is_ok()
        };
        assert!(check(&headers, false));
        let mut extended = headers.clone();
        let deflate = HeaderValue::from_static("permessage-deflate");
        extended.insert(SEC_WEBSOCKET_EXTENSIONS, deflate);
        assert!(!check(&extended, false));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("chat"));
        assert!(!check(&headers, false));
        assert!(check(&headers, true));
    }
}
