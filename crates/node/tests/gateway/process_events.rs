use std::time::Duration;

use serde_json::{Value, json};

use super::fake::{ADDITIONS, Gateway, Machine, Peer, until};

/// Starts `command` in the background, and gives its session and the first news of it, which
/// are not taken.
async fn background(peer: &mut Peer, command: &str) -> (Value, String, Value) {
    peer.invoke(
        "start",
        "Bash",
        json!({ "command": command, "background": true }),
    )
    .await;
    let (mut session, mut news) = (Value::Null, None);
    while session.is_null() || news.is_none() {
        let (id, method, params) = peer.request().await;
        match method.as_str() {
            "tool.result" => session = params["result"]["sessionId"].clone(),
            "node.exec.event" => news = Some((id, params)),
            other => panic!("{other}"),
        }
    }
    let (id, params) = news.unwrap();
    (session, id, params)
}

#[tokio::test]
async fn process_events_name_the_call_that_started_it() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let (session, id, started) = background(&mut peer, "echo said; exit 3").await;
    assert_eq!(started["event"], "started");
    assert_eq!(
        (&started["sessionId"], &started["callId"]),
        (&session, &json!("start"))
    );
    assert!(started["startedAt"].is_i64() && started.get("endedAt").is_none());
    peer.answer(&id, json!({ "ok": true })).await;
    let ended = peer.expect_request("node.exec.event").await;
    assert_eq!(
        (&ended["event"], &ended["exitCode"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(
        (&ended["sessionId"], &ended["callId"]),
        (&session, &json!("start"))
    );
    assert_eq!(ended["outputTail"], "said\n");
    assert!(ended["endedAt"].is_i64());
    assert_ne!(started["eventId"], ended["eventId"]);
}

#[tokio::test]
async fn process_events_are_resent_until_acknowledged() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let (_, id, first) = background(&mut peer, "true").await;
    peer.refuse(&id, 503, "not now").await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    let (_, _, again) = peer.request().await;
    assert_eq!(again, first, "after a refusal that may pass");
    drop(peer);
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    assert_eq!(
        peer.expect_request("node.exec.event").await,
        first,
        "over another connection"
    );
    let next = peer.expect_request("node.exec.event").await;
    assert_eq!(next["event"], "finished");
    let response = peer.call("1", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["result"]["count"], 0, "and then no more");
}

#[tokio::test]
async fn process_events_are_queued_while_disconnected() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let (_, id, _) = background(&mut peer, "while [ ! -e go ]; do sleep 0.01; done").await;
    peer.answer(&id, json!({ "ok": true })).await;
    peer.call("sync", "Glob", json!({ "pattern": "*" })).await;
    drop(peer);
    std::fs::write(machine.at("go"), "").unwrap();
    until(|| machine.toolbox.jobs().process_list()[0].ended_at.is_some()).await;
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    assert_eq!(
        peer.expect_request("node.exec.event").await["event"],
        "finished"
    );
}

#[tokio::test]
async fn process_events_refused_by_an_old_gateway_are_dropped() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let (_, id, first) = background(&mut peer, "true").await;
    peer.refuse(&id, 404, "no such method").await;
    let (id, _, next) = peer.request().await;
    assert_ne!(first["eventId"], next["eventId"]);
    peer.refuse(&id, 404, "no such method").await;
    let response = peer.call("1", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["result"]["count"], 0);
    assert!(
        machine
            .log
            .last(9)
            .0
            .concat()
            .contains("process_event_refused")
    );
}
