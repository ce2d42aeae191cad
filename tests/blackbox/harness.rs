//! A gateway as its user has it: the real binary, its own home, a port of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, Once};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{PATIENCE, Request, Response};
use crate::socket::Socket;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_manyhands");

/// A home that goes when the test ends, and what starts on it.
pub struct Home {
    dir: TempDir,
}

impl Home {
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("manyhands-test-").expect("a folder");
        std::fs::create_dir(dir.path().join("user")).expect("a folder");
        Self { dir }
    }

    /// `MANYHANDS_HOME`; not there before the first start.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A place beside the home, which no tool may touch.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where the workspace of an agent lies on disk.
    pub fn blob(&self, key: &str) -> PathBuf {
        self.path().join("blobs").join(key)
    }

    /// Writes the settings before the first start.
    pub fn with_config(self, text: &str) -> Self {
        std::fs::create_dir_all(self.path()).expect("the home");
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(self.path(), private).expect("a private home");
        // Most tests with a model are not about approvals: its agents act by themselves there, unless the
        // test says otherwise. What the default asks about is claimed in `hostile_model` and `boundaries`.
        let asks = text.contains("[policy]") || text.contains("# asks by default");
        let about_approvals = asks || !text.contains("[models");
        let mode = match about_approvals {
            true => "",
            false => "policy.mode = \"auto\"\n",
        };
        let file = self.path().join("config.toml");
        std::fs::write(file, format!("{mode}{text}")).expect("the settings");
        self
    }

    /// A command of the binary on this home, with nothing else in its environment.
    pub fn command(&self) -> Command {
        self.wrap(Command::new(BINARY))
    }

    /// `command` with the environment of a user of this home, and nothing else.
    pub fn wrap(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join("user"))
            .env("MANYHANDS_HOME", self.path())
            .current_dir(self.dir.path());
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn cli(&self, args: &[&str]) -> Ran {
        self.cli_with(args, "")
    }

    /// Runs the binary to its end with something on standard input.
    #[track_caller]
    pub fn cli_with(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command();
        command.args(args);
        run(command, input)
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// That it ended well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn run(mut command: Command, input: &str) -> Ran {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes()); // it may not read at all
    });
    let output = child.wait_with_output().expect("its output");
    feeder.join().expect("the input was written");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What a gateway wrote to standard error, as it comes.
#[derive(Default)]
pub struct Log {
    text: Mutex<String>,
    grown: Condvar,
    /// Nothing more will come.
    ended: AtomicBool,
}

impl Log {
    pub fn text(&self) -> String {
        self.text.lock().expect("the log").clone()
    }

    /// Waits until the log holds `words`.
    #[track_caller]
    pub fn wait_for(&self, words: &str) {
        let text = self.text.lock().expect("the log");
        let waited = self
            .grown
            .wait_timeout_while(text, PATIENCE, |text| !text.contains(words));
        let (text, timeout) = waited.expect("the log");
        assert!(
            !timeout.timed_out(),
            "{words:?} never came in the log:\n{text}"
        );
    }

    fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let log = self.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                log.text
                    .lock()
                    .expect("the log")
                    .push_str(&String::from_utf8_lossy(&line));
                log.grown.notify_all();
                line.clear();
            }
            let text = log.text.lock().expect("the log");
            log.ended.store(true, Ordering::SeqCst);
            drop(text);
            log.grown.notify_all();
        });
    }
}

/// A process that was started as `manyhands up` or `manyhands node`.
pub struct Daemon {
    child: Child,
    lines: Receiver<String>,
    pub log: Arc<Log>,
}

impl Daemon {
    /// Starts it; nothing is waited for.
    pub fn spawn(mut command: Command) -> Self {
        raise_file_limit();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the gateway");
        let log = Arc::new(Log::default());
        log.follow(child.stderr.take().expect("its log"));
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines, log }
    }

    /// Waits for the line that says where it is; an early end is an error with the log.
    pub fn wait_until_up(&mut self) -> Result<String, String> {
        let line = self.wait_for_line(" is up at ")?;
        let (_, url) = line.split_once(" is up at ").expect("the line");
        Ok(url.trim().to_owned())
    }

    /// Waits for a line with these words; an early end is an error with the log.
    pub fn wait_for_line(&mut self, words: &str) -> Result<String, String> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(words) => return Ok(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().expect("its end");
                    // The log's last lines may still be on their way.
                    self.log.wait_for_end();
                    return Err(format!("{status}\n{}", self.log.text()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{words:?} never came:\n{}", self.log.text());
                }
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn raw_pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.raw_pid(), signal).expect("a live process");
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().expect("its end"),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the gateway did not end:\n{}", self.log.text());
                }
            }
        }
    }

    /// Ends it without any warning.
    pub fn kill9(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Log {
    /// Waits until the last lines of an ended process were read.
    pub fn wait_for_end(&self) {
        let text = self.text.lock().expect("the log");
        let goes_on = |_: &mut String| !self.ended.load(Ordering::SeqCst);
        let waited = self.grown.wait_timeout_while(text, PATIENCE, goes_on);
        drop(waited.expect("the log"));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill9();
        if std::thread::panicking() {
            eprintln!("--- log of the gateway\n{}", self.log.text());
        }
    }
}

/// Many connections at once need many descriptors, here and in the gateway.
fn raise_file_limit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let limit = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    });
}

/// A running gateway.
pub struct Gateway {
    /// Before the home, so that it is gone when its folder goes.
    pub daemon: Daemon,
    pub home: Home,
    pub url: String,
    pub addr: SocketAddr,
    pub owner: String,
}

impl Gateway {
    /// A gateway on a fresh home.
    #[track_caller]
    pub fn start() -> Self {
        Self::on(Home::new())
    }

    /// A gateway on a fresh home with these settings.
    #[track_caller]
    pub fn with_config(text: &str) -> Self {
        Self::on(Home::new().with_config(text))
    }

    /// A gateway on this home.
    #[track_caller]
    pub fn on(home: Home) -> Self {
        let command = up(&home);
        Self::from(home, command)
    }

    /// A gateway on a fresh home, which can be started again where it is.
    #[track_caller]
    pub fn settled() -> Self {
        Self::at(Home::new(), free_address())
    }

    /// A gateway on this home at this address.
    #[track_caller]
    pub fn at(home: Home, address: SocketAddr) -> Self {
        let mut command = home.command();
        command.args(["up", "--no-node", "--listen", &address.to_string()]);
        Self::from(home, command)
    }

    /// A gateway started by this command.
    #[track_caller]
    pub fn from(home: Home, command: Command) -> Self {
        let mut daemon = Daemon::spawn(command);
        let url = daemon
            .wait_until_up()
            .unwrap_or_else(|log| panic!("it did not start: {log}"));
        let addr = url
            .rsplit('/')
            .next()
            .expect("an address")
            .parse()
            .expect("an address");
        let token = home.path().join("owner.token");
        // A home in a mount of the gateway's own is seen through its process.
        let seen = format!("/proc/{}/root{}", daemon.pid(), token.display());
        let token = std::fs::read_to_string(&token).or_else(|_| std::fs::read_to_string(seen));
        let owner = token.expect("the owner's token").trim().to_owned();
        Self {
            home,
            daemon,
            url,
            addr,
            owner,
        }
    }

    /// Ends it gracefully and starts it again on the same home.
    #[track_caller]
    pub fn restart(mut self) -> Self {
        self.daemon.signal(Signal::TERM);
        assert!(self.daemon.wait().success(), "{}", self.daemon.log.text());
        let Self { home, daemon, .. } = self;
        drop(daemon);
        Self::on(home)
    }

    /// Ends it with kill -9; the home stays.
    pub fn kill9(self) -> Home {
        let Self {
            home, mut daemon, ..
        } = self;
        daemon.kill9();
        home
    }

    /// Ends it gracefully; the home stays.
    #[track_caller]
    pub fn stop(mut self) -> Home {
        self.daemon.signal(Signal::TERM);
        let ended = self.daemon.wait();
        assert!(ended.success(), "{ended}\n{}", self.daemon.log.text());
        self.home
    }

    pub fn command(&self) -> Command {
        self.home.command()
    }

    /// Runs a command against it as the owner.
    #[track_caller]
    pub fn cli(&self, args: &[&str]) -> Ran {
        self.home.cli(args)
    }

    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        request.send(self.addr)
    }

    /// The owner's GET.
    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.send(&Request::get(path).bearer(&self.owner))
    }

    /// The owner's POST.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.send(&Request::post(path, body).bearer(&self.owner))
    }

    /// Calls a tool as the owner: the envelope.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_as(&self.owner, tool, arguments).json()
    }

    /// Calls a tool with some token.
    #[track_caller]
    pub fn call_as(&self, token: &str, tool: &str, arguments: Value) -> Response {
        let path = format!("/api/tools/{tool}");
        self.send(&Request::post(&path, &arguments).bearer(token))
    }

    /// Writes a file of the main agent.
    #[track_caller]
    pub fn write(&self, path: &str, content: &str) {
        let said = self.call(
            "gsv__WriteFile",
            json!({ "path": path, "content": content }),
        );
        assert_eq!(said["ok"], true, "{said}");
    }

    /// The content of a file of the main agent; `None` when it is not there.
    #[track_caller]
    pub fn read(&self, path: &str) -> Option<String> {
        let said = self.call("gsv__ReadFile", json!({ "path": path }));
        if said["code"] == "not_found" {
            return None;
        }
        let content = said["result"]["content"].as_str();
        Some(content.unwrap_or_else(|| panic!("{said}")).to_owned())
    }

    /// Makes a token: its text and its id.
    #[track_caller]
    pub fn token(&self, new: Value) -> (String, String) {
        let made = self.post("/api/tokens", &new).json();
        let text = made["result"]["token"]
            .as_str()
            .unwrap_or_else(|| panic!("{made}"));
        let id = made["result"]["record"]["id"].as_str().expect("an id");
        (text.to_owned(), id.to_owned())
    }

    /// A token that may call every tool.
    #[track_caller]
    pub fn client(&self, name: &str) -> String {
        self.token(json!({ "name": name, "role": "client" })).0
    }

    /// A socket of the owner.
    #[track_caller]
    pub fn ws(&self) -> Socket {
        Socket::connect(self.addr, &self.owner)
    }

    /// The audit, newest first.
    #[track_caller]
    pub fn audit(&self) -> Vec<Value> {
        let said = self.get("/api/audit?limit=1000").json();
        said["result"]["entries"]
            .as_array()
            .unwrap_or_else(|| panic!("{said}"))
            .clone()
    }

    /// The sum of a metric over all lines that hold every one of `labels`.
    #[track_caller]
    pub fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.get("/metrics").text();
        let fits = |line: &&str| {
            line.split(['{', ' ']).next() == Some(name)
                && labels.iter().all(|label| line.contains(label))
        };
        let values = text
            .lines()
            .filter(fits)
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }

    /// That the audit's chain is whole, asked as an owner would.
    #[track_caller]
    pub fn verify_audit(&self) {
        let ran = self.cli(&["audit", "verify"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

/// `manyhands up` on a free port of this machine.
pub fn up(home: &Home) -> Command {
    let mut command = home.command();
    command.args(UP);
    command
}

/// An address that nobody uses, and that nobody is given by chance: it can be taken later, and again.
pub fn free_address() -> SocketAddr {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    // A dozen for each process.
    let first = 20_000 + 12 * u16::try_from(std::process::id() % 1_000).expect("small");
    loop {
        let port = first + TRIED.fetch_add(1, Ordering::Relaxed);
        assert!(port < 32_768, "no free port");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// The arguments of a quiet start.
pub const UP: [&str; 4] = ["up", "--no-node", "--listen", "127.0.0.1:0"];

/// Polls until `holds` returns true, and fails the test if it does not in time. For facts that nothing announces.
#[track_caller]
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    assert!(comes_true(holds), "never came: {what}");
}

/// Polls until `holds` returns true; false if it does not in time.
pub fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    while !holds() {
        if Instant::now() >= until {
            return false;
        }
        // The gateway under test needs the core that a busy loop would occupy.
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(50));
    }
    true
}

/// Every file under `dir` with its bytes, sorted; a folder is its path with a slash.
pub fn tree(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    gather(dir, dir, &mut found);
    found.sort();
    found
}

fn gather(top: &Path, dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(top).expect("below").display().to_string();
        if path.is_dir() && !path.is_symlink() {
            found.push((format!("{name}/"), Vec::new()));
            gather(top, &path, found);
        } else {
            found.push((name, std::fs::read(&path).unwrap_or_default()));
        }
    }
}

/// `value` without what differs from one call to the next: times, ids, waits.
pub fn steady(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let varies = matches!(
                    key.as_str(),
                    "lastModified" | "approvalId" | "expiresAt" | "retryAfterMs" | "artifactId"
                );
                (key.clone(), if varies { json!("*") } else { steady(value) })
            })
            .collect(),
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::String(text) => json!(without_ids(text)),
        other => other.clone(),
    }
}

/// `text` with every UUID as `ID`.
pub fn without_ids(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_uuid = |at: usize| {
        bytes.get(at..at + 36).is_some_and(|part| {
            part.iter().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => *b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
        })
    };
    let mut clean = String::new();
    let mut at = 0;
    while at < text.len() {
        if is_uuid(at) {
            clean.push_str("ID");
            at += 36;
        } else {
            let next = text[at..].chars().next().expect("a character");
            clean.push(next);
            at += next.len_utf8();
        }
    }
    clean
}
