//! What the tests have in common: servers to start, and somebody who answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{OsEntropy, SystemClock};
use manyhands_guard::{Program, RunningProgram, Stdin, Supervisor};
use manyhands_upstream::{
    Hooks, RpcError, Server, ServerRequestHandler, Transport, Upstream, UpstreamDeps,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::npm::packages;

/// How long anything may take on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn servers() -> PathBuf {
    packages("mcp-servers")
}

/// A program of the search path.
pub(crate) fn program(name: &str) -> PathBuf {
    #[allow(clippy::disallowed_methods)] // the tests look for programs as a person would
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not on the search path"))
}

pub(crate) fn environment() -> BTreeMap<OsString, OsString> {
    let node = program("node");
    let dir = node.parent().unwrap().as_os_str().to_owned();
    BTreeMap::from([("PATH".into(), dir), ("HOME".into(), "/tmp".into())])
}

pub(crate) fn stdio(program: PathBuf, args: &[&str]) -> Server {
    let transport = Transport::Stdio {
        program,
        args: args.iter().map(Into::into).collect(),
        env: environment(),
        cwd: Some(servers()),
        sandbox: None,
    };
    Server::new("test", transport)
}

pub(crate) fn node(args: &[&str]) -> Server {
    stdio(program("node"), args)
}

pub(crate) fn http(url: impl Into<String>) -> Server {
    let transport = Transport::Http {
        url: url.into(),
        headers: Vec::new(),
    };
    Server::new("test", transport)
}

pub(crate) fn deps() -> UpstreamDeps {
    UpstreamDeps {
        supervisor: Supervisor::new(64),
        clock: Arc::new(SystemClock::default()),
        entropy: Arc::new(OsEntropy),
    }
}

pub(crate) fn upstream(server: Server) -> Upstream {
    Upstream::new(server, deps())
}

pub(crate) fn hooks() -> Hooks {
    Hooks::default()
}

/// The text of a result's first block.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}"))
}

/// Names of what was listed.
pub(crate) fn names(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(|one| one["name"].as_str()).collect()
}

/// A server that listens, and the program that it is.
pub(crate) struct Listening {
    pub(crate) port: u16,
    /// Stops it when dropped.
    _running: RunningProgram,
}

impl Listening {
    /// Starts a program and waits until it says, on either output, that it listens.
    pub(crate) async fn start(args: &[&str]) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut start = Program::new(program("node"))
            .args(args)
            .cwd(servers())
            .env("PORT", port.to_string())
            .stdin(Stdin::None);
        for (name, value) in environment() {
            start = start.env(name, value);
        }
        let mut running = Supervisor::new(1)
            .start(start, &CancellationToken::new())
            .unwrap();
        let mut out = BufReader::new(running.stdout.take().unwrap()).lines();
        let mut err = BufReader::new(running.stderr.take().unwrap()).lines();
        let mut port = port;
        loop {
            let line = tokio::select! {
                Ok(Some(line)) = out.next_line() => line,
                Ok(Some(line)) = err.next_line() => line,
                else => panic!("{args:?} did not start"),
            };
            if let Ok(own) = line.trim().parse() {
                port = own;
                break;
            }
            if line.contains(&port.to_string()) {
                break;
            }
        }
        tokio::spawn(async move { while let Ok(Some(_)) = out.next_line().await {} });
        tokio::spawn(async move { while let Ok(Some(_)) = err.next_line().await {} });
        Self {
            port,
            _running: running,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// Somebody who says yes, and remembers what was asked.
#[derive(Default)]
pub(crate) struct Obliging {
    pub(crate) requests: Mutex<Vec<(String, Value)>>,
}

impl Obliging {
    pub(crate) fn methods(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(method, _)| method.clone()).collect()
    }
}

#[async_trait]
impl ServerRequestHandler for Obliging {
    fn capabilities(&self) -> Map<String, Value> {
        let all = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
        all.as_object().cloned().unwrap()
    }

    async fn handle(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.requests
            .lock()
            .unwrap()
            .push((method.to_owned(), params));
        Ok(match method {
            "elicitation/create" => {
                json!({ "action": "accept", "content": { "yes": true, "name": "Ada" } })
            }
            "sampling/createMessage" => json!({
                "role": "assistant", "model": "scripted", "stopReason": "endTurn",
                "content": { "type": "text", "text": "sampled" },
            }),
            "roots/list" => json!({ "roots": [{ "uri": "file:///tmp", "name": "tmp" }] }),
            _ => return Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "no")),
        })
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waited = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let met = tokio::time::timeout(LONG, waited).await;
    met.unwrap_or_else(|_| panic!("{what} did not happen"));
}

/// Whether a process is there, and not only as an entry that waits to be reaped.
pub(crate) fn runs(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|stat| !stat.contains(") Z "))
}
