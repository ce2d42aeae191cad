//! Results too large for a turn, as the model receives them.

use serde_json::{Value, json};

use super::server::{Aimock, Relay};
use super::{CHAT, answered, gateway, turn, usage};
use crate::harness::Gateway;

/// Has the model make one call, and gives what it was sent for it, with the gateway.
fn given(tool: &str, arguments: &Value, prepare: impl Fn(&Gateway)) -> (Gateway, String) {
    let call = json!({ "id": "call_a", "name": tool, "arguments": arguments });
    let server = Aimock::start(&json!([
        {
            "match": { "userMessage": "go", "hasToolResult": false },
            "response": { "content": "I look.", "toolCalls": [call], "usage": usage(10, 2) },
        },
        {
            "match": { "userMessage": "go", "hasToolResult": true },
            "response": { "content": "Done.", "usage": usage(20, 2) },
        },
    ]));
    let relay = Relay::before(server.addr);
    let gateway = gateway(&CHAT, &relay.url, "");
    prepare(&gateway);
    let events = turn(&gateway, json!({ "message": "go" }));
    assert_eq!(answered(&events)["text"], "Done.", "{events:?}");
    let passed = relay.passed();
    let last = passed.last().expect("a request");
    let messages = last.body["messages"].as_array().expect("messages");
    let result = messages.iter().find(|message| message["role"] == "tool");
    let text = result.expect("a result")["content"].as_str();
    (gateway, text.expect("a text").to_owned())
}

/// The artifact that a text names first.
fn artifact(text: &str) -> &str {
    let (_, rest) = text.split_once("is artifact ").expect("an artifact");
    rest.split(['.', ';', ' ']).next().expect("an id")
}

#[test]
fn the_output_of_a_program_keeps_both_ends_its_errors_and_its_size() {
    let noisy = json!({ "cmd": "seq 300000; echo it broke >&2; exit 3" });
    let (gateway, text) = given("bash", &noisy, |_| {});
    let size = (1..=300_000_u32)
        .map(|n| n.to_string().len() + 1)
        .sum::<usize>();
    let note = text.lines().nth(1).expect("a note"); // the first line opens the fence
    assert!(
        note.starts_with(&format!("[truncated: stdout ({size} bytes) is artifact ")),
        "{note}"
    );
    assert!(
        note.contains("gateway_read_artifact {\"file_id\": \""),
        "{note}"
    );
    assert!(text.len() < 100_000, "{}", text.len());
    for kept in [
        "\"exit_code\":3",
        "\"stderr\":\"it broke\\n\"",
        "\"stdout_truncated\":true",
        &format!("\"stdout_size\":{size}"),
        "\"stdout\":\"1\\n2\\n3\\n",
        "299999\\n300000\\n\"",
    ] {
        assert!(text.contains(kept), "{kept} in {text:.600}");
    }
    let id = artifact(&text);
    let whole = gateway.cli(&["artifact", id]).ok().stdout;
    assert_eq!(whole.len(), size);
    let read = json!({ "file_id": id, "start_line": 150_000, "end_line": 150_001 });
    let said = gateway.call("gateway_read_artifact", read);
    let lines = said["result"]["content"].as_str().expect("lines");
    assert!(lines.contains("150000\n150001"), "{said}");
}

#[test]
fn a_long_file_is_stored_whole_and_its_lines_can_be_read() {
    let lines: String = (0..50_000).map(|n| format!("entry {n}\n")).collect();
    let path = json!({ "path": "long.txt" });
    let (gateway, text) = given("gsv__ReadFile", &path, |gateway| {
        gateway.write("long.txt", &lines);
    });
    let note = text.lines().nth(1).expect("a note");
    assert!(
        note.contains(&format!("content ({} bytes)", lines.len())),
        "{note}"
    );
    let id = artifact(&text);
    let found = json!({ "file_id": id, "search": "entry 31415" });
    let said = gateway.call("gateway_read_artifact", found);
    assert_eq!(said["ok"], true, "{said}");
    assert!(
        said["result"].to_string().contains("entry 31416"),
        "with its neighbours: {said}"
    );
}
