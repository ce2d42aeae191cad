//! What somebody at a page does with a conversation: takes back what was said, sees what runs and what was
//! shown, and answers or stops what waits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chat_http::{Events, scripted};
use crate::chat_socket::Chat;
use crate::harness::{Gateway, eventually};
use crate::http::Request;
use crate::nodes::fixture::Machine;

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: write it }
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: Written.
  - when: { user: run it }
    calls: [{ id: c2, name: laptop__Bash, arguments: { command: "echo begun; printf 'hunter2!'; printf 'hunter2!\n'; until [ -e go ]; do sleep 0.02; done; echo ended" } }]
  - when: { result_of: laptop__Bash }
    text: It ran.
  - when: { user: look at it }
    calls: [{ id: c3, name: laptop__Read, arguments: { path: dot.png } }]
  - when: { result_of: laptop__Read }
    text: A dot.
  - when: { user: forever }
    deltas: [one, two]
    between_ms: 600000
  - when: { user: hello }
    deltas: ["Good ", "morning", "."]
    usage: { input: 120, output: 9 }
"#;

/// No session begins anew because the hour struck while a test ran.
const CALM: &str = "[sessions.reset]\nmode = \"manual\"\n";

const ASK: &str = r#"
[sessions.reset]
mode = "manual"

[[policy.rules]]
decision = "ask"
tools = ["gsv__WriteFile"]
reason = "writing needs a nod"
"#;

const ALLOW: &str = r#"
[sessions.reset]
mode = "manual"

[[policy.rules]]
decision = "allow"
tools = ["laptop__*"]
reason = "it is my own machine"
"#;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The numbers of the messages that a session shows.
#[track_caller]
fn seqs(chat: &mut Chat, key: &str) -> Vec<i64> {
    let history = chat.ask("session.history", json!({ "sessionKey": key }));
    let messages = history["messages"].as_array().expect("messages");
    let seqs = messages.iter().map(|message| message["seq"].as_i64());
    seqs.map(|seq| seq.expect("a number")).collect()
}

#[test]
fn a_message_is_rewound_and_sent_again() {
    let gateway = scripted(SCRIPT, CALM);
    let mut chat = Chat::owner(&gateway);
    for run in ["r1", "r2", "r3"] {
        chat.send("main", run, "hello");
        chat.end(run);
    }
    let before = chat.ask("session.get", json!({ "sessionKey": "main" }));
    let rewound = chat.ask("session.rewind", json!({ "sessionKey": "main", "seq": 4 }));
    assert_eq!(rewound["removedMessages"], 2, "{rewound}");
    assert_eq!(rewound["removedToolCalls"], 0);
    assert_eq!(rewound["text"], "hello");
    let place = rewound["archivedTo"].as_str().expect("a place");
    assert!(gateway.home.blob(place).exists(), "{place}");
    let after = chat.ask("session.get", json!({ "sessionKey": "main" }));
    assert_eq!(after["messageCount"], 4);
    assert_eq!(after["sessionId"], before["sessionId"]);
    assert_eq!(
        after["tokens"], before["tokens"],
        "what was used stays counted"
    );
    for (wrong, code) in [(4, 400), (1, 400), (99, 400), (-1, 400)] {
        let params = json!({ "sessionKey": "main", "seq": wrong });
        assert_eq!(chat.refused("session.rewind", params), code, "{wrong}");
    }
    let rewind = |seq: Value| gateway.post("/api/sessions/main/rewind", &json!({ "seq": seq }));
    let wrong = rewind(json!(3)).json();
    assert_eq!(wrong["code"], "invalid_arguments", "{wrong}");
    assert!(
        wrong["error"]
            .as_str()
            .is_some_and(|why| why.contains("seq")),
        "{wrong}"
    );
    assert_eq!(rewind(json!("two")).status, 400);
    assert_eq!(seqs(&mut chat, "main"), [0, 1, 2, 3]);
    let rewound = rewind(json!(2)).json();
    assert_eq!(rewound["result"]["removedMessages"], 2, "{rewound}");
    assert_eq!(seqs(&mut chat, "main"), [0, 1]);

    let bot = gateway.client("bot");
    let mut theirs = Chat::with(&gateway, &bot);
    let foreign = json!({ "sessionKey": "agent:main:main", "seq": 0 });
    assert_eq!(theirs.refused("session.rewind", foreign), 403);
    theirs.send("main", "b1", "hello");
    theirs.end("b1");
    theirs.ask("session.rewind", json!({ "sessionKey": "main", "seq": 0 }));
    assert_eq!(
        seqs(&mut chat, "main"),
        [0, 1],
        "nobody touched the owner's"
    );
    let noted = gateway.audit();
    let noted = noted
        .iter()
        .filter(|entry| entry["tool"] == "session.rewind");
    assert_eq!(noted.count(), 3);

    drop((chat, theirs));
    let gateway = Gateway::on(gateway.kill9());
    let mut chat = Chat::owner(&gateway);
    assert_eq!(seqs(&mut chat, "main"), [0, 1]);
    chat.send("main", "r4", "hello");
    chat.end("r4");
    assert_eq!(seqs(&mut chat, "main"), [0, 1, 6, 7], "no number twice");
    let undone = chat.command("main", "/undo");
    assert_eq!(undone["error"], Value::Null, "{undone}");
    assert_eq!(seqs(&mut chat, "main"), [0, 1]);

    chat.send("main", "r5", "forever");
    chat.until("r5", "delta");
    let params = json!({ "sessionKey": "main", "seq": 0 });
    assert_eq!(chat.refused("session.rewind", params.clone()), 409);
    chat.ask("chat.stop", json!({ "sessionKey": "main" }));
    chat.until("r5", "error");
    chat.ask("session.rewind", params);
    assert_eq!(seqs(&mut chat, "main"), [0; 0]);
}

#[test]
fn command_output_is_streamed_and_redacted() {
    let gateway = scripted(SCRIPT, ALLOW);
    let secret = json!({ "value": "hunter2!hunter2!" });
    let put = Request::new("PUT", "/api/secrets/mine")
        .bearer(&gateway.owner)
        .json(&secret);
    assert_eq!(gateway.send(&put).status, 200);
    let laptop = Machine::lend(&gateway, "laptop");
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "run it");
    let mut shown = String::new();
    while !shown.contains("begun\n[redacted]\n") {
        let frame = chat.next();
        let told = &frame["payload"];
        assert_ne!(
            told["state"], "done",
            "it does not end by itself: {shown:?}"
        );
        if told["state"] == "output" {
            assert_eq!(told["callId"], "c2");
            shown.push_str(told["text"].as_str().expect("a text"));
        }
    }
    assert_eq!(shown, "begun\n[redacted]\n");
    laptop.put("go", b"");
    let told = chat.until("r1", "final");
    let done = told.iter().find(|payload| payload["state"] == "done");
    let done = done.expect("the tool's end");
    let entry = gateway.audit();
    let entry = entry
        .iter()
        .find(|entry| entry["call"] == done["auditCall"]);
    assert_eq!(entry.expect("its entry")["tool"], "laptop__Bash");

    let mut events = Events::chat(&gateway, &gateway.owner, &json!({ "message": "run it" }));
    let mut printed = String::new();
    while let Some((name, data)) = events.next() {
        if name == "tool" && data["phase"] == "output" {
            printed.push_str(data["text"].as_str().expect("a text"));
        }
    }
    assert_eq!(printed, "begun\n[redacted]\nended\n");

    let mut socket = gateway.ws();
    for (tool, arguments) in [
        ("laptop__Bash", json!({ "command": "echo seen" })),
        ("bash", json!({ "cmd": "echo seen" })),
        (
            "code-execution_execute",
            json!({ "code": "console.log('seen')" }),
        ),
    ] {
        let call = json!({ "tool": tool, "args": arguments, "progress": true });
        let id = socket.ask("tool.invoke", call);
        let mut printed = String::new();
        loop {
            let frame = socket.frame().expect("an open socket");
            if frame["event"] == "tool.progress" {
                assert_eq!(frame["payload"]["requestId"], id.as_str());
                printed.push_str(frame["payload"]["output"].as_str().unwrap_or_default());
            }
            if frame["id"] == id.as_str() {
                assert_eq!(frame["ok"], true, "{frame}");
                break;
            }
        }
        assert_eq!(printed, "seen\n", "{tool}");
    }
}

#[test]
fn pictures_of_a_conversation_are_seen_by_whoever_may_see_it() {
    let gateway = scripted(SCRIPT, ALLOW);
    let laptop = Machine::lend(&gateway, "laptop");
    let bytes = STANDARD.decode(PNG).expect("a picture");
    laptop.put("dot.png", &bytes);
    let picture = json!({ "data": PNG, "mimeType": "image/png" });
    let said = json!({ "message": "look at it", "pictures": [picture] });
    let answer = gateway.post("/api/chat", &said);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut chat = Chat::owner(&gateway);
    let history = chat.ask("session.history", json!({ "sessionKey": "main" }));
    let messages = history["messages"].as_array().expect("messages");
    let blocks = messages
        .iter()
        .flat_map(|one| one["content"].as_array().expect("blocks"));
    let refs: Vec<&str> = blocks.filter_map(|block| block["ref"].as_str()).collect();
    assert_eq!(refs, ["0/0", "2/0"], "{history:#}");
    for name in refs {
        let seen = gateway.get(&format!("/api/sessions/main/pictures/{name}"));
        assert_eq!((seen.status, &seen.body), (200, &bytes), "{name}");
        assert_eq!(seen.header("content-type"), Some("image/png"));
        assert_eq!(seen.header("x-content-type-options"), Some("nosniff"));
        let policy = seen.header("content-security-policy").expect("a policy");
        assert!(policy.contains("sandbox"), "{policy}");
    }
    let listed = gateway.get("/api/sessions/main/messages").json();
    assert_eq!(
        listed["result"]["messages"][0]["pictures"][0]["ref"], "0/0",
        "{listed:#}"
    );
    for (name, status) in [
        ("0/1", 404),
        ("1/0", 404),
        ("99/0", 404),
        ("a/0", 400),
        ("0/-1", 400),
    ] {
        let seen = gateway.get(&format!("/api/sessions/main/pictures/{name}"));
        assert_eq!(seen.status, status, "{name}");
    }
    let bot = gateway.client("bot");
    let foreign = Request::get("/api/sessions/agent:main:main/pictures/0/0").bearer(&bot);
    assert_eq!(foreign.send(gateway.addr).status, 403);
    let nobody = Request::get("/api/sessions/main/pictures/0/0");
    assert_eq!(nobody.send(gateway.addr).status, 401);
}

/// The questions that wait for the owner.
#[track_caller]
fn waiting(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.get("/api/approvals").json();
    listed["result"]["approvals"]
        .as_array()
        .expect("a list")
        .clone()
}

#[track_caller]
fn decide(gateway: &Gateway, approval: &str, decision: &str) -> (u16, String) {
    let path = format!("/api/approvals/{approval}");
    let answer = gateway.post(&path, &json!({ "decision": decision }));
    (answer.status, answer.text())
}

/// What a run waits for.
#[track_caller]
fn question(chat: &mut Chat, run: &str) -> String {
    let paused = chat.until(run, "paused").pop().expect("a question");
    paused["approvalId"].as_str().expect("its id").to_owned()
}

#[test]
fn stopping_a_run_withdraws_its_approval() {
    let gateway = scripted(SCRIPT, ASK);
    let mut chat = Chat::owner(&gateway);
    for (run, stop) in [
        ("r1", "chat.stop"),
        ("r2", "/stop"),
        ("r3", "session.reset"),
    ] {
        chat.send("main", run, "write it");
        let approval = question(&mut chat, run);
        assert_eq!(waiting(&gateway)[0]["id"], approval.as_str());
        match stop {
            "/stop" => drop(chat.command("main", stop)),
            method => drop(chat.ask(method, json!({ "sessionKey": "main" }))),
        }
        chat.until(run, "error");
        eventually("no question", || waiting(&gateway).is_empty());
        let (status, said) = decide(&gateway, &approval, "approve");
        assert_eq!(status, 409, "{said}");
        assert!(said.contains("withdrawn"), "{said}");
    }
    assert_eq!(gateway.read("note.md"), None, "nothing ran");
    chat.send("main", "r4", "write it");
    let approval = question(&mut chat, "r4");
    assert_eq!(decide(&gateway, &approval, "approve").0, 200);
    chat.end("r4");
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
}

#[test]
fn a_gateway_stop_keeps_pending_approvals() {
    let gateway = scripted(SCRIPT, ASK);
    let mut chat = Chat::owner(&gateway);
    chat.send("main", "r1", "write it");
    let approval = question(&mut chat, "r1");
    drop(chat);
    let gateway = gateway.restart();
    let mut chat = Chat::owner(&gateway);
    assert_eq!(waiting(&gateway)[0]["id"], approval.as_str());
    assert_eq!(decide(&gateway, &approval, "approve").0, 200);
    eventually("it ran", || gateway.read("note.md").is_some());
    eventually("no turn is open", || {
        let stats = chat.ask("session.stats", json!({ "sessionKey": "main" }));
        stats["queueSize"] == 0
    });
}

#[test]
fn two_conversations_ask_two_questions_and_each_yes_is_for_one() {
    let gateway = scripted(SCRIPT, ASK);
    let mut chat = Chat::owner(&gateway);
    chat.send("one", "r1", "write it");
    let first = question(&mut chat, "r1");
    chat.send("two", "r2", "write it");
    let second = question(&mut chat, "r2");
    assert_ne!(first, second);
    let open = waiting(&gateway);
    let of = |id: &str| {
        let found = open.iter().find(|one| one["id"] == id).expect("it waits");
        found["sessionKey"].as_str().expect("a session").to_owned()
    };
    assert_eq!(of(&first), "agent:main:one");
    assert_eq!(of(&second), "agent:main:two");
    assert_eq!(decide(&gateway, &second, "deny").0, 200);
    chat.end("r2");
    assert_eq!(gateway.read("note.md"), None, "the other one waits still");
    assert_eq!(waiting(&gateway)[0]["id"], first.as_str());
    assert_eq!(decide(&gateway, &first, "approve").0, 200);
    chat.end("r1");
    assert_eq!(gateway.read("note.md").as_deref(), Some("kept"));
}
