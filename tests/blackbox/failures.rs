//! What a model's provider refuses keeps its kind on every face: the status, the word for
//! programs, and how long to wait.

use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_http::{Events, scripted};
use crate::harness::Gateway;
use crate::http::{Request, Response};

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: hello }
    text: Good morning.
  - when: { user: limited }
    error: { kind: rate_limited, message: too fast, retry_after_seconds: 3600 }
  - when: { user: stranger }
    error: { kind: auth, message: the key is wrong }
  - when: { user: malformed }
    error: { kind: bad_request, message: it does not like this }
  - when: { user: endless }
    error: { kind: context_overflow, message: too long }
  - when: { user: work }
    calls: [{ name: gsv__WriteFile, arguments: { path: a.md, content: a } }]
  - when: { result_of: gsv__WriteFile }
    error: { kind: rate_limited, message: too fast, retry_after_seconds: 3600 }
"#;

fn said(gateway: &Gateway, message: &str) -> Response {
    gateway.post("/api/chat", &json!({ "message": message }))
}

fn completed(gateway: &Gateway, message: &str) -> Response {
    let ask =
        json!({ "model": "agent/main", "messages": [{ "role": "user", "content": message }] });
    gateway.post("/v1/chat/completions", &ask)
}

#[test]
fn a_provider_refusal_has_its_own_status_and_code() {
    let gateway = scripted(SCRIPT, "");
    for (message, status, code, failure) in [
        ("limited", 429, "rate_limited", "provider_rate_limited"),
        ("stranger", 502, "failed", "provider_auth"),
        ("malformed", 502, "failed", "provider_bad_request"),
        ("endless", 413, "too_large", "context_overflow"),
    ] {
        let refused = said(&gateway, message);
        let told = refused.json();
        assert_eq!(refused.status, status, "{message}: {told}");
        assert_eq!(told["code"], code, "{message}: {told}");
        assert_eq!(told["details"]["failure"], failure, "{message}: {told}");
        let wait = refused.header("retry-after");
        assert_eq!(wait, (status == 429).then_some("3600"), "{message}");
        let body = json!({ "message": message });
        let streamed = Events::chat(&gateway, &gateway.owner, &body).rest();
        let (name, error) = streamed.last().expect("an end");
        assert_eq!(
            (name.as_str(), &error["code"], &error["failure"]),
            ("error", &json!(code), &json!(failure))
        );
    }
    assert_eq!(said(&gateway, "hello").status, 200, "the control");
}

#[test]
fn openai_clients_get_the_providers_message() {
    let gateway = scripted(SCRIPT, "");
    for (message, status, kind, code) in [
        ("limited", 429, "rate_limit_error", "rate_limit_exceeded"),
        ("stranger", 502, "server_error", "provider_auth"),
        ("malformed", 502, "server_error", "provider_bad_request"),
        (
            "endless",
            413,
            "invalid_request_error",
            "context_length_exceeded",
        ),
    ] {
        let refused = completed(&gateway, message);
        let told = refused.json();
        assert_eq!(refused.status, status, "{message}: {told}");
        let error = &told["error"];
        assert_eq!(
            (&error["type"], &error["code"]),
            (&json!(kind), &json!(code)),
            "{message}: {told}"
        );
    }
    let limited = completed(&gateway, "limited");
    assert_eq!(limited.header("retry-after"), Some("3600"));
    assert_eq!(limited.header("x-should-retry"), None, "nothing was done");
    let acted = completed(&gateway, "work");
    assert_eq!(acted.status, 429, "{}", acted.text());
    assert_eq!(
        acted.header("x-should-retry"),
        Some("false"),
        "a file was written; asking again would write it again"
    );
    let answered = completed(&gateway, "hello").json();
    assert_eq!(
        answered["choices"][0]["finish_reason"], "stop",
        "the control"
    );
}

#[test]
fn the_command_line_shows_retry_after() {
    let gateway = scripted(SCRIPT, "");
    let ran = gateway.cli(&["chat", "limited"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("retry in 3600 s"), "{ran:?}");
    let ran = gateway.cli(&["chat", "--json", "limited"]);
    let told: Value = serde_json::from_str(&ran.stdout).expect("one object");
    assert_eq!(told["failure"], "provider_rate_limited", "{told}");
    assert_eq!(told["code"], "rate_limited", "{told}");
    let wait = Duration::from_secs(3_600).as_millis();
    assert_eq!(
        told["retryAfterMs"],
        json!(u64::try_from(wait).expect("small"))
    );
    let ran = gateway.cli(&["chat", "hello"]);
    assert_eq!(
        (ran.code, ran.stdout.trim()),
        (Some(0), "Good morning."),
        "the control"
    );
}

#[test]
fn a_client_lists_its_own_sessions_by_pages() {
    let gateway = scripted(SCRIPT, "");
    let token = gateway.client("ada");
    let ask = |method: &str, path: &str, body: &Value| {
        let request = match method {
            "GET" => Request::get(path),
            _ => Request::post(path, body),
        };
        request.bearer(&token).send(gateway.addr)
    };
    for name in ["a", "b", "c"] {
        let body = json!({ "message": "hello", "sessionKey": name });
        let said = ask("POST", "/api/chat", &body);
        assert_eq!(said.status, 200, "{}", said.text());
    }
    assert_eq!(said(&gateway, "hello").status, 200);
    let none = Value::Null;
    let page = ask("GET", "/api/sessions?limit=2&offset=1", &none).json();
    let page = &page["result"];
    assert_eq!(
        (&page["total"], &page["count"]),
        (&json!(3), &json!(2)),
        "{page}"
    );
    let all = ask("GET", "/api/sessions", &none).json();
    let all = all["result"]["sessions"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(all.len(), 3, "{all:?}");
    let own = |one: &Value| {
        one["sessionKey"]
            .as_str()
            .expect("a key")
            .contains(":client:ada:")
    };
    assert!(all.iter().all(own), "{all:?}");
    assert_eq!(page["sessions"][0], all[1]);
}
