//! How conversations are named, arranged, searched, branched and followed.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::chat_socket::Chat;
use crate::harness::{Gateway, eventually};
use crate::http::Request;

const SCRIPT: &str = r#"
models: [demo]
title: "\"Blue teapots.\""
turns:
  - when: { user: delegate }
    calls: [{ id: s1, name: spawn, arguments: { task: "count teapots", tools: [gsv__ReadFile] } }]
  - when: { result_of: spawn }
    text: They were counted.
  - when: { user: count teapots }
    text: Seven teapots.
    delay_ms: 50
  - when: { user: hang }
    calls: [{ id: s2, name: spawn, arguments: { task: "wait for ever", tools: [gsv__ReadFile] } }]
  - when: { user: wait for ever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: hello }
    text: Good morning.
    usage: { input: 120, output: 9 }
  - when: { user: teapot }
    text: A teapot is a vessel for steeping leaves.
"#;

const SETTINGS: &str = r#"
[sessions.reset]
mode = "manual"

[[policy.rules]]
decision = "allow"
tools = ["spawn"]
reason = "it may delegate"

[agents.researcher]
"#;

#[track_caller]
fn good(answer: crate::http::Response) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["result"].clone()
}

#[track_caller]
fn listed(gateway: &Gateway, query: &str) -> Vec<Value> {
    let list = good(gateway.get(&format!("/api/sessions{query}")));
    list["sessions"].as_array().expect("sessions").clone()
}

fn keys(listed: &[Value]) -> Vec<&str> {
    let keys = listed.iter().map(|one| one["sessionKey"].as_str());
    keys.map(|key| key.expect("a key")).collect()
}

#[test]
fn a_conversation_gets_a_title_after_its_first_reply() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    let message =
        "hello,  please tell me everything there is to know about the teapots of the north";
    chat.send("work", "r1", message);
    chat.end("r1");
    let title = || {
        let told = listed(&gateway, "");
        told[0]["title"].as_str().map(str::to_owned)
    };
    eventually("a title", || title().as_deref() == Some("Blue teapots"));
    let used = good(gateway.get("/api/usage"));
    assert_eq!(used["rows"][0]["calls"], 2, "the title is counted: {used}");
    // It is given once.
    chat.send("work", "r2", "hello again");
    chat.end("r2");
    let got = chat.ask("session.get", json!({ "sessionKey": "work" }));
    assert_eq!(got["title"], "Blue teapots");
    let used = good(gateway.get("/api/usage"));
    assert_eq!(used["rows"][0]["calls"], 3, "{used}");

    let plain = SCRIPT.replace("title:", "# title:");
    let gateway = scripted(&plain, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    chat.send("work", "r1", message);
    chat.end("r1");
    let told = listed(&gateway, "");
    assert_eq!(
        told[0]["title"], "hello, please tell me everything there is to know about\u{2026}",
        "without a model it is the beginning of the message"
    );
    let used = good(gateway.get("/api/usage"));
    assert_eq!(used["rows"][0]["calls"], 1, "{used}");
    chat.ask("session.reset", json!({ "sessionKey": "work" }));
    assert_eq!(listed(&gateway, "")[0]["title"], Value::Null);
}

#[test]
fn conversations_are_pinned_archived_and_put_into_folders() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    for (key, run) in [("a", "r1"), ("b", "r2"), ("c", "r3")] {
        chat.send(key, run, "hello");
        chat.end(run);
    }
    let patch = |key: &str, change: Value| {
        good(gateway.post(&format!("/api/sessions/{key}/patch"), &change))["session"].clone()
    };
    let pinned = patch(
        "a",
        json!({ "pinned": true, "folder": "Work", "label": "Mine" }),
    );
    assert_eq!(
        (&pinned["pinned"], &pinned["folder"], &pinned["label"]),
        (&json!(true), &json!("Work"), &json!("Mine"))
    );
    let changed = json!({ "sessionKey": "b", "archived": true });
    assert_eq!(chat.ask("session.patch", changed)["archived"], true);
    let shown = listed(&gateway, "");
    assert_eq!(
        keys(&shown),
        ["agent:main:a", "agent:main:c"],
        "the pinned one is first"
    );
    assert_eq!(shown[0]["agentId"], "main");
    assert_eq!(shown[0]["messageCount"], 2);
    assert_eq!(keys(&listed(&gateway, "?archived=true")), ["agent:main:b"]);
    let list = chat.ask("sessions.list", json!({ "archived": true }));
    assert_eq!(
        (&list["count"], &list["sessions"][0]["archived"]),
        (&json!(1), &json!(true))
    );
    let list = chat.ask("sessions.list", json!({}));
    assert_eq!(list["count"], 2);
    assert_eq!(list["sessions"][0]["folder"], "Work");

    // Whoever talks in it takes it out of the archive.
    chat.send("b", "r4", "hello");
    chat.end("r4");
    assert_eq!(listed(&gateway, "?archived=true"), Vec::<Value>::new());
    let freed = patch("a", json!({ "folder": "", "pinned": false }));
    assert_eq!(
        (&freed["folder"], &freed["pinned"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(freed["label"], "Mine", "what was not named stays");
    for wrong in [
        json!({ "folder": "x".repeat(101) }),
        json!({ "folder": "a\nb" }),
    ] {
        let refused = gateway.post("/api/sessions/a/patch", &wrong);
        assert_eq!(refused.status, 400, "{}", refused.text());
    }
    let odd = json!({ "sessionKey": "a", "folder": "x".repeat(101) });
    assert_eq!(chat.refused("session.patch", odd), 400);
}

#[test]
fn whoever_may_see_a_session_is_told_that_it_changed() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let bot = gateway.client("bot");
    let mut owner = gateway.ws();
    let mut theirs = crate::socket::Socket::connect(gateway.addr, &bot);
    let changed = |socket: &mut crate::socket::Socket| loop {
        let frame = socket.frame().expect("an open socket");
        if frame["event"] == "session.changed" {
            return frame["payload"]["sessionKey"]
                .as_str()
                .expect("a key")
                .to_owned();
        }
    };
    let patch = |token: &str, key: &str| {
        let path = format!("/api/sessions/{key}/patch");
        let request = Request::post(&path, &json!({ "pinned": true })).bearer(token);
        assert_eq!(request.send(gateway.addr).status, 200);
    };
    let say = |token: &str, key: &str| {
        let body = json!({ "message": "hello", "sessionKey": key });
        let request = Request::post("/api/chat", &body).bearer(token);
        assert_eq!(request.send(gateway.addr).status, 200);
    };
    say(&gateway.owner, "secret");
    assert_eq!(changed(&mut owner), "agent:main:secret", "it appeared");
    patch(&gateway.owner, "secret");
    say(&bot, "own");
    let own = "agent:main:client:bot:own";
    assert_eq!(changed(&mut theirs), own, "the first that they are told of");
    patch(&bot, "own");
    while changed(&mut owner) != own {}
}

#[test]
fn messages_are_found_as_they_are_typed_by_whoever_may_see_them() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let bot = gateway.client("bot");
    let mut chat = Chat::owner(&gateway);
    for at in 0..30 {
        let run = format!("r{at}");
        chat.send("long", &run, &format!("hello number{at}"));
        chat.end(&run);
    }
    chat.send("long", "tea", "what is a teapot");
    chat.end("tea");
    let mut theirs = Chat::with(&gateway, &bot);
    theirs.send("own", "t1", "my teapot");
    theirs.end("t1");
    let search = |token: &str, query: &str| {
        let path = format!("/api/search?query={query}");
        let answer = Request::get(&path).bearer(token).send(gateway.addr);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["result"].clone()
    };
    let found = search(&gateway.owner, "teapo");
    let matches = found["matches"].as_array().expect("matches");
    assert_eq!(matches.len(), 4, "{found:#}");
    let steeping = search(&gateway.owner, "vessel%20steepi");
    let one = &steeping["matches"][0];
    for each in matches.iter().chain([one]) {
        let snippet: Vec<u16> = each["snippet"]
            .as_str()
            .expect("a text")
            .encode_utf16()
            .collect();
        let marks = each["marks"].as_array().expect("marks");
        assert!(!marks.is_empty(), "{each}");
        for mark in marks {
            let at = |end: usize| mark[end].as_u64().expect("a place") as usize;
            let marked = String::from_utf16(&snippet[at(0)..at(1)]).expect("text");
            assert!(
                ["teapo", "vessel", "steepi"].contains(&marked.as_str()),
                "{marked}"
            );
        }
    }
    assert!(
        one["sessionKey"]
            .as_str()
            .is_some_and(|key| key.contains(":main:"))
    );
    let theirs = search(&bot, "teapo");
    let theirs: Vec<&str> = keys(theirs["matches"].as_array().expect("matches"));
    assert_eq!(theirs, ["agent:main:client:bot:own"; 2]);
    assert_eq!(search(&bot, "number7")["matches"], json!([]));
    assert_eq!(
        search(&gateway.owner, "teapo&agent=researcher")["matches"],
        json!([])
    );
    let few = search(&gateway.owner, "teapo&limit=1");
    assert_eq!(
        (few["matches"].as_array().map(Vec::len), &few["more"]),
        (Some(1), &json!(true))
    );
    assert_eq!(search(&gateway.owner, "%21")["matches"], json!([]));

    // A match leads to the page around it.
    let found = search(&gateway.owner, "number7");
    let seq = found["matches"][0]["seq"].as_i64().expect("a number");
    let around = json!({ "sessionKey": "long", "around": seq, "limit": 10 });
    let page = chat.ask("session.history", around);
    let numbers = |page: &Value| -> Vec<i64> {
        let messages = page["messages"].as_array().expect("messages").iter();
        messages
            .map(|one| one["seq"].as_i64().expect("a number"))
            .collect()
    };
    assert_eq!(numbers(&page), (seq - 5..seq + 5).collect::<Vec<_>>());
    assert_eq!(page["nextBefore"], seq - 5);
    assert_eq!(page["nextAfter"], seq + 4);
    assert_eq!(page["running"], Value::Null);
    let after = json!({ "sessionKey": "long", "after": 59, "limit": 10 });
    let page = chat.ask("session.history", after);
    assert_eq!(numbers(&page), [60, 61]);
    assert_eq!(page["nextAfter"], Value::Null, "the end");
    let both = json!({ "sessionKey": "long", "around": 3, "before": 9 });
    assert_eq!(chat.refused("session.history", both), 400);
    let listed = good(gateway.get(&format!(
        "/api/sessions/long/messages?around={seq}&limit=10"
    )));
    assert_eq!(numbers(&listed), (seq - 5..seq + 5).collect::<Vec<_>>());
    assert_eq!(listed["nextAfter"], seq + 4);
}

#[test]
fn a_branch_continues_from_an_earlier_message() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    let key = "agent:researcher:long";
    let model = json!({ "sessionKey": key, "settings": { "maxTokens": 99 } });
    chat.ask("session.patch", model);
    for run in ["r1", "r2"] {
        chat.send(key, run, &format!("hello {run}"));
        chat.end(run);
    }
    let history = |chat: &mut Chat, key: &str| {
        let told = chat.ask("session.history", json!({ "sessionKey": key }));
        told["messages"].as_array().expect("messages").clone()
    };
    let before = history(&mut chat, key);
    let params = json!({ "sessionKey": key, "seq": 2, "label": "Otherwise" });
    let fresh = chat.ask("session.branch", params)["sessionKey"].clone();
    let fresh = fresh.as_str().expect("a key");
    assert!(fresh.starts_with("agent:researcher:talk-"), "{fresh}");
    assert_eq!(history(&mut chat, fresh), before[..2]);
    assert_eq!(history(&mut chat, key), before, "the original stays");
    let got = chat.ask("session.get", json!({ "sessionKey": fresh }));
    assert_eq!(got["settings"]["maxTokens"], 99);
    assert_eq!(got["label"], "Otherwise");
    assert_eq!(got["tokens"]["total"], 0, "nothing was spent in it");
    chat.send(fresh, "b1", "hello there");
    chat.end("b1");
    assert_eq!(history(&mut chat, fresh).len(), 4);
    assert_eq!(history(&mut chat, key), before);

    for seq in [1, 9, -1] {
        let params = json!({ "sessionKey": key, "seq": seq });
        assert_eq!(chat.refused("session.branch", params), 400, "{seq}");
    }
    let bot = gateway.client("bot");
    let branch = |token: &str, key: &str| {
        let path = format!("/api/sessions/{key}/branch");
        let request = Request::post(&path, &json!({ "seq": 0 })).bearer(token);
        request.send(gateway.addr)
    };
    assert_eq!(branch(&bot, key).status, 403);
    let mut theirs = Chat::with(&gateway, &bot);
    theirs.send("own", "t1", "hello");
    theirs.end("t1");
    let made = good(branch(&bot, "own"));
    let made = made["sessionKey"].as_str().expect("a key");
    assert!(made.starts_with("agent:main:client:bot:talk-"), "{made}");
    let noted = gateway.audit();
    let noted = noted
        .iter()
        .filter(|entry| entry["tool"] == "session.branch");
    assert_eq!(noted.count(), 2);
}

#[test]
fn sub_agents_are_shown_with_the_call_that_started_them_and_can_be_stopped() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "delegate");
    assert_eq!(chat.end("r1")["text"], "They were counted.");
    let tree = |token: &str, key: &str| {
        let path = format!("/api/sessions/{key}/tree");
        Request::get(&path).bearer(token).send(gateway.addr)
    };
    let sessions = |gateway_answer: crate::http::Response| {
        let told = good(gateway_answer);
        told["sessions"].as_array().expect("sessions").clone()
    };
    let told = sessions(tree(&gateway.owner, "main"));
    assert_eq!(told.len(), 1, "{told:#?}");
    let one = &told[0];
    assert_eq!(
        (
            &one["parentCallId"],
            &one["state"],
            &one["title"],
            &one["agentId"]
        ),
        (
            &json!("s1"),
            &json!("done"),
            &json!("count teapots"),
            &json!("main")
        )
    );
    assert_eq!(one["parentKey"], "agent:main:main");

    chat.send("main", "r2", "hang");
    let running = || {
        let told = sessions(tree(&gateway.owner, "main"));
        told.into_iter().find(|one| one["state"] == "running")
    };
    eventually("it works", || running().is_some());
    let sub = running().expect("a session")["sessionKey"].clone();
    let stopped = chat.ask("chat.stop", json!({ "sessionKey": sub }));
    assert_eq!(stopped["stopped"], true);
    chat.until("r2", "final");
    let told = sessions(tree(&gateway.owner, "main"));
    assert_eq!(told[1]["state"], "stopped", "{told:#?}");
    let bot = gateway.client("bot");
    assert_eq!(tree(&bot, "agent:main:main").status, 403);
}

#[test]
fn a_session_tells_its_size_and_its_model() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "hello");
    chat.end("r1");
    let got = chat.ask("session.get", json!({ "sessionKey": "main" }));
    assert_eq!(got["context"], json!({ "used": 129, "limit": 120_000 }));
    assert_eq!(
        got["model"],
        json!({ "provider": "scripted", "id": "demo" })
    );
    let shown = good(gateway.get("/api/sessions/main"))["session"].clone();
    assert_eq!(shown["context"], got["context"]);
    assert_eq!(shown["model"], "scripted/demo");
    let own = json!({ "model": { "provider": "scripted", "id": "other" } });
    chat.ask(
        "session.patch",
        json!({ "sessionKey": "main", "settings": own }),
    );
    chat.ask("session.rewind", json!({ "sessionKey": "main", "seq": 0 }));
    let got = chat.ask("session.get", json!({ "sessionKey": "main" }));
    assert_eq!(got["context"]["used"], 0, "nothing is left");
    assert_eq!(got["model"]["id"], "other");
}

/// A provider that transcribes; what it received.
fn ears() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            // The body ends with the last boundary of the form.
            while !request.ends_with(b"--\r\n") {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend(&piece[..read]),
                }
            }
            let _ = tell.send(String::from_utf8_lossy(&request).into_owned());
            let body = r#"{"text":" buy some tea "}"#;
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (url, told)
}

#[test]
fn a_recording_is_transcribed_by_the_configured_provider() {
    let (url, told) = ears();
    let provider = format!(
        "[channels.transcription]\nprovider = \"ears\"\n[models.providers.ears]\nkind = \"openai\"\nbase_url = {url:?}\n"
    );
    let send = |gateway: &Gateway, kind: &str, body: &[u8]| {
        let request = Request::new("POST", "/api/transcribe").bearer(&gateway.owner);
        gateway.send(&request.header("content-type", kind).body(body.to_vec()))
    };
    let gateway = scripted(SCRIPT, &provider);
    assert_eq!(good(gateway.get("/api/session"))["transcription"], true);
    // Larger than other requests may be.
    let recording = vec![7; 9 * 1024 * 1024];
    let text = good(send(&gateway, "audio/webm;codecs=opus", &recording));
    assert_eq!(text, json!({ "text": "buy some tea" }));
    let asked = told.recv().expect("a request");
    assert!(
        asked.contains("filename=\"speech.webm\""),
        "{}",
        &asked[..500]
    );
    assert_eq!(send(&gateway, "text/plain", b"x").status, 400);
    assert_eq!(send(&gateway, "audio/webm", b"").status, 400);
    let large = vec![7; 25 * 1024 * 1024 + 1];
    assert_eq!(send(&gateway, "audio/webm", &large).status, 413);

    let gateway = scripted(SCRIPT, "");
    assert_eq!(good(gateway.get("/api/session"))["transcription"], false);
    let refused = send(&gateway, "audio/webm", b"x");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert_eq!(refused.json()["details"]["failure"], "not_configured");
}
