//! Clients of 2025-11-25 and before at `/mcp`: their sessions, their cancellations, their mistakes.

use serde_json::{Value, json};

use super::changes::{Events, Laptop};
use super::{Era, Pipe, message, request};
use crate::abuse_host::{Mark, lingering, mark, marked};
use crate::harness::{Gateway, eventually};
use crate::http::{Connection, Request, Response};

const VERSION: &str = "2025-11-25";

fn post(body: &Value, token: &str, session: Option<&str>) -> Request {
    let request = Request::post("/mcp?profile=all", body)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", VERSION)
        .bearer(token);
    match session {
        Some(session) => request.header("Mcp-Session-Id", session),
        None => request,
    }
}

fn hello() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
    message(Era::Initialize, 0, "initialize", params)
}

/// Shakes hands; the session that was given.
#[track_caller]
fn begin(gateway: &Gateway, token: &str) -> String {
    let greeted = gateway.send(&post(&hello(), token, None));
    assert_eq!(greeted.status, 200, "{}", greeted.text());
    greeted.header("mcp-session-id").expect("an id").to_owned()
}

#[track_caller]
fn ping(gateway: &Gateway, token: &str, session: Option<&str>) -> Response {
    let body = message(Era::Initialize, 9, "ping", json!({}));
    gateway.send(&post(&body, token, session))
}

fn stream(token: &str, session: &str) -> Request {
    Request::get("/mcp?profile=all")
        .header("Accept", "text/event-stream")
        .header("MCP-Protocol-Version", VERSION)
        .header("Mcp-Session-Id", session)
        .bearer(token)
}

fn delete(token: &str, session: Option<&str>) -> Request {
    let request = Request::new("DELETE", "/mcp").bearer(token);
    match session {
        Some(session) => request.header("Mcp-Session-Id", session),
        None => request,
    }
}

#[test]
fn a_session_is_its_clients_alone_and_outlives_a_restart() {
    let gateway = Gateway::settled();
    let (owner, other) = (gateway.owner.clone(), gateway.client("other"));
    let session = begin(&gateway, &owner);
    assert_ne!(session, begin(&gateway, &owner), "each has one of its own");
    assert!(session.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_eq!(ping(&gateway, &owner, Some(&session)).status, 200);
    assert_eq!(ping(&gateway, &other, Some(&session)).status, 404);
    let refused = ping(&gateway, &owner, Some("nonsense"));
    assert_eq!(refused.status, 404);
    assert!(refused.text().contains("initialize"), "{}", refused.text());
    assert_eq!(
        Events::open(gateway.addr, &stream(&other, &session)).status,
        404
    );
    let modern = request(Era::Stateless, "tools/list", json!({}), Some(&owner));
    let greeted = gateway.send(&modern);
    assert_eq!(greeted.status, 200);
    assert_eq!(greeted.header("mcp-session-id"), None, "it has no sessions");

    let address = gateway.addr;
    let gateway = Gateway::at(gateway.kill9(), address);
    assert_eq!(ping(&gateway, &owner, Some(&session)).status, 200);
    let mut events = Events::open(gateway.addr, &stream(&owner, &session));
    assert_eq!(events.status, 200);
    events.next().expect("the first event");
    let _laptop = Laptop::connect(&gateway);
    events.told();
}

#[test]
fn a_session_that_its_client_ends_is_over_with_its_streams() {
    let gateway = Gateway::start();
    let (owner, other) = (gateway.owner.clone(), gateway.client("other"));
    let (session, control) = (begin(&gateway, &owner), begin(&gateway, &owner));
    let mut ended = Events::open(gateway.addr, &stream(&owner, &session));
    let mut open = Events::open(gateway.addr, &stream(&owner, &control));
    assert!(ended.next().is_some() && open.next().is_some());
    assert_eq!(gateway.send(&delete(&other, Some(&session))).status, 404);
    assert_eq!(gateway.send(&delete(&owner, None)).status, 400);
    assert_eq!(ping(&gateway, &owner, Some(&session)).status, 200);
    assert_eq!(gateway.send(&delete(&owner, Some(&session))).status, 204);
    assert_eq!(ended.next(), None);
    assert_eq!(ping(&gateway, &owner, Some(&session)).status, 404);
    assert_eq!(gateway.send(&delete(&owner, Some(&session))).status, 404);
    let _laptop = Laptop::connect(&gateway);
    open.told();
}

fn cancel(id: u64) -> Value {
    let params = json!({ "requestId": id, "reason": "changed my mind" });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

/// A call of a program that runs until it is ended, once it runs.
#[track_caller]
fn start(gateway: &Gateway, token: &str, session: Option<&str>, what: &str) -> (Connection, Mark) {
    let mark = mark(gateway, what);
    let params = json!({ "name": "bash", "arguments": lingering(&mark) });
    let body = message(Era::Initialize, 7, "tools/call", params);
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let bytes = post(&body, token, session).bytes(connection.host());
    connection.write(&bytes).expect("sent");
    eventually("it runs", || marked(&mark).len() >= 3);
    (connection, mark)
}

#[test]
fn a_call_that_its_client_cancels_ends_and_no_other_with_its_id() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let (owner, other) = (gateway.owner.clone(), gateway.client("other"));
    let [mine, second] = [(); 2].map(|()| begin(&gateway, &owner));
    let theirs = begin(&gateway, &other);
    let (mut cancelled, gone) = start(&gateway, &owner, Some(&mine), "mine");
    let (_second, same_token) = start(&gateway, &owner, Some(&second), "second");
    let (_theirs, other_token) = start(&gateway, &other, Some(&theirs), "theirs");
    let (_bare, no_session) = start(&gateway, &other, None, "bare");

    // Only whoever made the call can cancel it, in the session that it was made in.
    assert_eq!(
        gateway.send(&post(&cancel(7), &other, Some(&mine))).status,
        404
    );
    assert_eq!(
        gateway.send(&post(&cancel(8), &owner, Some(&mine))).status,
        202
    );
    assert_eq!(gateway.send(&post(&cancel(7), &owner, None)).status, 202);
    assert_eq!(marked(&gone).len(), marked(&same_token).len());
    assert_eq!(
        gateway.send(&post(&cancel(7), &owner, Some(&mine))).status,
        202
    );
    eventually("the cancelled one is gone", || marked(&gone).is_empty());
    let said = cancelled.read().expect("an answer").json();
    assert_eq!(said["error"]["message"], "Request cancelled", "{said}");
    let ended = || {
        let audit = gateway.audit();
        let ended = audit.into_iter().find(|entry| entry["kind"] == "finished");
        ended.map(|entry| entry["code"].clone())
    };
    eventually("it is in the audit", || ended() == Some(json!("cancelled")));
    for others in [&same_token, &other_token, &no_session] {
        assert!(marked(others).len() >= 3);
    }
    assert_eq!(gateway.send(&post(&cancel(7), &other, None)).status, 202);
    eventually("so is the one without a session", || {
        marked(&no_session).is_empty()
    });
    // The end of a session ends its calls.
    assert_eq!(gateway.send(&delete(&owner, Some(&second))).status, 204);
    eventually("and its session's", || marked(&same_token).is_empty());
    assert!(marked(&other_token).len() >= 3);
}

#[test]
fn a_call_is_cancelled_over_standard_streams_too() {
    for era in [Era::Initialize, Era::Stateless] {
        let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
        let mut pipe = Pipe::start(&gateway, era, &gateway.owner);
        let mark = mark(&gateway, "piped");
        let params = json!({ "name": "bash", "arguments": lingering(&mark) });
        let id = pipe.ask("tools/call", params);
        eventually("it runs", || marked(&mark).len() >= 3);
        pipe.write(&cancel(id));
        eventually("it is gone", || marked(&mark).is_empty());
        assert!(pipe.request("tools/list", json!({}))["result"].is_object());
    }
}

/// What is refused, and the code of the error.
fn wrong() -> Vec<(Value, i64)> {
    let ask = |method: &str, params: Value| message(Era::Initialize, 3, method, params);
    let mut cases: Vec<(Value, i64)> = [
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 5 })),
        (
            "tools/call",
            json!({ "name": "gsv__ReadFile", "arguments": [] }),
        ),
        (
            "tools/call",
            json!({ "name": "gsv__ReadFile", "arguments": "x" }),
        ),
        ("tools/call", json!({ "name": "nobody", "arguments": {} })),
        ("tools/list", json!({ "cursor": "nonsense" })),
        ("tools/list", json!({ "cursor": 5 })),
        ("initialize", json!({})),
        (
            "initialize",
            json!({ "protocolVersion": 5, "capabilities": {}, "clientInfo": {} }),
        ),
    ]
    .into_iter()
    .map(|(method, params)| (ask(method, params), -32602))
    .collect();
    let undeclared = [
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "x://y" })),
        ("resources/subscribe", json!({ "uri": "x://y" })),
        ("resources/unsubscribe", json!({ "uri": "x://y" })),
        ("logging/setLevel", json!({ "level": "info" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "b" } }),
        ),
        ("tasks/list", json!({})),
        ("subscriptions/listen", json!({ "notifications": {} })),
        ("no/such", json!({})),
    ];
    cases.extend(undeclared.map(|(method, params)| (ask(method, params), -32601)));
    cases
}

#[test]
fn an_invalid_request_gets_its_error_code() {
    let gateway = Gateway::start();
    let owner = gateway.owner.clone();
    let session = begin(&gateway, &owner);
    for (body, code) in wrong() {
        let said = gateway.send(&post(&body, &owner, Some(&session)));
        assert_eq!(said.status, 200, "{body}");
        let said = said.json();
        assert_eq!(said["error"]["code"], code, "{body}: {}", said["error"]);
        assert_eq!(said["id"], 3, "{body}");
    }
    let mut pipe = Pipe::start(&gateway, Era::Initialize, &owner);
    for (body, code) in wrong() {
        if body["method"] == "initialize" {
            continue; // it was said already
        }
        if body["params"]["cursor"].is_number() {
            continue; // read as none
        }
        let method = body["method"].as_str().expect("a method");
        let said = pipe.request(method, body["params"].clone());
        assert_eq!(said["error"]["code"], code, "{body}: {}", said["error"]);
    }
    // What a tool finds wrong is the model's to read, and no fault of the protocol.
    let call = json!({ "name": "gsv__WriteFile", "arguments": { "file": "x" } });
    let said = pipe.request("tools/call", call);
    assert_eq!(said["result"]["isError"], true, "{said}");
    assert!(pipe.request("ping", json!({}))["result"].is_object());
}

#[test]
fn a_malformed_message_is_a_bad_request() {
    let gateway = Gateway::start();
    let owner = gateway.owner.clone();
    let session = begin(&gateway, &owner);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let told = |params: Value| {
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
            .to_string()
    };
    let cases = [
        ("{".to_owned(), -32700),
        (String::new(), -32700),
        ("\u{fffd}nonsense".to_owned(), -32700),
        (json!([ping, ping]).to_string(), -32600),
        ("[]".to_owned(), -32600),
        ("7".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        (json!({ "id": 1, "method": "ping" }).to_string(), -32600),
        (
            json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": [], "method": "ping" }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": 5 }).to_string(),
            -32600,
        ),
        (json!({ "jsonrpc": "2.0", "id": 1 }).to_string(), -32600),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "result": 5 }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": {} }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "error": "no" }).to_string(),
            -32600,
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }).to_string(),
            -32602,
        ),
        (told(json!({})), -32602),
        (told(json!({ "requestId": {} })), -32602),
    ];
    let send = |body: &str| {
        let request = post(&Value::Null, &owner, Some(&session)).body(body.as_bytes());
        gateway.send(&request)
    };
    for (body, code) in &cases {
        let said = send(body);
        assert_eq!(said.status, 400, "{body}: {}", said.text());
        assert_eq!(said.json()["error"]["code"], *code, "{body}");
    }
    assert_eq!(send(&ping.to_string()).status, 200, "the control");
    assert_eq!(send(&told(json!({ "requestId": "gone" }))).status, 202);
}
