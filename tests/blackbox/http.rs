//! A small HTTP/1.1 client that sends exactly the headers it is told to.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything takes; a test that waits this long has found a hang.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it goes over the wire.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub fn post(path: &str, body: &Value) -> Self {
        Self::new("POST", path).json(body)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub fn json(self, body: &Value) -> Self {
        self.body(body.to_string().into_bytes())
            .header("Content-Type", "application/json")
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    /// The bytes of the request; `Host` is `host` unless the request has its own.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.has("host") {
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            if !(name.eq_ignore_ascii_case("host") && value.is_empty()) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        if !self.has("content-length") && (!self.body.is_empty() || self.method != "GET") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own and reads the answer.
    #[track_caller]
    pub fn send(&self, to: SocketAddr) -> Response {
        self.try_send(to).expect("an answer")
    }

    /// The same, when the gateway may be gone.
    pub fn try_send(&self, to: SocketAddr) -> std::io::Result<Response> {
        let mut connection = Connection::open(to)?;
        connection.write(&self.bytes(&to.to_string()))?;
        connection.read()
    }
}

/// A connection that stays open.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    pub fn open(to: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream: BufReader::new(stream),
            host: to.to_string(),
        })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Writes bytes; a peer that answered early and closed is no failure yet.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
        match self.stream.get_mut().write_all(bytes) {
            Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
            other => other,
        }
    }

    pub fn read(&mut self) -> std::io::Result<Response> {
        Response::read(&mut self.stream)
    }

    pub fn send(&mut self, request: &Request) -> std::io::Result<Response> {
        let bytes = request.bytes(&self.host);
        self.write(&bytes)?;
        self.read()
    }

    /// How long `read` waits from now on.
    pub fn patience(&mut self, patience: Duration) {
        let set = self.stream.get_ref().set_read_timeout(Some(patience));
        set.expect("a timeout");
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(stream: &mut impl BufRead) -> std::io::Result<Self> {
        let bad = |what: &str| std::io::Error::other(what.to_owned());
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(bad("the connection was closed without an answer"));
        }
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| bad("no status line"))?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Self {
            status,
            headers,
            body: Vec::new(),
        };
        response.body = response.read_body(stream)?;
        Ok(response)
    }

    fn read_body(&self, stream: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding") == Some("chunked") {
            loop {
                let mut line = String::new();
                stream.read_line(&mut line)?;
                let size = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
                let mut chunk = vec![0; size + 2];
                stream.read_exact(&mut chunk)?;
                body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        match self.header("content-length").map(str::parse::<usize>) {
            Some(Ok(length)) => {
                body.resize(length, 0);
                stream.read_exact(&mut body)?;
            }
            _ if self.status == 204 || self.status < 200 => {}
            _ => {
                stream.read_to_end(&mut body)?;
            }
        }
        Ok(body)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Every header of a name that may come several times.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.headers.iter().filter(move |(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_slice(&self.body);
        parsed.unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
}
