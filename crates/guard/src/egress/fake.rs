//! A server and a resolver to test against.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Egress, EgressError, EgressPolicy, Lookup, Request, SystemLookup};

/// A server on loopback that gives one answer to everything and remembers what it heard.
pub(super) struct FakeServer {
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub(super) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let remember = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (answer, remember) = (Arc::clone(&answer), Arc::clone(&remember));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    // The line stays open: the answer says itself where it ends.
                    while socket.read_buf(&mut request).await.unwrap_or(0) > 0 {
                        if request.ends_with(b"\r\n\r\n") || request.ends_with(b"BODY") {
                            let text = String::from_utf8(std::mem::take(&mut request)).unwrap();
                            remember.lock().unwrap().push(text);
                            let _ = socket.write_all(&answer).await;
                        }
                    }
                });
            }
        });
        Self { address, heard }
    }

    pub(super) fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.address.port())
    }

    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

pub(super) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(super) fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// Gives its answers in turn, the last one for ever.
pub(super) struct Scripted(pub(super) Mutex<Vec<Vec<IpAddr>>>);

impl Scripted {
    pub(super) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().rev().map(parse).collect())))
    }
}

#[async_trait]
impl Lookup for Scripted {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        let next = if answers.len() > 1 {
            answers.pop()
        } else {
            answers.last().cloned()
        };
        next.ok_or_else(|| io::Error::other("no such name"))
    }
}

pub(super) fn policy(allow: &[&str]) -> EgressPolicy {
    EgressPolicy {
        allow_private: allow.iter().map(|net| net.parse().unwrap()).collect(),
        max_redirects: 3,
        connect_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(10),
        max_bytes: 100_000,
    }
}

pub(super) fn egress(allow: &[&str]) -> Egress {
    Egress::new(policy(allow), Arc::new(SystemLookup))
}

pub(super) async fn body(egress: &Egress, request: Request) -> Result<String, EgressError> {
    let bytes = egress.fetch(request).await?.bytes().await?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}
