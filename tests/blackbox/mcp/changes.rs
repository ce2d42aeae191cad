//! Tools come and go, and every client that may see them is told.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Era, Pipe, list, request};
use crate::harness::Gateway;
use crate::http::{PATIENCE, Request};
use crate::socket::Socket;

const CHANGED: &str = "notifications/tools/list_changed";
const TOOL: &str = "laptop__Read";

/// A machine that offers one tool for as long as this lives.
pub struct Laptop {
    _socket: Socket,
}

impl Laptop {
    /// Connects with a node's token of its own.
    #[track_caller]
    pub fn connect(gateway: &Gateway) -> Self {
        let (token, _) = gateway.token(json!({ "name": "laptop", "role": "node" }));
        let mut socket = Socket::open(gateway.addr, &[]).expect("a socket");
        let hello = socket.request(
            "connect",
            json!({
                "minProtocol": 1,
                "maxProtocol": 1,
                "client": { "id": "laptop", "version": "1", "platform": "linux", "mode": "node" },
                "auth": { "token": token },
                "tools": [{ "name": "Read", "description": "reads", "inputSchema": { "type": "object" } }],
                "nodeRuntime": {
                    "hostCapabilities": ["filesystem.read"],
                    "toolCapabilities": { "Read": ["filesystem.read"] },
                },
            }),
        );
        assert_eq!(hello["ok"], true, "{hello}");
        Self { _socket: socket }
    }
}

/// An answer that goes on: server-sent events, as they come.
pub struct Events {
    stream: BufReader<TcpStream>,
    pub status: u16,
    kind: String,
}

/// One event: its id and its data.
#[derive(Debug, Default, PartialEq)]
pub struct Event {
    id: Option<String>,
    data: String,
}

impl Event {
    /// The message in it.
    #[track_caller]
    fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl Events {
    pub fn open(to: SocketAddr, request: &Request) -> Self {
        let mut stream = TcpStream::connect(to).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
            .write_all(&request.bytes(&to.to_string()))
            .expect("a reader");
        let mut events = Self {
            stream: BufReader::new(stream),
            status: 0,
            kind: String::new(),
        };
        let status = events.line().expect("a status");
        events.status = status[9..12].parse().expect("a status");
        while let Some(line) = events.line().filter(|line| !line.is_empty()) {
            if let Some(kind) = line.strip_prefix("content-type: ") {
                events.kind = kind.to_owned();
            }
        }
        events
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).expect("a line in time");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event; `None` when there will be no more. The sizes of chunks stand on lines
    /// of their own, and are nothing that events are made of.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        let mut begun = false;
        loop {
            let line = self.line().filter(|line| line != "0")?;
            match line.split_once(':') {
                Some(("id", id)) => event.id = Some(id.trim().to_owned()),
                Some(("data", data)) => event.data.push_str(data.trim()),
                _ if line.is_empty() && begun => return Some(event),
                _ => continue,
            }
            begun = true;
        }
    }

    /// That the next event says that the tools changed.
    #[track_caller]
    pub fn told(&mut self) -> Event {
        let event = self.next().expect("an open stream");
        assert_eq!(event.message()["method"], CHANGED, "{event:?}");
        event
    }
}

fn get(version: &str, token: &str) -> Request {
    Request::get("/mcp?profile=all")
        .header("Accept", "text/event-stream")
        .header("MCP-Protocol-Version", version)
        .bearer(token)
}

fn listen(token: &str) -> Request {
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    request(Era::Stateless, "subscriptions/listen", wanted, Some(token))
}

/// A subscription that was acknowledged.
#[track_caller]
fn subscribe(gateway: &Gateway, token: &str) -> Events {
    let mut events = Events::open(gateway.addr, &listen(token));
    let acknowledged = events.next().expect("an event").message();
    let method = "notifications/subscriptions/acknowledged";
    assert_eq!(acknowledged["method"], method, "{acknowledged}");
    let accepted = &acknowledged["params"]["notifications"];
    assert_eq!(accepted, &json!({ "toolsListChanged": true }));
    events
}

#[track_caller]
fn sees_laptop(gateway: &Gateway, token: &str) -> bool {
    let tools = list(gateway, Era::Stateless, token);
    tools.iter().any(|tool| tool["name"] == TOOL)
}

#[test]
fn every_era_is_notified_over_http_of_tool_list_changes() {
    let gateway = Gateway::start();
    let owner = gateway.owner.clone();
    let versions = ["2025-03-26", "2025-06-18", "2025-11-25"];
    let mut streams: Vec<Events> = versions
        .iter()
        .map(|version| Events::open(gateway.addr, &get(version, &owner)))
        .collect();
    for stream in &streams {
        assert_eq!(
            (stream.status, stream.kind.as_str()),
            (200, "text/event-stream")
        );
    }
    let primed = streams[2].next().expect("an event");
    assert!(primed.id.is_some() && primed.data.is_empty(), "{primed:?}");
    streams.push(subscribe(&gateway, &owner));
    let laptop = Laptop::connect(&gateway);
    for stream in &mut streams {
        stream.told();
    }
    assert!(sees_laptop(&gateway, &owner));
    drop(laptop);
    for stream in &mut streams {
        stream.told();
    }
    assert!(!sees_laptop(&gateway, &owner));
}

#[test]
fn a_token_is_notified_only_of_visible_changes() {
    let gateway = Gateway::start();
    let (limited, id) =
        gateway.token(json!({ "name": "limited", "role": "client", "tools": ["gsv__*"] }));
    let mut quiet = [
        Events::open(gateway.addr, &get("2025-06-18", &limited)),
        subscribe(&gateway, &limited),
    ];
    let mut control = [
        Events::open(gateway.addr, &get("2025-06-18", &gateway.owner)),
        subscribe(&gateway, &gateway.owner),
    ];
    let laptop = Laptop::connect(&gateway);
    control.iter_mut().for_each(|stream| drop(stream.told()));
    drop(laptop);
    control.iter_mut().for_each(|stream| drop(stream.told()));
    // The end of the token ends its streams, so all that was ever told on them is read here.
    let revoked = Request::new("DELETE", &format!("/api/tokens/{id}")).bearer(&gateway.owner);
    assert_eq!(gateway.send(&revoked).status, 200);
    let [stream, subscription] = &mut quiet;
    assert_eq!(stream.next(), None);
    let ended = subscription.next().expect("its result").message();
    assert!(ended["result"].is_object(), "{ended}");
    assert_eq!(subscription.next(), None);
    let refused = Events::open(gateway.addr, &get("2025-06-18", &limited));
    assert_eq!(refused.status, 401);
}

#[test]
fn a_reconnecting_client_gets_missed_notifications() {
    let gateway = Gateway::start();
    let request = get("2025-11-25", &gateway.owner);
    let back = |id: &Option<String>| {
        let id = id.as_deref().expect("an id");
        Events::open(gateway.addr, &request.clone().header("Last-Event-ID", id))
    };
    let mut stream = Events::open(gateway.addr, &request);
    let before = stream.next().expect("an event").id;
    drop(stream);
    let laptop = Laptop::connect(&gateway);
    let mut stream = back(&before);
    assert_eq!(stream.next().expect("an event").id, before);
    let with_laptop = stream.told().id;
    assert_ne!(with_laptop, before);
    drop(stream);
    let mut stream = back(&with_laptop);
    assert_eq!(stream.next().expect("an event").id, with_laptop);
    drop(laptop);
    assert_eq!(
        stream.told().id,
        before,
        "nothing was missed, and this is new"
    );
}

#[test]
fn the_stream_has_the_same_access_checks() {
    let gateway = Gateway::start();
    let bare = || Request::get("/mcp").header("Accept", "text/event-stream");
    let owner = || bare().bearer(&gateway.owner);
    for (request, status) in [
        (owner(), 200),
        (bare(), 401),
        (bare().bearer("mh_nonsense"), 401),
        (owner().header("Origin", "https://evil.example"), 403),
        (owner().header("Host", "evil.example"), 403),
        (get("2026-07-28", &gateway.owner), 400),
        (get("2099-01-01", &gateway.owner), 400),
        (Request::get("/mcp").bearer(&gateway.owner), 406),
        (Request::new("DELETE", "/mcp").bearer(&gateway.owner), 400),
        (Request::new("DELETE", "/mcp"), 401),
    ] {
        let said = Events::open(gateway.addr, &request);
        assert_eq!(said.status, status, "{request:?}");
    }
}

#[test]
fn streams_are_counted_and_one_too_many_is_refused() {
    const MOST: usize = 1_024;
    let gateway = Gateway::start();
    let request = get("2025-06-18", &gateway.owner);
    let mut streams: Vec<Events> = (0..MOST)
        .map(|_| Events::open(gateway.addr, &request))
        .collect();
    assert!(streams.iter().all(|stream| stream.status == 200));
    let refused = gateway.send(&request);
    assert_eq!(refused.status, 503);
    assert!(
        refused.text().contains("1024 streams"),
        "{}",
        refused.text()
    );
    let mut refused = Events::open(gateway.addr, &listen(&gateway.owner));
    let mut said = std::iter::from_fn(|| refused.next());
    assert!(said.any(|event| {
        event.message()["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("1024 streams"))
    }));
    streams.pop();
    crate::harness::eventually("a place", || {
        Events::open(gateway.addr, &request).status == 200
    });
    let _laptop = Laptop::connect(&gateway);
    streams.iter_mut().for_each(|stream| drop(stream.told()));
}

#[test]
fn streams_end_when_the_gateway_stops() {
    let gateway = Gateway::start();
    let mut stream = Events::open(gateway.addr, &get("2025-06-18", &gateway.owner));
    let mut subscription = subscribe(&gateway, &gateway.owner);
    let home = gateway.stop();
    assert_eq!(stream.next(), None);
    let ended = subscription.next().expect("its result").message();
    assert!(ended["result"].is_object(), "{ended}");
    drop(home);
}

#[track_caller]
fn pipe_sees_laptop(pipe: &mut Pipe) -> bool {
    let said = pipe.request("tools/list", json!({}));
    let tools = said["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("{said}"));
    tools.iter().any(|tool| tool["name"] == TOOL)
}

#[test]
fn over_stdio_a_restarted_gateway_is_found_and_changes_notified() {
    for era in [Era::Initialize, Era::Stateless] {
        let gateway = Gateway::settled();
        let address = gateway.addr;
        let mut pipe = Pipe::start(&gateway, era, &gateway.owner);
        if era == Era::Stateless {
            let wanted = json!({ "notifications": { "toolsListChanged": true } });
            pipe.ask("subscriptions/listen", wanted);
            let method = "notifications/subscriptions/acknowledged";
            assert_eq!(pipe.told()["method"], method);
        }
        assert!(!pipe_sees_laptop(&mut pipe));
        let laptop = Laptop::connect(&gateway);
        assert_eq!(pipe.told()["method"], CHANGED);
        assert!(pipe_sees_laptop(&mut pipe));
        let gateway = Gateway::at(gateway.kill9(), address);
        drop(laptop);
        assert_eq!(pipe.told()["method"], CHANGED, "{era:?}: it is back");
        assert!(!pipe_sees_laptop(&mut pipe));
        let _laptop = Laptop::connect(&gateway);
        assert_eq!(
            pipe.told()["method"],
            CHANGED,
            "{era:?}: and is listened to"
        );
        assert!(pipe_sees_laptop(&mut pipe));
        let began = Instant::now();
        assert_eq!(pipe.finish(), Some(0));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "it does not linger"
        );
    }
}
