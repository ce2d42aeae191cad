//! Work that is left in the background is announced when it ends, once, to whoever started it.

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::nodes::fixture::{Machine, Plan, wait_offline, wait_online};
use crate::nodes::proxy::Proxy;
use crate::socket::{Socket, envelope};

/// Starts a command in the background that ends when the file `go` is there: its session.
fn start(client: &mut Socket, ending: &str) -> Value {
    let command = format!("while [ ! -e go ]; do sleep 0.02; done; echo the end; {ending}");
    let arguments = json!({ "command": command, "background": true });
    let said = client.call("laptop__Bash", &arguments);
    assert_eq!(said["result"]["status"], "running", "{said}");
    said["result"]["sessionId"].clone()
}

/// The next news that a client is told.
fn news(client: &mut Socket) -> Value {
    loop {
        let frame = client.frame().expect("an open socket");
        if frame["event"] == "node.exec.event" {
            return frame["payload"].clone();
        }
    }
}

/// All that a client was told of `session` before the answer to a question.
fn told_until_now(client: &mut Socket, session: &Value) -> Vec<Value> {
    let id = client.ask("tools.list", json!({}));
    let mut told = Vec::new();
    loop {
        let frame = client.frame().expect("an open socket");
        if frame["event"] == "node.exec.event" && frame["payload"]["sessionId"] == *session {
            told.push(frame["payload"]["event"].clone());
        }
        if frame["id"] == id.as_str() {
            return told;
        }
    }
}

/// A gateway that lets clients run programs without asking.
fn lenient() -> Gateway {
    Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n")
}

#[test]
fn the_session_that_started_background_work_is_notified_of_its_end() {
    for (ending, event, code) in [
        ("true", "finished", json!(0)),
        ("exit 3", "failed", json!(3)),
    ] {
        let gateway = lenient();
        let laptop = Machine::lend(&gateway, "laptop");
        let mut client = Socket::connect(gateway.addr, &gateway.client("agent"));
        let mut other = Socket::connect(gateway.addr, &gateway.client("stranger"));
        let session = start(&mut client, ending);
        laptop.put("go", b"");
        let end = loop {
            let news = news(&mut client);
            assert_eq!(news["sessionId"], session, "{news}");
            if news["event"] != "started" {
                break news;
            }
        };
        assert_eq!(
            (&end["event"], &end["exitCode"]),
            (&json!(event), &code),
            "{end}"
        );
        assert_eq!(
            (&end["nodeId"], &end["agentId"]),
            (&json!("laptop"), &json!("main")),
            "{end}"
        );
        assert_eq!(end["outputTail"], "the end\n", "{end}");
        assert!(
            end["startedAt"].as_u64() <= end["endedAt"].as_u64(),
            "{end}"
        );
        assert!(
            told_until_now(&mut other, &session).is_empty(),
            "a stranger heard of it"
        );
    }
}

#[test]
fn background_work_over_its_timeout_is_reported_as_such() {
    let gateway = lenient();
    let _laptop = Machine::lend(&gateway, "laptop");
    let mut client = Socket::connect(gateway.addr, &gateway.client("agent"));
    let arguments = json!({ "command": "sleep 1000", "background": true, "timeout": 50 });
    let id = client.ask(
        "tool.invoke",
        json!({ "tool": "laptop__Bash", "args": arguments }),
    );
    let (mut session, mut end) = (Value::Null, Value::Null);
    while session.is_null() || end.is_null() {
        let frame = client.frame().expect("an open socket");
        if frame["id"] == id.as_str() {
            session = envelope(&frame)["result"]["sessionId"].clone();
        } else if frame["event"] == "node.exec.event" && frame["payload"]["event"] != "started" {
            end = frame["payload"].clone();
        }
    }
    assert_eq!(
        (&end["sessionId"], &end["event"]),
        (&session, &json!("timed_out")),
        "{end}"
    );
}

#[test]
fn an_end_during_a_disconnect_is_reported_once_after_reconnect() {
    let gateway = lenient();
    let proxy = Proxy::start(gateway.addr);
    let laptop = Plan::new(&gateway, "laptop")
        .through(proxy.address)
        .lend(&gateway);
    let mut client = Socket::connect(gateway.addr, &gateway.client("agent"));
    let session = start(&mut client, "true");
    proxy.cut_now();
    wait_offline(&gateway, "laptop");
    laptop.put("go", b"");
    eventually("it has ended", || laptop.children().is_empty());
    wait_online(&gateway, "laptop");
    let end = loop {
        let news = news(&mut client);
        if news["event"] != "started" {
            break news;
        }
    };
    assert_eq!(
        (&end["sessionId"], &end["event"]),
        (&session, &json!("finished")),
        "{end}"
    );
    // Cut again: what was taken is not told again.
    proxy.cut_now();
    wait_offline(&gateway, "laptop");
    wait_online(&gateway, "laptop");
    laptop.bash(&gateway, "true");
    let again = told_until_now(&mut client, &session);
    assert!(again.is_empty(), "told again: {again:?}");
    let poll = json!({ "action": "poll", "sessionId": session });
    let said = laptop.call(&gateway, "Process", poll);
    assert_eq!(
        said["result"]["exitCode"], 0,
        "and it can still be asked about: {said}"
    );
}
