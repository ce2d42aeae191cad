//! A token goes to the gateway it belongs to and nowhere else, unless its user gave it by hand.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use clap::{Arg, CommandFactory as _};
use tokio_tungstenite::tungstenite::WebSocket;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role as SocketRole;

use crate::harness::{Daemon, Gateway, Home, Ran, free_address, run};
use crate::http::PATIENCE;
use manyhands_args::Args;

/// Commands that talk to no gateway, or only to the one of the home.
const LOCAL: [&str; 28] = [
    "backup",
    "completions",
    "config check",
    "config get",
    "config path",
    "config set",
    "config unset",
    "keeper",
    "man",
    "mcp search",
    "node install",
    "node logs",
    "node start",
    "node stop",
    "node uninstall",
    "restore",
    "script-worker",
    "up",
    "doctor",
    "install",
    "logs",
    "migrate check",
    "restart",
    "start",
    "status",
    "stop",
    "uninstall",
    "upgrade",
];

/// Commands that want more than their definitions say.
const LINES: [&str; 8] = [
    "channel login telegram",
    "connect cursor --yes",
    "connection set laptop --name x",
    "cron add --name x --every 5m --message hello",
    "cron edit laptop --name x",
    "cron preview --every 5m",
    "mcp add laptop --url http://127.0.0.1:9/mcp",
    "mcp import servers.json --all",
];

/// What is typed where a command wants a value, until one is taken.
const VALUES: [&str; 9] = [
    "laptop",
    "5m",
    "5",
    "{}",
    "gsv:a.md",
    "main",
    "12345678-1234-1234-1234-123456789012",
    "http://127.0.0.1:9/x",
    "a=b",
];

/// What those who speak over standard input are asked, so that they turn to their gateway.
const INPUT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"text","text":"hello"}]}}"#,
    "\n",
);

/// A program that is no gateway, and keeps all it is sent.
struct Listener {
    addr: SocketAddr,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    seen: Mutex<Seen>,
    more: Condvar,
}

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    /// Connections that have not ended.
    open: usize,
}

impl Kept {
    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().expect("what it saw"));
        self.more.notify_all();
    }

    /// Whether this is so within a time.
    fn comes(&self, within: Duration, so: impl Fn(&Seen) -> bool) -> bool {
        let seen = self.seen.lock().expect("what it saw");
        let waited = self.more.wait_timeout_while(seen, within, |seen| !so(seen));
        !waited.expect("what it saw").1.timed_out()
    }
}

impl Listener {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self::on(listener, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    }

    /// Sends everybody to another address.
    fn redirecting(to: &str, status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let answer =
            format!("HTTP/1.1 {status} X\r\nLocation: {to}/x\r\nContent-Length: 0\r\n\r\n");
        Self::on(listener, &answer)
    }

    fn on(listener: TcpListener, answer: &str) -> Self {
        let addr = listener.local_addr().expect("an address");
        let kept: Arc<Kept> = Arc::default();
        let (shared, answer) = (kept.clone(), answer.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (shared.clone(), answer.clone());
                kept.change(|seen| seen.open += 1);
                std::thread::spawn(move || keep(stream, &kept, &answer));
            }
        });
        Self { addr, kept }
    }

    fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Whether it was sent these bytes by those who have ended.
    fn holds(&self, text: &str) -> bool {
        // Connections are taken in order, so this one comes after all of theirs.
        let mark = format!("mark-{:?}", Instant::now());
        let mut stream = TcpStream::connect(self.addr).expect("a connection");
        stream.write_all(mark.as_bytes()).expect("a mark");
        self.wait_for(&mark);
        drop(stream);
        let all = self.kept.comes(PATIENCE, |seen| seen.open == 0);
        assert!(all, "a connection does not end");
        self.comes(text, Duration::ZERO)
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        assert!(self.comes(text, PATIENCE), "{text:?} never came");
    }

    fn comes(&self, text: &str, within: Duration) -> bool {
        self.kept.comes(within, |seen| holds(&seen.bytes, text))
    }
}

fn keep(mut stream: TcpStream, kept: &Kept, answer: &str) {
    let mut head = Vec::new();
    let mut piece = [0; 16 * 1024];
    let mut answer = Some(answer);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        kept.change(|seen| seen.bytes.extend_from_slice(&piece[..read]));
        head.extend_from_slice(&piece[..read]);
        if let Some(upgraded) = upgraded(&head).filter(|_| answer.is_some_and(is_good)) {
            let _ = stream.write_all(upgraded.as_bytes());
            keep_frames(stream, kept);
            break;
        }
        if let Some(answer) = answer.take() {
            // Whoever is told that nothing more comes ends the connection, also one who would keep it.
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
        }
    }
    kept.change(|seen| seen.open -= 1);
}

fn is_good(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200")
}

/// What opens a socket, for a request that asks for one.
fn upgraded(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split_once("\r\n\r\n")?.0.lines();
    let key = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key")
            .then(|| value.trim())
    })?;
    let accepted = derive_accept_key(key.as_bytes());
    Some(format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accepted}\r\n\r\n"
    ))
}

/// Keeps what comes over a socket as it is meant: on the wire it is masked.
fn keep_frames(stream: TcpStream, kept: &Kept) {
    let mut socket = WebSocket::from_raw_socket(stream, SocketRole::Server, None);
    while let Ok(message) = socket.read() {
        kept.change(|seen| seen.bytes.extend_from_slice(&message.into_data()));
        let _ = socket.close(None);
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

/// Every command that can be typed, each with what it cannot do without.
fn lines() -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    gather(&Args::command(), &mut Vec::new(), &mut lines);
    lines
}

fn gather(command: &clap::Command, path: &mut Vec<String>, lines: &mut Vec<Vec<String>>) {
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        path.push(sub.get_name().to_owned());
        let runs = !sub.has_subcommands() || !sub.is_subcommand_required_set();
        if runs {
            let given = LINES.iter().map(|line| line.split(' ').map(str::to_owned));
            let mut given = given.map(Iterator::collect::<Vec<String>>);
            let given = given.find(|line| name(line) == path.join(" "));
            let filled = given.or_else(|| fill(sub, path));
            lines.push(filled.unwrap_or_else(|| panic!("nothing fits {path:?}: add to VALUES")));
        }
        gather(sub, path, lines);
        path.pop();
    }
}

fn fits(line: &[String]) -> bool {
    let words = std::iter::once("manyhands").chain(line.iter().map(String::as_str));
    Args::command().try_get_matches_from(words).is_ok()
}

/// The command with values for what it requires; where that is one of several, with each in turn.
fn fill(command: &clap::Command, path: &[String]) -> Option<Vec<String>> {
    let wanted: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| arg.is_required_set())
        .collect();
    let one = with_values(path.to_vec(), &wanted);
    let others = command.get_arguments().filter(|arg| !wanted.contains(arg));
    one.or_else(|| {
        let mut tried = others.map(|more| {
            let mut wanted = wanted.clone();
            wanted.push(more);
            with_values(path.to_vec(), &wanted)
        });
        tried.find_map(|line| line)
    })
}

fn with_values(line: Vec<String>, wanted: &[&Arg]) -> Option<Vec<String>> {
    let Some((arg, rest)) = wanted.split_first() else {
        return fits(&line).then_some(line);
    };
    let possible = arg.get_possible_values();
    let own = possible.iter().map(|value| value.get_name());
    let values: Vec<&str> = own.chain(VALUES).collect();
    let flag = arg.get_long().map(|long| format!("--{long}"));
    let takes = arg.get_action().takes_values();
    let mut tried = values
        .into_iter()
        .take(if takes { 20 } else { 1 })
        .map(|value| {
            let mut line = line.clone();
            line.extend(flag.clone());
            if takes {
                line.push(value.to_owned());
            }
            with_values(line, rest)
        });
    tried.find_map(|line| line)
}

/// A line as it is typed, without its values.
fn name(line: &[String]) -> String {
    let mut command = &Args::command();
    let mut name = Vec::new();
    for word in line {
        match command.find_subcommand(word) {
            Some(sub) => command = sub,
            None => break,
        }
        name.push(word.as_str());
    }
    name.join(" ")
}

/// A home on which a gateway runs, and where a node is enrolled.
struct Desk {
    home: Home,
    owner: String,
    kept: String,
}

impl Desk {
    /// The home, and the gateway that runs on it.
    fn new() -> (Self, Daemon) {
        let gateway = Gateway::start();
        let new = serde_json::json!({ "name": "laptop", "role": "node" });
        let kept = gateway.token(new).0;
        let nodes = gateway.home.path().join("nodes");
        std::fs::create_dir_all(&nodes).expect("a folder");
        let file = nodes.join("laptop.json");
        let text = serde_json::json!({ "url": gateway.url, "token": kept }).to_string();
        std::fs::write(&file, text).expect("an enrolment");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&file, private).expect("a private file");
        let servers = r#"{"mcpServers":{"x":{"url":"http://127.0.0.1:9/mcp"}}}"#;
        std::fs::write(gateway.home.outside("servers.json"), servers).expect("a file");
        std::fs::write(gateway.home.outside("laptop"), "a file").expect("a file");
        let Gateway {
            home,
            daemon,
            owner,
            ..
        } = gateway;
        (Self { home, owner, kept }, daemon)
    }

    /// A command that finds no other programs: those that manage services are left alone.
    fn command(&self, line: &[String]) -> Command {
        let mut command = self.home.command();
        command.env("PATH", self.home.outside("user")).args(line);
        command
    }

    /// That nothing which this home keeps was sent to `listener`.
    #[track_caller]
    fn assert_kept(&self, listener: &Listener, what: &str) {
        for token in [&self.owner, &self.kept] {
            let secret = token.splitn(3, '_').nth(2).expect("a secret");
            assert!(!listener.holds(secret), "`{what}` sent a token");
        }
    }
}

/// Runs a command until it ends or has sent `text`; whether it has.
fn sends(mut command: Command, listener: &Listener, text: &str) -> bool {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    let _ = stdin.write_all(INPUT.as_bytes()); // it may not read at all
    drop(stdin);
    let until = Instant::now() + PATIENCE;
    let sent = loop {
        if listener.comes(text, Duration::from_millis(20)) {
            break true;
        }
        if child.try_wait().expect("its state").is_some() {
            break listener.holds(text);
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("{command:?} neither sends nor ends");
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    sent
}

/// Does something for each line, a few at a time.
fn each(lines: &[Vec<String>], check: impl Fn(&[String]) + Sync) {
    let next = Mutex::new(lines.iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(line) = next.lock().expect("the lines").next() else {
                        break;
                    };
                    check(line);
                }
            });
        }
    });
}

#[test]
fn no_command_sends_a_token_to_an_address_that_is_not_its_gateway() {
    let (desk, _daemon) = Desk::new();
    let lines = lines();
    assert!(lines.len() > 100, "{}", lines.len());
    each(&lines, |line| {
        let listener = Listener::start();
        let mut by_variable = desk.command(line);
        by_variable.env("MANYHANDS_URL", listener.url());
        run(by_variable, INPUT);
        let flag = vec![format!("--url={}", listener.url())];
        let by_flag = desk.command(&[flag.as_slice(), line].concat());
        run(by_flag, INPUT);
        desk.assert_kept(&listener, &name(line));
    });
    assert_eq!(desk.home.cli(&["tools", "--json"]).code, Some(0));
}

#[test]
fn every_command_that_talks_to_a_gateway_sends_a_token_that_was_given() {
    let (desk, _daemon) = Desk::new();
    let silent = Mutex::new(BTreeSet::new());
    each(&lines(), |line| {
        let listener = Listener::start();
        let mut command = desk.command(line);
        command
            .env("MANYHANDS_URL", listener.url())
            .env("MANYHANDS_TOKEN", "mh_given-by-hand");
        if !sends(command, &listener, "mh_given-by-hand") {
            silent.lock().expect("the names").insert(name(line));
        }
        desk.assert_kept(&listener, &name(line));
    });
    let local: BTreeSet<String> = LOCAL.map(str::to_owned).into();
    let silent = silent.into_inner().expect("the names");
    assert_eq!(
        silent.difference(&local).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "these did not come as far as to talk to their gateway: add to VALUES what they need, or to LOCAL"
    );
}

#[track_caller]
fn assert_works(ran: &Ran, what: &str) {
    assert_eq!(ran.code, Some(0), "{what}: {ran:?}");
    assert!(ran.stdout.contains("gsv__ReadFile"), "{what}: {ran:?}");
}

fn tools(home: &Home, url: &str) -> Ran {
    home.cli(&["tools", "--json", "--url", url])
}

#[test]
fn the_gateway_of_the_home_is_known_by_every_name_of_this_machine() {
    for listen in ["127.0.0.1", "0.0.0.0"] {
        let home = Home::new().with_config("insecure_remote = true\n");
        let mut command = home.command();
        command.args(["up", "--no-node", "--listen", &format!("{listen}:0")]);
        let gateway = Gateway::from(home, command);
        let port = gateway.addr.port();
        assert_works(&gateway.cli(&["tools", "--json"]), listen);
        for host in ["127.0.0.1", "localhost", "[::1]"] {
            let url = format!("http://{host}:{port}");
            assert_works(&tools(&gateway.home, &url), &url);
        }
        let other = format!("http://127.0.0.2:{port}");
        let refused = tools(&gateway.home, &other);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("its token was not sent"),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("--token"), "{refused:?}");
    }
}

#[test]
fn a_neighbour_on_the_same_port_is_not_mistaken_for_the_gateway() {
    let gateway = Gateway::start();
    // Where this machine has no such address, nobody can listen there either.
    let beside = TcpListener::bind(format!("[::1]:{}", gateway.addr.port()));
    let beside = beside.map(|listener| Listener::on(listener, ""));
    for host in ["localhost", "[::1]"] {
        let url = format!("http://{host}:{}", gateway.addr.port());
        assert_works(&tools(&gateway.home, &url), &url);
    }
    if let Ok(beside) = beside {
        assert!(!beside.holds("Bearer"));
    }
}

#[test]
fn while_the_gateway_is_down_nobody_gets_its_token() {
    let at = free_address();
    let home = Home::new().with_config(&format!("listen = \"{at}\"\n"));
    let mut command = home.command();
    command.args(["up", "--no-node"]);
    let gateway = Gateway::from(home, command);
    assert_works(&gateway.cli(&["tools", "--json"]), "the control");
    let owner = gateway.owner.clone();
    let home = gateway.stop();
    let squatter = Listener::on(TcpListener::bind(at).expect("its port"), "");
    for url in [None, Some(format!("http://{at}"))] {
        let mut command = home.command();
        command.arg("tools");
        if let Some(url) = &url {
            command.args(["--url", url]);
        }
        let ran = run(command, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let remedy = if url.is_some() {
            "--token"
        } else {
            "manyhands up"
        };
        assert!(ran.stderr.contains(remedy), "{ran:?}");
        assert!(!squatter.holds(&owner), "{url:?}");
    }
}

#[test]
fn the_address_that_the_settings_give_is_one_of_the_gateway() {
    let listener = Listener::start();
    let config = format!("public_url = \"{}\"\n", listener.url());
    let gateway = Gateway::with_config(&config);
    tools(&gateway.home, &listener.url());
    assert!(listener.holds(&gateway.owner), "the owner wrote that it is");
    let other = Listener::start();
    tools(&gateway.home, &other.url());
    assert!(!other.holds(&gateway.owner));
}

#[test]
fn a_redirect_does_not_take_a_token_along() {
    let (desk, _daemon) = Desk::new();
    for status in [301, 302, 307, 308] {
        for line in [
            "tools",
            "chat hello",
            "cp gsv:a.md gsv:b.md",
            "node --id desk",
        ] {
            let elsewhere = Listener::start();
            let first = Listener::redirecting(&elsewhere.url(), status);
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let mut command = desk.command(&words);
            command
                .env("MANYHANDS_URL", first.url())
                .env("MANYHANDS_TOKEN", "mh_given-by-hand");
            let mut daemon = Daemon::spawn(command);
            first.wait_for("HTTP/1.1");
            if line == "tools" {
                first.wait_for("mh_given-by-hand");
            }
            daemon.kill9();
            assert!(!elsewhere.holds("mh_given-by-hand"), "{status} {line}");
        }
    }
}

#[test]
fn the_address_of_a_provider_is_not_taken_for_that_of_the_gateway() {
    let gateway = Gateway::start();
    let listener = Listener::start();
    for (url, token) in [
        (listener.url(), None),
        (format!("{}/v1", listener.url()), None),
        (format!("{}/v1", listener.url()), Some("sk-of-the-provider")),
    ] {
        let mut command = gateway.command();
        command.args(["models", "add", "openai", "--url", &url]);
        if let Some(token) = token {
            command.args(["--token", token]);
        }
        let ran = run(command, "sk-of-the-provider");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for words in ["select the gateway", "nothing was sent to", "--base-url"] {
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        }
    }
    assert!(!listener.holds("HTTP/1.1"), "it was not asked at all");
    let own = gateway.cli(&["models", "add", "nobody", "--url", &gateway.url]);
    let asked = own.stderr.contains("unknown provider");
    assert!(asked, "the gateway itself refuses it: {own:?}");
}
