//! A server on loopback that checks what it hears and answers as it is told.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// One request; header names in lower case.
#[derive(Debug, Clone, Default)]
pub struct ReceivedRequest {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What to answer.
#[derive(Debug, Clone)]
pub enum FakeReply {
    /// A document, with more headers.
    Whole(u16, &'static str, String),
    /// A stream of events that ends as it should.
    Stream(Vec<u8>),
    /// A stream whose line breaks after these bytes, in the middle of HTTP.
    Break(Vec<u8>),
    /// A stream that ends after these bytes as if it were whole.
    End(Vec<u8>),
    /// A stream that goes silent after these bytes.
    Hang(Vec<u8>),
    /// Not a byte.
    Silent,
    /// These bytes instead of HTTP.
    Raw(Vec<u8>),
}

impl FakeReply {
    pub fn error(status: u16, headers: &'static str, message: &str) -> Self {
        let body = json!({ "error": { "type": "x", "message": message } });
        Self::Whole(status, headers, body.to_string())
    }
}

type Check = dyn Fn(&ReceivedRequest) -> Result<(), String> + Send + Sync;
type Script = dyn Fn(usize) -> FakeReply + Send + Sync;

pub struct Fake {
    address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// One permit for each line that the far end closed while we hung.
    pub closed: Arc<Semaphore>,
}

struct Inside {
    check: Box<Check>,
    script: Box<Script>,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    closed: Arc<Semaphore>,
    count: AtomicUsize,
}

impl Fake {
    /// Answers the nth request with `script(n)`, if `check` takes it.
    pub async fn start(
        check: impl Fn(&ReceivedRequest) -> Result<(), String> + Send + Sync + 'static,
        script: impl Fn(usize) -> FakeReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Arc::new(Inside {
            check: Box::new(check),
            script: Box::new(script),
            received: Arc::default(),
            closed: Arc::new(Semaphore::new(0)),
            count: AtomicUsize::new(0),
        });
        let (received, closed) = (Arc::clone(&inside.received), Arc::clone(&inside.closed));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&inside).serve(socket));
            }
        });
        Self {
            address,
            received,
            closed,
        }
    }

    /// Says these in order, and the last one for ever.
    pub async fn replying(
        check: impl Fn(&ReceivedRequest) -> Result<(), String> + Send + Sync + 'static,
        replies: Vec<FakeReply>,
    ) -> Self {
        Self::start(check, move |n| replies[n.min(replies.len() - 1)].clone()).await
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

impl Inside {
    async fn serve(self: Arc<Self>, mut socket: TcpStream) {
        let Some(received) = read_request(&mut socket).await else {
            return;
        };
        self.received.lock().unwrap().push(received.clone());
        let reply_with = match (self.check)(&received) {
            Ok(()) => (self.script)(self.count.fetch_add(1, Ordering::SeqCst)),
            Err(wrong) => FakeReply::error(400, "", &format!("strict: {wrong}")),
        };
        let hangs = matches!(reply_with, FakeReply::Hang(_) | FakeReply::Silent);
        let _ = socket.write_all(&bytes(reply_with)).await;
        if !hangs {
            let _ = socket.shutdown().await;
        }
        let _ = socket.read_to_end(&mut Vec::new()).await;
        if hangs {
            self.closed.add_permits(1);
        }
    }
}

fn bytes(reply_with: FakeReply) -> Vec<u8> {
    let head = |more: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{more}\r\n"
        )
    };
    let chunk = |body: &[u8]| match body.len() {
        0 => Vec::new(),
        length => [format!("{length:x}\r\n").as_bytes(), body, b"\r\n"].concat(),
    };
    const CHUNKED: &str = "transfer-encoding: chunked\r\n";
    match reply_with {
        FakeReply::Whole(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            [head.into_bytes(), body.into_bytes()].concat()
        }
        FakeReply::Stream(body) => [head(CHUNKED).as_bytes(), &chunk(&body), b"0\r\n\r\n"].concat(),
        FakeReply::Break(body) | FakeReply::Hang(body) => {
            [head(CHUNKED).as_bytes(), &chunk(&body)].concat()
        }
        FakeReply::End(body) => [head("").as_bytes(), &body].concat(),
        FakeReply::Silent => Vec::new(),
        FakeReply::Raw(bytes) => bytes,
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
    let mut received = ReceivedRequest {
        method: first.next()?.to_owned(),
        target: first.next()?.to_owned(),
        ..ReceivedRequest::default()
    };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        received.headers.insert(name, value.trim().to_owned());
    }
    let length: usize = received.header("content-length").parse().unwrap_or(0);
    while bytes.len() < end + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    received.body = serde_json::from_slice(&bytes[end..]).unwrap_or(Value::Null);
    Some(received)
}
