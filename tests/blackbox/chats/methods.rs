//! Accounts and people on the socket: `channels.list`, `channel.*` and `pair.*`.

use manyhands_platforms::line::Line;
use serde_json::{Value, json};

use super::fixture::{Scene, threads};
use super::line::ADA;
use crate::harness::eventually;
use crate::socket::Socket;

fn stage() -> (Scene, Line) {
    let threads = threads();
    let line = threads.block_on(Line::start("canary-token", "canary-secret"));
    let url = &line.url;
    let settings = format!(
        "[channels.line.accounts.default]\nenabled = false\napi_url = \"{url}\"\ndata_url = \"{url}\"\n"
    );
    (Scene::new(threads, &settings, ""), line)
}

#[track_caller]
fn ok(socket: &mut Socket, method: &str, params: Value) -> Value {
    let said = socket.request(method, params);
    assert_eq!(said["ok"], true, "{method}: {said}");
    said["payload"].clone()
}

#[test]
fn an_account_is_logged_in_stopped_started_and_forgotten() {
    let (scene, line) = stage();
    let mut socket = scene.gateway.ws();
    let socket = &mut socket;
    let which = json!({ "channel": "line" });
    let listed = ok(socket, "channels.list", json!({}));
    assert_eq!(
        (&listed["count"], &listed["channels"][0]["state"]),
        (&json!(1), &json!("off"))
    );

    let wrong = json!({ "channel": "line", "token": "wrong", "secret": "canary-secret" });
    let refused = socket.request("channel.login", wrong);
    assert_eq!(refused["ok"], false, "{refused}");
    assert_eq!(
        ok(socket, "channel.status", which.clone())["channel"]["state"],
        "off"
    );
    let right = json!({ "channel": "line", "token": "canary-token", "secret": "canary-secret" });
    ok(socket, "channel.login", right);
    eventually("a connected account", || {
        ok(socket, "channel.status", which.clone())["channel"]["state"] == "connected"
    });
    eventually("its name", || {
        ok(socket, "channel.status", which.clone())["channel"]["name"] == "Manyhands"
    });
    let status = ok(socket, "channel.status", which.clone())["channel"].clone();
    assert_eq!(
        (&status["channel"], &status["accountId"]),
        (&json!("line"), &json!("default"))
    );
    assert!(status["connectedAt"].is_i64(), "{status}");
    let file = std::fs::read_to_string(scene.gateway.home.path().join("config.toml"));
    let file = file.expect("the settings");
    assert!(!file.contains("canary"), "secrets are in the vault: {file}");

    let stopped = ok(socket, "channel.stop", which.clone());
    assert_eq!(stopped["channel"]["state"], "stopped", "{stopped}");
    let event = || line.message(ADA, ADA, json!({ "type": "text", "text": "hello" }));
    let told = |scene: &Scene| {
        let (hook, events) = (scene.hook("line"), [event()]);
        let told = line.deliver(&hook, &events);
        scene.run(told).expect("an answer").0
    };
    assert_eq!(told(&scene), 404);
    ok(socket, "channel.start", which.clone());
    eventually("a connected account", || {
        ok(socket, "channel.status", which.clone())["channel"]["state"] == "connected"
    });
    assert_eq!(told(&scene), 200);

    ok(socket, "channel.logout", which.clone());
    assert_eq!(told(&scene), 404);
    assert_eq!(ok(socket, "channels.list", json!({}))["count"], 0);
    let names = scene.gateway.get("/api/secrets").text();
    assert!(!names.contains("channel.line"), "{names}");
    for (method, params) in [
        ("channel.status", which.clone()),
        ("channel.start", json!({ "channel": "fax" })),
        (
            "channel.login",
            json!({ "channel": "line", "accountId": "No!" }),
        ),
        (
            "channel.login",
            json!({ "channel": "line", "mode": "pigeon" }),
        ),
        ("channel.stop", json!({})),
    ] {
        let refused = socket.request(method, params);
        assert_eq!(refused["ok"], false, "{method}: {refused}");
    }
    let phone = scene.gateway.client("phone");
    let mut phone = Socket::connect(scene.gateway.addr, &phone);
    for method in ["channels.list", "channel.stop", "pair.list", "pair.approve"] {
        let params = json!({ "channel": "line", "senderId": "x" });
        let refused = phone.request(method, params);
        assert_eq!(refused["ok"], false, "{method}: {refused}");
    }
    let audit = scene.gateway.audit();
    for method in [
        "channel.login",
        "channel.stop",
        "channel.start",
        "channel.logout",
    ] {
        let noted = audit.iter().any(|one| one.to_string().contains(method));
        assert!(noted, "{method} is in the audit");
    }
}

#[test]
fn people_are_listed_approved_and_rejected() {
    let (scene, line) = stage();
    let mut socket = scene.gateway.ws();
    let socket = &mut socket;
    let right = json!({ "channel": "line", "token": "canary-token", "secret": "canary-secret" });
    ok(socket, "channel.login", right);
    scene.connected("line", "default");
    let say = |who: &str| {
        let event = line.message(who, who, json!({ "type": "text", "text": "hello" }));
        let (hook, events) = (scene.hook("line"), [event]);
        let told = line.deliver(&hook, &events);
        assert_eq!(scene.run(told).expect("an answer").0, 200);
        scene.at_rest();
    };
    let bob = format!("U{:032x}", 0xb0b);
    say(ADA);
    say(&bob);
    let pairs = ok(socket, "pair.list", json!({}))["pairs"].clone();
    assert_eq!(pairs.as_array().map(Vec::len), Some(2), "{pairs}");
    let of = |who: &str| {
        let all = pairs.as_array().expect("pairs");
        let found = all.iter().find(|one| one["senderId"] == who);
        found.expect("they ask").clone()
    };
    assert_eq!(
        (&of(ADA)["state"], &of(ADA)["message"]),
        (&json!("asking"), &json!("hello"))
    );
    assert!(of(ADA)["requestedAt"].is_i64());
    let code = of(ADA)["code"].clone();
    let done = ok(
        socket,
        "pair.approve",
        json!({ "channel": "line", "senderId": code, "owner": true }),
    );
    assert_eq!(
        done,
        json!({ "ok": true, "channel": "line", "senderId": ADA })
    );
    ok(
        socket,
        "pair.reject",
        json!({ "channel": "line", "senderId": bob }),
    );
    let nobody = json!({ "channel": "line", "senderId": "nobody" });
    assert_eq!(socket.request("pair.approve", nobody)["ok"], false);
    scene.at_rest();
    let before = line.arrived().len();
    say(&bob);
    assert_eq!(line.arrived().len(), before, "he is not even told");
    say(ADA);
    assert_eq!(line.arrived().len(), before + 1);
    assert_eq!(scene.heard("main"), ["hello"], "she is the owner");
    let states = ok(socket, "pair.list", json!({}))["pairs"].clone();
    let states: Vec<&Value> = states
        .as_array()
        .expect("pairs")
        .iter()
        .map(|one| &one["state"])
        .collect();
    assert!(states.contains(&&json!("approved")) && states.contains(&&json!("rejected")));
}
