//! Servers on loopback to test against.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_guard::{Egress, EgressPolicy, SystemLookup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One request as a server heard it; header names in lower case.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl ReceivedRequest {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The query of the target, decoded.
    pub(super) fn query(&self) -> BTreeMap<String, String> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        form(query)
    }
}

/// A form or query, decoded.
pub(super) fn form(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

/// A server that answers what its handler says and remembers what it heard.
pub(super) struct FakeServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl FakeServer {
    pub(super) async fn start(
        handler: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (handler, remember) = (Arc::new(handler), Arc::clone(&received));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (handler, remember) = (Arc::clone(&handler), Arc::clone(&remember));
                tokio::spawn(async move {
                    if let Some(request) = read_request(&mut socket).await {
                        remember.lock().unwrap().push(request.clone());
                        let _ = socket.write_all(&handler(&request)).await;
                        let _ = socket.shutdown().await;
                        // Until the far end is done, so that nothing unread resets the line.
                        let _ = socket.read_to_end(&mut Vec::new()).await;
                    }
                });
            }
        });
        Self { address, received }
    }

    pub(super) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_| answer.clone()).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let mut request = ReceivedRequest {
        method: first.next()?.to_owned(),
        target: first.next()?.to_owned(),
        ..ReceivedRequest::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        request.headers.insert(name, value.trim().to_owned());
    }
    let length: usize = request.header("content-length").parse().unwrap_or(0);
    while bytes.len() < end + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(bytes[end..].to_vec()).unwrap();
    Some(request)
}

/// An answer with its length.
pub(super) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(super) fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(200, &format!("content-type: {content_type}\r\n"), body)
}

pub(super) fn redirect(status: u16, to: &str) -> Vec<u8> {
    answer(status, &format!("location: {to}\r\n"), "")
}

/// A way out that may reach loopback.
pub(super) fn open() -> Arc<Egress> {
    egress(&["127.0.0.0/8"])
}

/// The way out as it is without any permission.
pub(super) fn guarded() -> Arc<Egress> {
    egress(&[])
}

fn egress(allow: &[&str]) -> Arc<Egress> {
    let policy = EgressPolicy {
        allow_private: allow.iter().map(|net| net.parse().unwrap()).collect(),
        total_timeout: Duration::from_secs(30),
        max_bytes: 1 << 40,
        ..EgressPolicy::default()
    };
    Arc::new(Egress::new(policy, Arc::new(SystemLookup)))
}
