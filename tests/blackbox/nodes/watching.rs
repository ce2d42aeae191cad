//! What a program in the background prints is told as it comes, to whoever may read its log, and
//! only opening the watch is a call.

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::Request;
use crate::nodes::fixture::{Machine, resident, wait_offline, wait_online};
use crate::nodes::player::{Player, greeting};
use crate::socket::{Closed, Socket, envelope};

const SECRET: &str = "hunter2!hunter2!";
/// How much more memory a gateway or a node may have while a flood is watched.
const GROWTH: u64 = 64 << 20;

/// Starts a command in the background: its session.
#[track_caller]
fn start(gateway: &Gateway, machine: &Machine, command: &str) -> String {
    let arguments = json!({ "command": command, "background": true });
    let said = machine.call(gateway, "Bash", arguments);
    let session = said["result"]["sessionId"].as_str();
    session.unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// What is left on record of calls of a tool.
fn recorded(gateway: &Gateway, tool: &str) -> usize {
    let entries = gateway.audit();
    entries.iter().filter(|entry| entry["tool"] == tool).count()
}

/// A watch, and what it was told so far.
struct Watch {
    socket: Socket,
    id: String,
    text: String,
    next: u64,
    /// How much was left out.
    missed: u64,
}

impl Watch {
    #[track_caller]
    fn open(mut socket: Socket, node: &str, session: &str) -> Self {
        let params = json!({ "nodeId": node, "sessionId": session });
        let opened = socket.request("process.watch", params);
        let id = opened["payload"]["watchId"].as_str();
        Self {
            id: id.unwrap_or_else(|| panic!("{opened}")).to_owned(),
            socket,
            text: String::new(),
            next: 0,
            missed: 0,
        }
    }

    /// The next piece, or how the socket ended.
    fn piece(&mut self) -> Result<Value, Closed> {
        loop {
            let frame = self.socket.frame()?;
            let told = &frame["payload"];
            if frame["event"] == "process.output" && told["watchId"] == self.id.as_str() {
                let at = told["at"].as_u64().expect("a place");
                assert!(at >= self.next, "nothing is told twice: {told}");
                self.missed += at - self.next;
                self.next = told["next"].as_u64().expect("a place");
                self.text.push_str(told["text"].as_str().expect("a text"));
                return Ok(told.clone());
            }
        }
    }

    /// Hears until `words` were told.
    #[track_caller]
    fn until(&mut self, words: &str) {
        while !self.text.contains(words) {
            let told = self.piece().expect("an open socket");
            assert_ne!(told["ended"], true, "{told}");
        }
    }

    /// Hears until it is over: the last piece.
    #[track_caller]
    fn end(&mut self) -> Value {
        loop {
            let told = self.piece().expect("an open socket");
            if told["ended"] == true {
                return told;
            }
        }
    }
}

#[test]
fn output_is_streamed_redacted_and_opening_is_the_one_audited_call() {
    let gateway = Gateway::start();
    let put = Request::new("PUT", "/api/secrets/mine")
        .bearer(&gateway.owner)
        .json(&json!({ "value": SECRET }));
    assert_eq!(gateway.send(&put).status, 200);
    let laptop = Machine::lend(&gateway, "laptop");
    let command = "echo begun; printf 'is hunter2!'; until [ -e one ]; do sleep 0.02; done; \
                   printf 'hunter2!.\\nmore\\n'; until [ -e two ]; do sleep 0.02; done; echo end";
    let session = start(&gateway, &laptop, command);
    let before = recorded(&gateway, "laptop__Process");

    let mut watch = Watch::open(gateway.ws(), "laptop", &session);
    watch.until("begun\nis ");
    let opened = recorded(&gateway, "laptop__Process");
    assert!(opened > before, "opening it is on record");
    laptop.put("one", b"");
    watch.until("more\n");
    laptop.put("two", b"");
    let last = watch.end();
    assert_eq!(last.get("error"), None, "{last}");
    assert_eq!(watch.text, "begun\nis [redacted].\nmore\nend\n");
    assert_eq!(watch.missed, 0);
    let after = recorded(&gateway, "laptop__Process");
    assert_eq!(after, opened, "what is told later is no call");

    let from = json!({ "nodeId": "laptop", "sessionId": session, "from": 6 });
    let mut again = Watch::open(gateway.ws(), "laptop", &session);
    again.end();
    assert_eq!(
        again.text, watch.text,
        "what has ended can be looked at too"
    );
    let opened = again.socket.request("process.watch", from);
    again.id = opened["payload"]["watchId"]
        .as_str()
        .expect("a watch")
        .to_owned();
    (again.text, again.next) = (String::new(), 6);
    again.end();
    assert_eq!(again.text, "is [redacted].\nmore\nend\n");
}

#[test]
fn watching_needs_the_right_to_read_the_log() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let laptop = Machine::lend(&gateway, "laptop");
    let session = start(&gateway, &laptop, "echo inside; exec sleep 1000");
    let token = |tools: &[&str]| {
        let new = json!({ "name": "guest", "role": "client", "tools": tools });
        gateway.token(new).0
    };
    let params = json!({ "nodeId": "laptop", "sessionId": session });
    let read_only = gateway
        .token(json!({ "name": "reader", "role": "read-only" }))
        .0;
    for wrong in [token(&["laptop__Bash"]), read_only] {
        let mut socket = Socket::connect(gateway.addr, &wrong);
        let refused = socket.request("process.watch", params.clone());
        assert_eq!(refused["error"]["code"], 403, "{refused}");
        assert_eq!(envelope(&refused)["code"], "forbidden", "{refused}");
    }
    let mut guest = Socket::connect(gateway.addr, &token(&["laptop__Process"]));
    let unknown = json!({ "nodeId": "laptop", "sessionId": "no-such-session" });
    let refused = guest.request("process.watch", unknown);
    assert_eq!(refused["error"]["code"], 404, "{refused}");
    let gone = json!({ "nodeId": "elsewhere", "sessionId": session });
    let refused = guest.request("process.watch", gone);
    assert_eq!(refused["error"]["code"], 503, "{refused}");
    Watch::open(guest, "laptop", &session).until("inside\n");
}

#[test]
fn a_watch_ends_with_its_token_and_with_the_rule_that_allowed_it() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let laptop = Machine::lend(&gateway, "laptop");
    let ticks = "echo begun; while :; do echo tick; sleep 0.05; done";
    let session = start(&gateway, &laptop, ticks);
    let new = json!({ "name": "guest", "role": "client", "tools": ["laptop__Process"] });
    let (token, id) = gateway.token(new);
    let mut guest = Watch::open(Socket::connect(gateway.addr, &token), "laptop", &session);
    guest.until("tick\n");
    let mut owner = Watch::open(gateway.ws(), "laptop", &session);
    owner.until("tick\n");

    gateway.cli(&["token", "revoke", &id]).ok();
    let closed = loop {
        match guest.piece() {
            Ok(_) => {}
            Err(closed) => break closed,
        }
    };
    assert_eq!(closed.code, Some(4001), "{}", closed.reason);

    let rule =
        json!([{ "decision": "deny", "tools": ["laptop__Process"] }, { "decision": "allow" }]);
    let set = gateway.ws().request(
        "config.set",
        json!({ "path": "policy.rules", "value": rule }),
    );
    assert_eq!(set["ok"], true, "{set}");
    let last = owner.end();
    let why = last["error"].as_str().expect("why");
    assert!(why.contains("policy.rules.0"), "{why}");
    let refused = owner.socket.request(
        "process.watch",
        json!({ "nodeId": "laptop", "sessionId": session }),
    );
    assert_eq!(envelope(&refused)["code"], "denied_by_policy", "{refused}");
}

#[test]
fn a_watch_ends_with_its_node_and_can_be_reopened() {
    let gateway = Gateway::start();
    let mut laptop = Machine::lend(&gateway, "laptop");
    let desk = Machine::lend(&gateway, "desk");
    let session = start(&gateway, &laptop, "echo begun; exec sleep 1000");
    let mut watch = Watch::open(gateway.ws(), "laptop", &session);
    watch.until("begun\n");
    laptop.daemon.kill9();
    let last = watch.end();
    assert!(
        last["error"].as_str().expect("why").contains("laptop"),
        "{last}"
    );
    wait_offline(&gateway, "laptop");

    // The same socket watches another.
    let session = start(
        &gateway,
        &desk,
        "echo there; until [ -e go ]; do sleep 0.02; done; echo end",
    );
    let mut watch = Watch::open(watch.socket, "desk", &session);
    watch.until("there\n");
    let ended = json!({ "watchId": watch.id });
    let mut other = Watch::open(watch.socket, "desk", &session);
    for ok in [true, false] {
        let said = other.socket.request("process.unwatch", ended.clone());
        assert_eq!(said["payload"]["ok"], ok, "{said}");
    }
    desk.put("go", b"");
    let said = loop {
        let frame = other.socket.frame().expect("an open socket");
        if frame["event"] == "process.output" && frame["payload"]["ended"] == true {
            break frame["payload"].clone();
        }
        assert_ne!(frame["payload"]["watchId"], ended["watchId"], "{frame}");
    };
    assert_eq!(said["watchId"], other.id.as_str());
    wait_online(&gateway, "desk");
}

#[test]
fn a_flood_is_bounded_and_reports_what_was_skipped() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let flood = "until [ -e stop ]; do head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 79; done; echo; echo the end";
    let session = start(&gateway, &laptop, flood);
    let pids = [gateway.daemon.pid(), laptop.daemon.pid()];
    let before = pids.map(resident);
    let mut watch = Watch::open(gateway.ws(), "laptop", &session);
    // One that is not read holds up nobody.
    let idle = Watch::open(gateway.ws(), "laptop", &session);
    while watch.missed < 50_000_000 {
        let told = watch.piece().expect("an open socket");
        assert!(told["text"].as_str().expect("a text").len() <= 16_000);
        watch.text.clear();
    }
    for (pid, before) in pids.into_iter().zip(before) {
        let now = resident(pid);
        assert!(now < before + GROWTH, "{before} bytes grew to {now}");
    }
    laptop.put("stop", b"");
    watch.end();
    assert!(watch.text.ends_with("\nthe end\n"));
    drop(idle);
}

#[test]
fn a_socket_watches_eight_programs_and_a_place_is_free_again_when_one_ends() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let session = start(&gateway, &laptop, "echo there; exec sleep 1000");
    let params = json!({ "nodeId": "laptop", "sessionId": session });
    let mut socket = gateway.ws();
    let open = |socket: &mut Socket| socket.request("process.watch", params.clone());
    let first = open(&mut socket)["payload"]["watchId"].clone();
    for _ in 1..8 {
        assert!(open(&mut socket)["payload"]["watchId"].is_string());
    }
    let refused = open(&mut socket);
    assert_eq!(refused["error"]["code"], 503, "{refused}");
    let ended = socket.request("process.unwatch", json!({ "watchId": first }));
    assert_eq!(ended["payload"]["ok"], true, "{ended}");
    eventually("a place", || open(&mut socket)["ok"] == true);
    // Another socket has places of its own.
    Watch::open(gateway.ws(), "laptop", &session).until("there\n");
}

#[test]
fn a_foreign_node_cannot_be_watched_and_nothing_is_called_there() {
    let gateway = Gateway::start();
    let player = Player::join(&gateway, "foreign");
    let params = json!({ "nodeId": "foreign", "sessionId": "s" });
    let said = gateway.ws().request("process.watch", params.clone());
    assert_eq!(said["payload"], json!({}), "{said}");
    assert_eq!(recorded(&gateway, "foreign__Process"), 0);

    // One that claims to know it and tells more than was agreed ends its watch, and nothing else.
    let mut claims = greeting(
        "liar",
        &gateway.token(json!({ "name": "liar", "role": "node" })).0,
    );
    claims["additions"] = json!(["process.watch"]);
    claims["tools"].as_array_mut().expect("tools").push(
        json!({ "name": "Process", "description": "p", "inputSchema": { "type": "object" } }),
    );
    claims["nodeRuntime"]["toolCapabilities"]["Process"] = json!(["shell.exec"]);
    let mut liar = Player::join_with(&gateway, "liar", claims);
    let mut socket = gateway.ws();
    let id = socket.ask(
        "process.watch",
        json!({ "nodeId": "liar", "sessionId": "s" }),
    );
    let (call, asked) = liar.called();
    assert_eq!(asked["args"]["action"], "log", "{asked}");
    liar.answer("tool.result", json!({ "callId": call, "result": {} }));
    let asked = liar.event("process.watch");
    let output =
        json!({ "watchId": asked["watchId"], "at": 0, "next": 9, "text": "x".repeat(70_000) });
    liar.mention("process.output", output);
    let mut watch = None;
    let last = loop {
        let frame = socket.frame().expect("an open socket");
        if frame["id"] == id.as_str() {
            watch = frame["payload"]["watchId"].as_str().map(str::to_owned);
        }
        if frame["event"] == "process.output" {
            break frame["payload"].clone();
        }
    };
    assert_eq!(last["watchId"].as_str(), watch.as_deref());
    assert_eq!(
        (&last["ended"], &last["text"]),
        (&json!(true), &json!("")),
        "{last}"
    );
    assert_eq!(liar.event("process.unwatch")["watchId"], asked["watchId"]);
    player.leave();
}
