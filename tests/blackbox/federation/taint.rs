//! What a server says is text from outside: a turn that has heard it asks before it acts.

use serde_json::{Value, json};

use super::{Scripted, gateway};
use crate::harness::{Gateway, Home, eventually};

/// A model that does what it was told by whatever it read last.
const MODEL: &str = "
models: [demo]
turns:
  - when: { user: just run }
    calls: [{ name: bash, arguments: { cmd: touch file_cache_dir/ran } }]
  - when: { user: just tell }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: other, message: psst } }]
  - when: { user: psst }
    text: heard
  - when: { user: look directly }
    calls: [{ name: s__page, arguments: {} }]
  - when: { user: look at a letter }
    calls: [{ name: s__letter, arguments: {} }]
  - when: { user: look at what fails }
    calls: [{ name: s__fails, arguments: {} }]
  - when: { user: look through the door }
    calls: [{ name: gateway_invoke, arguments: { server: s, tool: page, arguments: {} } }]
  - when: { user: look with code }
    calls: [{ name: code-execution_execute, arguments: { code: \"return await callTool('s', 'page', {})\" } }]
  - when: { user: all in code }
    calls: [{ name: code-execution_execute, arguments: { code: \"await callTool('s', 'page', {}); return await callTool('local', 'bash', { cmd: 'touch file_cache_dir/ran' })\" } }]
  - when: { user: run in code }
    calls: [{ name: code-execution_execute, arguments: { code: \"await callTool('local', 'bash', { cmd: 'touch file_cache_dir/ran' })\" } }]
  - when: { result_of: s__page }
    calls: [{ name: bash, arguments: { cmd: touch file_cache_dir/ran } }]
  - when: { result_of: s__fails }
    calls: [{ name: bash, arguments: { cmd: echo fails > file_cache_dir/ran } }]
  - when: { result_of: gateway_invoke }
    calls: [{ name: bash, arguments: { cmd: echo door > file_cache_dir/ran } }]
  - when: { user: look with code, result_of: code-execution_execute }
    calls: [{ name: bash, arguments: { cmd: echo code > file_cache_dir/ran } }]
  - when: { result_of: s__letter }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: other, message: psst } }]
  - when: { result_of: bash }
    text: done
  - when: { result_of: gsv__SessionSend }
    text: done
  - when: { result_of: code-execution_execute }
    text: done
";

fn stage() -> Gateway {
    let home = Home::new();
    let file = home.outside("model.yaml");
    std::fs::write(&file, MODEL).expect("a script");
    let scripted = Scripted::beside(&home, "script", &["page", "letter", "fails"]);
    let settings = format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {file:?}\n{}",
        scripted.settings("s", "")
    );
    gateway(home, &settings, &["s"])
}

/// Where a turn comes to: its end, or the question for which it pauses.
#[track_caller]
fn turn(gateway: &Gateway, session: &str, message: &str) -> Value {
    let body = json!({ "sessionKey": session, "message": message });
    let said = gateway.post("/api/chat", &body).json();
    assert_eq!(said["ok"], true, "{message}: {said}");
    said["result"].clone()
}

fn ran(gateway: &Gateway) -> bool {
    let file = gateway.home.path().join("host/cache/ran");
    std::fs::remove_file(file).is_ok()
}

fn told(gateway: &Gateway) -> bool {
    let listed = gateway.call("gsv__SessionsList", json!({}));
    listed.to_string().contains("agent:main:other")
}

#[track_caller]
fn decide(gateway: &Gateway, id: &Value, decision: &str) {
    let path = format!("/api/approvals/{}", id.as_str().expect("an id"));
    let said = gateway.post(&path, &json!({ "decision": decision })).json();
    assert_eq!(said["ok"], true, "{said}");
}

#[test]
fn a_turn_that_read_a_server_result_asks_before_running_anything() {
    let gateway = stage();
    for (session, message) in [("a", "just run"), ("b", "run in code")] {
        let end = turn(&gateway, session, message);
        assert_eq!(end["text"], "done", "the control, {message}: {end}");
        assert!(ran(&gateway), "the control, {message}");
    }
    let paused = turn(&gateway, "agreed", "look directly");
    let goes_on = gateway.home.path().join("host/cache/ran");
    decide(&gateway, &paused["approvalId"], "approve");
    eventually("what was agreed to runs", || goes_on.exists());
    assert!(ran(&gateway));
    // What was refused once stays refused, so each of these does it in its own words.
    for (number, message) in [
        "look directly",
        "look at what fails",
        "look through the door",
        "look with code",
    ]
    .into_iter()
    .enumerate()
    {
        let paused = turn(&gateway, &format!("s{number}"), message);
        assert_eq!(paused["status"], "paused", "{message}: {paused}");
        assert_eq!(paused["tool"], "bash", "{message}: {paused}");
        assert!(!ran(&gateway), "{message}: it waits");
        decide(&gateway, &paused["approvalId"], "deny");
    }
    assert!(!ran(&gateway), "nothing of it was run");
}

#[test]
fn a_script_of_a_turn_that_read_a_server_result_asks_before_running_anything() {
    let gateway = stage();
    for decision in ["approve", "deny"] {
        let end = turn(&gateway, decision, "all in code");
        assert_eq!(end["text"], "done", "the model is told: {end}");
        assert!(!ran(&gateway), "nothing was run");
        let listed = gateway.get("/api/approvals").json();
        let asked = &listed["result"]["approvals"][0];
        assert_eq!(asked["tool"], "bash", "{listed}");
        decide(&gateway, &asked["id"], decision);
        let end = turn(&gateway, decision, "all in code");
        assert_eq!(end["text"], "done", "{end}");
        assert_eq!(ran(&gateway), decision == "approve");
    }
}

#[test]
fn a_turn_that_read_a_server_result_asks_before_sending_anything() {
    let gateway = stage();
    let paused = turn(&gateway, "first", "look at a letter");
    assert_eq!(paused["status"], "paused", "{paused}");
    assert_eq!(paused["tool"], "gsv__SessionSend", "{paused}");
    assert!(!told(&gateway));
    decide(&gateway, &paused["approvalId"], "deny");
    assert!(!told(&gateway));
    let end = turn(&gateway, "second", "just tell");
    assert_eq!(end["text"], "done", "the control: {end}");
    assert!(told(&gateway), "the control");
}
