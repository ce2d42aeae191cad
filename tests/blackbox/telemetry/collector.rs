//! The OTLP receiver and the MCP server that these tests talk to, each a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::python;

/// A program that prints the port it listens on, and writes down what it gets.
struct Program {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl Program {
    #[track_caller]
    fn start(name: &str, port: Option<u16>) -> Self {
        let folder = TempDir::with_prefix("manyhands-otlp-").expect("a folder");
        let mut command = python(name);
        command
            .arg(folder.path().join("requests"))
            .args(port.map(|port| port.to_string()))
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("Python");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        let read = BufReader::new(output).read_line(&mut line);
        read.expect("a line");
        let port = line
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|port| port.parse().ok());
        Self {
            child,
            folder,
            port: port.unwrap_or_else(|| panic!("{name} did not start: {line:?}")),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("requests")
    }

    /// The complete lines of its file.
    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.file()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parsed = whole.lines().map(serde_json::from_str::<Value>);
        parsed.map(|line| line.expect("JSON")).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A span as the receiver got it.
#[derive(Debug)]
pub struct Span {
    pub service: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    pub name: String,
    pub kind: String,
    pub began: u64,
    pub failed: bool,
    pub attributes: Value,
}

/// The receiver.
pub struct Collector(Program);

impl Collector {
    #[track_caller]
    pub fn start() -> Self {
        Self(Program::start("receiver.py", None))
    }

    /// A receiver at this port.
    #[track_caller]
    pub fn at(port: u16) -> Self {
        Self(Program::start("receiver.py", Some(port)))
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.0.port)
    }

    /// The requests to one path so far.
    pub fn requests(&self, path: &str) -> Vec<Value> {
        let mut all = self.0.lines();
        all.retain(|line| line["path"] == path);
        all
    }

    /// What all requests contain, as it was sent.
    pub fn raw(&self) -> String {
        let file = self.0.file().with_extension("raw");
        let bytes = std::fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The records of a signal, each with the attributes of its resource.
    fn records(&self, path: &str, keys: [&str; 3]) -> Vec<(Value, Value)> {
        let mut found = Vec::new();
        for request in self.requests(path) {
            for of_resource in list(&request["message"][keys[0]]) {
                let resource = attributes(&of_resource["resource"]["attributes"]);
                for of_scope in list(&of_resource[keys[1]]) {
                    let records = list(&of_scope[keys[2]]).iter();
                    found.extend(records.map(|record| (resource.clone(), record.clone())));
                }
            }
        }
        found
    }

    pub fn spans(&self) -> Vec<Span> {
        let records = self.records("/v1/traces", ["resourceSpans", "scopeSpans", "spans"]);
        let span = |(resource, span): (Value, Value)| {
            let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
            let nanos = |key: &str| text(key).parse::<u64>().expect("nanoseconds");
            let (began, ended) = (nanos("startTimeUnixNano"), nanos("endTimeUnixNano"));
            assert!(
                began <= ended && began > 1_600_000_000_000_000_000,
                "{span}"
            );
            Span {
                service: resource["service.name"]
                    .as_str()
                    .expect("a service")
                    .to_owned(),
                trace: hex(&text("traceId")),
                id: hex(&text("spanId")),
                parent: hex(&text("parentSpanId")),
                name: text("name"),
                kind: text("kind").replace("SPAN_KIND_", "").to_lowercase(),
                began,
                failed: span["status"]["code"] == "STATUS_CODE_ERROR",
                attributes: attributes(&span["attributes"]),
            }
        };
        records.into_iter().map(span).collect()
    }

    /// Log records, with their trace in hexadecimal.
    pub fn logs(&self) -> Vec<Value> {
        let records = self.records("/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
        let log = |(_, mut log): (Value, Value)| {
            let trace = log["traceId"].as_str().map(hex);
            log["traceId"] = json!(trace);
            log
        };
        records.into_iter().map(log).collect()
    }

    pub fn metrics(&self) -> Vec<Value> {
        let keys = ["resourceMetrics", "scopeMetrics", "metrics"];
        let records = self.records("/v1/metrics", keys);
        records.into_iter().map(|(_, metric)| metric).collect()
    }
}

/// The MCP server.
pub struct NotesServer(Program);

impl NotesServer {
    #[track_caller]
    pub fn start() -> Self {
        Self(Program::start("mcp_server.py", None))
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.0.port)
    }

    /// The requests of one method so far.
    pub fn requests(&self, method: &str) -> Vec<Value> {
        let mut all = self.0.lines();
        all.retain(|line| line["method"] == method);
        all
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Attributes as an object.
pub fn attributes(pairs: &Value) -> Value {
    let mut all = Map::new();
    for pair in list(pairs) {
        let key = pair["key"].as_str().expect("a key").to_owned();
        all.insert(key, plain(&pair["value"]));
    }
    Value::Object(all)
}

/// An `AnyValue` as JSON; whole numbers are texts in protobuf's JSON.
fn plain(value: &Value) -> Value {
    if let Some(text) = value["intValue"].as_str() {
        return json!(text.parse::<i64>().expect("a number"));
    }
    if let Some(values) = value.get("arrayValue") {
        return list(&values["values"]).iter().map(plain).collect();
    }
    let known = ["stringValue", "boolValue", "doubleValue"];
    let known = known.iter().find_map(|key| value.get(*key));
    known.cloned().unwrap_or_default()
}

/// Hexadecimal of what protobuf's JSON writes in base64.
fn hex(base64: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::prelude::BASE64_STANDARD.decode(base64);
    let bytes = bytes.expect("base64");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The folder of what operators install.
pub fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}
