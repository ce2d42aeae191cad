//! A node written by others connects unchanged, answers what it was asked, and nothing else.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{ask, is_online, on_record, tools_of, wait_offline, wait_online};
use crate::nodes::player::{Player, greeting};
use crate::socket::Socket;

fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    let mut keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_node_written_by_others_connects_and_serves_calls() {
    let gateway = Gateway::start();
    let greeted = Player::greet(gateway.addr, greeting("attic", &gateway.owner));
    let (mut attic, hello) = greeted.expect("a greeting");
    assert_eq!(
        (&hello["type"], &hello["protocol"]),
        (&json!("hello-ok"), &json!(1)),
        "{hello}"
    );
    assert!(hello["server"]["version"].is_string() && hello["server"]["connectionId"].is_string());
    let methods = hello["features"]["methods"].to_string();
    assert!(
        methods.contains("tool.result") && !methods.contains("config.get"),
        "{hello}"
    );
    let events = hello["features"]["events"].to_string();
    assert!(
        events.contains("tool.invoke") && events.contains("transfer.send"),
        "{hello}"
    );
    wait_online(&gateway, "attic");
    assert_eq!(
        tools_of(&gateway, "attic"),
        ["attic__Bash", "attic__Read", "attic__Write"]
    );
    let record = on_record(&gateway, "attic").expect("a record");
    assert_eq!(
        (&record["clientPlatform"], &record["clientVersion"]),
        (&json!("plan9-mips"), &json!("9.9"))
    );

    let asked = ask(&gateway, "attic__Bash", json!({ "command": "ls" }));
    let (call, event) = attic.called();
    assert_eq!(keys(&event), ["args", "callId", "tool"], "as published");
    assert_eq!(
        (&event["tool"], &event["args"]),
        (&json!("Bash"), &json!({ "command": "ls" }))
    );
    let result = json!({ "anything": ["it", 1, null] });
    assert!(!attic.answer("tool.result", json!({ "callId": call, "result": result })));
    assert_eq!(asked.answer(), json!({ "ok": true, "result": result }));

    let asked = ask(&gateway, "attic__Read", json!({ "path": "/x" }));
    let (call, _) = attic.called();
    attic.answer(
        "tool.result",
        json!({ "callId": call, "error": "the attic is dark" }),
    );
    let said = asked.answer();
    assert_eq!(
        (&said["ok"], &said["error"]),
        (&json!(false), &json!("the attic is dark")),
        "{said}"
    );
    attic.leave();
    wait_offline(&gateway, "attic");
}

#[test]
fn concurrent_calls_to_one_node_are_matched_by_id() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    let asked: Vec<_> = (0..12)
        .map(|n| {
            ask(
                &gateway,
                "attic__Bash",
                json!({ "command": format!("c{n}") }),
            )
        })
        .collect();
    let mut calls: Vec<_> = (0..12).map(|_| attic.called()).collect();
    calls.reverse();
    for (call, event) in calls {
        let result = json!({ "ran": event["args"]["command"] });
        assert!(!attic.answer("tool.result", json!({ "callId": call, "result": result })));
    }
    for (n, asked) in asked.into_iter().enumerate() {
        assert_eq!(asked.answer()["result"]["ran"], format!("c{n}"));
    }
}

#[test]
fn only_the_called_node_may_answer() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    let mut cellar = Player::join(&gateway, "cellar");
    let asked = ask(&gateway, "attic__Bash", json!({ "command": "who" }));
    let (call, _) = attic.called();
    let forged = json!({ "callId": call, "result": "the cellar" });
    assert!(cellar.answer("tool.result", forged), "it is dropped");
    assert!(!asked.is_answered());
    let own = json!({ "callId": call, "result": "the attic" });
    assert!(!attic.answer("tool.result", own.clone()));
    assert_eq!(asked.answer()["result"], "the attic");
    assert!(
        attic.answer("tool.result", own),
        "a second answer is dropped"
    );
    let unknown = json!({ "callId": "nobody", "result": 1 });
    assert!(attic.answer("tool.result", unknown), "and one to nothing");
}

#[test]
fn its_log_is_returned_line_by_line() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    let mut cellar = Player::join(&gateway, "cellar");
    let asked = ask(
        &gateway,
        "gsv__LogsGet",
        json!({ "nodeId": "attic", "lines": 2 }),
    );
    let event = attic.event("logs.get");
    assert_eq!(keys(&event), ["callId", "lines"], "as published");
    assert_eq!(event["lines"], 2);
    let forged = json!({ "callId": event["callId"], "lines": ["lies"] });
    assert!(
        cellar.answer("logs.result", forged),
        "only the node that was asked"
    );
    let lines = json!({ "callId": event["callId"], "lines": ["a", "b"], "truncated": true });
    assert!(!attic.answer("logs.result", lines));
    let result = json!({ "nodeId": "attic", "lines": ["a", "b"], "count": 2, "truncated": true });
    assert_eq!(asked.answer()["result"], result);

    let asked = ask(
        &gateway,
        "gsv__LogsGet",
        json!({ "nodeId": "attic", "lines": 2 }),
    );
    let event = attic.event("logs.get");
    let more = json!({ "callId": event["callId"], "lines": ["1", "2", "3"] });
    attic.answer("logs.result", more);
    let said = asked.answer();
    assert_eq!(
        said["result"]["lines"],
        json!(["2", "3"]),
        "no more than was asked: {said}"
    );
    assert_eq!(said["result"]["truncated"], true);

    let asked = ask(&gateway, "gsv__LogsGet", json!({ "nodeId": "attic" }));
    let event = attic.event("logs.get");
    assert_eq!(event["lines"], 100);
    attic.answer(
        "logs.result",
        json!({ "callId": event["callId"], "error": "no log here" }),
    );
    let said = asked.answer();
    assert_eq!(said["ok"], false, "{said}");
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|words| words.contains("no log here")),
        "{said}"
    );
}

#[test]
fn a_node_may_call_nothing_but_what_is_a_nodes() {
    let gateway = Gateway::start();
    gateway.write("kept.md", "kept");
    let mut attic = Player::join(&gateway, "attic");
    let before = gateway.get("/api/config").text();
    for (method, params) in [
        ("config.get", json!({})),
        (
            "config.set",
            json!({ "path": "limits.request_bytes", "value": 1 }),
        ),
        (
            "tool.invoke",
            json!({ "tool": "gsv__DeleteFile", "args": { "path": "kept.md" } }),
        ),
        ("workspace.read", json!({ "path": "kept.md" })),
        ("workspace.list", json!({})),
        (
            "workspace.write",
            json!({ "path": "kept.md", "content": "broken" }),
        ),
        ("workspace.delete", json!({ "path": "kept.md" })),
        ("logs.get", json!({})),
        ("nodes.list", json!({})),
        ("node.forget", json!({ "nodeId": "attic", "force": true })),
        ("chat.send", json!({ "sessionKey": "a", "message": "hi" })),
        ("no.such.method", json!({})),
    ] {
        let said = attic.say(method, params);
        assert_eq!(
            (&said["ok"], &said["error"]["code"]),
            (&json!(false), &json!(403)),
            "{method}: {said}"
        );
    }
    let again = attic.say("connect", greeting("attic", &gateway.owner));
    assert_eq!(again["error"]["code"], 103, "{again}");
    assert_eq!(gateway.read("kept.md").as_deref(), Some("kept"));
    assert_eq!(gateway.get("/api/config").text(), before);
    let control = attic.say("tools.list", json!({}));
    assert_eq!(control["ok"], true, "{control}");
    assert!(control["payload"]["tools"].is_array(), "{control}");
    assert!(is_online(&gateway, "attic"));
}

#[test]
fn a_repeated_process_event_is_delivered_once_to_its_session() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let mut attic = Player::join(&gateway, "attic");
    let mut socket = Socket::connect(gateway.addr, &gateway.client("agent"));
    let mut other = Socket::connect(gateway.addr, &gateway.client("stranger"));
    socket.ask(
        "tool.invoke",
        json!({ "tool": "attic__Bash", "args": { "command": "make" } }),
    );
    let (call, _) = attic.called();
    attic.answer(
        "tool.result",
        json!({ "callId": call, "result": { "status": "running" } }),
    );
    let news = |id: &str, event: &str| {
        json!({
            "eventId": id, "sessionId": "s1", "event": event, "callId": call, "exitCode": 0,
            "outputTail": "done", "startedAt": 1, "endedAt": 2,
        })
    };
    assert!(!attic.answer("node.exec.event", news("e1", "finished")));
    assert!(
        attic.answer("node.exec.event", news("e1", "finished")),
        "told before"
    );
    assert!(!attic.answer("node.exec.event", news("e2", "failed")));
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let frame = socket.frame().expect("an open socket");
        if frame["event"] == "node.exec.event" {
            heard.push(frame["payload"].clone());
        }
    }
    let told: Vec<_> = heard.iter().map(|news| news["eventId"].as_str()).collect();
    assert_eq!(told, [Some("e1"), Some("e2")], "each once");
    assert_eq!(
        (&heard[0]["nodeId"], &heard[0]["agentId"]),
        (&json!("attic"), &json!("main"))
    );
    assert_eq!(heard[0]["outputTail"], "done");
    let wrong = attic.say(
        "node.exec.event",
        json!({ "eventId": "e3", "sessionId": "s1", "event": "exploded" }),
    );
    assert_eq!(wrong["error"]["code"], 400, "{wrong}");
    // All that was told to anybody was told before this answer.
    other.ask("tools.list", json!({}));
    loop {
        let frame = other.frame().expect("an open socket");
        assert_ne!(
            frame["event"], "node.exec.event",
            "a stranger heard: {frame}"
        );
        if frame["type"] == "res" {
            break;
        }
    }
}
