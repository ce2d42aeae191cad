//! Events that tell the owner's sockets that something they may be showing has changed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::http::Request;
use crate::nodes::fixture::wait_offline;
use crate::nodes::player::Player;
use crate::socket::{Socket, hello};
use crate::sql::Sql;

const CONFIG: &str = r#"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]

[channels.telegram.accounts.default]
token = "vault:nobody"
"#;

const FOR_OWNERS: [&str; 4] = [
    "approvals.changed",
    "nodes.changed",
    "cron.changed",
    "channels.changed",
];

/// The payload of the next event of that name.
#[track_caller]
fn told(socket: &mut Socket, event: &str) -> Value {
    loop {
        let frame = socket.frame().expect("an open socket");
        if frame["type"] == "evt" && frame["event"] == event {
            return frame["payload"].clone();
        }
    }
}

fn decide(gateway: &Gateway, decision: &str) {
    let listed = gateway.get("/api/approvals").json();
    let id = listed["result"]["approvals"][0]["id"]
        .as_str()
        .expect("a question")
        .to_owned();
    let said = gateway.post(
        &format!("/api/approvals/{id}"),
        &json!({ "decision": decision }),
    );
    assert_eq!(said.status, 200, "{}", said.text());
}

#[test]
fn the_owner_is_told_what_changed_and_nobody_else_is() {
    let gateway = Gateway::with_config(CONFIG);
    let mut owner = gateway.ws();
    let mut client = Socket::connect(gateway.addr, &gateway.client("laptop"));
    let write = json!({ "path": "a.md", "content": "x" });
    let asked = gateway.call("gsv__WriteFile", write.clone());
    assert_eq!(asked["code"], "approval_required", "{asked}");
    assert_eq!(
        told(&mut owner, "approvals.changed"),
        json!({ "pending": 1 })
    );
    decide(&gateway, "approve");
    assert_eq!(
        told(&mut owner, "approvals.changed"),
        json!({ "pending": 0 })
    );
    let used = gateway.call("gsv__WriteFile", write);
    assert_eq!(used["ok"], true, "{used}");
    assert_eq!(
        told(&mut owner, "approvals.changed"),
        json!({ "pending": 0 })
    );
    let node = Player::join(&gateway, "shed");
    told(&mut owner, "nodes.changed");
    node.leave();
    wait_offline(&gateway, "shed");
    told(&mut owner, "nodes.changed");
    let renamed = gateway.post("/api/nodes/shed/rename", &json!({ "to": "barn" }));
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    told(&mut owner, "nodes.changed");
    let gone = Request::new("DELETE", "/api/nodes/barn").bearer(&gateway.owner);
    assert_eq!(gateway.send(&gone).status, 200);
    told(&mut owner, "nodes.changed");
    let job = json!({
        "name": "a job", "schedule": { "kind": "every", "everyHours": 1 },
        "spec": { "mode": "systemEvent", "text": "look" }
    });
    let added = gateway.call("gsv__Cron", json!({ "action": "add", "job": job }));
    told(&mut owner, "cron.changed");
    let id = &added["result"]["job"]["id"];
    gateway.call("gsv__Cron", json!({ "action": "remove", "id": id }));
    told(&mut owner, "cron.changed");
    let stop = json!({ "channel": "telegram", "accountId": "default" });
    let mut other = gateway.ws();
    let stopped = other.request("channel.stop", stop);
    assert_eq!(stopped["ok"], true, "{stopped}");
    told(&mut owner, "channels.changed");
    // All of that has happened, and what the client was told was nothing of it.
    let id = client.ask("tools.list", json!({}));
    loop {
        let frame = client.frame().expect("an open socket");
        if frame["id"] == id.as_str() {
            break;
        }
        let event = frame["event"].as_str().unwrap_or_default();
        assert!(!FOR_OWNERS.contains(&event), "{frame}");
    }
}

#[test]
fn the_greeting_names_these_events_to_the_owner_only() {
    let gateway = Gateway::start();
    let events = |token: &str| {
        let mut socket = Socket::open(gateway.addr, &[]).expect("a socket");
        let hello = socket.request("connect", hello(Some(token)));
        let events = hello["payload"]["features"]["events"].as_array().cloned();
        events.unwrap_or_else(|| panic!("{hello}"))
    };
    let (owner, client) = (events(&gateway.owner), events(&gateway.client("laptop")));
    for event in FOR_OWNERS {
        assert!(owner.contains(&json!(event)), "{event}: {owner:?}");
        assert!(!client.contains(&json!(event)), "{event}: {client:?}");
    }
    assert!(client.contains(&json!("tools.changed")), "{client:?}");
}

#[test]
fn a_question_that_runs_out_is_told_when_it_does() {
    let gateway = Gateway::with_config(CONFIG);
    let asked = gateway.call("gsv__WriteFile", json!({ "path": "a.md", "content": "x" }));
    assert_eq!(asked["code"], "approval_required", "{asked}");
    let mut seconds = 2;
    loop {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time");
        let expires = now.as_millis() + u128::from(1_000_u32 * seconds);
        let mut sql = Sql::open(&gateway.home.path());
        assert_eq!(
            sql.run(&format!("UPDATE approval SET expires = {expires}")),
            1
        );
        sql.close();
        let mut owner = gateway.ws();
        owner.request("nodes.list", json!({}));
        let listed = gateway.get("/api/approvals").json();
        if listed["result"]["approvals"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
        {
            assert_eq!(
                told(&mut owner, "approvals.changed"),
                json!({ "pending": 0 })
            );
            break;
        }
        seconds *= 2; // this machine was too slow to see it while it waited
    }
    let listed = gateway.get("/api/approvals").json();
    assert_eq!(listed["result"]["approvals"], json!([]));
}

#[test]
fn a_flood_of_changes_is_told_as_few_events_and_the_last_is_told() {
    let gateway = Gateway::start();
    let mut owner = gateway.ws();
    let mut busy = gateway.ws();
    let began = Instant::now();
    for number in 0..100 {
        let job = json!({
            "name": format!("job {number}"), "schedule": { "kind": "every", "everyHours": 1 },
            "spec": { "mode": "systemEvent", "text": "look" }
        });
        let added = busy.request("cron.add", job);
        assert_eq!(added["ok"], true, "{added}");
    }
    // The socket is asked something at the end; what came before is counted.
    let mut events = 0;
    let mut seen = 0;
    while seen < 100 {
        let id = owner.ask("cron.status", json!({}));
        loop {
            let frame = owner.frame().expect("an open socket");
            events += u128::from(frame["event"] == "cron.changed");
            if frame["id"] == id.as_str() {
                seen = frame["payload"]["count"].as_u64().expect("a count");
                break;
            }
        }
    }
    let most = began.elapsed().as_millis() / Duration::from_millis(200).as_millis() + 2;
    assert!(
        events >= 1 && events <= most,
        "{events} events, {most} at most"
    );
}
