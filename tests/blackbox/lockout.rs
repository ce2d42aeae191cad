//! Nobody keeps the owner out: neither by guessing at the same address nor by holding connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::{Connection, PATIENCE, Request};
use crate::nodes::fixture::{Machine, descriptors};
use crate::nodes::player::{Player, greeting};
use crate::socket::{Socket, hello};

/// How many wrong tokens, login codes and node codes come while the owner logs in.
const GUESSES: usize = 1_000;
const FEW_FAILURES: &str = "[limits]\nfailed_logins = 3\n";

fn login_code(gateway: &Gateway) -> String {
    let link = gateway.post("/api/session/link", &json!({})).json();
    let path = link["result"]["path"].as_str();
    let code = path.and_then(|path| path.strip_prefix("/login#code="));
    code.unwrap_or_else(|| panic!("{link}")).to_owned()
}

fn login(code: &str) -> Request {
    Request::post("/api/session/login", &json!({ "code": code }))
}

fn node_code(gateway: &Gateway, name: &str) -> String {
    let asked = json!({ "nodeId": name });
    let made = gateway.post("/api/nodes/codes", &asked).json();
    let code = made["result"]["code"].as_str();
    code.unwrap_or_else(|| panic!("{made}")).to_owned()
}

fn enrol(code: &str) -> Request {
    Request::post("/api/enrol", &json!({ "code": code }))
}

/// A token with the id of `token` and a wrong secret.
fn forged(token: &str) -> String {
    let parts: Vec<&str> = token.splitn(3, '_').collect();
    let [kind, id, secret] = parts[..] else {
        panic!("a token has three parts");
    };
    format!("{kind}_{id}_{}", "A".repeat(secret.len()))
}

/// Sends `count` wrong requests over one connection at a time: how many were answered 401 and 429.
fn guess(to: SocketAddr, count: usize, wrong: impl Fn(usize) -> Request) -> [usize; 2] {
    let mut seen = [0, 0];
    let mut connection = Connection::open(to).expect("a connection");
    for number in 0..count {
        let answer = connection.send(&wrong(number)).or_else(|_| {
            connection = Connection::open(to)?; // an old one may have had to give way
            connection.send(&wrong(number))
        });
        match answer.expect("an answer").status {
            401 => seen[0] += 1,
            429 => seen[1] += 1,
            other => panic!("a guess was answered {other}"),
        }
    }
    seen
}

#[test]
fn the_owner_logs_in_while_others_guess_at_the_same_address() {
    let gateway = Gateway::with_config(FEW_FAILURES);
    let (to, own_id) = (gateway.addr, forged(&gateway.owner));
    let tools = |token: &str| Request::get("/api/tools").bearer(token);
    let running = AtomicUsize::new(4);
    let done = |seen: [usize; 2]| {
        running.fetch_sub(1, Ordering::SeqCst);
        seen
    };
    let mut logins = 0;
    let seen = std::thread::scope(|scope| {
        let guessers = [
            // The owner's own id, so that failures are counted where they would hurt most.
            scope.spawn(|| done(guess(to, GUESSES, |_| tools(&own_id)))),
            scope.spawn(|| done(guess(to, GUESSES, |n| tools(&format!("mh_nonsense{n}"))))),
            scope.spawn(|| {
                let wrong = |n| login(&format!("{n:048x}"));
                done(guess(to, GUESSES, wrong))
            }),
            scope.spawn(|| {
                let wrong = |n| enrol(&format!("join-aaaaa-bbbbb-ccccc-{n:05}"));
                done(guess(to, GUESSES, wrong))
            }),
        ];
        while running.load(Ordering::SeqCst) > 0 || logins == 0 {
            log_in_every_way(&gateway, logins);
            logins += 1;
        }
        guessers.map(|guesser| guesser.join().expect("a guesser"))
    });
    for [refused, slowed] in seen {
        assert_eq!(refused + slowed, GUESSES);
        assert!(slowed > 0, "nobody was told to wait: {seen:?}");
    }
    log_in_every_way(&gateway, logins);
}

/// Each way to show a credential that is right, with one that was never shown before.
#[track_caller]
fn log_in_every_way(gateway: &Gateway, number: usize) {
    let fresh = gateway.client(&format!("fresh-{number}"));
    let read = gateway.call_as(&fresh, "gsv__ReadFile", json!({}));
    assert_eq!(read.status, 200, "{}", read.text());
    let came = gateway.send(&login(&login_code(gateway)));
    assert_eq!(came.status, 200, "{}", came.text());
    let name = format!("node-{number}");
    let enrolled = gateway.send(&enrol(&node_code(gateway, &name)));
    assert_eq!(enrolled.status, 200, "{}", enrolled.text());
    let token = enrolled.json()["result"]["token"].clone();
    let token = token.as_str().expect("a token");
    assert!(Player::greet(gateway.addr, greeting(&name, token)).is_ok());
    Socket::connect(gateway.addr, &fresh);
}

#[test]
fn wrong_codes_are_throttled_and_the_right_one_works_at_once() {
    let gateway = Gateway::with_config(FEW_FAILURES);
    let right = [
        login(&login_code(&gateway)),
        enrol(&node_code(&gateway, "laptop")),
    ];
    let wrong = [login("00"), enrol("join-aaaaa-bbbbb-ccccc-ddddd")];
    for (right, wrong) in right.iter().zip(&wrong) {
        let statuses: Vec<u16> = (0..6).map(|_| gateway.send(wrong).status).collect();
        assert_eq!(statuses, [401, 401, 401, 429, 429, 429]);
        assert_eq!(gateway.send(right).status, 200);
        assert_eq!(gateway.send(right).status, 429, "it works once");
    }
}

#[test]
fn a_client_with_an_old_token_makes_no_other_wait() {
    let gateway = Gateway::with_config(FEW_FAILURES);
    let [old, other] = ["old", "other"].map(|name| forged(&gateway.client(name)));
    let status = |token: &str| gateway.call_as(token, "gsv__ReadFile", json!({})).status;
    let statuses: Vec<u16> = (0..5).map(|_| status(&old)).collect();
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
    assert_eq!(status(&other), 401, "it is told what is wrong with its own");
    assert_eq!(status(&gateway.owner), 200);
}

/// A connection that says nothing more than `said`.
fn silent(to: SocketAddr, said: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(said.as_bytes()).expect("its bytes");
    stream
}

/// Waits until the other side ends a connection.
#[track_caller]
fn assert_ended(stream: &mut TcpStream, what: &str) {
    match stream.read(&mut [0; 1024]) {
        Ok(0) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn silent_sockets_and_connections_block_nobody() {
    const MANY: usize = 500;
    let gateway = Gateway::start();
    let mut known = gateway.ws();
    let mut kept = Connection::open(gateway.addr).expect("a connection");
    let tools = Request::get("/api/tools").bearer(&gateway.owner);
    assert_eq!(kept.send(&tools).expect("an answer").status, 200);
    let pid = gateway.daemon.pid();
    let before = descriptors(pid);

    let mut sockets: Vec<Socket> = (0..MANY)
        .map(|_| Socket::open(gateway.addr, &[]).expect("a socket"))
        .collect();
    let halves = [
        "",
        "P",
        "GET /healthz HTTP/1.1\r\nHost: localho",
        "PRI * HTTP/2.0\r\n",
    ];
    let mut streams: Vec<TcpStream> = (0..2 * MANY)
        .map(|n| silent(gateway.addr, halves[n % halves.len()]))
        .collect();

    // Those who came first are gone, and those who showed a token stay.
    let closed = sockets[0].closed();
    assert_eq!(closed.code, Some(1013), "{closed:?}");
    assert_ended(&mut streams[0], "the first silent connection");
    assert_eq!(known.call("gsv__ReadFile", &json!({}))["ok"], true);
    assert_eq!(kept.send(&tools).expect("an answer").status, 200);
    assert!(descriptors(pid) < before + 600, "they are bounded");

    // Whoever comes now is served as if they were alone.
    assert_eq!(gateway.send(&Request::get("/healthz")).status, 200);
    assert_eq!(gateway.send(&tools).status, 200);
    assert_eq!(gateway.ws().call("gsv__ReadFile", &json!({}))["ok"], true);
    let laptop = Machine::lend(&gateway, "laptop");
    assert_eq!(laptop.bash(&gateway, "echo here")["output"], "here\n");
    drop((sockets, streams));
}

#[test]
fn the_newest_silent_connection_is_still_served() {
    let gateway = Gateway::start();
    let mut streams: Vec<TcpStream> = (0..300).map(|_| silent(gateway.addr, "")).collect();
    let mut last = streams.pop().expect("a connection");
    assert_ended(&mut streams[0], "the oldest");
    let request = Request::get("/healthz").bytes(&gateway.addr.to_string());
    last.write_all(&request).expect("a request");
    let mut answer = [0; 15];
    last.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[test]
fn a_connection_that_sends_no_request_ends_by_itself() {
    let gateway = Gateway::start();
    // Half of an HTTP/2 preface too, which the server below waits for without end.
    let said = ["", "P", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nHost: x"];
    let mut streams = said.map(|said| (said, silent(gateway.addr, said)));
    for (said, stream) in &mut streams {
        assert_ended(stream, said);
    }
}

/// The statuses of a wrong token that was sent with each of these headers.
fn forwarded(gateway: &Gateway, headers: &[(&str, &str)]) -> Vec<u16> {
    let token = "mh_0192f0c12b3c7abc8def0123456789ab_nonsense";
    let asked = headers.iter().map(|(name, value)| {
        let request = Request::get("/api/tools").bearer(token);
        gateway.send(&request.header(name, value)).status
    });
    asked.collect()
}

#[test]
fn only_a_trusted_proxy_names_the_client_address() {
    const XFF: &str = "X-Forwarded-For";
    let spoofed = [
        (XFF, "203.0.113.1"),
        (XFF, "203.0.113.2"),
        ("Forwarded", "for=203.0.113.3"),
        (XFF, "203.0.113.4"),
        ("X-Real-IP", "203.0.113.5"),
    ];
    for config in ["", "trusted_proxies = [\"10.0.0.0/8\", \"192.0.2.1\"]\n"] {
        let gateway = Gateway::with_config(&format!("{config}{FEW_FAILURES}"));
        let statuses = forwarded(&gateway, &spoofed);
        assert_eq!(statuses, [401, 401, 401, 429, 429], "{config}");
    }
    let trusted = "trusted_proxies = [\"127.0.0.0/8\", \"192.0.2.1\"]\n";
    let gateway = Gateway::with_config(&format!("{trusted}{FEW_FAILURES}"));
    let one = [(XFF, "203.0.113.1"); 4];
    assert_eq!(forwarded(&gateway, &one), [401, 401, 401, 429]);
    for (name, value, status) in [
        (XFF, "203.0.113.2", 401),
        (XFF, "203.0.113.2, 203.0.113.1", 429),
        (XFF, "203.0.113.1, 203.0.113.2", 401),
        (XFF, "203.0.113.9, 203.0.113.1, 192.0.2.1", 429),
        ("Forwarded", "for=203.0.113.1;proto=https", 429),
        ("Forwarded", "for=\"203.0.113.1:4711\"", 429),
        ("Forwarded", "for=\"[2001:db8::1]\"", 401),
        (XFF, "unknown", 401),
    ] {
        let statuses = forwarded(&gateway, &[(name, value)]);
        assert_eq!(statuses, [status], "{name}: {value}");
    }
    let from = |name: &str, client: &str| {
        let code = node_code(&gateway, name);
        let enrolled = gateway.send(&enrol(&code).header(XFF, client));
        assert_eq!(enrolled.status, 200, "{}", enrolled.text());
    };
    from("laptop", "203.0.113.1");
    let noted = |entry: &Value| {
        let summary = entry["summary"].as_str().unwrap_or_default();
        summary.starts_with("laptop from 203.0.113.1 ")
    };
    assert!(gateway.audit().iter().any(noted), "{:?}", gateway.audit());
}

#[test]
fn a_socket_counts_for_the_client_behind_a_trusted_proxy() {
    let trusted = "trusted_proxies = [\"127.0.0.1\"]\n";
    let gateway = Gateway::with_config(&format!("{trusted}{FEW_FAILURES}"));
    let wrong = forged(&gateway.owner);
    let said = |client: &str| {
        let headers = [("X-Forwarded-For", client)];
        let mut socket = Socket::open(gateway.addr, &headers).expect("a socket");
        let said = socket.request("connect", hello(Some(&wrong)));
        said["error"]["code"].as_u64().expect("a code")
    };
    let codes: Vec<u64> = (0..4).map(|_| said("203.0.113.1")).collect();
    assert_eq!(codes[..3], [401; 3]);
    assert_ne!(codes[3], 401, "it has to wait");
    assert_eq!(said("203.0.113.2"), 401);
    assert_eq!(gateway.ws().call("gsv__ReadFile", &json!({}))["ok"], true);
}
