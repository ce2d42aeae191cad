//! Talking to an agent over HTTP: streams, answers, stops, questions to the owner, rights.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually};
use crate::http::{PATIENCE, Request};

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: write it }
    deltas: [I write.]
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
  - when: { user: broken }
    error: { kind: bad_request, message: it does not like this }
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: hello }
    thinking: hm
    deltas: ["Good ", "morning."]
    usage: { input: 120, output: 9 }
"#;

const ASK: &str = r#"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
reason = "writing needs a nod"
"#;

/// A gateway whose model replays a script, with more settings.
#[track_caller]
pub fn scripted(script: &str, more: &str) -> Gateway {
    let home = Home::new();
    let file = home.outside("script.yaml");
    std::fs::write(&file, script).expect("the script");
    let config = format!(
        "{more}\n[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {file:?}\n"
    );
    Gateway::on(home.with_config(&config))
}

/// A stream of events, read as they come.
pub struct Events {
    lines: BufReader<TcpStream>,
    pub head: String,
}

impl Events {
    /// Says something and reads the head of the answer.
    #[track_caller]
    pub fn chat(gateway: &Gateway, token: &str, body: &Value) -> Self {
        let request = Request::post("/api/chat", body)
            .bearer(token)
            .header("Accept", "text/event-stream");
        // In the older version the body ends with the connection, and is not in chunks.
        let bytes = request.bytes(&gateway.addr.to_string());
        let bytes = String::from_utf8(bytes).expect("text");
        let bytes = bytes.replacen(" HTTP/1.1\r\n", " HTTP/1.0\r\n", 1);
        let mut stream = TcpStream::connect(gateway.addr).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(bytes.as_bytes()).expect("a request");
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).expect("a head"), 0, "{head}");
        }
        Self { lines, head }
    }

    /// The next event; `None` at the end.
    #[track_caller]
    pub fn next(&mut self) -> Option<(String, Value)> {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", value)) => name = value.to_owned(),
                Some(("data", value)) => data.push_str(value),
                _ if !data.is_empty() => {
                    return Some((name, serde_json::from_str(&data).expect("JSON")));
                }
                _ => {}
            }
        }
    }

    /// Reads on to an event of that name.
    #[track_caller]
    pub fn until(&mut self, name: &str) -> Value {
        let mut seen = Vec::new();
        while let Some((next, data)) = self.next() {
            if next == name {
                return data;
            }
            seen.push(next);
        }
        panic!("no {name} came after {seen:?}");
    }

    /// Everything that is left.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<(String, Value)> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

#[track_caller]
fn stream(gateway: &Gateway, body: Value) -> Events {
    let events = Events::chat(gateway, &gateway.owner, &body);
    assert!(events.head.starts_with("HTTP/1.0 200"), "{}", events.head);
    assert!(events.head.contains("text/event-stream"), "{}", events.head);
    events
}

fn texts(gateway: &Gateway, key: &str) -> Vec<String> {
    let said = gateway.get(&format!("/api/sessions/{key}/messages")).json();
    let messages = said["result"]["messages"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |m: &Value| m["text"].as_str().expect("a text").to_owned();
    messages.iter().map(text).collect()
}

#[test]
fn a_stream_has_all_events_in_order_and_ends_with_the_answer() {
    let gateway = scripted(SCRIPT, "");
    let mut events = stream(&gateway, json!({ "message": "hello", "runId": "r1" }));
    let all = events.rest();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accepted", "thinking", "delta", "delta", "final"]);
    assert_eq!(all[0].1["runId"], "r1");
    assert_eq!(all[1].1, json!({ "text": "hm" }));
    assert_eq!(all[2].1, json!({ "text": "Good " }));
    let last = &all[4].1;
    assert_eq!(last["text"], "Good morning.");
    assert_eq!(
        (&last["runId"], &last["sessionKey"]),
        (&json!("r1"), &json!("agent:main:main"))
    );
    assert_eq!(
        (
            &last["usage"]["inputTokens"],
            &last["usage"]["outputTokens"]
        ),
        (&json!(120), &json!(9))
    );

    let all = stream(&gateway, json!({ "message": "write it" })).rest();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "accepted", "delta", "partial", "tool", "tool", "delta", "final"
        ]
    );
    assert_eq!(
        (&all[3].1["phase"], &all[3].1["tool"]),
        (&json!("started"), &json!("gsv__WriteFile"))
    );
    assert_eq!(all[3].1["arguments"]["path"], "note.md");
    assert_eq!(
        (&all[4].1["phase"], &all[4].1["ok"]),
        (&json!("done"), &json!(true))
    );
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));

    let all = stream(&gateway, json!({ "message": "broken" })).rest();
    let (name, error) = all.last().expect("an end");
    assert_eq!((name.as_str(), &error["code"]), ("error", &json!("failed")));
    assert!(
        error["message"]
            .as_str()
            .expect("words")
            .contains("it does not like this")
    );
}

#[test]
fn without_streaming_the_answer_is_awaited_and_a_repeated_run_is_one() {
    let gateway = scripted(SCRIPT, "");
    let body = json!({ "message": "hello", "runId": "once", "sessionKey": "work" });
    let said = gateway.post("/api/chat", &body).json();
    assert_eq!(said["ok"], true, "{said}");
    let result = &said["result"];
    assert_eq!(
        (&result["text"], &result["runId"]),
        (&json!("Good morning."), &json!("once"))
    );
    assert_eq!(result["sessionKey"], "agent:main:work");
    assert_eq!(result["usage"]["inputTokens"], 120);
    let again = gateway.post("/api/chat", &body).json();
    assert_eq!(again["result"], *result, "told from what is kept");
    let streamed = stream(&gateway, body).rest();
    assert_eq!(streamed.last().expect("an end").1["text"], "Good morning.");
    assert_eq!(texts(&gateway, "work"), ["hello", "Good morning."]);
    let failed = gateway.post("/api/chat", &json!({ "message": "broken" }));
    assert_eq!(
        (failed.status, failed.json()["code"].as_str()),
        (502, Some("failed"))
    );
}

#[test]
fn two_streams_of_one_session_are_separate_and_a_stop_ends_one() {
    let gateway = scripted(SCRIPT, "");
    let mut first = stream(&gateway, json!({ "message": "forever" }));
    assert_eq!(first.until("delta"), json!({ "text": "one" }));
    let mut second = stream(&gateway, json!({ "message": "hello" }));
    assert_eq!(second.until("accepted")["queued"], true);
    let shown = gateway.get("/api/sessions/main").json();
    let shown = &shown["result"]["session"];
    assert_eq!(
        (&shown["busy"], &shown["queued"]),
        (&json!(true), &json!(2))
    );
    let elsewhere = gateway
        .post("/api/chat/stop", &json!({ "sessionKey": "other" }))
        .json();
    assert_eq!(elsewhere["result"]["stopped"], false);
    let stopped = gateway.post("/api/chat/stop", &json!({})).json();
    assert_eq!(stopped["result"]["stopped"], true, "{stopped}");
    let rest = first.rest();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(
        (rest[0].0.as_str(), &rest[0].1["code"]),
        ("error", &json!("cancelled"))
    );
    let names: Vec<String> = second.rest().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["thinking", "delta", "delta", "final"]);
}

#[test]
fn an_approval_pauses_and_resumes_a_run() {
    let gateway = scripted(SCRIPT, ASK);
    let mut events = stream(&gateway, json!({ "message": "write it" }));
    let paused = events.until("paused");
    assert_eq!(paused["tool"], "gsv__WriteFile");
    assert_eq!(paused["arguments"]["content"], "kept");
    assert_eq!(gateway.read("note.md"), None, "nothing was run");
    let approve = |id: &Value| {
        let path = format!("/api/approvals/{}", id.as_str().expect("an id"));
        let said = gateway
            .post(&path, &json!({ "decision": "approve" }))
            .json();
        assert_eq!(said["ok"], true, "{said}");
    };
    approve(&paused["approvalId"]);
    assert_eq!(events.until("final")["text"], "Written.");
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));

    let body = json!({ "message": "write it", "runId": "later", "sessionKey": "work" });
    let waits = gateway.post("/api/chat", &body);
    assert_eq!(waits.status, 202, "{}", waits.text());
    let waits = waits.json()["result"].clone();
    assert_eq!(
        (&waits["status"], &waits["runId"]),
        (&json!("paused"), &json!("later"))
    );
    let again = gateway.post("/api/chat", &body).json();
    assert_eq!(
        again["result"]["approvalId"], waits["approvalId"],
        "{again}"
    );
    approve(&waits["approvalId"]);
    let done = gateway.post("/api/chat?wait=600", &body).json();
    assert_eq!(done["result"]["text"], "Written.", "{done}");
}

#[test]
fn a_run_continues_without_its_client() {
    let gateway = scripted(SCRIPT, ASK);
    let mut events = stream(&gateway, json!({ "message": "write it" }));
    let id = events.until("paused")["approvalId"].clone();
    drop(events);
    let path = format!("/api/approvals/{}", id.as_str().expect("an id"));
    gateway.post(&path, &json!({ "decision": "approve" }));
    eventually("the answer", || {
        texts(&gateway, "main")
            .last()
            .is_some_and(|text| text == "Written.")
    });
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
}

/// A script of one reply in more pieces than a listener is kept, and its whole text.
pub fn torrent() -> (String, String) {
    let pieces: Vec<String> = (0..10_000).map(|n| format!("{n} ")).collect();
    let script = format!("turns: [{{ deltas: {} }}]", json!(pieces));
    (script, pieces.concat())
}

#[test]
fn a_slow_client_is_notified_and_gets_the_whole_answer() {
    let (script, whole) = torrent();
    let gateway = scripted(&script, "");
    let all = stream(&gateway, json!({ "message": "go" })).rest();
    assert!(
        all.iter().any(|(name, _)| name == "gap"),
        "{} events",
        all.len()
    );
    let (name, last) = all.last().expect("an end");
    assert_eq!(
        (name.as_str(), last["text"].as_str()),
        ("final", Some(whole.as_str()))
    );
}

#[test]
fn a_client_uses_only_its_own_sessions() {
    let gateway = scripted(SCRIPT, "");
    let phone = gateway.client("phone");
    let say =
        |token: &str, body: Value| gateway.send(&Request::post("/api/chat", &body).bearer(token));
    let get = |token: &str, path: &str| gateway.send(&Request::get(path).bearer(token));
    let own = say(&phone, json!({ "message": "hello" })).json();
    assert_eq!(
        own["result"]["sessionKey"], "agent:main:client:phone:main",
        "{own}"
    );
    let full = json!({ "message": "hello", "sessionKey": "agent:main:client:phone:x" });
    assert_eq!(say(&phone, full).status, 200);
    for key in [
        "agent:main:main",
        "agent:main:client:tv:main",
        "agent:main:client:phoney:x",
    ] {
        let refused = say(&phone, json!({ "message": "hello", "sessionKey": key }));
        assert_eq!(refused.status, 403, "{key}: {}", refused.text());
        assert_eq!(
            gateway.get(&format!("/api/sessions/{key}")).status,
            404,
            "nothing was made"
        );
        assert_eq!(
            get(&phone, &format!("/api/sessions/{key}/messages")).status,
            403
        );
        let stop = Request::post("/api/chat/stop", &json!({ "sessionKey": key })).bearer(&phone);
        assert_eq!(gateway.send(&stop).status, 403);
    }
    for role in ["read-only", "node"] {
        let (token, _) = gateway.token(json!({ "name": role, "role": role }));
        assert_eq!(
            say(&token, json!({ "message": "hello" })).status,
            403,
            "{role}"
        );
        assert_eq!(get(&token, "/api/sessions").status, 403, "{role}");
    }
    assert_eq!(
        gateway
            .send(&Request::post("/api/chat", &json!({ "message": "hello" })))
            .status,
        401
    );
    let owners = gateway
        .post("/api/chat", &json!({ "message": "hello" }))
        .json();
    assert_eq!(owners["result"]["sessionKey"], "agent:main:main");
    let keys = |token: &str| -> Vec<String> {
        let listed = get(token, "/api/sessions").json();
        let listed = listed["result"]["sessions"]
            .as_array()
            .expect("sessions")
            .clone();
        let mut keys: Vec<String> = listed
            .iter()
            .map(|s| s["sessionKey"].as_str().expect("a key").to_owned())
            .collect();
        keys.sort();
        keys
    };
    let theirs = ["agent:main:client:phone:main", "agent:main:client:phone:x"];
    assert_eq!(keys(&phone), theirs);
    assert_eq!(
        keys(&gateway.owner),
        [theirs[0], theirs[1], "agent:main:main"]
    );
    for (path, status) in [
        ("/api/models", 403),
        ("/api/usage", 403),
        ("/api/agents", 403),
        ("/api/sessions/main", 200),
    ] {
        assert_eq!(get(&phone, path).status, status, "{path}");
    }
    let patch = |body: Value| {
        gateway.send(&Request::post("/api/sessions/main/patch", &body).bearer(&phone))
    };
    assert_eq!(patch(json!({ "systemPrompt": "obey me" })).status, 403);
    assert_eq!(
        patch(json!({ "label": "mine" })).json()["result"]["session"]["label"],
        "mine"
    );
}

#[test]
fn an_invalid_message_is_refused_and_creates_no_session() {
    let gateway = scripted(SCRIPT, "[limits]\nrequest_bytes = 65536\n");
    let long = "hello ".repeat(20_000);
    for (body, status) in [
        (json!({ "message": "hello", "agentId": "nobody" }), 404),
        (
            json!({ "message": "hello", "sessionKey": "agent:nobody:main" }),
            404,
        ),
        (json!({ "message": "hello", "agentId": "no body" }), 400),
        (json!({ "message": "hello", "sessionKey": "a b" }), 400),
        (json!({ "message": "  " }), 400),
        (json!({ "message": "hello", "runId": "" }), 400),
        (json!({ "message": "hello", "color": "red" }), 400),
        (
            json!({ "message": "hello", "pictures": [{ "data": "?", "mimeType": "image/png" }] }),
            400,
        ),
        (
            json!({ "message": "hello", "pictures": [{ "data": "AAAA", "mimeType": "text/html" }] }),
            400,
        ),
        (json!({ "message": long }), 413),
        (json!({ "message": "/t:low" }), 400),
    ] {
        let refused = gateway.post("/api/chat", &body);
        assert_eq!(refused.status, status, "{}", refused.text());
        assert_eq!(refused.json()["ok"], false);
    }
    assert_eq!(
        gateway
            .post("/api/chat?wait=601", &json!({ "message": "hello" }))
            .status,
        400
    );
    assert_eq!(gateway.get("/api/sessions").json()["result"]["total"], 0);
    let pictures = json!([{ "data": "AAAA", "mimeType": "image/png" }]);
    let control = json!({ "message": "hello ".repeat(2_000), "pictures": pictures });
    assert_eq!(gateway.post("/api/chat", &control).status, 200);
    assert!(texts(&gateway, "main")[0].ends_with("[a picture]"));
}

#[test]
fn a_command_is_answered_and_is_no_message() {
    let gateway = scripted(SCRIPT, "");
    gateway.post("/api/chat", &json!({ "message": "hello" }));
    let said = gateway
        .post("/api/chat", &json!({ "message": "/status" }))
        .json();
    assert_eq!(
        (&said["ok"], &said["result"]["command"]),
        (&json!(true), &json!("status")),
        "{said}"
    );
    let told = stream(&gateway, json!({ "message": "/help" })).rest();
    assert_eq!((told.len(), told[0].0.as_str()), (1, "final"));
    assert!(
        told[0].1["text"]
            .as_str()
            .expect("a text")
            .contains("/compact"),
        "{told:?}"
    );
    assert_eq!(texts(&gateway, "main"), ["hello", "Good morning."]);
}

#[test]
fn without_a_model_the_error_names_the_setting() {
    let gateway = Gateway::start();
    let failed = gateway.post("/api/chat", &json!({ "message": "hello" }));
    assert_eq!(failed.status, 422, "{}", failed.text());
    assert!(
        failed.text().contains("models.default"),
        "{}",
        failed.text()
    );
    let told = stream(&gateway, json!({ "message": "hello" })).rest();
    let (name, error) = told.last().expect("an end");
    assert_eq!(name, "error");
    assert!(error.to_string().contains("models.default"), "{error}");
    let tested = gateway.post("/api/models/test", &json!({}));
    assert_eq!(tested.status, 400, "{}", tested.text());
    assert!(
        tested.text().contains("models.default"),
        "{}",
        tested.text()
    );
}

#[test]
fn models_agents_and_sessions_are_administered() {
    let gateway = scripted(SCRIPT, "[agents.helper]\nmodel = \"scripted/demo\"\n");
    let models = gateway.get("/api/models").json()["result"].clone();
    assert_eq!(models["default"], "scripted/demo");
    let provider = &models["providers"][0];
    assert_eq!(provider["configured"], json!(["scripted/demo"]), "{models}");
    assert_eq!(provider["offered"][0]["model"], "demo");
    assert_eq!(provider["used"][0]["id"], "scripted/demo");
    assert_eq!(provider["used"][0]["price"]["input"], 0.0, "{models}");
    let unknown = gateway.post("/api/models/test", &json!({ "model": "nowhere/x" }));
    assert_eq!(unknown.status, 422, "{}", unknown.text());
    let agents = gateway.get("/api/agents").json()["result"]["agents"].clone();
    assert_eq!(
        (&agents[0]["id"], &agents[1]["id"]),
        (&json!("main"), &json!("helper"))
    );

    for _ in 0..3 {
        let body = json!({ "message": "hello", "agentId": "helper" });
        assert_eq!(gateway.post("/api/chat", &body).status, 200);
    }
    let at = |rest: &str| format!("/api/sessions/agent:helper:main{rest}");
    let page = gateway.get(&at("/messages?limit=2&before=3")).json();
    let seqs: Vec<&Value> = page["result"]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|m| &m["seq"])
        .collect();
    assert_eq!(seqs, [1, 2]);
    let patched = gateway.post(
        &at("/patch"),
        &json!({ "thinkingLevel": "low", "label": "work", "maxTokens": 99 }),
    );
    let patched = patched.json()["result"]["session"].clone();
    assert_eq!(
        patched["settings"],
        json!({ "thinkingLevel": "low", "maxTokens": 99 })
    );
    let back = gateway
        .post(&at("/patch"), &json!({ "thinkingLevel": null }))
        .json();
    assert_eq!(
        back["result"]["session"]["settings"],
        json!({ "maxTokens": 99 })
    );
    assert_eq!(back["result"]["session"]["label"], "work");
    for wrong in [
        json!({ "model": "x" }),
        json!({ "maxTokens": 0 }),
        json!({ "size": 1 }),
    ] {
        assert_eq!(gateway.post(&at("/patch"), &wrong).status, 400, "{wrong}");
    }
    let kept = gateway.post(&at("/compact"), &json!({ "keep": 2 })).json();
    assert_eq!(
        (
            &kept["result"]["trimmedMessages"],
            &kept["result"]["keptMessages"]
        ),
        (&json!(4), &json!(2)),
        "{kept}"
    );
    let reset = gateway.post(&at("/reset"), &json!({})).json();
    assert_eq!(reset["result"]["archivedMessages"], 2, "{reset}");
    assert_eq!(texts(&gateway, "agent:helper:main"), [""; 0]);
    let used = gateway.get("/api/usage?days=1").json()["result"].clone();
    assert_eq!(
        (&used["total"]["calls"], &used["total"]["inputTokens"]),
        (&json!(3), &json!(360))
    );
    assert_eq!(gateway.get("/api/usage?days=0").status, 400);
    assert_eq!(gateway.get(&at("/nothing")).status, 404);
    assert_eq!(gateway.get("/api/sessions?limit=0").status, 400);
    let listed = gateway.get("/api/sessions?agent=main").json();
    assert_eq!(listed["result"]["count"], 0);
}
