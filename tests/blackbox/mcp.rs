//! MCP by hand: JSON-RPC over HTTP in both eras, and over a child's standard streams.

pub mod changes;
mod older;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::{PATIENCE, Request, Response};

/// Which protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With a handshake.
    Initialize,
    /// Every request says everything.
    Stateless,
}

impl Era {
    pub fn version(self) -> &'static str {
        match self {
            Self::Initialize => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// A request as one era writes it.
pub fn message(era: Era, id: u64, method: &str, mut params: Value) -> Value {
    if era == Era::Stateless {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": era.version(),
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The HTTP request that carries a message.
pub fn request(era: Era, method: &str, params: Value, token: Option<&str>) -> Request {
    request_at("/mcp?profile=all", era, method, params, token)
}

/// The same to another address, such as that of one server.
pub fn request_at(
    path: &str,
    era: Era,
    method: &str,
    params: Value,
    token: Option<&str>,
) -> Request {
    let name = params["name"].as_str().map(str::to_owned);
    let mut request = Request::post(path, &message(era, 1, method, params))
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", era.version());
    if era == Era::Stateless {
        request = request.header("Mcp-Method", method);
        if let Some(name) = name {
            request = request.header("Mcp-Name", &name);
        }
    }
    match token {
        Some(token) => request.bearer(token),
        None => request,
    }
}

/// The JSON-RPC answer in a response, whether plain or as an event.
#[track_caller]
pub fn answer(response: &Response) -> Value {
    let kind = response.header("content-type").unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        let text = response.text();
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let last = data.rfind(|data| !data.trim().is_empty());
        return serde_json::from_str(last.expect("an event")).expect("JSON in the event");
    }
    response.json()
}

/// Shakes hands and lists the tools over HTTP.
#[track_caller]
pub fn list(gateway: &Gateway, era: Era, token: &str) -> Vec<Value> {
    if era == Era::Initialize {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": era.version(), "capabilities": {}, "clientInfo": client });
        let said = answer(&gateway.send(&request(era, "initialize", params, Some(token))));
        assert_eq!(said["result"]["protocolVersion"], era.version(), "{said}");
        assert_eq!(said["result"]["serverInfo"]["name"], "manyhands", "{said}");
    }
    let said = answer(&gateway.send(&request(era, "tools/list", json!({}), Some(token))));
    said["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{said}"))
        .clone()
}

/// Calls a tool over HTTP and gives back the JSON-RPC answer.
#[track_caller]
pub fn call(gateway: &Gateway, era: Era, token: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    answer(&gateway.send(&request(era, "tools/call", params, Some(token))))
}

/// Lines of JSON that a program writes, as they come.
pub struct Lines(Receiver<Value>);

impl Lines {
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = sync_channel(1024);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let said = serde_json::from_str(&line).expect("JSON on a line");
                if sender.send(said).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next one.
    #[track_caller]
    pub fn next(&self) -> Value {
        self.0.recv_timeout(PATIENCE).expect("a line")
    }
}

/// `manyhands mcp`: MCP over standard input and output.
pub struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    /// What was told while an answer was waited for.
    told: VecDeque<Value>,
    era: Era,
    next: u64,
}

impl Pipe {
    /// Starts it, and shakes hands where the era does.
    #[track_caller]
    pub fn start(gateway: &Gateway, era: Era, token: &str) -> Self {
        let mut command = gateway.command();
        command.args(["--token", token, "mcp", "--profile", "all"]);
        Self::of(command, era)
    }

    /// Starts this command, and shakes hands where the era does.
    #[track_caller]
    pub fn of(mut command: Command, era: Era) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().expect("manyhands mcp");
        let input = child.stdin.take();
        let output = Lines::of(child.stdout.take().expect("its output"));
        let mut stdio = Self {
            child,
            input,
            output,
            told: VecDeque::new(),
            era,
            next: 0,
        };
        if era == Era::Initialize {
            let client = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": era.version(), "capabilities": {}, "clientInfo": client });
            let said = stdio.request("initialize", params);
            assert_eq!(said["result"]["protocolVersion"], era.version(), "{said}");
            stdio.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        stdio
    }

    /// Writes a message as it is.
    pub fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{message}").expect("a reader");
        input.flush().expect("a reader");
    }

    /// Sends a request and does not wait for its answer; its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let message = message(self.era, self.next, method, params);
        self.write(&message);
        self.next
    }

    /// Sends a request and reads until its answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params);
        loop {
            let said = self.output.next();
            if said["id"] == self.next {
                return said;
            }
            self.told.push_back(said);
        }
    }

    /// The next message that answers no request.
    #[track_caller]
    pub fn told(&mut self) -> Value {
        let kept = self.told.pop_front();
        kept.unwrap_or_else(|| self.output.next())
    }

    /// Calls a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Closes its input; the exit code it ends with.
    pub fn finish(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("its end").code()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
