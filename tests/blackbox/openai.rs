//! `/v1` as OpenAI's own client sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::chat_http::{Events, scripted, torrent};
use crate::harness::{Gateway, Home, eventually, run};
use crate::http::{Connection, PATIENCE, Request};
use crate::npm::packages;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: write it }
    deltas: ["I ", "write."]
    calls: [{ name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
    usage: { input: 10, output: 2 }
  - when: { result_of: gsv__WriteFile }
    text: Written.
    usage: { input: 20, output: 3 }
  - when: { user: too long }
    deltas: [All that]
    stop: length
  - when: { user: broken }
    error: { kind: bad_request, message: it does not like this }
  - when: { user: breaks later }
    deltas: [Some, " words"]
    error: { kind: refused, message: it will not say more, after_text: true }
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: hello }
    deltas: ["Good ", "morning."]
    usage: { input: 120, output: 9 }
"#;

/// What the client saw of one case.
#[track_caller]
fn client(gateway: &Gateway, case: &str, session: &str) -> Value {
    client_as(gateway, &gateway.owner, case, session)
}

#[track_caller]
fn client_as(gateway: &Gateway, token: &str, case: &str, session: &str) -> Value {
    let mut node = gateway.home.wrap(Command::new("node"));
    node.arg(packages("openai-client").join("client.mjs"))
        .args([case, &gateway.url, token, session]);
    let ran = run(node, "");
    assert_eq!(ran.code, Some(0), "{case}: {ran:?}");
    ran.json()
}

fn sessions(gateway: &Gateway) -> Vec<String> {
    let listed = gateway.get("/api/sessions").json();
    let listed = listed["result"]["sessions"]
        .as_array()
        .expect("sessions")
        .clone();
    let key = |one: &Value| one["sessionKey"].as_str().expect("a key").to_owned();
    listed.iter().map(key).collect()
}

#[test]
fn the_agents_are_the_models() {
    let gateway = scripted(SCRIPT, "[agents.helper]\n");
    let seen = client(&gateway, "models", "");
    let ids: Vec<&Value> = seen["listed"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| &m["id"])
        .collect();
    assert_eq!(ids, ["agent/main", "agent/helper"]);
    assert_eq!(seen["one"], seen["listed"][0]);
    assert_eq!(seen["one"]["object"], "model");
    assert!(seen["one"]["created"].as_i64().expect("a time") > 1_700_000_000);
}

#[test]
fn an_answer_comes_whole_and_leaves_no_session_behind() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "whole", "");
    let plain = &seen["plain"];
    assert_eq!(plain["object"], "chat.completion");
    assert_eq!(plain["choices"][0]["message"]["content"], "Good morning.");
    assert_eq!(plain["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        plain["usage"],
        json!({ "prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129 })
    );
    let tools = &seen["tools"];
    assert_eq!(
        tools["choices"][0]["message"]["content"],
        "I write.\n\nWritten."
    );
    assert_eq!(tools["usage"]["total_tokens"], 35);
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
    assert_eq!(sessions(&gateway), [""; 0], "a request stands for itself");
    let used = gateway.get("/api/usage").json();
    let rows = used["result"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "what was used up stays counted: {used}");
    assert_eq!(rows[0]["sessionKey"], "agent:main:passing");
    assert_eq!(rows[0]["calls"], 3);
    assert_eq!(used["result"]["total"]["inputTokens"], 150);
}

#[test]
fn an_answer_is_streamed() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "stream", "");
    let pieces = |case: &str| seen[case]["all"].as_array().expect("pieces").clone();
    assert_eq!(seen["plain"]["text"], "Good morning.");
    let plain = pieces("plain");
    assert_eq!(plain[0]["choices"][0]["delta"]["role"], "assistant");
    assert!(plain.len() >= 4, "role, two pieces, end: {plain:?}");
    assert!(plain.iter().all(|piece| piece["usage"].is_null()));
    let last = plain.last().expect("an end");
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    let counted = pieces("counted");
    let last = counted.last().expect("an end");
    assert_eq!(
        (&last["choices"], &last["usage"]["total_tokens"]),
        (&json!([]), &json!(129))
    );
    assert_eq!(seen["tools"]["text"], "I write.\n\nWritten.");
    let cut = pieces("cut");
    let last = cut.last().expect("an end");
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    assert_eq!(seen["cut"]["text"], "All that");
    assert_eq!(sessions(&gateway), [""; 0]);
}

#[test]
fn merged_deltas_are_complete_at_the_end() {
    let (script, whole) = torrent();
    let gateway = scripted(&script, "");
    let body = json!({ "model": "main", "stream": true, "messages": [{ "role": "user", "content": "go" }] });
    let told = gateway.post("/v1/chat/completions", &body).text();
    let pieces = told.lines().filter_map(|line| line.strip_prefix("data: {"));
    let text = pieces.filter_map(|piece| {
        let piece: Value = serde_json::from_str(&format!("{{{piece}")).expect("JSON");
        Some(piece["choices"][0]["delta"]["content"].as_str()?.to_owned())
    });
    assert_eq!(text.collect::<String>(), whole);
    assert!(told.trim_end().ends_with("data: [DONE]"), "it has its end");
}

#[test]
fn what_a_crash_left_of_a_request_is_removed_once_it_is_done() {
    let ask =
        "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\nreason = \"a nod\"\n";
    let gateway = scripted(SCRIPT, ask);
    let body = json!({ "model": "main", "stream": true, "messages": [{ "role": "user", "content": "write it" }] });
    let request = Request::post("/v1/chat/completions", &body).bearer(&gateway.owner);
    let mut stream = Connection::open(gateway.addr).expect("a connection");
    let bytes = request.bytes(stream.host());
    stream.write(&bytes).expect("a request");
    let waiting = |gateway: &Gateway| {
        let listed = gateway.get("/api/approvals").json();
        listed["result"]["approvals"][0]["id"]
            .as_str()
            .map(str::to_owned)
    };
    eventually("the question", || waiting(&gateway).is_some());
    let gateway = Gateway::on(gateway.kill9());
    eventually("the run goes on", || waiting(&gateway).is_some());
    let id = waiting(&gateway).expect("a question");
    gateway.cli(&["approvals", "approve", &id]).ok();
    let left = sessions(&gateway);
    assert!(left[0].starts_with("agent:main:passing:"), "{left:?}");
    eventually("its end", || {
        let kept = gateway.get(&format!("/api/sessions/{}", left[0])).json();
        kept["result"]["session"]["queued"] == 0
    });
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
    let gateway = gateway.restart();
    let body = json!({ "model": "main", "messages": [{ "role": "user", "content": "hello" }] });
    assert_eq!(gateway.post("/v1/chat/completions", &body).status, 200);
    assert_eq!(sessions(&gateway), [""; 0]);
}

#[test]
fn a_named_session_receives_only_the_last_message() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "durable", "work");
    for how in ["header", "metadata", "user"] {
        let said = &seen[how]["choices"][0]["message"]["content"];
        assert_eq!(said, "Good morning.", "{how}: {seen}");
    }
    assert_eq!(sessions(&gateway), ["agent:main:work"]);
    let kept = gateway.get("/api/sessions/work/messages").json();
    let kept = kept["result"]["messages"]
        .as_array()
        .expect("messages")
        .clone();
    let texts: Vec<&str> = kept
        .iter()
        .map(|m| m["text"].as_str().expect("a text"))
        .collect();
    let answer = "Good morning.";
    assert_eq!(
        texts,
        ["hello, look at this\n[a picture]", answer, "hello", answer],
        "`user` names no session"
    );
    let phone = gateway.client("phone");
    client_as(&gateway, &phone, "durable", "work");
    assert_eq!(
        sessions(&gateway),
        ["agent:main:client:phone:work", "agent:main:work"]
    );
}

#[test]
fn errors_are_those_of_the_clients_own_classes() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "errors", "");
    for (case, class, status, code, param) in [
        ("key", "AuthenticationError", 401, "invalid_api_key", ""),
        ("model", "NotFoundError", 404, "model_not_found", "model"),
        ("retrieve", "NotFoundError", 404, "model_not_found", "model"),
        (
            "tools",
            "BadRequestError",
            400,
            "invalid_value",
            "tools[1].function",
        ),
        (
            "temperature",
            "BadRequestError",
            400,
            "invalid_value",
            "temperature",
        ),
        ("streamed", "BadRequestError", 400, "invalid_value", "stop"),
        (
            "image",
            "BadRequestError",
            400,
            "invalid_value",
            "messages[0].content[0]",
        ),
        ("session", "BadRequestError", 400, "invalid_value", "tools"),
        (
            "failed",
            "InternalServerError",
            502,
            "provider_bad_request",
            "",
        ),
        (
            "failedStream",
            "InternalServerError",
            502,
            "provider_bad_request",
            "",
        ),
        ("nowhere", "NotFoundError", 404, "not_found", ""),
    ] {
        let error = &seen[case];
        assert_eq!(error["class"], class, "{case}: {error}");
        assert_eq!(error["status"], status, "{case}: {error}");
        assert_eq!(error["code"], code, "{case}: {error}");
        assert_eq!(
            error["param"].as_str().unwrap_or_default(),
            param,
            "{case}: {error}"
        );
    }
    let failed = seen["failed"]["message"].as_str().expect("a message");
    assert!(failed.contains("it does not like this"), "{failed}");
    let cut = &seen["cutStream"];
    assert_eq!(cut["class"], "APIError", "{cut}");
    assert!(
        cut["message"]
            .as_str()
            .expect("a message")
            .contains("it will not say more"),
        "{cut}"
    );
    assert_eq!(seen["control"], "Good morning.");
    assert_eq!(
        sessions(&gateway),
        [""; 0],
        "a refusal leaves nothing behind"
    );
}

#[test]
fn a_full_queue_is_a_rate_limit() {
    let gateway = scripted(SCRIPT, "[sessions]\nmax_queued = 1\n");
    let mut first = Events::chat(
        &gateway,
        &gateway.owner,
        &json!({ "message": "forever", "sessionKey": "work" }),
    );
    first.until("delta");
    let error = client(&gateway, "busy", "work");
    assert_eq!(
        (&error["class"], &error["status"]),
        (&json!("RateLimitError"), &json!(429)),
        "{error}"
    );
    assert_eq!(error["code"], "rate_limit_exceeded");
    gateway.post("/api/chat/stop", &json!({ "sessionKey": "work" }));
    first.until("error");
    let control = client(&gateway, "busy", "other");
    assert_eq!(
        control["answered"]["choices"][0]["message"]["content"],
        "Good morning."
    );
}

#[test]
fn tokens_without_chat_rights_are_refused_in_the_clients_format() {
    let gateway = scripted(SCRIPT, "");
    let body = json!({ "model": "main", "messages": [{ "role": "user", "content": "hello" }] });
    for role in ["read-only", "node"] {
        let (token, _) = gateway.token(json!({ "name": role, "role": role }));
        for request in [
            Request::get("/v1/models"),
            Request::post("/v1/chat/completions", &body),
        ] {
            let refused = gateway.send(&request.bearer(&token));
            assert_eq!(refused.status, 403, "{}", refused.text());
            assert_eq!(refused.json()["error"]["type"], "permission_error");
        }
    }
    let huge = json!({ "model": "main", "messages": [{ "role": "user", "content": "x".repeat(40 << 20) }] });
    let refused = gateway.post("/v1/chat/completions", &huge);
    assert_eq!(
        (refused.status, refused.json()["error"]["code"].as_str()),
        (413, Some("request_too_large"))
    );
    assert_eq!(sessions(&gateway), [""; 0]);
    assert_eq!(gateway.post("/v1/chat/completions", &body).status, 200);
}

#[test]
fn the_clients_own_parser_assembles_the_stream() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "helper", "");
    let choice = &seen["whole"]["choices"][0];
    assert_eq!(choice["message"]["content"], "I write.\n\nWritten.");
    assert_eq!(
        (&choice["message"]["role"], &choice["finish_reason"]),
        (&json!("assistant"), &json!("stop"))
    );
    assert_eq!(seen["whole"]["object"], "chat.completion");
    assert_eq!(seen["usage"]["total_tokens"], 35, "{seen}");
}

#[test]
fn a_disconnected_client_stops_the_model_and_leaves_nothing() {
    let gateway = scripted(SCRIPT, "");
    let seen = client(&gateway, "abort", "");
    assert_eq!(seen["heard"], "one", "{seen}");
    eventually("the session to go", || sessions(&gateway).is_empty());
    let seen = client(&gateway, "abortWhole", "");
    assert_eq!(seen["class"], "APIUserAbortError", "{seen}");
    eventually("the session to go", || sessions(&gateway).is_empty());
    let seen = client(&gateway, "abort", "work");
    assert_eq!(seen["heard"], "one", "{seen}");
    let kept = gateway.get("/api/sessions/work").json();
    assert_eq!(
        kept["result"]["session"]["busy"], true,
        "a named session can be read later, so it goes on: {kept}"
    );
    let stopped = gateway
        .post("/api/chat/stop", &json!({ "sessionKey": "work" }))
        .json();
    assert_eq!(stopped["result"]["stopped"], true);
}

/// A server of models that answers every question alike and shows what it was asked.
fn server() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (asked, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let _ = asked.send(serde_json::from_slice(&body).expect("JSON"));
            let piece = json!({ "id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [{ "index": 0, "delta": { "content": "{\"a\":\"b\"}" }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 5, "completion_tokens": 2 } });
            let body = format!("data: {piece}\n\ndata: [DONE]\n\n");
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    (url, seen)
}

#[test]
fn the_whole_conversation_reaches_the_model() {
    let (url, seen) = server();
    let gateway = Gateway::on(Home::new().with_config(&format!(
        "[models]\ndefault = \"here/m\"\n[models.providers.here]\nkind = \"openai\"\nbase_url = \"{url}\"\n"
    )));
    let answer = client(&gateway, "talk", "");
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"a\":\"b\"}");
    let asked = seen.recv_timeout(PATIENCE).expect("a question");
    let messages = asked["messages"].as_array().expect("messages");
    let (system, talk): (Vec<&Value>, Vec<&Value>) = messages
        .iter()
        .partition(|m| m["role"] == "system" || m["role"] == "developer");
    let system = json!(system).to_string();
    assert!(system.contains("be brief"), "{system}");
    let said = json!(talk).to_string();
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    assert!(at("first question") < at("first answer"));
    assert!(at("first answer") < at("hello, look at this"));
    assert!(said.contains("data:image/png;base64,iVBORw0KGgo"), "{said}");
    let most = asked["max_completion_tokens"]
        .as_u64()
        .or(asked["max_tokens"].as_u64());
    assert_eq!(most, Some(321), "{asked}");
    assert_eq!(asked["reasoning_effort"], "low", "{asked}");
    assert!(
        asked["response_format"]
            .to_string()
            .contains("\"required\":[\"a\"]"),
        "{asked}"
    );
    let phone = gateway.client("phone");
    client_as(&gateway, &phone, "talk", "");
    let asked = seen.recv_timeout(PATIENCE).expect("a question").to_string();
    for words in ["be brief", "first question", "hello, look at this"] {
        let before = asked.split(words).next().expect("words");
        assert!(
            before.ends_with("\\n"),
            "the words of others are data: {asked}"
        );
        assert!(
            before.contains("<data source=\\\"person:phone\\\""),
            "{asked}"
        );
    }
}
