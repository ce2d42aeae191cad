//! The path end to end: policy, approvals, rates, artifacts, secrets, cancellation, metrics.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::{Connection, Request};
use crate::mcp::{self, Era};
use crate::socket::Socket;
use crate::sql::{Sql, WriteLock};

const WRITE: &str = "gsv__WriteFile";

const ASK: &str = r#"
[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
callers = ["client:*"]
reason = "writing needs a nod"
"#;

fn note(path: &str) -> Value {
    json!({ "path": path, "content": "exactly this: é $1" })
}

/// Makes a call that has to be approved; the id of the question.
#[track_caller]
fn ask(gateway: &Gateway, token: &str, arguments: &Value) -> String {
    let response = gateway.call_as(token, WRITE, arguments.clone());
    let said = response.json();
    assert_eq!(
        (response.status, said["code"].as_str()),
        (428, Some("approval_required")),
        "{said}"
    );
    let id = said["details"]["approvalId"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(
        said["error"].as_str().expect("an error").contains(&id),
        "the hint names it: {said}"
    );
    assert_eq!(said["details"]["arguments"], *arguments, "{said}");
    id
}

fn waiting(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.get("/api/approvals").json();
    listed["result"]["approvals"]
        .as_array()
        .expect("approvals")
        .clone()
}

#[test]
fn an_approved_call_runs_once_and_only_as_it_was_shown() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let other = gateway.client("desk");
    let id = ask(&gateway, &client, &note("a.md"));
    assert_eq!(
        ask(&gateway, &client, &note("a.md")),
        id,
        "asking again is the same question"
    );
    assert_eq!(gateway.read("a.md"), None, "nothing ran");

    let [shown] = waiting(&gateway).try_into().expect("one question");
    let expect = [
        ("id", json!(id)),
        ("state", json!("pending")),
        ("tool", json!(WRITE)),
        ("arguments", note("a.md")),
        ("caller", json!("laptop")),
        ("agent", json!("main")),
        ("effects", json!(["writes"])),
        ("rule", json!("policy.rules.0")),
    ];
    for (field, value) in expect {
        assert_eq!(shown[field], value, "{field} of {shown}");
    }
    let listed = gateway.cli(&["approvals", "list", "--json"]).ok().json();
    assert_eq!(
        listed["approvals"][0], shown,
        "the command line shows the same"
    );
    let text = gateway.cli(&["approvals", "list"]).ok().stdout;
    for words in [id.as_str(), "laptop", WRITE, &note("a.md").to_string()] {
        assert!(text.contains(words), "{words} in {text}");
    }

    gateway.cli(&["approvals", "approve", &id]).ok();
    ask(&gateway, &client, &note("b.md"));
    ask(
        &gateway,
        &client,
        &json!({ "path": "a.md", "content": "something else" }),
    );
    ask(&gateway, &other, &note("a.md"));
    assert_eq!(
        gateway.read("a.md"),
        None,
        "an approval is for one caller and one call"
    );
    let done = gateway.call_as(&client, WRITE, note("a.md"));
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(gateway.read("a.md").as_deref(), Some("exactly this: é $1"));
    let second = ask(&gateway, &client, &note("a.md"));
    assert_ne!(second, id, "once is once");
    let all = gateway
        .cli(&["approvals", "list", "--all", "--json"])
        .ok()
        .json();
    let used = all["approvals"]
        .as_array()
        .expect("approvals")
        .iter()
        .find(|one| one["id"] == id.as_str());
    let used = used.expect("it stays on record");
    assert_eq!(
        (&used["state"], &used["decidedBy"]),
        (&json!("used"), &json!("owner")),
        "{used}"
    );
    let owners = gateway.call(WRITE, note("c.md"));
    assert_eq!(owners["ok"], true, "the rule is about clients: {owners}");
    let audited = gateway.audit();
    assert!(
        audited
            .iter()
            .any(|entry| entry["tool"] == "approval.approve"),
        "the owner's answer is in the audit"
    );
}

#[test]
fn two_calls_at_once_share_one_approval_and_one_runs() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let id = ask(&gateway, &client, &note("a.md"));
    gateway.cli(&["approvals", "approve", &id]).ok();
    let request = Request::post(&format!("/api/tools/{WRITE}"), &note("a.md")).bearer(&client);
    let mut connections: Vec<Connection> = (0..20)
        .map(|_| Connection::open(gateway.addr).expect("a connection"))
        .collect();
    for connection in &mut connections {
        let bytes = request.bytes(connection.host());
        connection.write(&bytes).expect("sent");
    }
    let statuses: Vec<u16> = connections
        .iter_mut()
        .map(|c| c.read().expect("an answer").status)
        .collect();
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 428).count(),
        19,
        "{statuses:?}"
    );
}

#[test]
fn a_denied_call_stays_denied_and_changes_nothing() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let id = ask(&gateway, &client, &note("a.md"));
    gateway.cli(&["approvals", "deny", &id]).ok();
    for _ in 0..2 {
        let refused = gateway.call_as(&client, WRITE, note("a.md"));
        let said = refused.json();
        assert_eq!(
            (refused.status, said["code"].as_str()),
            (403, Some("approval_denied")),
            "{said}"
        );
    }
    assert_eq!(gateway.read("a.md"), None);
    let late = gateway.post(
        &format!("/api/approvals/{id}"),
        &json!({ "decision": "approve" }),
    );
    assert_eq!(
        (late.status, late.json()["code"].as_str().map(str::to_owned)),
        (409, Some("conflict".to_owned())),
        "an answer is final"
    );
    assert_eq!(gateway.call_as(&client, WRITE, note("a.md")).status, 403);
    let unknown = "0192f0c1-2b3c-7abc-8def-0123456789ab";
    for (id, body, status) in [
        (unknown, json!({ "decision": "approve" }), 404),
        ("not-an-id", json!({ "decision": "approve" }), 400),
        (id.as_str(), json!({ "decision": "maybe" }), 400),
        (id.as_str(), json!({}), 400),
    ] {
        let said = gateway.post(&format!("/api/approvals/{id}"), &body);
        assert_eq!(said.status, status, "{id} {body}: {}", said.text());
    }
    assert_eq!(
        gateway.cli(&["approvals", "approve", unknown]).code,
        Some(1)
    );
    let control = ask(&gateway, &client, &note("b.md"));
    gateway.cli(&["approvals", "approve", &control]).ok();
    assert_eq!(
        gateway.call_as(&client, WRITE, note("b.md")).status,
        200,
        "the control"
    );
}

#[test]
fn a_caller_that_waits_goes_on_when_the_owner_agrees() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let mut command = gateway.command();
    let arguments = note("a.md").to_string();
    command.args([
        "--token", &client, "call", "--wait", "60", WRITE, &arguments,
    ]);
    let waiter = std::thread::spawn(move || crate::harness::run(command, ""));
    eventually("the question", || !waiting(&gateway).is_empty());
    assert!(!waiter.is_finished(), "it waits");
    let id = waiting(&gateway)[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    gateway.cli(&["approvals", "approve", &id]).ok();
    let ran = waiter.join().expect("the waiter");
    assert_eq!(ran.ok().json()["result"]["written"], true);
    assert_eq!(gateway.read("a.md").as_deref(), Some("exactly this: é $1"));

    let denied =
        Request::post(&format!("/api/tools/{WRITE}?wait=60"), &note("b.md")).bearer(&client);
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let bytes = denied.bytes(connection.host());
    connection.write(&bytes).expect("sent");
    eventually("the question", || !waiting(&gateway).is_empty());
    let id = waiting(&gateway)[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    gateway.cli(&["approvals", "deny", &id]).ok();
    assert_eq!(
        connection.read().expect("an answer").json()["code"],
        "approval_denied"
    );
    let long = gateway.send(
        &Request::post(&format!("/api/tools/{WRITE}?wait=601"), &note("c.md")).bearer(&client),
    );
    assert_eq!(long.status, 400, "nobody waits for ever: {}", long.text());
}

#[test]
fn approvals_survive_a_restart_and_expire() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let pending = ask(&gateway, &client, &note("a.md"));
    let approved = ask(&gateway, &client, &note("b.md"));
    gateway.cli(&["approvals", "approve", &approved]).ok();
    let gateway = gateway.restart();
    let ids: Vec<Value> = waiting(&gateway)
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, [json!(pending)]);
    assert_eq!(
        gateway.call_as(&client, WRITE, note("b.md")).status,
        200,
        "the answer was kept"
    );
    assert_eq!(
        ask(&gateway, &client, &note("a.md")),
        pending,
        "and so was the question"
    );
    gateway.cli(&["approvals", "approve", &pending]).ok();
    // Its time runs out before it is used.
    let mut sql = Sql::open(&gateway.home.path());
    assert_eq!(
        sql.run(&format!(
            "UPDATE approval SET expires = 1 WHERE id = '{pending}'"
        )),
        1
    );
    sql.close();
    let again = ask(&gateway, &client, &note("a.md"));
    assert_ne!(
        again, pending,
        "an approval that expired lets nothing through"
    );
    assert_eq!(gateway.read("a.md"), None);
    let all = gateway
        .cli(&["approvals", "list", "--all", "--json"])
        .ok()
        .json();
    let old = all["approvals"]
        .as_array()
        .expect("approvals")
        .iter()
        .find(|one| one["id"] == pending.as_str())
        .cloned();
    assert_eq!(old.expect("it stays on record")["state"], "expired");
}

#[test]
fn the_first_rule_that_fits_decides() {
    let gateway = Gateway::with_config(
        r#"
[[policy.rules]]
decision = "allow"
tools = ["gsv__*"]
when.path = { starts_with = "memory/" }

[[policy.rules]]
decision = "deny"
effects = ["writes"]
callers = ["client:lap*"]
reason = "look, do not touch"
"#,
    );
    let (laptop, desk) = (gateway.client("laptop"), gateway.client("desk"));
    let table = [
        (&laptop, "memory/a.md", 200),
        (&laptop, "SOUL.md", 403),
        (&desk, "desk.md", 200),
        (&gateway.owner, "owner.md", 200),
    ];
    for (token, path, status) in table {
        let response = gateway.call_as(token, WRITE, note(path));
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(gateway.read(path).is_some(), status == 200, "{path}");
    }
    let said = gateway.call_as(&laptop, WRITE, note("SOUL.md")).json();
    assert_eq!(said["code"], "denied_by_policy");
    assert!(
        said["error"]
            .as_str()
            .expect("an error")
            .contains("look, do not touch"),
        "{said}"
    );
    assert_eq!(
        gateway
            .call_as(&laptop, "gsv__ReadFile", json!({ "path": "desk.md" }))
            .status,
        200,
        "reading is no effect"
    );
    let explain = |args: &[&str]| gateway.cli(args).ok().stdout;
    let soul = note("SOUL.md").to_string();
    let why = explain(&[
        "policy", "explain", WRITE, &soul, "--role", "client", "--name", "laptop",
    ]);
    assert!(
        why.contains("deny")
            && why.contains("policy.rules.1")
            && why.contains("look, do not touch"),
        "{why}"
    );
    let why = explain(&["policy", "explain", WRITE, &soul]);
    assert!(why.contains("allow") && why.contains("default"), "{why}");
    let rules = explain(&["policy", "list"]);
    assert!(
        rules.contains("policy.rules.0") && rules.contains("policy.rules.1"),
        "{rules}"
    );
    assert_eq!(
        gateway.cli(&["policy", "explain", "gsv__Nothing"]).code,
        Some(1)
    );
}

#[test]
fn a_caller_that_calls_too_often_waits_and_others_do_not() {
    let gateway = Gateway::with_config("[limits]\ncalls_per_minute = 5\n");
    let (hasty, calm) = (gateway.client("hasty"), gateway.client("calm"));
    for number in 0..5 {
        let path = format!("{number}.md");
        assert_eq!(
            gateway.call_as(&hasty, WRITE, note(&path)).status,
            200,
            "the control"
        );
    }
    let refused = gateway.call_as(&hasty, WRITE, note("5.md"));
    let said = refused.json();
    assert_eq!(
        (refused.status, said["code"].as_str()),
        (429, Some("rate_limited")),
        "{said}"
    );
    let wait: u64 = refused
        .header("retry-after")
        .expect("a header")
        .parse()
        .expect("seconds");
    assert!((1..=12).contains(&wait), "{wait}");
    assert!(
        said["retryAfterMs"]
            .as_u64()
            .is_some_and(|ms| ms > 0 && ms <= 12_000),
        "{said}"
    );
    assert_eq!(gateway.read("5.md"), None, "nothing ran");
    assert_eq!(
        gateway.call_as(&calm, WRITE, note("calm.md")).status,
        200,
        "others do not wait"
    );
    for _ in 0..20 {
        assert_eq!(
            gateway.call(WRITE, note("owner.md"))["ok"],
            true,
            "nor does the owner"
        );
    }
}

#[test]
fn a_days_calls_are_counted_over_a_restart() {
    let gateway = Gateway::with_config("[limits]\ncalls_per_day = 4\n");
    let client = gateway.client("laptop");
    for number in 0..2 {
        assert_eq!(
            gateway
                .call_as(&client, WRITE, note(&format!("{number}.md")))
                .status,
            200
        );
        assert_eq!(
            gateway.call_as(&client, "gsv__ReadFile", json!({})).status,
            200
        );
    }
    let said = gateway.call_as(&client, WRITE, note("4.md")).json();
    assert_eq!(said["code"], "budget_exceeded", "{said}");
    let gateway = gateway.restart();
    let said = gateway.call_as(&client, WRITE, note("5.md")).json();
    assert_eq!(
        said["code"], "budget_exceeded",
        "calls that only read were calls too: {said}"
    );
    assert_eq!(gateway.read("5.md"), None);
}

#[test]
fn a_large_result_is_cut_visibly_and_kept_whole() {
    let gateway = Gateway::with_config("[limits]\nresult_bytes = 2000\n");
    let content = "é日🙂\n".repeat(3_000);
    gateway.write("big.md", &content);
    let said = gateway.call("gsv__ReadFile", json!({ "path": "big.md" }));
    let result = &said["result"];
    assert_eq!(
        (&said["ok"], &result["truncated"]),
        (&json!(true), &json!(true)),
        "{said}"
    );
    let part = result["content"].as_str().expect("a part");
    assert!(part.len() < 2_000, "{part}");
    let line = |text: &str| {
        text.lines()
            .all(|l| l == "é日🙂" || l.ends_with("left out ...]"))
    };
    assert!(line(part) && part.starts_with("é日🙂\n") && part.ends_with("é日🙂\n"));
    assert_eq!(
        result["size"],
        content.len(),
        "the rest of the result is whole"
    );
    let id = result["artifactId"].as_str().expect("an artifact");
    let ran = gateway.cli(&["artifact", id]).ok();
    assert_eq!(
        ran.stdout.len() as u64,
        result["fullSize"].as_u64().expect("a size")
    );
    assert_eq!(ran.stdout, content, "the whole text, as text");
    let file = gateway.home.outside("whole.json");
    gateway
        .cli(&["artifact", id, "-o", file.to_str().expect("a path")])
        .ok();
    assert_eq!(
        std::fs::read_to_string(&file).expect("the file"),
        ran.stdout
    );
    let link = &said["content"][0];
    assert_eq!(
        (&link["type"], &link["uri"]),
        (&json!("resource_link"), &json!(format!("artifact:{id}"))),
        "{said}"
    );
    let over_mcp = mcp::call(
        &gateway,
        Era::Stateless,
        &gateway.owner,
        "gsv__ReadFile",
        &json!({ "path": "big.md" }),
    );
    assert_eq!(
        over_mcp["result"]["content"][1]["type"], "resource_link",
        "{over_mcp}"
    );
    assert_eq!(over_mcp["result"]["structuredContent"]["truncated"], true);

    let get = |token: &str, id: &str| {
        gateway.send(&Request::get(&format!("/api/artifacts/{id}")).bearer(token))
    };
    let served = get(&gateway.owner, id);
    assert_eq!(
        (served.status, served.header("x-content-type-options")),
        (200, Some("nosniff"))
    );
    assert_eq!(served.text(), ran.stdout);
    let node = gateway.token(json!({ "name": "n", "role": "node" })).0;
    assert_eq!(get(&node, id).status, 403);
    assert_eq!(
        get(&gateway.owner, "0192f0c1-2b3c-7abc-8def-0123456789ab").status,
        404
    );
    assert_eq!(get(&gateway.owner, "..%2F..%2Fowner.token").status, 400);
    let missing = gateway.cli(&["artifact", "0192f0c1-2b3c-7abc-8def-0123456789ab"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    let gateway = gateway.restart();
    assert_eq!(
        gateway.cli(&["artifact", id]).ok().stdout,
        ran.stdout,
        "it is kept"
    );
    gateway.write("small.md", "x");
    let small = gateway.call("gsv__ReadFile", json!({ "path": "small.md" }));
    assert_eq!(small["result"].get("truncated"), None, "the control");
}

const SECRET: &str = "s3cr3t-\"quoted\"-väl/ue+1";

#[test]
fn a_secret_is_in_no_result_error_audit_or_log() {
    let gateway = Gateway::with_config(&format!("log.level = \"trace\"\n{ASK}"));
    gateway.write("before.md", "nothing to hide");
    gateway
        .home
        .cli_with(&["secret", "set", "service/api"], SECRET)
        .ok();
    assert_eq!(
        gateway.cli(&["secret", "list"]).ok().stdout,
        "service/api\n"
    );
    let escaped = json!(SECRET).to_string();
    let spellings = [SECRET, &escaped[1..escaped.len() - 1]];
    let clean = |what: &str, text: &str| {
        for spelling in spellings {
            assert!(!text.contains(spelling), "the secret is in {what}: {text}");
        }
        assert!(
            !text.contains(&gateway.owner),
            "the owner's token is in {what}: {text}"
        );
    };
    let said = gateway.call(
        WRITE,
        json!({ "path": "a.md", "content": format!("key={SECRET}; {}", gateway.owner) }),
    );
    assert_eq!(said["ok"], true, "{said}");
    let read = gateway.call("gsv__ReadFile", json!({ "path": "a.md" }));
    clean("a result", &read.to_string());
    assert_eq!(
        read["result"]["content"], "key=[redacted]; [redacted]",
        "the rest is there"
    );
    let mut socket = gateway.ws();
    clean(
        "the socket",
        &socket
            .call("gsv__ReadFile", &json!({ "path": "a.md" }))
            .to_string(),
    );
    let over_mcp = mcp::call(
        &gateway,
        Era::Initialize,
        &gateway.owner,
        "gsv__ReadFile",
        &json!({ "path": "a.md" }),
    );
    clean("MCP", &over_mcp.to_string());
    let errors = [
        ("gsv__ReadFile", json!({ "path": format!("no/{SECRET}") })),
        ("gsv__ReadFile", json!({ SECRET: 1 })),
        (
            "gsv__EditFile",
            json!({ "path": SECRET, "oldString": SECRET, "newString": "x" }),
        ),
        ("gsv__ConfigGet", json!({ "path": SECRET })),
        (SECRET, json!({})),
    ];
    for (tool, arguments) in errors {
        let said = match tool {
            SECRET => socket.call(SECRET, &arguments),
            tool => gateway.call(tool, arguments.clone()),
        };
        assert_eq!(said["ok"], false, "{tool} {arguments}: {said}");
        clean("an error", &said.to_string());
    }
    let client = gateway.client("laptop");
    let asked = gateway.call_as(&client, WRITE, json!({ "path": "b.md", "content": SECRET }));
    clean("a question", &asked.text());
    eventually("the audit of the last call", || {
        gateway
            .audit()
            .iter()
            .any(|entry| entry["code"] == "approval_required")
    });
    clean("the audit", &json!(gateway.audit()).to_string());
    clean(
        "the audit's list",
        &gateway.cli(&["audit", "list", "--json"]).ok().stdout,
    );
    clean("the metrics", &gateway.get("/metrics").text());
    clean(
        "the settings",
        &gateway.call("gsv__ConfigGet", json!({})).to_string(),
    );
    let removed = gateway.cli(&["secret", "remove", "service/api"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert_eq!(gateway.cli(&["secret", "list"]).ok().stdout, "");
    assert_eq!(
        gateway.cli(&["secret", "remove", "service/api"]).code,
        Some(1)
    );
    assert_eq!(
        gateway.home.cli_with(&["secret", "set", "empty"], "").code,
        Some(1)
    );
    assert_eq!(
        gateway.read("before.md").as_deref(),
        Some("nothing to hide"),
        "the control"
    );
    clean("the log", &gateway.daemon.log.text());
}

#[test]
fn the_vault_is_unreadable_on_disk() {
    let gateway = Gateway::start();
    let name = "service/api";
    gateway.home.cli_with(&["secret", "set", name], SECRET).ok();
    let home = gateway.stop();
    let mut seen_name = false;
    for (file, bytes) in crate::harness::tree(&home.path()) {
        let holds = |needle: &str| {
            bytes
                .windows(needle.len())
                .any(|part| part == needle.as_bytes())
        };
        assert!(!holds(SECRET), "{file}");
        seen_name |= holds(name);
    }
    assert!(seen_name, "the control: the name is there");
}

/// A gateway with one place for calls, taken by a write that waits for the database.
fn occupied() -> (Gateway, WriteLock, Connection) {
    let gateway = Gateway::with_config("[limits]\nconcurrent_calls = 1\n");
    let lock = WriteLock::take(&gateway.home.path());
    let mut holder = Connection::open(gateway.addr).expect("a connection");
    let first =
        Request::post(&format!("/api/tools/{WRITE}"), &note("first.md")).bearer(&gateway.owner);
    let bytes = first.bytes(holder.host());
    holder.write(&bytes).expect("sent");
    // A read needs no lock: it is answered until the write has the only place.
    eventually("the place is taken", || {
        let mut probe = Connection::open(gateway.addr).expect("a connection");
        probe.patience(Duration::from_secs(2));
        let read = Request::post("/api/tools/gsv__ReadFile", &json!({})).bearer(&gateway.owner);
        probe.send(&read).is_err()
    });
    (gateway, lock, holder)
}

/// The codes with which the calls that named `path` ended.
fn ends(gateway: &Gateway, path: &str) -> Vec<(String, String)> {
    let fits = |entry: &&Value| {
        entry["summary"]
            .as_str()
            .is_some_and(|summary| summary.contains(path))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let audit = gateway.audit();
    audit
        .iter()
        .filter(fits)
        .map(|entry| (text(&entry["kind"]), text(&entry["code"])))
        .collect()
}

#[test]
fn an_asker_that_goes_away_cancels_its_call_on_every_connection() {
    let (gateway, lock, mut holder) = occupied();
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let dropped =
        Request::post(&format!("/api/tools/{WRITE}"), &note("dropped.md")).bearer(&gateway.owner);
    let bytes = dropped.bytes(connection.host());
    connection.write(&bytes).expect("sent");
    let mut socket = Socket::connect(gateway.addr, &gateway.owner);
    socket.ask(
        "tool.invoke",
        json!({ "tool": WRITE, "args": note("socket.md") }),
    );
    let mut kept = Socket::connect(gateway.addr, &gateway.owner);
    let answer = kept.ask(
        "tool.invoke",
        json!({ "tool": WRITE, "args": note("kept.md") }),
    );
    let over_mcp = mcp::request(
        Era::Initialize,
        "tools/call",
        json!({ "name": WRITE, "arguments": note("mcp.md") }),
        Some(&gateway.owner),
    );
    let mut model = Connection::open(gateway.addr).expect("a connection");
    let bytes = over_mcp.bytes(model.host());
    model.write(&bytes).expect("sent");
    // A socket that answers later questions has begun with the first.
    for _ in 0..5 {
        assert_eq!(socket.request("tools.list", json!({}))["ok"], true);
    }
    drop((connection, model, socket)); // the socket last: when that is noticed, so are they
    eventually("the dropped socket is noticed", || {
        gateway.metric("websocket_connections", &[]) < 1.5
    });
    lock.release();
    assert_eq!(
        holder.read().expect("an answer").status,
        200,
        "the call that held the place ends well"
    );
    loop {
        let frame = kept.frame().expect("an open socket");
        if frame["id"] == answer.as_str() {
            assert_eq!(frame["ok"], true, "the control: {frame}");
            break;
        }
    }
    for path in ["dropped.md", "socket.md", "mcp.md"] {
        eventually(path, || !ends(&gateway, path).is_empty());
        let refused = [("refused".to_owned(), "cancelled".to_owned())];
        assert_eq!(ends(&gateway, path), refused, "{path}");
        assert_eq!(gateway.read(path), None, "{path} was not written");
    }
    assert_eq!(
        gateway.read("kept.md").as_deref(),
        Some("exactly this: é $1")
    );
    let cancelled = ["code=\"cancelled\"", "tool=\"gsv__WriteFile\""];
    assert_eq!(gateway.metric("tool_execution_total", &cancelled), 3.0);
}

#[test]
fn an_asker_that_stops_waiting_for_the_owner_ends_its_call() {
    let gateway = Gateway::with_config(ASK);
    let client = gateway.client("laptop");
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let request =
        Request::post(&format!("/api/tools/{WRITE}?wait=600"), &note("a.md")).bearer(&client);
    let bytes = request.bytes(connection.host());
    connection.write(&bytes).expect("sent");
    eventually("the question", || !waiting(&gateway).is_empty());
    assert!(ends(&gateway, "a.md").is_empty(), "it waits");
    drop(connection);
    eventually("its end in the audit", || {
        !ends(&gateway, "a.md").is_empty()
    });
    assert_eq!(ends(&gateway, "a.md")[0].0, "refused");
    assert_eq!(
        waiting(&gateway).len(),
        1,
        "the question stays for when it comes back"
    );
}

#[test]
fn calls_are_counted_and_timed() {
    let gateway = Gateway::start();
    gateway.write("a.md", "x");
    gateway.call("gsv__ReadFile", json!({ "path": "a.md" }));
    gateway.call("gsv__ReadFile", json!({ "path": "nowhere" }));
    for number in 0..5 {
        gateway.call(&format!("nonsense{number}"), json!({}));
    }
    let response = gateway.get("/metrics");
    assert_eq!(
        response.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = response.text();
    for line in [
        "# TYPE tool_execution_total counter",
        "# TYPE function_call_duration_ms histogram",
        "tool_execution_total{tool=\"gsv__WriteFile\",status=\"success\",code=\"ok\"} 1",
        "tool_execution_total{tool=\"gsv__ReadFile\",status=\"success\",code=\"ok\"} 1",
        "tool_execution_total{tool=\"gsv__ReadFile\",status=\"failure\",code=\"not_found\"} 1",
        "tool_execution_total{tool=\"unknown\",status=\"failure\",code=\"unknown_tool\"} 5",
        "function_call_duration_ms_count{tool=\"gsv__ReadFile\"} 2",
        "function_call_duration_ms_bucket{tool=\"gsv__ReadFile\",le=\"+Inf\"} 2",
    ] {
        assert!(text.lines().any(|seen| seen == line), "{line} in\n{text}");
    }
    let socket = gateway.ws();
    assert_eq!(gateway.metric("websocket_connections", &[]), 1.0);
    drop(socket);
    eventually("the socket is gone", || {
        gateway.metric("websocket_connections", &[]) == 0.0
    });
}

#[test]
fn the_audit_says_who_did_what_and_how_it_ended() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    assert_eq!(gateway.call_as(&client, WRITE, note("a.md")).status, 200);
    let audit = gateway.audit();
    let of_call: Vec<&Value> = audit
        .iter()
        .filter(|entry| entry["tool"] == WRITE)
        .collect();
    let [finished, started] = of_call[..] else {
        panic!("a start and an end: {of_call:?}");
    };
    assert_eq!(
        (&started["kind"], &finished["kind"]),
        (&json!("started"), &json!("finished"))
    );
    assert_eq!(
        (&finished["status"], &finished["agent"]),
        (&json!("ok"), &json!("main"))
    );
    assert_eq!(started["call"], finished["call"]);
    assert!(
        finished["caller"]
            .as_str()
            .expect("a caller")
            .starts_with("client:laptop:"),
        "{finished}"
    );
    assert!(
        finished["durationUs"].is_u64()
            && finished["summary"]
                .as_str()
                .is_some_and(|s| s.contains("a.md")),
        "{finished}"
    );
    let numbers: Vec<i64> = audit
        .iter()
        .filter_map(|entry| entry["seq"].as_i64())
        .collect();
    let expect: Vec<i64> = (1..=numbers.len() as i64).rev().collect();
    assert_eq!(numbers, expect, "newest first, without gaps");
    let errors = gateway.get("/api/audit?status=error").json();
    assert_eq!(errors["result"]["entries"], json!([]));
    gateway.call("gsv__ReadFile", json!({ "path": "nowhere" }));
    eventually("the error", || {
        let errors = gateway
            .get("/api/audit?status=error&tool=gsv__Read*")
            .json();
        errors["result"]["entries"][0]["code"] == "not_found"
    });
    for query in ["limit=x", "nonsense=1", "status=bad"] {
        assert_eq!(
            gateway.get(&format!("/api/audit?{query}")).status,
            400,
            "{query}"
        );
    }
    let listed = gateway.cli(&["audit", "list", "--tool", WRITE]).ok().stdout;
    assert!(
        listed.contains("started") && listed.contains("finished"),
        "{listed}"
    );
    gateway.verify_audit();
}
