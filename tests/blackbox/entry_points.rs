//! Every way into the gateway, from its own documents: what changes something is either for the owner only, or a
//! call that takes the path and is in the audit, or stands in a table here with the reason. A new route or method
//! fails these tests until it is classified.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::federation::{Scripted, known};
use crate::harness::{Gateway, Home};
use crate::http::{Request, Response};
use crate::mcp::{Era, answer, request_at};
use crate::openapi::book::Book;
use crate::socket::Socket;

/// Why a client's token may use something that is not only for the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It is a call of a tool: rights, rules, approvals, budget and audit are those of the path.
    Path,
    /// It speaks to an agent, or is dictated to one; what the agent does takes the path with the speaker's rights.
    Chat,
    /// It concerns the caller's own conversations and nobody else's.
    OwnSessions,
    /// It only reads, what the caller may read.
    Reads,
    /// It ends or proves the caller's own credential.
    OwnCredential,
    /// It is signed by a platform, or asked for by a browser during the owner's login.
    Signed,
    /// It is for nodes and bridges: others are refused by their role.
    OtherRole,
}

/// The operations that change something, and are not only for the owner.
const ROUTES: [(&str, &str, Why); 24] = [
    ("get", "/oauth/callback", Why::Signed),
    ("delete", "/api/artifacts/{id}", Why::Path),
    ("delete", "/api/sessions/{key}", Why::OwnSessions),
    ("post", "/api/artifacts", Why::Path),
    ("post", "/api/artifacts/{id}/url", Why::Reads),
    ("post", "/api/chat", Why::Chat),
    ("post", "/api/chat/stop", Why::OwnSessions),
    ("post", "/api/enrol", Why::OwnCredential),
    ("post", "/api/session/login", Why::OwnCredential),
    ("post", "/api/session/logout", Why::OwnCredential),
    ("post", "/api/sessions/{key}/branch", Why::OwnSessions),
    ("post", "/api/sessions/{key}/compact", Why::OwnSessions),
    ("post", "/api/sessions/{key}/patch", Why::OwnSessions),
    ("post", "/api/sessions/{key}/reset", Why::OwnSessions),
    ("post", "/api/sessions/{key}/rewind", Why::OwnSessions),
    ("post", "/api/tools/{name}", Why::Path),
    ("post", "/api/transcribe", Why::Chat),
    ("post", "/api/trigger/{id}", Why::Path),
    ("post", "/hooks/{channel}", Why::Signed),
    ("post", "/hooks/{channel}/{account}", Why::Signed),
    ("post", "/v1/chat/completions", Why::Chat),
    ("post", "/v1/messages", Why::Chat),
    ("post", "/v1/messages/count_tokens", Why::Chat),
    ("post", "/v1/responses", Why::Chat),
];

fn filled(path: &str, with: &str) -> String {
    let parts = path.split('/').map(|part| match part.starts_with('{') {
        true => with,
        false => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn ask(gateway: &Gateway, token: &str, method: &str, path: &str) -> Response {
    let request = Request::new(&method.to_uppercase(), path).json(&json!({}));
    gateway.send(&request.bearer(token))
}

#[test]
fn every_route_that_changes_something_is_the_owners_or_in_the_table() {
    let gateway = Gateway::start();
    let book = Book::of(&gateway);
    let table: BTreeMap<_, _> = ROUTES
        .iter()
        .map(|(method, path, why)| ((*method, *path), *why))
        .collect();
    let mut unclassified = Vec::new();
    let mut met = BTreeSet::new();
    let mut owners = 0;
    for (number, (method, path, _)) in book.operations().into_iter().enumerate() {
        if method == "get" && !table.contains_key(&(method, path)) {
            continue;
        }
        let token = gateway.client(&format!("c{number}"));
        let before = gateway.audit().len();
        let said = ask(&gateway, &token, method, &filled(path, "x"));
        match (said.status, table.get(&(method, path))) {
            (403, None) => {
                assert_eq!(said.json()["code"], "forbidden", "{method} {path}");
                assert_eq!(gateway.audit().len(), before, "{method} {path}");
                owners += 1;
            }
            (403, Some(Why::Signed)) => _ = met.insert((method, path)),
            (403, Some(why)) => {
                unclassified.push(format!("{method} {path} is owner-only, not {why:?}"))
            }
            (_, Some(_)) => _ = met.insert((method, path)),
            (status, None) => unclassified.push(format!("{method} {path}: {status}")),
        }
    }
    for row in table.keys().filter(|row| !met.contains(*row)) {
        unclassified.push(format!("{row:?} is no route that others may use"));
    }
    assert!(unclassified.is_empty(), "{}", unclassified.join("\n"));
    assert!(owners > 40, "{owners}");
}

/// Entries of the audit about a call of `tool`.
fn calls(gateway: &Gateway, tool: &str) -> usize {
    let entries = gateway.audit();
    entries.iter().filter(|one| one["tool"] == tool).count()
}

#[test]
fn routes_that_take_the_path_are_in_the_audit_as_calls() {
    let gateway = Gateway::start();
    let token = gateway.client("phone");
    let file = json!({ "path": "a.md", "content": "x" });
    let write = Request::post("/api/tools/gsv__WriteFile", &file).bearer(&token);
    assert_eq!(gateway.send(&write).json()["ok"], true);
    assert_eq!(
        calls(&gateway, "gsv__WriteFile"),
        2,
        "its start and its end"
    );
    let triggered = Request::post("/api/trigger/gsv__WriteFile", &file).bearer(&token);
    assert_eq!(gateway.send(&triggered).json()["ok"], true);
    assert_eq!(calls(&gateway, "gsv__WriteFile"), 4);
    let upload = Request::new("POST", "/api/artifacts?name=a.txt").body("x");
    let stored = gateway.send(&upload.bearer(&token)).json();
    let id = stored["result"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(calls(&gateway, "gateway_write_artifact"), 2);
    let removed = ask(&gateway, &token, "delete", &format!("/api/artifacts/{id}"));
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!(calls(&gateway, "gateway_write_artifact"), 4);
}

#[test]
fn a_client_changes_no_conversation_of_another_by_any_route_or_method() {
    let gateway = crate::chat_http::scripted("turns:\n  - { when: {}, text: hello }\n", "");
    let (phone, tablet) = (gateway.client("phone"), gateway.client("tablet"));
    let chat = |token: &str| {
        let body = json!({ "sessionKey": "work", "message": "hello" });
        gateway
            .send(&Request::post("/api/chat", &body).bearer(token))
            .json()
    };
    let key = chat(&phone)["result"]["sessionKey"]
        .as_str()
        .expect("a key")
        .to_owned();
    let owners = chat(&gateway.owner)["result"]["sessionKey"]
        .as_str()
        .expect("a key")
        .to_owned();
    let shown = || {
        [&key, &owners].map(|key| {
            let path = format!("/api/sessions/{key}/messages");
            gateway.get(&path).json()["result"]["messages"].clone()
        })
    };
    let before = shown();
    assert_eq!(before[0].as_array().map(Vec::len), Some(2), "{before:?}");
    let own = ROUTES.iter().filter(|row| row.2 == Why::OwnSessions);
    for (method, path, _) in own.filter(|row| row.1.contains("{key}")) {
        for target in [&key, &owners] {
            let said = ask(&gateway, &tablet, method, &filled(path, target));
            let refused = matches!(said.status, 400 | 403 | 404 | 422);
            assert!(refused, "{method} {path} {target}: {}", said.text());
        }
    }
    let mut socket = Socket::connect(gateway.addr, &tablet);
    for (method, why) in METHODS.iter().filter(|row| row.1 == Why::OwnSessions) {
        for target in [&key, &owners] {
            let said = socket.request(method, json!({ "sessionKey": target }));
            assert_eq!(said["ok"], false, "{method} {why:?} {target}: {said}");
        }
    }
    assert_eq!(shown(), before);
    let reset = ask(
        &gateway,
        &phone,
        "post",
        &format!("/api/sessions/{key}/reset"),
    );
    assert_eq!(reset.status, 200, "the control: {}", reset.text());
}

/// The socket's methods that are not only for the owner.
const METHODS: [(&str, Why); 44] = [
    ("channel.inbound", Why::OtherRole),
    ("channel.sent", Why::OtherRole),
    ("chat.send", Why::Chat),
    ("chat.stop", Why::OwnSessions),
    ("connect", Why::OwnCredential),
    ("cron.add", Why::Path),
    ("cron.list", Why::Path),
    ("cron.preview", Why::Reads),
    ("cron.remove", Why::Path),
    ("cron.run", Why::Path),
    ("cron.runs", Why::Path),
    ("cron.status", Why::Path),
    ("cron.update", Why::Path),
    ("logs.get", Why::Path),
    ("logs.result", Why::OtherRole),
    ("node.exec.event", Why::OtherRole),
    ("nodes.list", Why::Reads),
    ("process.unwatch", Why::Path),
    ("process.watch", Why::Path),
    ("session.branch", Why::OwnSessions),
    ("session.compact", Why::OwnSessions),
    ("session.delete", Why::OwnSessions),
    ("session.get", Why::OwnSessions),
    ("session.history", Why::OwnSessions),
    ("session.patch", Why::OwnSessions),
    ("session.preview", Why::OwnSessions),
    ("session.reset", Why::OwnSessions),
    ("session.rewind", Why::OwnSessions),
    ("session.stats", Why::OwnSessions),
    ("sessions.list", Why::Reads),
    ("skills.status", Why::Reads),
    ("tool.invoke", Why::Path),
    ("tool.request", Why::Path),
    ("tool.result", Why::OtherRole),
    ("tools.list", Why::Reads),
    ("transfer.accept", Why::OtherRole),
    ("transfer.complete", Why::OtherRole),
    ("transfer.done", Why::OtherRole),
    ("transfer.meta", Why::OtherRole),
    ("workspace.delete", Why::Path),
    ("workspace.list", Why::Path),
    ("workspace.read", Why::Path),
    ("workspace.write", Why::Path),
    ("skills.update", Why::Reads),
];

/// Parameters of methods whose form is looked at before the caller's rights.
fn needed(method: &str) -> Value {
    match method {
        "config.set" => json!({ "path": "timezone", "value": "UTC" }),
        "node.forget" => json!({ "nodeId": "x" }),
        _ => json!({}),
    }
}

/// Every method that the protocol's document names.
fn documented() -> BTreeSet<String> {
    let text = include_str!("../../docs/protocol.json");
    let document: Value = serde_json::from_str(text).expect("the document");
    let methods = document["properties"]["methods"]["properties"].as_object();
    methods.expect("methods").keys().cloned().collect()
}

#[test]
fn every_method_of_the_socket_is_the_owners_or_in_the_table() {
    let gateway = Gateway::start();
    let table: BTreeMap<&str, Why> = METHODS.into_iter().collect();
    let mut wrong = Vec::new();
    let mut owners = 0;
    let documented = documented();
    for (number, method) in documented.iter().enumerate() {
        // A connection of its own: some methods end it.
        let token = gateway.client(&format!("c{number}"));
        let mut socket = Socket::connect(gateway.addr, &token);
        let said = socket.request(method, needed(method));
        let code = said["error"]["code"].as_i64();
        match (code, table.get(method.as_str())) {
            (Some(403), None) => owners += 1,
            (Some(403), Some(Why::OtherRole)) => {}
            (Some(403), Some(why)) => {
                wrong.push(format!("{method} is refused, not {why:?}: {said}"))
            }
            (code, None | Some(Why::OtherRole)) => wrong.push(format!("{method}: {code:?} {said}")),
            (_, Some(_)) => {}
        }
    }
    for method in table.keys().filter(|method| !documented.contains(**method)) {
        wrong.push(format!("{method} is no method"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(owners >= 8, "{owners}");
}

#[test]
fn methods_that_take_the_path_are_in_the_audit_as_calls() {
    let gateway = Gateway::start();
    let mut socket = Socket::connect(gateway.addr, &gateway.client("phone"));
    let schedule = json!({ "kind": "every", "everyDays": 1 });
    let job =
        json!({ "name": "x", "schedule": schedule, "spec": { "mode": "task", "message": "x" } });
    for (method, params, tool) in [
        (
            "workspace.write",
            json!({ "path": "a.md", "content": "x" }),
            "gsv__WriteFile",
        ),
        (
            "workspace.delete",
            json!({ "path": "a.md" }),
            "gsv__DeleteFile",
        ),
        ("cron.add", job, "gsv__Cron"),
        (
            "tool.invoke",
            json!({ "tool": "gsv__WriteFile", "args": { "path": "b.md", "content": "x" } }),
            "gsv__WriteFile",
        ),
    ] {
        let before = calls(&gateway, tool);
        let said = socket.request(method, params);
        assert_eq!(said["ok"], true, "{method}: {said}");
        assert_eq!(calls(&gateway, tool), before + 2, "{method}");
    }
}

/// Every request of MCP that a client can make of a server, in either era.
const MCP: [&str; 17] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/cancel",
    "tasks/result",
];

#[test]
fn of_the_methods_of_mcp_only_calls_change_something_and_they_are_in_the_audit() {
    let home = Home::new();
    let server = Scripted::beside(&home, "server", &["page"]);
    let keep = json!({ "name": "keep", "annotations": { "readOnlyHint": false } });
    server.offer(&[json!({ "name": "page" }), keep]);
    let rules =
        "[[policy.rules]]\ndecision = \"deny\"\ntools = [\"s__keep\"]\ncallers = [\"client:*\"]\n";
    let gateway = Gateway::on(home.with_config(&format!("{rules}{}", server.settings("s", ""))));
    known(&gateway, "s");
    let token = gateway.client("phone");
    let kept = gateway.home.outside("server.kept");
    for method in MCP.into_iter().filter(|method| *method != "tools/call") {
        for path in ["/mcp?profile=all", "/mcp/s"] {
            for era in [Era::Initialize, Era::Stateless] {
                let before = gateway.audit().len();
                let params = json!({ "name": "keep", "uri": "note://one" });
                gateway.send(&request_at(path, era, method, params, Some(&token)));
                assert_eq!(gateway.audit().len(), before, "{method} at {path}");
                assert!(!kept.exists(), "{method} at {path}");
            }
        }
    }
    let call = |path: &str, name: &str, token: &str| {
        let params = json!({ "name": name, "arguments": { "text": "x" } });
        let sent = request_at(path, Era::Stateless, "tools/call", params, Some(token));
        answer(&gateway.send(&sent))
    };
    let refused = call("/mcp/s", "keep", &token);
    assert!(refused.to_string().contains("refused by"), "{refused}");
    assert!(!kept.exists());
    assert!(calls(&gateway, "s__keep") > 0, "the refusal is on record");
    let done = call("/mcp/s", "keep", &gateway.owner);
    assert!(kept.exists(), "the control: {done}");
}
