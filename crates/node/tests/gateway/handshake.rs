use std::time::Duration;

use manyhands_node::{BackoffPlan, Confinement, NodeError, NodeOptions, SandboxMode};
use manyhands_wire::{ADDITION_FULL_OUTPUT, ADDITION_OUTPUT, ADDITION_WATCH};
use serde_json::{Value, json};

use super::fake::{ADDITIONS, Gateway, Machine, until};

#[tokio::test]
async fn a_node_announces_its_identity_and_tools() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let peer = machine.at_work(&gateway, ADDITIONS).await;
    let connect = &peer.connect;
    assert_eq!(connect["client"]["id"], "laptop");
    assert_eq!(connect["client"]["mode"], "node");
    assert_eq!(connect["auth"]["token"], "t0ken");
    assert_eq!(
        connect["additions"],
        json!(
            [
                ADDITIONS,
                &[ADDITION_OUTPUT, ADDITION_FULL_OUTPUT, ADDITION_WATCH]
            ]
            .concat()
        )
    );
    let platform = connect["client"]["platform"].as_str().unwrap();
    assert!(
        ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"].contains(&platform),
        "{platform}"
    );
    let tools = connect["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    let seven = ["Bash", "Process", "Read", "Write", "Edit", "Glob", "Grep"];
    assert_eq!(names, seven);
    assert!(tools.iter().all(|t| t["inputSchema"]["type"] == "object"));
    let runtime = &connect["nodeRuntime"];
    assert_eq!(
        runtime["hostCapabilities"],
        json!([
            "filesystem.edit",
            "filesystem.list",
            "filesystem.read",
            "filesystem.write",
            "shell.exec",
            "text.search"
        ])
    );
    assert_eq!(
        runtime["toolCapabilities"],
        json!({
            "Bash": ["shell.exec"], "Process": ["shell.exec"], "Read": ["filesystem.read"],
            "Write": ["filesystem.write"], "Edit": ["filesystem.edit"],
            "Glob": ["filesystem.list"], "Grep": ["text.search"],
        })
    );
}

#[tokio::test]
async fn a_read_only_node_offers_nothing_that_writes() {
    let gateway = Gateway::open().await;
    let machine = Machine::confined(|_| Confinement {
        jail: None,
        sandbox: SandboxMode::ReadOnly,
    });
    let peer = machine.at_work(&gateway, ADDITIONS).await;
    let response = peer.connect.to_string();
    assert!(response.contains("\"Read\"") && response.contains("filesystem.list"));
    for word in [
        "\"Write\"",
        "\"Edit\"",
        "filesystem.write",
        "filesystem.edit",
    ] {
        assert!(!response.contains(word), "{word}");
    }
}

#[tokio::test]
async fn a_permanent_refusal_ends_the_node_with_its_reason() {
    for code in [401, 403, 103, 102] {
        let (gateway, machine) = (Gateway::open().await, Machine::new());
        let node = machine.run(machine.options(&gateway));
        let mut peer = gateway.accept().await;
        peer.refuse("connect", code, "go away").await;
        let ended = node.await.unwrap();
        let Err(NodeError::Refused(why)) = ended else {
            panic!("{code}: {ended:?}");
        };
        assert_eq!(why, "go away");
    }
}

#[tokio::test]
async fn a_close_that_says_unauthenticated_is_a_refusal_at_any_time() {
    for accepted_before in [false, true] {
        let (gateway, machine) = (Gateway::open().await, Machine::new());
        let node = machine.run(machine.options(&gateway));
        let mut peer = match accepted_before {
            true => gateway.complete_handshake(ADDITIONS).await,
            false => gateway.accept().await,
        };
        peer.close(4001, "the token was taken back").await;
        let ended = node.await.unwrap();
        assert!(
            matches!(&ended, Err(NodeError::Refused(why)) if why == "the token was taken back"),
            "{ended:?}"
        );
    }
}

#[tokio::test]
async fn whatever_may_pass_is_tried_again() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let _node = machine.run(machine.options(&gateway));
    gateway
        .accept()
        .await
        .refuse("connect", 503, "starting")
        .await;
    gateway.accept().await.close(1013, "too many sockets").await;
    drop(gateway.accept().await);
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    peer.close(1012, "the gateway is stopping").await;
    drop(gateway.complete_handshake(ADDITIONS).await);
    gateway
        .complete_handshake(ADDITIONS)
        .await
        .close(1008, "replaced by another connection")
        .await;
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    let response = peer.call("1", "Read", json!({ "path": "nothing" })).await;
    assert_eq!(response["code"], "not_found");
    let (lines, _) = machine.log.last(100);
    let whys: Vec<Value> = lines
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let lost = whys.iter().filter(|l| l["event"] == "gateway_disconnected");
    let whys: Vec<&str> = lost.filter_map(|l| l["why"].as_str()).collect();
    assert_eq!(whys.len(), 6, "{whys:?}");
    for expect in ["starting", "too many sockets", "the gateway is stopping"] {
        assert!(whys.contains(&expect), "{whys:?}");
    }
}

#[tokio::test]
async fn a_node_that_was_replaced_waits_longer() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut options = machine.options(&gateway);
    options.backoff.replaced = Duration::from_secs(3_600);
    let node = machine.run(options);
    gateway
        .complete_handshake(ADDITIONS)
        .await
        .close(1008, "replaced by another connection")
        .await;
    let waiting = || {
        machine
            .log
            .last(1)
            .0
            .concat()
            .contains("\"againInMs\":3600000")
    };
    until(waiting).await;
    machine.stop.cancel();
    assert!(node.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_silent_gateway_is_redialed_after_thirty_seconds() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let _node = machine.run(machine.options(&gateway));
    let _mute = gateway.accept().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    assert!(peer.call("1", "Glob", json!({ "pattern": "*" })).await["result"].is_object());
    assert!(
        machine
            .log
            .last(9)
            .0
            .concat()
            .contains("no hello within 30 seconds")
    );
}

#[tokio::test]
async fn a_half_open_socket_is_noticed_although_a_write_is_stuck() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    std::fs::write(machine.at("large"), "x".repeat(4 << 20)).unwrap();
    let mut silent = machine.at_work(&gateway, ADDITIONS).await;
    for call in 0..8 {
        silent
            .invoke(&call.to_string(), "Read", json!({ "path": "large" }))
            .await;
    }
    let answered = || {
        machine
            .log
            .last(99)
            .0
            .concat()
            .matches("\"tool\":\"Read\"")
            .count()
    };
    until(|| answered() == 8).await;
    tokio::time::pause();
    for _ in 0..5 {
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    tokio::time::resume();
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    assert!(peer.call("9", "Glob", json!({ "pattern": "*" })).await["result"].is_object());
    assert!(
        machine
            .log
            .last(99)
            .0
            .concat()
            .contains("the gateway stopped responding")
    );
    drop(silent);
}

#[tokio::test]
async fn another_name_at_the_gateway_is_logged() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let _node = machine.run(machine.options(&gateway));
    let mut peer = gateway.accept().await;
    peer.answer("connect", json!({
        "type": "hello-ok", "protocol": 1, "nodeId": "desk",
        "server": { "version": "1", "connectionId": "c" }, "features": { "methods": [], "events": [] },
    }))
    .await;
    until(|| machine.log.last(9).0.concat().contains("\"name\":\"desk\"")).await;
}

#[tokio::test]
async fn a_stopped_node_closes_its_connection() {
    use futures_util::StreamExt;
    use tokio_tungstenite::tungstenite::Message;
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let node = machine.run(machine.options(&gateway));
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    peer.call("1", "Glob", json!({ "pattern": "*" })).await;
    machine.stop.cancel();
    let mut goodbye = false;
    while let Some(Ok(message)) = peer.socket.next().await {
        goodbye |= matches!(message, Message::Close(_));
    }
    assert!(goodbye);
    assert!(node.await.unwrap().is_ok());
}

#[tokio::test]
async fn an_invalid_gateway_url_is_refused() {
    let machine = Machine::new();
    let gateway = Gateway::open().await;
    let options = NodeOptions {
        gateway: "laptop:7717".to_owned(),
        backoff: BackoffPlan::default(),
        ..machine.options(&gateway)
    };
    let ended = machine.run(options).await.unwrap();
    assert!(matches!(ended, Err(NodeError::Address(_))), "{ended:?}");
}
