//! The places where text or calls pass from one owner to another: files of others in prompts, jobs, people
//! with borrowed names, transfers, servers' schemas, uploads, and the owner's own answers. Each was a way
//! around the one decision; each test has the control that the same works where it should.

mod answers;
mod files;
mod jobs;
mod machines;
mod people;
mod servers;
mod transfers;
mod uploads;

use serde_json::{Value, json};

use crate::harness::Gateway;

/// A turn that runs a program, and its end. Clean, it runs without a question.
const RUN: &str = "
turns:
  - when: { user: run it }
    calls: [{ name: bash, arguments: { cmd: echo x >> file_cache_dir/ran } }]
  - when: { user: write it }
    calls: [{ name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { user: read it }
    calls: [{ name: gsv__ReadFile, arguments: { path: note.md } }]
";

/// The end of every script: whatever came last, that is all.
const REST: &str = "
  - when: {}
    text: done
";

/// A gateway whose model plays [`RUN`], then `turns`, in the approval mode of a fresh home.
#[track_caller]
fn gateway(turns: &str, settings: &str) -> Gateway {
    let settings = format!("# asks by default\n{settings}");
    crate::chat_http::scripted(&format!("{RUN}{turns}{REST}"), &settings)
}

/// Where a turn of the owner comes to: its end, or the approval request for which it pauses.
#[track_caller]
fn turn(gateway: &Gateway, session: &str, message: &str) -> Value {
    let body = json!({ "sessionKey": session, "message": message });
    let said = gateway.post("/api/chat", &body).json();
    assert_eq!(said["ok"], true, "{message}: {said}");
    said["result"].clone()
}

/// That a turn ends without a question.
#[track_caller]
fn ends(gateway: &Gateway, session: &str, message: &str) {
    let end = turn(gateway, session, message);
    assert_eq!(end["text"], "done", "{message}: {end}");
}

/// That a turn pauses for an approval, which is given back as it is listed.
#[track_caller]
fn pauses(gateway: &Gateway, session: &str, message: &str) -> Value {
    let paused = turn(gateway, session, message);
    assert_eq!(paused["status"], "paused", "{message}: {paused}");
    let all = approvals(gateway);
    let asked = all.iter().find(|one| one["id"] == paused["approvalId"]);
    asked.unwrap_or_else(|| panic!("{paused}: {all:?}")).clone()
}

#[track_caller]
fn approvals(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.get("/api/approvals").json();
    listed["result"]["approvals"]
        .as_array()
        .expect("approvals")
        .clone()
}

/// Answers an approval request.
#[track_caller]
fn answer(gateway: &Gateway, approval: &Value, answer: Value) -> Value {
    let path = format!("/api/approvals/{}", approval["id"].as_str().expect("an id"));
    let said = gateway.post(&path, &answer).json();
    assert_eq!(said["ok"], true, "{said}");
    said["result"]["approval"].clone()
}

#[track_caller]
fn deny(gateway: &Gateway, approval: &Value) {
    answer(gateway, approval, json!({ "decision": "deny" }));
}

/// How often [`RUN`]'s program ran.
fn runs(gateway: &Gateway) -> usize {
    let file = gateway.home.path().join("host/cache/ran");
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// What was said in a session, with what tools gave.
#[track_caller]
fn said(gateway: &Gateway, session: &str) -> String {
    let path = format!("/api/sessions/{session}/messages?limit=100");
    gateway.get(&path).json()["result"].to_string()
}
