//! A scripted model server that nobody here wrote, and what passed on the way to it.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::Daemon;
use crate::http::Request;
use crate::npm::packages;

/// The server, for one test.
pub struct Aimock {
    _daemon: Daemon,
    _fixtures: TempDir,
    pub addr: SocketAddr,
}

impl Aimock {
    /// A server that answers as the fixtures say, and refuses what they do not foresee.
    #[track_caller]
    pub fn start(fixtures: &Value) -> Self {
        let dir = TempDir::with_prefix("manyhands-aimock-").expect("a folder");
        let file = dir.path().join("fixtures.json");
        let text = json!({ "fixtures": fixtures }).to_string();
        std::fs::write(&file, text).expect("the fixtures");
        let mut node = Command::new("node");
        let cli = packages("model-server").join("node_modules/@copilotkit/aimock/dist/cli.js");
        node.arg(cli)
            .args(["--port", "0", "--host", "127.0.0.1", "--strict"])
            .arg("--fixtures")
            .arg(&file)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir.path())
            .current_dir(dir.path());
        let mut daemon = Daemon::spawn(node);
        let line = daemon.wait_for_line("listening on http://");
        let line = line.unwrap_or_else(|log| panic!("the model server did not start: {log}"));
        let (_, addr) = line.rsplit_once("http://").expect("the line");
        Self {
            addr: addr.trim().parse().expect("an address"),
            _daemon: daemon,
            _fixtures: dir,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Every question as the server understood it, in the words of Chat Completions, in order.
    #[track_caller]
    pub fn journal(&self) -> Vec<Value> {
        let said = Request::get("/__aimock/journal?limit=1000").send(self.addr);
        let entries = said.json();
        let entries = entries.as_array().unwrap_or_else(|| panic!("{entries}"));
        let asks = entries.iter().filter(|entry| entry["method"] == "POST");
        asks.cloned().collect()
    }
}

/// One request as it passed.
#[derive(Debug, Clone)]
pub struct Passed {
    /// Method, path and headers.
    pub head: String,
    pub body: Value,
}

/// Stands before a server and keeps what passes: the journal is the server's own reading of it.
pub struct Relay {
    pub url: String,
    passed: Arc<Mutex<Vec<Passed>>>,
}

impl Relay {
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let passed: Arc<Mutex<Vec<Passed>>> = Arc::default();
        let kept = passed.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || relay(stream, server, &kept));
            }
        });
        Self { url, passed }
    }

    /// What passed so far, in order.
    pub fn passed(&self) -> Vec<Passed> {
        self.passed.lock().expect("what passed").clone()
    }
}

fn relay(asker: TcpStream, server: SocketAddr, kept: &Mutex<Vec<Passed>>) {
    let mut server = TcpStream::connect(server).expect("the server");
    let (mut from, mut to) = (
        server.try_clone().expect("a reader"),
        asker.try_clone().expect("a writer"),
    );
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to); // either side may hang up
        let _ = to.shutdown(Shutdown::Both);
    });
    let mut asker = BufReader::new(asker);
    while let Some((head, body)) = hear(&mut asker) {
        let bytes = [head.as_bytes(), &body].concat();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let passed = Passed { head, body };
        kept.lock().expect("what passed").push(passed);
        if server.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// The head and the body of one request; `None` when nobody asks.
pub fn hear(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let from = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        let line = head[from..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
