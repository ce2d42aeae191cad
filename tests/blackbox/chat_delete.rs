//! Conversations that are deleted, and what is left of a turn in the history: what it cost and took.

use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::chat_socket::Chat;
use crate::harness::{Gateway, eventually, tree};
use crate::http::Request;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: write it }
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
    usage: { input: 50, output: 5 }
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: samovar }
    text: A samovar boils water.
    usage: { input: 1000, output: 200 }
  - when: { user: hello }
    text: Good morning.
"#;

/// No session begins anew because the hour struck while a test ran.
const CALM: &str = r#"
[sessions.reset]
mode = "manual"
[models.prices."scripted/demo"]
input = 3.0
output = 15.0
"#;

const ASK: &str = r#"
[sessions.reset]
mode = "manual"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
reason = "writing needs a nod"
"#;

/// Says something and waits for the answer.
#[track_caller]
fn say(gateway: &Gateway, token: &str, session: &str, message: &str) -> Value {
    let body = json!({ "sessionKey": session, "message": message });
    let said = gateway.send(&Request::post("/api/chat", &body).bearer(token));
    assert_eq!(said.json()["ok"], true, "{}", said.json());
    said.json()["result"].clone()
}

fn delete(gateway: &Gateway, token: &str, session: &str) -> (u16, Value) {
    let path = format!("/api/sessions/{session}");
    let done = gateway.send(&Request::new("DELETE", &path).bearer(token));
    (done.status, done.json())
}

/// How much is found of some words.
#[track_caller]
fn found(gateway: &Gateway, words: &str) -> u64 {
    let found = gateway.get(&format!("/api/memory?query={words}")).json();
    found["result"]["count"].as_u64().expect("a count")
}

/// The keys of the sessions and how many messages each shows.
#[track_caller]
fn listed(gateway: &Gateway) -> Vec<(String, u64)> {
    let listed = gateway.get("/api/sessions").json();
    let sessions = listed["result"]["sessions"].as_array().expect("a list");
    let one = |one: &Value| {
        let key = one["sessionKey"].as_str().expect("a key").to_owned();
        (key, one["messages"].as_u64().expect("a count"))
    };
    let mut all: Vec<_> = sessions.iter().map(one).collect();
    all.sort();
    all
}

#[track_caller]
fn archives(gateway: &Gateway) -> usize {
    let folder = gateway.home.blob("archives");
    if !folder.exists() {
        return 0;
    }
    let all = tree(&folder);
    all.iter().filter(|(name, _)| name.ends_with(".gz")).count()
}

fn main_key() -> Value {
    json!({ "sessionKey": "main" })
}

#[test]
fn deletion_removes_messages_and_keeps_costs() {
    let gateway = scripted(SCRIPT, CALM);
    let owner = &gateway.owner;
    say(&gateway, owner, "main", "what is a samovar?");
    gateway.post("/api/sessions/main/reset", &json!({}));
    say(&gateway, owner, "main", "another samovar");
    say(&gateway, owner, "work", "a samovar for work");
    assert_eq!((found(&gateway, "samovar"), archives(&gateway)), (6, 1));
    let usage = |gateway: &Gateway| gateway.get("/api/usage").json()["result"]["total"].clone();
    let before = usage(&gateway);
    assert_eq!(before["calls"], 3, "{before}");
    let mut chat = Chat::owner(&gateway);
    let mut other = Chat::owner(&gateway);
    let done = chat.ask("session.delete", main_key());
    let expect = json!({
        "ok": true, "sessionKey": "agent:main:main", "deletedMessages": 4, "deletedArchives": 1,
        "withdrawnApprovals": 0,
    });
    assert_eq!(done, expect);
    let told = other.next();
    assert_eq!(told["event"], "session.deleted", "{told}");
    assert_eq!(told["payload"], json!({ "sessionKey": "agent:main:main" }));
    let gone = |gateway: &Gateway| {
        assert_eq!(listed(gateway), [("agent:main:work".to_owned(), 2)]);
        assert_eq!((found(gateway, "samovar"), archives(gateway)), (2, 0));
        assert_eq!(usage(gateway), before);
        assert_eq!(gateway.get("/api/sessions/main").status, 404);
        assert_eq!(gateway.get("/api/sessions/main/messages").status, 404);
    };
    gone(&gateway);
    for method in ["session.delete", "session.get", "session.history"] {
        assert_eq!(chat.refused(method, main_key()), 404, "{method}");
    }
    let noted = gateway.audit();
    let noted = noted.iter().filter(|one| one["tool"] == "session.delete");
    assert_eq!(noted.count(), 1, "what is not there is not deleted");
    drop((chat, other));
    let gateway = Gateway::on(gateway.kill9());
    gone(&gateway);
    gateway.verify_audit();
    // What is said afterwards begins it anew.
    let answer = say(&gateway, &gateway.owner, "main", "hello");
    assert_eq!(answer["text"], "Good morning.");
    let all = [
        ("agent:main:main".to_owned(), 2),
        ("agent:main:work".to_owned(), 2),
    ];
    assert_eq!(listed(&gateway), all);
}

#[test]
fn only_who_may_use_a_conversation_deletes_it() {
    let gateway = scripted(SCRIPT, CALM);
    let bot = gateway.client("bot");
    let (looks, _) = gateway.token(json!({ "name": "looks", "role": "read-only" }));
    say(&gateway, &gateway.owner, "main", "hello");
    say(&gateway, &bot, "main", "hello");
    let all = [
        ("agent:main:client:bot:main".to_owned(), 2),
        ("agent:main:main".to_owned(), 2),
    ];
    for (token, session) in [
        (&bot, "agent:main:main"),
        (&looks, "main"),
        (&looks, "agent:main:main"),
    ] {
        let (status, said) = delete(&gateway, token, session);
        assert_eq!(status, 403, "{session}: {said}");
        let mut chat = Chat::with(&gateway, token);
        let code = chat.refused("session.delete", json!({ "sessionKey": session }));
        assert_eq!(code, 403, "{session}");
    }
    let nobody = Request::new("DELETE", "/api/sessions/main").send(gateway.addr);
    assert_eq!(nobody.status, 401);
    assert_eq!(listed(&gateway), all, "nothing changed");
    let (status, done) = delete(&gateway, &bot, "main");
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["result"]["sessionKey"], "agent:main:client:bot:main");
    assert_eq!(listed(&gateway), all[1..], "its own goes");
    let (status, wrong) = delete(&gateway, &bot, "main");
    assert_eq!((status, &wrong["code"]), (404, &json!("not_found")));
}

#[test]
fn the_command_line_deletes_a_conversation_and_reports_it() {
    let gateway = scripted(SCRIPT, CALM);
    say(&gateway, &gateway.owner, "work", "hello");
    gateway.cli(&["sessions", "reset", "work"]).ok();
    say(&gateway, &gateway.owner, "work", "hello again");
    let done = gateway.cli(&["sessions", "delete", "work"]).ok();
    assert_eq!(
        done.stdout.trim(),
        "deleted agent:main:work with 4 messages and 1 archive"
    );
    let again = gateway.cli(&["sessions", "delete", "work"]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(
        again.stderr.contains("there is no session agent:main:work"),
        "{}",
        again.stderr
    );
    assert_eq!(listed(&gateway), []);
}

#[test]
fn deletion_stops_turns_and_withdraws_approvals() {
    let gateway = scripted(SCRIPT, ASK);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "write it");
    let paused = chat.until("r1", "paused").pop().expect("a question");
    let approval = paused["approvalId"].as_str().expect("its id").to_owned();
    chat.send("main", "r2", "hello");
    chat.ask("session.delete", main_key());
    let stopped = chat.until("r1", "error").pop().expect("an end");
    assert_eq!(stopped["stopped"], true, "{stopped}");
    let waited = chat.until("r2", "error").pop().expect("an end");
    assert_eq!(waited["error"], "the conversation was deleted", "{waited}");
    eventually("no question", || {
        gateway.get("/api/approvals").json()["result"]["approvals"] == json!([])
    });
    let late = gateway.post(
        &format!("/api/approvals/{approval}"),
        &json!({ "decision": "approve" }),
    );
    assert_eq!(late.status, 409, "{}", late.text());
    assert_eq!(gateway.read("note.md"), None, "nothing ran");
    assert_eq!(listed(&gateway), []);
    chat.send("main", "r3", "forever");
    chat.until("r3", "delta");
    assert_eq!(delete(&gateway, &gateway.owner, "main").0, 200);
    chat.until("r3", "error");
    chat.send("main", "r4", "hello");
    chat.end("r4");
    assert_eq!(listed(&gateway), [("agent:main:main".to_owned(), 2)]);
}

#[test]
fn a_gateway_that_is_killed_while_it_deletes_has_deleted_all_or_nothing() {
    let mut gateway = scripted(SCRIPT, CALM);
    for round in 0..6_u64 {
        let owner = gateway.owner.clone();
        say(&gateway, &owner, "main", "a samovar");
        gateway.post("/api/sessions/main/reset", &json!({}));
        say(&gateway, &owner, "main", "a samovar again");
        let addr = gateway.addr;
        let asking = std::thread::spawn(move || {
            let request = Request::new("DELETE", "/api/sessions/main").bearer(&owner);
            let _ = request.try_send(addr); // it may never be answered
        });
        // At another moment each time, from before the request came to after it was answered.
        std::thread::sleep(std::time::Duration::from_millis(round * 4));
        gateway = Gateway::on(gateway.kill9());
        asking.join().expect("it ends");
        let there = gateway.get("/api/sessions/main").status == 200;
        if there {
            // Memory reads what it lacks a little after the start.
            eventually("all is there", || found(&gateway, "samovar") == 4);
            assert_eq!(archives(&gateway), 1);
            assert_eq!(delete(&gateway, &gateway.owner, "main").0, 200);
        }
        assert_eq!(listed(&gateway), []);
        assert_eq!(found(&gateway, "samovar"), 0);
        eventually("no archive is left", || archives(&gateway) == 0);
    }
    gateway.verify_audit();
}

/// What the history says that its turns used up.
#[track_caller]
fn costs(chat: &mut Chat) -> Vec<Value> {
    let history = chat.ask("session.history", main_key());
    let messages = history["messages"].as_array().expect("messages");
    let all = messages.iter().map(|one| one["usage"].clone());
    all.filter(|usage| !usage.is_null()).collect()
}

#[test]
fn cost_and_duration_are_in_the_history_on_every_interface() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "what is a samovar?");
    let live = chat.end("r1")["usage"].clone();
    assert_eq!(live["costMicros"], 6_000, "{live}");
    assert!(live["durationMs"].is_u64(), "{live}");
    // Asked over HTTP, as another face does.
    let asked = say(&gateway, &gateway.owner, "main", "write it");
    assert_eq!(asked["usage"]["replies"], 2, "{asked}");
    let all = [live, asked["usage"].clone()];
    assert_eq!(costs(&mut chat), all);
    let history = chat.ask("session.history", main_key());
    let said = history["messages"].as_array().expect("messages");
    assert_eq!(said[1]["usage"], all[0], "with the answer: {history:#}");
    let listed = gateway.get("/api/sessions/main/messages").json();
    let messages = listed["result"]["messages"].as_array().expect("messages");
    let over_http = messages.iter().map(|one| one["usage"].clone());
    let over_http: Vec<Value> = over_http.filter(|usage| !usage.is_null()).collect();
    assert_eq!(over_http, all);
    drop(chat);
    let gateway = Gateway::on(gateway.kill9());
    let mut chat = Chat::owner(&gateway);
    assert_eq!(costs(&mut chat), all, "also after a crash");
    chat.ask("session.rewind", json!({ "sessionKey": "main", "seq": 2 }));
    assert_eq!(
        costs(&mut chat),
        all[..1],
        "what was taken back is not told"
    );
}

#[test]
fn a_list_counts_the_messages_that_a_history_shows() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    let mut agrees = |expect: u64| {
        let history = chat.ask("session.history", main_key());
        let messages = history["messages"].as_array().expect("messages");
        assert_eq!(messages.len() as u64, expect);
        assert_eq!(listed(&gateway), [("agent:main:main".to_owned(), expect)]);
        let one = gateway.get("/api/sessions/main").json();
        assert_eq!(one["result"]["session"]["messages"], expect);
        let got = chat.ask("session.get", main_key());
        assert_eq!(got["messageCount"], expect);
    };
    for _ in 0..3 {
        say(&gateway, &gateway.owner, "main", "hello");
    }
    agrees(6);
    let rewound = gateway.post("/api/sessions/main/rewind", &json!({ "seq": 4 }));
    assert_eq!(rewound.status, 200, "{}", rewound.text());
    agrees(4);
    say(&gateway, &gateway.owner, "main", "hello");
    agrees(6);
    gateway.post("/api/sessions/main/compact", &json!({ "keep": 2 }));
    agrees(2);
    gateway.post("/api/sessions/main/reset", &json!({}));
    agrees(0);
}
