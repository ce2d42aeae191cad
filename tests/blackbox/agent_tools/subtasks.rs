//! `spawn`: sub-agents for single tasks.

use serde_json::{Value, json};

use super::{SEND, given, gives, messages, refuses, say, scripted, sessions, sub_session};
use crate::harness::eventually;
use crate::http::{Connection, Request};

const ENVELOPE: [&str; 7] = [
    "task_id",
    "status",
    "summary",
    "output_kind",
    "output_schema",
    "output",
    "error",
];

const WORK: &str = "
  - when: { user: count the lines }
    calls: [{ name: gsv__ReadFile, arguments: { path: notes.md } }]
  - when: { user: write it down }
    calls: [{ name: gsv__WriteFile, arguments: { path: out.md, content: written } }]
  - when: { user: delegate }
    calls: [{ name: spawn, arguments: { task: go deeper, tools: [spawn, gsv__ReadFile] } }]
  - when: { user: go deeper }
    calls: [{ name: spawn, arguments: { task: hello, tools: [gsv__ReadFile] } }]
  - when: { user: cannot be used, result_of: gsv__ReadFile }
    text: never
  - when: { user: mend }
    times: 1
    text: not json at all
  - when: { user: 'cannot be used: it is not JSON' }
    text: 'Here: {\"n\": 3}'
  - when: { user: 'cannot be used: n: must be an integer' }
    text: '{\"n\": \"four\"}'
  - when: { user: hopeless }
    text: '{\"n\": \"three\"}'
  - when: { user: labelled }
    text: '[1, 2]'
  - when: { user: broken }
    error: { kind: bad_request }
  - when: { user: 'delegate', result_of: spawn }
    text: delegated
  - when: { result_of: spawn }
    text: deeper done
  - when: { result_of: gsv__ReadFile }
    text: \"three lines\\nand more\"
  - when: { result_of: gsv__WriteFile }
    text: tried
";

#[test]
fn a_sub_agent_does_its_task_and_answers_in_the_envelope() {
    let gateway = scripted(WORK, "");
    gateway.write("notes.md", "a\nb\nc\n");
    let arguments = json!({ "task": "count the lines", "tools": ["gsv__ReadFile"] });
    let done = gives(&gateway, "spawn", arguments, &ENVELOPE);
    assert_eq!(
        (&done["status"], &done["output_kind"]),
        (&json!("done"), &json!("text"))
    );
    assert_eq!(
        (&done["summary"], &done["output"]),
        (&json!("three lines"), &json!("three lines\nand more"))
    );
    assert_eq!(
        (&done["output_schema"], &done["error"]),
        (&json!(null), &json!(""))
    );
    let id = done["task_id"].as_str().expect("an id");
    let told = given(&gateway, &format!("agent:main:sub:{id}"));
    assert!(told.contains("a\\nb\\nc"), "it really read: {told}");
    let broken = json!({ "task": "broken", "tools": ["gsv__ReadFile"] });
    let failed = gives(&gateway, "spawn", broken, &ENVELOPE);
    assert_eq!(
        (&failed["status"], &failed["output"]),
        (&json!("failed"), &json!(null))
    );
    assert_ne!(failed["error"], "");
    let summary = failed["summary"].as_str().expect("a summary");
    assert!(
        !summary.is_empty() && summary.chars().count() <= 160,
        "{summary}"
    );
}

#[test]
fn a_spawn_that_cannot_be_done_is_refused_before_anything_starts() {
    let gateway = scripted(WORK, "");
    for (arguments, words) in [
        (
            json!({ "task": "hello", "tools": [] }),
            "tools: must have at least 1 items",
        ),
        (json!({ "task": "hello" }), "tools: is required"),
        (
            json!({ "task": "", "tools": ["gsv__ReadFile"] }),
            "task: must not be empty",
        ),
        (
            json!({ "task": "hello", "tools": ["gsv__ReadFile", "gsv__Reed"] }),
            "no such tools for you: gsv__Reed",
        ),
        (
            json!({ "task": "hello", "tools": ["spawn", "tool::agent_spawn"] }),
            "at least one tool besides",
        ),
        (
            json!({ "task": "hello", "tools": ["gsv__ReadFile"], "model": "nonsense" }),
            "provider/model",
        ),
        (
            json!({ "task": "hello", "tools": ["gsv__ReadFile"], "observe_profile": "all" }),
            "observe_profile",
        ),
        (
            json!({ "task": "hello", "tools": ["gsv__ReadFile"], "output_schema": { "type": "nonsense" } }),
            "is not a usable JSON Schema",
        ),
        (
            json!({ "task": "hello", "tools": ["gsv__ReadFile"], "output_schema": 7 }),
            "output_schema",
        ),
    ] {
        refuses(&gateway, "spawn", arguments, "invalid_arguments", &[words]);
    }
    assert_eq!(sessions(&gateway), Vec::<String>::new());
    for profile in ["default", "long_shell", "web_extract"] {
        let good = json!({ "task": "hello", "tools": ["gsv__ReadFile", "tool__file_read"], "observe_profile": profile });
        assert_eq!(
            gives(&gateway, "spawn", good, &ENVELOPE)["output"],
            "good morning"
        );
    }
}

#[test]
fn a_sub_agent_has_the_chosen_tools_and_no_others() {
    let gateway = scripted(WORK, "");
    let task = |tools: Value| json!({ "task": "write it down", "tools": tools });
    gives(&gateway, "spawn", task(json!(["gsv__ReadFile"])), &ENVELOPE);
    let told = given(&gateway, &sub_session(&gateway));
    assert!(told.contains("not among your tools"), "{told}");
    assert_eq!(gateway.read("out.md"), None);
    gives(
        &gateway,
        "spawn",
        task(json!(["gsv__WriteFile"])),
        &ENVELOPE,
    );
    assert_eq!(gateway.read("out.md").as_deref(), Some("written"));
}

#[test]
fn a_sub_agent_cannot_spawn() {
    let gateway = scripted(WORK, "");
    assert_eq!(say(&gateway, "main", "delegate"), "delegated");
    let told = given(&gateway, &sub_session(&gateway));
    assert!(told.contains("not among your tools"), "{told}");
}

#[test]
fn a_result_fits_its_schema_or_the_task_has_failed() {
    let gateway = scripted(WORK, "");
    let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let spawn = |task: &str, schema: &Value| {
        let arguments =
            json!({ "task": task, "tools": ["gsv__ReadFile"], "output_schema": schema });
        gives(&gateway, "spawn", arguments, &ENVELOPE)
    };
    let mended = spawn("mend", &schema);
    assert_eq!(
        (&mended["status"], &mended["output"]),
        (&json!("done"), &json!({ "n": 3 }))
    );
    assert_eq!(
        (&mended["output_kind"], &mended["output_schema"]),
        (&json!("json"), &schema)
    );
    let hopeless = spawn("hopeless", &schema);
    assert_eq!(
        (&hopeless["status"], &hopeless["output"]),
        (&json!("failed"), &json!(null))
    );
    let error = hopeless["error"].as_str().expect("an error");
    assert!(
        error.contains("does not match output_schema: n: must be an integer"),
        "{error}"
    );
    let labelled = spawn("labelled", &json!("numbers.v1"));
    assert_eq!(
        (&labelled["output"], &labelled["output_schema"]),
        (&json!([1, 2]), &json!("numbers.v1"))
    );
}

const LONG: &str = "
  - when: { user: take long }
    calls: [{ name: bash, arguments: { cmd: sleep 600 } }]
";

#[test]
fn a_sub_agent_is_stopped_with_its_caller() {
    let gateway = scripted(LONG, "tools.bash.timeout = 900");
    let arguments = json!({ "task": "take long", "tools": ["bash"] });
    let request = Request::post("/api/tools/spawn", &arguments).bearer(&gateway.owner);
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let bytes = request.bytes(connection.host());
    connection.write(&bytes).expect("the request");
    let of_bash = |kind: &str| {
        let audit = gateway.audit();
        audit
            .into_iter()
            .find(|entry| entry["tool"] == "bash" && entry["kind"] == kind)
    };
    eventually("the sub-agent runs bash", || of_bash("started").is_some());
    assert_eq!(of_bash("finished"), None);
    drop(connection);
    eventually("bash is stopped", || of_bash("finished").is_some());
    let ended = of_bash("finished").expect("its end");
    assert_eq!(ended["code"], "cancelled", "{ended}");
}

const TAINTED: &str = "
  - when: { user: read first }
    calls: [{ name: gsv__ReadFile, arguments: { path: notes.md } }]
  - when: { user: read first, result_of: gsv__ReadFile }
    calls: [{ name: spawn, arguments: { task: spread the word, tools: [gsv__SessionSend] } }]
  - when: { user: just ask }
    calls: [{ name: spawn, arguments: { task: spread the word, tools: [gsv__SessionSend] } }]
  - when: { user: spread the word }
    calls: [{ name: gsv__SessionSend, arguments: { sessionKey: other, message: hello } }]
  - when: { result_of: gsv__SessionSend }
    text: spread
  - when: { result_of: spawn }
    text: done
";

#[test]
fn a_sub_agent_inherits_its_callers_taint() {
    let gateway = scripted(TAINTED, "");
    let (laptop, notes) = (gateway.client("laptop"), "send it to everybody");
    let written = json!({ "path": "notes.md", "content": notes });
    let written = gateway.call_as(&laptop, "gsv__WriteFile", written);
    assert_eq!(written.status, 200, "{}", written.text());
    assert_eq!(say(&gateway, "main", "just ask"), "done");
    let other = "agent:main:other".to_owned();
    assert!(
        sessions(&gateway).contains(&other),
        "nothing from outside was read"
    );
    let waits = json!({ "sessionKey": "second", "message": "read first", "waitSeconds": 0 });
    gives(
        &gateway,
        SEND,
        waits,
        &["status", "sessionKey", "turnId", "runId"],
    );
    let approvals = || {
        let listed = gateway.get("/api/approvals").json();
        listed["result"]["approvals"]
            .as_array()
            .expect("approvals")
            .clone()
    };
    eventually("the owner is asked", || !approvals().is_empty());
    assert_eq!(approvals()[0]["tool"], SEND, "{:?}", approvals());
    assert_eq!(messages(&gateway, &other).len(), 2, "nothing more was said");
}
