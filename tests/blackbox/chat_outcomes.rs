//! What is left of a turn: how its calls ended, what was written before a stop, why it failed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chat_http::scripted;
use crate::chat_socket::Chat;
use crate::harness::Gateway;
use crate::nodes::fixture::Machine;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: run it }
    calls: [{ id: c1, name: laptop__Bash, arguments: { command: "echo no; exit 2" } }]
  - when: { result_of: laptop__Bash }
    text: It failed.
  - when: { user: edit it }
    calls: [{ id: c2, name: gsv__EditFile, arguments: { path: note.md, oldString: "old", newString: "new" } }]
  - when: { result_of: gsv__EditFile }
    text: Edited.
  - when: { user: drop it }
    calls: [{ id: c3, name: gsv__DeleteFile, arguments: { path: note.md } }]
  - when: { result_of: gsv__DeleteFile }
    text: I see.
  - when: { user: look at it }
    calls: [{ id: c4, name: laptop__Read, arguments: { path: dot.png } }]
  - when: { result_of: laptop__Read }
    text: A dot.
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: broken }
    times: 1
    error: { kind: overloaded, message: too busy }
  - when: { user: wrong }
    error: { kind: bad_request, message: it does not like this }
  - when: { user: broken }
    text: Repaired.
"#;

const SETTINGS: &str = r#"
[sessions.reset]
mode = "manual"

[models.retry]
retries = 0

[[policy.rules]]
decision = "ask"
tools = ["gsv__DeleteFile"]
reason = "deleting needs a nod"

[[policy.rules]]
decision = "allow"
tools = ["laptop__*"]
reason = "it is my own machine"

[agents.researcher]
"#;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[track_caller]
fn history(chat: &mut Chat, key: &str) -> Vec<Value> {
    let answer = chat.ask("session.history", json!({ "sessionKey": key }));
    answer["messages"].as_array().expect("messages").clone()
}

/// The end of a call: as it was told live, and as the history has it. Both say the same.
#[track_caller]
fn call(chat: &mut Chat, run: &str, id: &str) -> Value {
    let told = chat.until(run, "final");
    let live = told
        .iter()
        .find(|one| one["state"] == "done")
        .expect("an end");
    let messages = history(chat, "main");
    let kept = messages.iter().find(|one| one["toolCallId"] == id);
    let kept = kept.unwrap_or_else(|| panic!("{messages:#?}"));
    for field in [
        "outcome",
        "exitCode",
        "waitedMs",
        "durationMs",
        "pictures",
        "diff",
    ] {
        assert_eq!(live[field], kept[field], "{field}: {live:#} {kept:#}");
    }
    kept.clone()
}

#[test]
fn a_call_says_how_it_ended_and_how_long_it_ran() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.put("dot.png", &STANDARD.decode(PNG).expect("a picture"));
    gateway.write("note.md", "an old note\n");
    let mut chat = Chat::owner(&gateway);

    chat.send("main", "r1", "run it");
    let ran = call(&mut chat, "r1", "c1");
    assert_eq!(
        (&ran["outcome"], &ran["exitCode"]),
        (&json!("failed"), &json!(2))
    );
    assert_eq!(
        ran["isError"], false,
        "the tool worked, its program did not"
    );
    assert_eq!(ran["waitedMs"], Value::Null, "nobody was asked");

    chat.send("main", "r2", "edit it");
    let edited = call(&mut chat, "r2", "c2");
    assert_eq!(edited["outcome"], "ok", "{edited}");
    let diff = edited["diff"].as_str().expect("a diff");
    assert_eq!(
        diff,
        "--- a/note.md\n+++ b/note.md\n@@ -1,1 +1,1 @@\n-old\n+new\n"
    );

    // Approved first: a denial also answers the same call when it comes again.
    for (run, decision, outcome) in [("r3", "approve", "ok"), ("r4", "deny", "denied")] {
        gateway.write("note.md", "a new note\n");
        chat.send("main", run, "drop it");
        let paused = chat.until(run, "paused").pop().expect("a question");
        let path = format!(
            "/api/approvals/{}",
            paused["approvalId"].as_str().expect("an id")
        );
        let decided = gateway.post(&path, &json!({ "decision": decision }));
        assert_eq!(decided.status, 200, "{}", decided.text());
        let told = chat.until(run, "final");
        let done = told
            .iter()
            .find(|one| one["state"] == "done")
            .expect("an end");
        assert_eq!(done["outcome"], outcome, "{done}");
        assert!(done["waitedMs"].as_u64().is_some(), "{done}");
        let there = gateway.read("note.md").is_some();
        assert_eq!(there, decision == "deny");
    }

    chat.send("main", "r5", "look at it");
    let looked = call(&mut chat, "r5", "c4");
    let picture = looked["pictures"][0]["ref"].as_str().expect("a picture");
    assert_eq!(picture, format!("{}/0", looked["seq"]));
    let seen = gateway.get(&format!("/api/sessions/main/pictures/{picture}"));
    assert_eq!(seen.status, 200);
}

#[test]
fn a_stopped_reply_and_the_reason_of_a_failure_outlive_a_restart() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "forever");
    chat.until("r1", "delta");
    chat.ask("chat.stop", json!({ "sessionKey": "main" }));
    let end = chat.until("r1", "error").pop().expect("an end");
    assert_eq!(
        (&end["stopped"], &end["retryable"]),
        (&json!(true), &json!(true))
    );

    for (run, text, retryable) in [("r2", "broken", true), ("r3", "wrong", false)] {
        chat.send("main", run, text);
        let end = chat.until(run, "error").pop().expect("an end");
        assert_eq!(end["retryable"], retryable, "{end}");
    }
    drop(chat);
    let gateway = Gateway::on(gateway.kill9());
    let mut chat = Chat::owner(&gateway);
    let told = history(&mut chat, "main");
    assert_eq!(told.len(), 6, "{told:#?}");
    assert_eq!(told[1]["stopped"], true);
    assert_eq!(
        told[1]["content"],
        json!([{ "type": "text", "text": "one" }])
    );
    for (at, failure, retryable) in [
        (3, "provider_overloaded", true),
        (5, "provider_bad_request", false),
    ] {
        let error = &told[at]["error"];
        assert_eq!(told[at]["role"], "assistant");
        assert_eq!(
            (&error["failure"], &error["retryable"]),
            (&json!(failure), &json!(retryable))
        );
        assert!(error["message"].as_str().is_some_and(|why| !why.is_empty()));
        assert_eq!(told[at - 1]["role"], "user", "after its message");
    }
    let listed = gateway.get("/api/sessions/main/messages").json();
    let listed = &listed["result"]["messages"];
    assert_eq!(listed[1]["stopped"], true, "{listed:#}");
    assert_eq!(
        listed[3]["error"]["failure"], "provider_overloaded",
        "{listed:#}"
    );

    // Trying again takes back the message with the reason. A new gateway plays its script from the start: one more
    // error, then the reply.
    chat.ask("session.rewind", json!({ "sessionKey": "main", "seq": 2 }));
    chat.send("main", "r4", "broken");
    chat.until("r4", "error");
    let again = history(&mut chat, "main");
    let seq = &again[again.len() - 2]["seq"];
    chat.ask(
        "session.rewind",
        json!({ "sessionKey": "main", "seq": seq }),
    );
    chat.send("main", "r5", "broken");
    assert_eq!(chat.end("r5")["text"], "Repaired.");
    assert_eq!(history(&mut chat, "main").len(), 4);
}

#[test]
fn a_conversation_with_another_agent_is_answered_by_that_agent() {
    let gateway = scripted(SCRIPT, SETTINGS);
    let mut chat = Chat::owner(&gateway);
    let key = "agent:researcher:talk-1";
    chat.send(key, "r1", "wrong");
    chat.until("r1", "error");
    chat.ask("session.rewind", json!({ "sessionKey": key, "seq": 0 }));
    chat.send(key, "r2", "edit it");
    assert_eq!(chat.end("r2")["sessionKey"], key);
    let used = gateway.get("/api/usage").json();
    let rows = used["result"]["rows"].as_array().expect("rows");
    let agents: Vec<&Value> = rows.iter().map(|row| &row["agent"]).collect();
    assert_eq!(agents, ["researcher"], "{rows:#?}");
    let nobody = json!({ "sessionKey": "agent:nobody:talk-1", "message": "hello" });
    assert_eq!(chat.refused("chat.send", nobody), 404, "and never by main");
}
