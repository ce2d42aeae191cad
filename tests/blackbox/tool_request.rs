//! `tool.request`: a tool called in the name of a session, whose end everybody there hears.

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::socket::Socket;

/// The next `chat.tool` event in that state.
#[track_caller]
fn told(socket: &mut Socket, state: &str) -> Value {
    loop {
        let frame = socket.frame().expect("an open socket");
        if frame["event"] == "chat.tool" && frame["payload"]["state"] == state {
            return frame["payload"].clone();
        }
    }
}

fn asked(call: &str, tool: &str, path: &str) -> Value {
    json!({ "callId": call, "tool": tool, "args": { "path": path }, "sessionKey": "agent:main:main" })
}

#[test]
fn what_comes_of_a_requested_call_is_told_to_all_who_see_the_session() {
    let gateway = Gateway::start();
    gateway.write("note.md", "kept");
    let mut asker = gateway.ws();
    let mut other = gateway.ws();
    let phone = gateway.client("phone");
    let mut stranger = Socket::connect(gateway.addr, &phone);

    let sent = asker.request("tool.request", asked("c1", "gsv__ReadFile", "note.md"));
    assert_eq!(sent["payload"], json!({ "status": "sent" }), "{sent}");
    for socket in [&mut asker, &mut other] {
        let done = told(socket, "done");
        assert_eq!((&done["callId"], &done["ok"]), (&json!("c1"), &json!(true)));
        assert_eq!(done["sessionKey"], "agent:main:main");
        assert!(done["shown"].as_str().unwrap().contains("kept"), "{done}");
    }
    asker.request("tool.request", asked("c2", "gsv__ReadFile", "absent.md"));
    let failed = told(&mut asker, "done");
    assert_eq!(
        (&failed["callId"], &failed["ok"]),
        (&json!("c2"), &json!(false))
    );

    for (params, says) in [
        (asked("c3", "gsv__Nothing", "a"), "gsv__Nothing"),
        (asked("", "gsv__ReadFile", "a"), "callId"),
    ] {
        let refused = asker.request("tool.request", params);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{refused}");
    }
    let refused = stranger.request("tool.request", asked("c4", "gsv__ReadFile", "note.md"));
    assert_eq!(refused["error"]["code"], 403, "{refused}");
    let own = json!({ "callId": "c5", "tool": "gsv__ReadFile", "args": { "path": "note.md" }, "sessionKey": "mine" });
    let sent = stranger.request("tool.request", own);
    assert_eq!(sent["ok"], true, "{sent}");
    // Of all that happened it hears of its own call alone.
    assert_eq!(told(&mut stranger, "done")["callId"], "c5");
}
