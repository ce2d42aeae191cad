//! What these tests are played on: machines that the real binary lends, calls that are under
//! way, and what the system knows about processes.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{BINARY, Daemon, Gateway, eventually};
use crate::http::{Connection, Request};

/// Longer than a node takes to come back and a transfer to go on.
pub const LONG: Duration = Duration::from_secs(100);
/// The variable that everything carries which a machine starts.
const MARK: &str = "TEST_MARK";

/// A machine before it is lent.
pub struct Plan {
    name: String,
    url: String,
    token: Option<String>,
    folder: PathBuf,
    home: PathBuf,
    args: Vec<String>,
    mark: String,
    base: Command,
}

impl Plan {
    /// A machine called `name` with a folder and a home of its own beside the gateway's.
    pub fn new(gateway: &Gateway, name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = gateway.home.outside(&format!("{name}-files"));
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            name: name.to_owned(),
            url: gateway.url.clone(),
            token: None,
            folder: folder.canonicalize().expect("a folder"),
            home: gateway.home.outside(&format!("{name}-home")),
            args: Vec::new(),
            mark: format!("{}-{count}", std::process::id()),
            base: gateway.home.wrap(Command::new(BINARY)),
        }
    }

    /// Reaches the gateway at another address.
    pub fn through(mut self, address: SocketAddr) -> Self {
        self.url = format!("http://{address}");
        self
    }

    /// With more flags.
    pub fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// With another folder.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    /// Without a token: it must have a code, or have been enrolled.
    pub fn without_token(mut self) -> Self {
        self.token = Some(String::new());
        self
    }

    /// With this token.
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// With one more variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.base.env(name, value);
        self
    }

    /// The command that lends it.
    pub fn command(self, gateway: &Gateway) -> (Command, Unlent) {
        let mut command = self.base;
        let token = self.token.unwrap_or_else(|| {
            let new = json!({ "name": self.name, "role": "node" });
            gateway.token(new).0
        });
        command
            .env("MANYHANDS_HOME", &self.home)
            .env("MANYHANDS_URL", &self.url)
            .env("SHELL", "/bin/bash")
            .env(MARK, &self.mark)
            .arg("node")
            .args(["--workspace", self.folder.to_str().expect("a path")])
            .args(&self.args);
        if !token.is_empty() {
            command.env("MANYHANDS_TOKEN", token);
        }
        if !self.args.iter().any(|arg| arg == "--code") {
            command.args(["--id", &self.name]);
        }
        let unlent = Unlent {
            name: self.name,
            folder: self.folder,
            mark: self.mark,
        };
        (command, unlent)
    }

    /// Lends it, and waits until its tools are there.
    #[track_caller]
    pub fn lend(self, gateway: &Gateway) -> Machine {
        let (command, unlent) = self.command(gateway);
        let mut daemon = Daemon::spawn(command);
        let line = daemon.wait_for_line(" connected to ");
        line.unwrap_or_else(|log| panic!("{} did not connect: {log}", unlent.name));
        wait_online(gateway, &unlent.name);
        Machine {
            daemon,
            name: unlent.name,
            folder: unlent.folder,
            mark: unlent.mark,
        }
    }
}

/// What is known of a machine besides its process.
pub struct Unlent {
    pub name: String,
    pub folder: PathBuf,
    pub mark: String,
}

/// A machine that is lent: a process of `manyhands node`.
pub struct Machine {
    pub daemon: Daemon,
    pub name: String,
    pub folder: PathBuf,
    mark: String,
}

impl Machine {
    /// Lends a machine called `name`.
    #[track_caller]
    pub fn lend(gateway: &Gateway, name: &str) -> Self {
        Plan::new(gateway, name).lend(gateway)
    }

    /// A file of it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts a file there; the end of a transfer that is that file.
    #[track_caller]
    pub fn put(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.file(name), bytes).expect("a file");
        self.end(name)
    }

    /// The end of a transfer that is this file.
    pub fn end(&self, name: &str) -> String {
        format!("{}:{}", self.name, self.file(name).display())
    }

    /// A tool of it by its whole name.
    pub fn tool(&self, name: &str) -> String {
        format!("{}__{name}", self.name)
    }

    /// Calls a tool of it as the owner.
    #[track_caller]
    pub fn call(&self, gateway: &Gateway, tool: &str, arguments: Value) -> Value {
        gateway.call(&self.tool(tool), arguments)
    }

    /// Runs a command to its end: the result.
    #[track_caller]
    pub fn bash(&self, gateway: &Gateway, command: &str) -> Value {
        let said = self.call(gateway, "Bash", json!({ "command": command }));
        assert_eq!(said["ok"], true, "{said}");
        said["result"].clone()
    }

    /// The processes that it started, itself and its keeper left out.
    pub fn children(&self) -> Vec<u32> {
        let own = self.daemon.pid();
        marked(&self.mark)
            .into_iter()
            .filter(|(pid, line)| *pid != own && !line.ends_with("keeper"))
            .map(|(pid, _)| pid)
            .collect()
    }

    /// What finds everything that it started, itself included, when it is gone.
    pub fn mark(&self) -> String {
        self.mark.clone()
    }
}

/// Waits until the gateway has a node and its tools.
#[track_caller]
pub fn wait_online(gateway: &Gateway, name: &str) {
    eventually(&format!("{name} online"), || is_online(gateway, name));
}

/// Waits until the gateway has it no more.
#[track_caller]
pub fn wait_offline(gateway: &Gateway, name: &str) {
    eventually(&format!("{name} offline"), || !is_online(gateway, name));
}

/// What is on record of a node.
#[track_caller]
pub fn on_record(gateway: &Gateway, name: &str) -> Option<Value> {
    let said = gateway.get("/api/nodes").json();
    let nodes = said["result"]["nodes"].as_array();
    let nodes = nodes.unwrap_or_else(|| panic!("{said}"));
    nodes.iter().find(|node| node["nodeId"] == name).cloned()
}

#[track_caller]
pub fn is_online(gateway: &Gateway, name: &str) -> bool {
    on_record(gateway, name).is_some_and(|node| node["online"] == true)
}

/// The names of all tools that the owner is shown.
#[track_caller]
pub fn tools(gateway: &Gateway) -> Vec<String> {
    let said = gateway.get("/api/tools").json();
    let tools = said["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{said}"));
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

/// The names of the tools of one node.
#[track_caller]
pub fn tools_of(gateway: &Gateway, node: &str) -> Vec<String> {
    let start = format!("{node}__");
    let mut all = tools(gateway);
    all.retain(|name| name.starts_with(&start));
    all
}

/// A call that is under way.
pub struct Asked(JoinHandle<Value>);

impl Asked {
    /// What came of it.
    #[track_caller]
    pub fn answer(self) -> Value {
        self.0.join().expect("an answer")
    }

    /// Whether it has come.
    pub fn is_answered(&self) -> bool {
        self.0.is_finished()
    }
}

/// Calls a tool as the owner without waiting for the answer.
pub fn ask(gateway: &Gateway, tool: &str, arguments: Value) -> Asked {
    let (to, request) = (gateway.addr, request(gateway, tool, arguments));
    Asked(std::thread::spawn(move || {
        let mut connection = Connection::open(to).expect("a connection");
        connection.patience(LONG);
        connection.send(&request).expect("an answer").json()
    }))
}

/// The owner's request to call a tool.
pub fn request(gateway: &Gateway, tool: &str, arguments: Value) -> Request {
    let path = format!("/api/tools/{tool}");
    Request::post(&path, &arguments).bearer(&gateway.owner)
}

/// Starts a transfer as the owner without waiting for its end.
pub fn transfer(gateway: &Gateway, from: &str, to: &str) -> Asked {
    let ends = json!({ "source": from, "destination": to });
    ask(gateway, "gsv__Transfer", ends)
}

/// Every process with this mark, and its command line.
fn marked(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted.as_bytes())
        {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push((pid, line.trim_end().to_owned()));
        }
    }
    found
}

/// Waits until nothing is left of what a machine was and started.
#[track_caller]
pub fn wait_all_gone(mark: &str) {
    eventually("all processes gone", || marked(mark).is_empty());
}

/// Whether a process is there and not only waited for.
pub fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit(") ").next()?.chars().next())
        .is_some_and(|state| state != 'Z')
}

/// The resident memory of a process in bytes.
#[track_caller]
pub fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("its memory") * 1024
}

/// How many descriptors a process has open.
#[track_caller]
pub fn descriptors(pid: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors");
    open.count()
}

/// Bytes that no two places of a file share, the same for the same seed.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The SHA-256 in hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every name in a folder that a transfer left unfinished.
pub fn parts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".mh-part-"))
        .collect()
}

/// That a call failed because its node went, and may be made again.
#[track_caller]
pub fn is_lost(said: &Value) {
    assert_eq!(said["ok"], false, "{said}");
    assert_eq!(said["code"], "unavailable", "{said}");
}
