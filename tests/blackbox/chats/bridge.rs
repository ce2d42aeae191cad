//! Services that a bridge carries: a program of ours at the other end of a socket, in mode `channel`.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::fixture::{Scene, threads};
use crate::harness::eventually;
use crate::http::Request;
use crate::socket::Socket;

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Turns of the model.
const TURNS: &str = r#"
  - when: { user: picture }
    text: I see it.
"#;

/// A bridge of the service `signal`.
struct Bridge {
    socket: Socket,
    /// What it was told while it waited for an answer.
    told: VecDeque<Value>,
}

impl Bridge {
    /// The first frame of a bridge.
    fn hello(token: &str, channel: &str, additions: &[&str]) -> Value {
        json!({
            "minProtocol": 1, "maxProtocol": 1, "additions": additions,
            "client": { "id": "bridge", "version": "1", "platform": "test", "mode": "channel", "channel": channel, "accountId": "default" },
            "auth": { "token": token },
        })
    }

    #[track_caller]
    fn connect(scene: &Scene, token: &str, additions: &[&str]) -> Self {
        let mut socket = Socket::open(scene.gateway.addr, &[]).expect("a socket");
        let hello = socket.request("connect", Self::hello(token, "signal", additions));
        assert_eq!(hello["ok"], true, "{hello}");
        let told = VecDeque::new();
        Self { socket, told }
    }

    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.socket.ask(method, params);
        loop {
            let frame = self.socket.frame().expect("an open socket");
            match frame["type"] == "res" && frame["id"] == id.as_str() {
                true => return frame,
                false => self.told.push_back(frame),
            }
        }
    }

    #[track_caller]
    fn tell(&mut self, message: Value) -> Value {
        let peer = json!({ "kind": "dm", "id": "+49170", "name": "Ada" });
        let params = json!({ "channel": "signal", "accountId": "default", "peer": peer, "message": message });
        self.request("channel.inbound", params)
    }

    /// The next event of that name.
    #[track_caller]
    fn event(&mut self, name: &str) -> Value {
        loop {
            let held = self.told.pop_front();
            let frame = held.unwrap_or_else(|| self.socket.frame().expect("a frame"));
            if frame["type"] == "evt" && frame["event"] == name {
                return frame["payload"].clone();
            }
        }
    }
}

/// A gateway with a bridge, and the bridge's token.
fn stage() -> (Scene, String) {
    let scene = Scene::new(threads(), "", TURNS);
    let made = scene.gateway.cli(&["channel", "bridge", "signal"]).ok();
    let token = made.stdout.split("(shown once): ").nth(1).expect("a token");
    let token = token.trim().to_owned();
    (scene, token)
}

#[track_caller]
fn let_in(scene: &Scene, who: &str) {
    let path = format!("/api/pairs/signal/{who}/approve");
    let approved = scene.gateway.post(&path, &json!({ "owner": true }));
    assert_eq!(approved.status, 200, "{}", approved.text());
}

#[test]
fn a_stranger_gets_a_code_and_an_approved_sender_gets_answers() {
    let (scene, token) = stage();
    assert_eq!(scene.account("signal", "default")["state"], "error");
    let mut bridge = Bridge::connect(&scene, &token, &["channel.sent"]);
    scene.connected("signal", "default");

    let kept = bridge.tell(json!({ "id": "m1", "text": "hello" }));
    assert_eq!(kept["payload"]["status"], "queued", "{kept}");
    let code = bridge.event("channel.outbound");
    assert_eq!(code["peer"]["id"], "+49170");
    let said = bridge.request(
        "channel.sent",
        json!({ "id": code["id"], "messageId": "out1" }),
    );
    assert_eq!(said["payload"]["ok"], true, "{said}");
    assert_eq!(scene.pairs()[0]["state"], "asking");

    let_in(&scene, "+49170");
    let welcome = bridge.event("channel.outbound");
    assert!(welcome.to_string().contains("Welcome"), "{welcome}");
    bridge.request("channel.sent", json!({ "id": welcome["id"] }));
    bridge.tell(json!({ "id": "m2", "text": "hello" }));
    let answer = bridge.event("channel.outbound");
    let text = answer["message"]["text"].as_str().expect("a text");
    assert!(text.contains("morning"), "{answer}");
    assert!(!answer["sessionKey"].as_str().unwrap().is_empty());
    let id = answer["id"].clone();
    bridge.request("channel.sent", json!({ "id": id, "messageId": "out2" }));
    scene.at_rest();
    assert!(scene.outbox("unknown").is_empty());
}

#[test]
fn a_repeated_event_counts_once_even_after_a_kill() {
    let (scene, token) = stage();
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    bridge.tell(json!({ "id": "m1", "text": "hello" }));
    let_in_when_asked(&scene);
    for _ in 0..3 {
        bridge.tell(json!({ "id": "m2", "text": "hello" }));
    }
    scene.at_rest();
    let scene = scene.kill9(TURNS);
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    bridge.tell(json!({ "id": "m2", "text": "hello" }));
    bridge.tell(json!({ "id": "m3", "text": "hello" }));
    scene.at_rest();
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(scene.heard(&sessions[0]), ["hello", "hello"]);
}

#[track_caller]
fn let_in_when_asked(scene: &Scene) {
    eventually("somebody who asks", || !scene.pairs().is_empty());
    let_in(scene, "+49170");
}

#[test]
fn messages_wait_for_a_bridge_and_unconfirmed_ones_are_unknown() {
    let (scene, token) = stage();
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    bridge.tell(json!({ "id": "m1", "text": "hello" }));
    let_in_when_asked(&scene);
    scene.at_rest();
    drop(bridge);
    eventually("a bridge that went", || {
        scene.account("signal", "default")["state"] == "error"
    });
    let ping = json!({ "channel": "signal", "to": "+49170", "text": "ping" });
    let mut asker = scene.gateway.ws();
    asker.ask(
        "tool.invoke",
        json!({ "tool": "gsv__Message", "args": ping }),
    );
    eventually("a message that waits", || {
        scene.count("SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')") == 1
    });
    let mut bridge = Bridge::connect(&scene, &token, &["channel.sent"]);
    let given = bridge.event("channel.outbound");
    assert_eq!(given["message"]["text"], "ping", "{given}");
    drop(bridge); // before it says what became of it
    eventually("not known", || !scene.outbox("unknown").is_empty());
}

#[test]
fn a_permanent_refusal_is_reported_and_a_temporary_one_retried() {
    let (scene, token) = stage();
    let mut bridge = Bridge::connect(&scene, &token, &["channel.sent"]);
    bridge.tell(json!({ "id": "m1", "text": "hello" }));
    let code = bridge.event("channel.outbound");
    let later = json!({ "id": code["id"], "error": "not now", "retryable": true });
    bridge.request("channel.sent", later);
    let again = bridge.event("channel.outbound");
    assert_eq!(again["id"], code["id"], "the same again");
    let never = json!({ "id": again["id"], "error": "no such number" });
    bridge.request("channel.sent", never);
    eventually("a failure", || scene.outbox("failed").len() == 1);
    let failed = scene.outbox("failed");
    assert!(
        failed[0].to_string().contains("no such number"),
        "{failed:?}"
    );
}

#[test]
fn pictures_come_along_and_wrong_ones_are_refused_by_name() {
    let (scene, token) = stage();
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    bridge.tell(json!({ "id": "m1", "text": "hello" }));
    let_in_when_asked(&scene);
    let picture = json!([{ "type": "image", "mimeType": "image/png", "data": PICTURE }]);
    let kept = bridge.tell(json!({ "id": "m2", "text": "picture", "media": picture }));
    assert_eq!(kept["ok"], true, "{kept}");
    scene.at_rest();
    let session = scene.sessions().remove(0);
    let path = format!("/api/sessions/{session}/messages?limit=10");
    let said = scene.gateway.get(&path).text();
    assert!(said.contains("[a picture]"), "{said}");
    for (media, names) in [
        (
            json!({ "type": "image", "mimeType": "image/png", "data": "!" }),
            "message.media[0].data",
        ),
        (
            json!({ "type": "image", "mimeType": "image/png" }),
            "message.media[0].data",
        ),
        (
            json!({ "type": "image", "mimeType": "image/png", "url": "file:///etc/passwd" }),
            "message.media[0].url",
        ),
    ] {
        let refused = bridge.tell(json!({ "id": "m3", "text": "picture", "media": [media] }));
        assert_eq!(refused["ok"], false, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(names), "{message}");
    }
    let group = json!({
        "channel": "signal", "accountId": "default",
        "peer": { "kind": "group", "id": "g" }, "message": { "id": "g1", "text": "hello" },
    });
    let refused = bridge.request("channel.inbound", group);
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("sender")
    );
}

#[test]
fn a_bridge_carries_its_own_service_and_does_nothing_else() {
    let (scene, token) = stage();
    let gateway = &scene.gateway;
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    for (method, params) in [
        (
            "tool.invoke",
            json!({ "tool": "gsv__ReadFile", "args": { "path": "a" } }),
        ),
        (
            "chat.send",
            json!({ "sessionKey": "main", "message": "hello" }),
        ),
        ("channels.list", json!({})),
        (
            "channel.inbound",
            json!({ "channel": "telegram", "accountId": "default", "peer": { "kind": "dm", "id": "1" }, "message": { "id": "1", "text": "hello" } }),
        ),
    ] {
        let refused = bridge.request(method, params);
        assert_eq!(refused["error"]["code"], 403, "{method}: {refused}");
    }
    let called = gateway.call_as(&token, "gsv__ReadFile", json!({ "path": "a" }));
    assert_eq!(called.status, 403, "{}", called.text());
    for path in ["/api/nodes", "/api/artifacts", "/api/sessions"] {
        let refused = gateway.send(&Request::new("GET", path).bearer(&token));
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
    }

    let client = gateway.client("phone");
    for (token, channel, code) in [
        (&client, "signal", 403),
        (&token, "matrix", 403),
        (&gateway.owner, "matrix", 403),
        (&gateway.owner, "telegram", 403),
    ] {
        let mut socket = Socket::open(gateway.addr, &[]).expect("a socket");
        let refused = socket.request("connect", Bridge::hello(token, channel, &[]));
        assert_eq!(refused["error"]["code"], code, "{channel}: {refused}");
    }
    let mut control = Socket::open(gateway.addr, &[]).expect("a socket");
    let owner = control.request("connect", Bridge::hello(&gateway.owner, "signal", &[]));
    assert_eq!(owner["ok"], true, "{owner}");
    assert_eq!(
        owner["payload"]["features"]["methods"],
        json!(["connect", "channel.inbound", "channel.sent"])
    );
    bridge.socket.closed(); // another took its place

    let mut client = gateway.ws();
    let told = json!({ "channel": "signal", "accountId": "default", "peer": { "kind": "dm", "id": "1" }, "message": { "id": "1", "text": "hello" } });
    assert_eq!(
        client.request("channel.inbound", told)["error"]["code"],
        403
    );
}

#[test]
fn names_of_bridges_are_checked_and_a_forgotten_one_loses_its_token() {
    let (scene, token) = stage();
    let gateway = &scene.gateway;
    for (name, says) in [("telegram", "is a built-in platform"), ("No!", "1 to 32")] {
        let refused = gateway.cli(&["channel", "bridge", name]);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    let second = gateway.cli(&["channel", "bridge", "signal", "--account", "work"]);
    let second = second.ok();
    assert!(
        second.stdout.contains("it keeps its token"),
        "{}",
        second.stdout
    );
    let login = gateway
        .home
        .cli_with(&["channel", "login", "signal"], "token\n");
    assert_ne!(login.code, Some(0), "{}", login.stdout);

    let bridge = Bridge::connect(&scene, &token, &[]);
    gateway
        .cli(&["channel", "logout", "signal", "--account", "work"])
        .ok();
    drop(bridge);
    let mut bridge = Bridge::connect(&scene, &token, &[]);
    gateway.cli(&["channel", "logout", "signal"]).ok();
    assert_eq!(bridge.socket.closed().code, Some(4001));
}
