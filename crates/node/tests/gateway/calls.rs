use manyhands_node::{Confinement, SandboxMode};
use serde_json::{Value, json};

use super::fake::{ADDITIONS, Gateway, Machine, until};

#[tokio::test]
async fn calls_are_answered_with_results_and_errors_with_codes() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let response = peer
        .call("1", "Write", json!({ "path": "a/f", "content": "x" }))
        .await;
    assert_eq!(response["result"]["bytes"], 1);
    assert_eq!(std::fs::read(machine.at("a/f")).unwrap(), b"x");
    let response = peer.call("2", "Read", json!({ "path": "b" })).await;
    assert_eq!(response["code"], "not_found");
    assert!(
        response["error"].as_str().unwrap().contains("no such file")
            && response.get("result").is_none()
    );
    let response = peer.call("3", "Sing", json!({})).await;
    assert_eq!(response["code"], "unknown_tool");
    let response = peer.call("4", "Read", json!({ "pth": "b" })).await;
    assert_eq!(response["code"], "invalid_arguments");
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("did you mean `path`?"),
        "{response}"
    );
}

#[tokio::test]
async fn a_call_resent_over_a_second_connection_runs_once() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let append = || json!({ "command": "echo ran >> count" });
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    peer.call("same", "Bash", append()).await;
    drop(peer);
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    let response = peer.call("same", "Bash", append()).await;
    assert_eq!(response["code"], "conflict");
    peer.call("other", "Bash", append()).await;
    assert_eq!(
        std::fs::read_to_string(machine.at("count")).unwrap(),
        "ran\nran\n"
    );
}

#[tokio::test]
async fn a_call_that_still_runs_is_not_answered_for_its_double() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let wait = json!({ "command": "echo ran >> count; while [ ! -e go ]; do sleep 0.01; done" });
    peer.invoke("same", "Bash", wait.clone()).await;
    peer.invoke("same", "Bash", wait).await;
    let response = peer.call("1", "Glob", json!({ "pattern": "go" })).await;
    assert_eq!(response["result"]["count"], 0);
    std::fs::write(machine.at("go"), "").unwrap();
    let response = peer.expect_request("tool.result").await;
    assert_eq!(
        (&response["callId"], &response["result"]["status"]),
        (&json!("same"), &json!("completed"))
    );
    assert_eq!(
        std::fs::read_to_string(machine.at("count")).unwrap(),
        "ran\n"
    );
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits for a program to have written its process id to `pid`.
async fn pid(machine: &Machine) -> String {
    let read = || std::fs::read_to_string(machine.at("pid")).unwrap_or_default();
    until(|| read().ends_with('\n')).await;
    assert!(lives(&read()));
    read()
}

#[tokio::test]
async fn cancelling_a_call_ends_its_program_and_is_reported() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    peer.invoke(
        "c",
        "Bash",
        json!({ "command": "sleep 1000 & echo $! > pid; wait" }),
    )
    .await;
    let pid = pid(&machine).await;
    peer.send_event("tool.cancel", json!({ "callId": "other" }))
        .await;
    peer.send_event("tool.cancel", json!({ "callId": "c" }))
        .await;
    let response = peer.expect_request("tool.result").await;
    assert_eq!(
        (&response["callId"], &response["code"]),
        (&json!("c"), &json!("cancelled"))
    );
    until(|| !lives(&pid)).await;
}

#[tokio::test]
async fn foreground_programs_end_with_the_connection_and_background_ones_do_not() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let left = json!({ "command": "exec sleep 1000", "background": true });
    peer.invoke("b", "Bash", left).await;
    let mut session = Value::Null;
    for _ in 0..2 {
        let (id, method, params) = peer.request().await;
        peer.answer(&id, json!({ "ok": true })).await;
        if method == "tool.result" {
            session = params["result"]["sessionId"].clone();
        }
    }
    let job = json!({ "command": "sleep 1000 & echo $! > pid; wait" });
    peer.invoke("f", "Bash", job).await;
    let pid = pid(&machine).await;
    drop(peer);
    until(|| !lives(&pid)).await;
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    let poll = json!({ "action": "poll", "sessionId": session });
    let response = peer.call("p", "Process", poll).await;
    assert_eq!(response["result"]["running"], true, "{response}");
}

#[tokio::test]
async fn the_257th_call_at_once_is_answered_and_not_dropped() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let wait = json!({ "command": "while [ ! -e go ]; do sleep 0.2; done" });
    for call in 0..256 {
        peer.invoke(&call.to_string(), "Bash", wait.clone()).await;
    }
    let response = peer.call("257", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["code"], "unavailable");
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("256 running calls"),
        "{response}"
    );
    std::fs::write(machine.at("go"), "").unwrap();
    for _ in 0..256 {
        let response = peer.expect_request("tool.result").await;
        assert_eq!(response["result"]["status"], "completed", "{response}");
    }
    let response = peer.call("258", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["result"]["count"], 1);
}

#[tokio::test]
async fn the_largest_image_fits_and_a_larger_result_is_an_error_with_advice() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
    image.resize(10 << 20, 0);
    std::fs::write(machine.at("i.png"), image).unwrap();
    std::fs::write(machine.at("t"), "\u{1}".repeat(4 << 20)).unwrap();
    let response = peer.call("1", "Read", json!({ "path": "i.png" })).await;
    assert_eq!(response["result"]["content"][1]["mimeType"], "image/png");
    let response = peer.call("2", "Read", json!({ "path": "t" })).await;
    assert_eq!(response["code"], "too_large");
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("offset and limit")
    );
}

#[tokio::test]
async fn the_log_lists_calls_without_their_arguments() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    peer.call("1", "Bash", json!({ "command": "echo hunter2" }))
        .await;
    peer.send_event("logs.get", json!({ "callId": "l", "lines": 1 }))
        .await;
    let response = peer.expect_request("logs.result").await;
    assert_eq!(
        (&response["callId"], &response["truncated"]),
        (&json!("l"), &json!(true))
    );
    let line: Value = serde_json::from_str(response["lines"][0].as_str().unwrap()).unwrap();
    assert_eq!(line["event"], "tool_call_finished");
    assert_eq!(
        (&line["tool"], &line["callId"]),
        (&json!("Bash"), &json!("1"))
    );
    assert!(line["ok"] == true && line["durationMs"].is_u64() && line["at"].is_string());
    peer.send_event("logs.get", json!({ "callId": "m", "lines": 5000 }))
        .await;
    let response = peer.expect_request("logs.result").await;
    assert_eq!(response["truncated"], false);
    assert!(!response.to_string().contains("hunter2"));
}

#[tokio::test]
async fn invalid_frames_are_ignored() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    peer.send_frame(json!({ "type": "what" })).await;
    peer.send_frame(json!({ "type": "req", "id": "1", "method": "tools.list" }))
        .await;
    peer.send_event("of.a.newer.gateway", json!({})).await;
    peer.send_event("tool.invoke", json!({ "no": "call" }))
        .await;
    peer.bytes(7, b"of nothing").await;
    let response = peer.call("1", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["result"]["count"], 0);
}

/// What a command and a write outside the workspace come to.
async fn check(confinement: Confinement, written: [bool; 3]) {
    let gateway = Gateway::open().await;
    let machine = Machine::confined(|_| confinement);
    let outside = machine.dir.path().join("outside");
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let command = format!(
        "touch inside; touch ${{TMPDIR:-.}}/private && touch {}",
        outside.display()
    );
    peer.call("1", "Bash", json!({ "command": command })).await;
    let by_shell = [machine.at("inside").exists(), outside.exists()];
    let path = machine.dir.path().join("by-tool");
    peer.call("2", "Write", json!({ "path": path, "content": "" }))
        .await;
    assert_eq!([by_shell[0], by_shell[1], path.exists()], written);
}

#[tokio::test]
async fn a_node_reaches_as_far_as_its_owner_says() {
    let mode = |sandbox| Confinement {
        jail: None,
        sandbox,
    };
    check(mode(SandboxMode::Off), [true, true, true]).await;
    check(mode(SandboxMode::Workspace), [true, false, false]).await;
    check(mode(SandboxMode::ReadOnly), [false, false, false]).await;
}
