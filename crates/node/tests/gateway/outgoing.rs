//! Files that a node sends.

use std::io::Write;

use manyhands_node::Confinement;
use manyhands_wire::{CHUNK, WINDOW};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fake::{ADDITIONS, Gateway, Machine, Peer, Received};

pub fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of which no two pieces are alike.
pub fn content(size: usize) -> Vec<u8> {
    let numbers = (0_u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
    numbers.take(size).collect()
}

async fn meta(peer: &mut Peer, id: u32, path: &str) -> Value {
    peer.send_event("transfer.send", json!({ "transferId": id, "path": path }))
        .await;
    let meta = peer.expect_request("transfer.meta").await;
    assert_eq!(meta["transferId"], id);
    meta
}

/// Takes frames and acknowledges each until the node says that it has sent everything.
async fn receive_file(peer: &mut Peer, id: u32, mut received: Vec<u8>) -> (Vec<u8>, Value) {
    loop {
        match peer.next().await {
            Received::Bytes(of, bytes) => {
                assert!(of == id && bytes.len() <= CHUNK);
                received.extend(bytes);
                let ack = json!({ "transferId": id, "bytes": received.len() });
                peer.send_event("transfer.ack", ack).await;
            }
            Received::Text(text) => {
                assert_eq!(text["method"], "transfer.complete", "{text}");
                return (received, text["params"].clone());
            }
        }
    }
}

#[tokio::test]
async fn a_file_is_sent_whole_with_what_it_is_and_its_hash() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    for size in [0, 1, CHUNK, 5 * CHUNK + 7, 40 * CHUNK] {
        let bytes = content(size);
        std::fs::write(machine.at("f"), &bytes).unwrap();
        let response = meta(&mut peer, 1, "f").await;
        assert_eq!(response["size"], size);
        assert!(response["version"].is_string());
        peer.send_event("transfer.start", json!({ "transferId": 1 }))
            .await;
        let (received, complete) = receive_file(&mut peer, 1, Vec::new()).await;
        assert!(received == bytes, "{size}");
        assert_eq!(
            complete,
            json!({ "transferId": 1, "sha256": sha256(&bytes) })
        );
    }
}

#[tokio::test]
async fn what_a_file_is_shows_in_its_first_bytes_or_its_name() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let files: [(&str, &[u8], Value); 9] = [
        ("a.md", b"# A", json!("text/markdown")),
        ("a.json", b"{}", json!("application/json")),
        ("a.yml", b"a: 1", json!("text/yaml")),
        ("a.HTML", b"<p>", json!("text/html")),
        ("a.csv", b"a,b", json!("text/csv")),
        ("Makefile", b"all:", json!("text/plain")),
        ("a.txt", b"\x89PNG\r\n\x1a\n", json!("image/png")),
        ("a.bin", b"\x00\x01", Value::Null),
        ("latin.txt", b"\xe4", Value::Null),
    ];
    for (id, (name, bytes, mime)) in (0..).zip(files) {
        std::fs::write(machine.at(name), bytes).unwrap();
        assert_eq!(meta(&mut peer, id, name).await["mime"], mime, "{name}");
    }
}

#[tokio::test]
async fn the_version_changes_when_the_file_does() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.at("f"), "one").unwrap();
    let first = meta(&mut peer, 1, "f").await;
    assert_eq!(meta(&mut peer, 2, "f").await["version"], first["version"]);
    std::fs::write(machine.at("f"), "three").unwrap();
    assert_ne!(meta(&mut peer, 3, "f").await["version"], first["version"]);
}

#[tokio::test]
async fn a_broken_transfer_is_resumed() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let bytes = content(6 * CHUNK + 5);
    std::fs::write(machine.at("f"), &bytes).unwrap();
    meta(&mut peer, 1, "f").await;
    peer.send_event("transfer.start", json!({ "transferId": 1 }))
        .await;
    let Received::Bytes(_, first) = peer.next().await else {
        panic!("no frame");
    };
    drop(peer);
    let mut peer = gateway.complete_handshake(ADDITIONS).await;
    meta(&mut peer, 2, "f").await;
    let start = json!({ "transferId": 2, "offset": first.len() });
    peer.send_event("transfer.start", start).await;
    let (received, complete) = receive_file(&mut peer, 2, first).await;
    assert!(received == bytes);
    assert_eq!(complete["sha256"], sha256(&bytes), "of the whole file");
}

#[tokio::test]
async fn at_most_one_window_is_in_flight() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let bytes = content(40 * CHUNK);
    std::fs::write(machine.at("f"), &bytes).unwrap();
    meta(&mut peer, 1, "f").await;
    peer.send_event("transfer.start", json!({ "transferId": 1 }))
        .await;
    let window = usize::try_from(WINDOW).unwrap();
    let mut received = Vec::new();
    while received.len() < window {
        let Received::Bytes(_, bytes) = peer.next().await else {
            panic!("no frame");
        };
        received.extend(bytes);
    }
    // A call is answered before anything more of the file comes.
    let response = peer.call("1", "Glob", json!({ "pattern": "*" })).await;
    assert_eq!(response["result"]["count"], 1);
    assert_eq!(received.len(), window);
    peer.send_event(
        "transfer.ack",
        json!({ "transferId": 1, "bytes": received.len() }),
    )
    .await;
    let (received, complete) = receive_file(&mut peer, 1, received).await;
    assert!(received == bytes && complete["sha256"].is_string());
}

#[tokio::test]
async fn a_gateway_without_additions_is_sent_the_file_and_nothing_it_does_not_know() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, &[]).await;
    let bytes = content(40 * CHUNK);
    std::fs::write(machine.at("f"), &bytes).unwrap();
    let response = meta(&mut peer, 1, "f").await;
    assert_eq!(response, json!({ "transferId": 1, "size": bytes.len() }));
    peer.send_event("transfer.start", json!({ "transferId": 1 }))
        .await;
    let mut received = Vec::new();
    let complete = loop {
        match peer.next().await {
            Received::Bytes(_, bytes) => received.extend(bytes),
            Received::Text(text) => break text["params"].clone(),
        }
    };
    assert!(received == bytes);
    assert_eq!(complete, json!({ "transferId": 1 }));
    let response = meta(&mut peer, 2, "nothing").await;
    assert!(response["error"].is_string() && response.get("code").is_none());
}

#[tokio::test]
async fn a_file_that_changes_during_a_transfer_is_reported() {
    for change in ["shrink", "grow", "touch"] {
        let (gateway, machine) = (Gateway::open().await, Machine::new());
        let mut peer = machine.at_work(&gateway, ADDITIONS).await;
        let bytes = content(24 * CHUNK);
        std::fs::write(machine.at("f"), &bytes).unwrap();
        meta(&mut peer, 1, "f").await;
        let mut file = std::fs::File::options()
            .append(true)
            .open(machine.at("f"))
            .unwrap();
        match change {
            "shrink" => file.set_len(20 * CHUNK as u64).unwrap(),
            "grow" => file.write_all(b"more").unwrap(),
            _ => file.set_modified(std::time::UNIX_EPOCH).unwrap(),
        }
        peer.send_event("transfer.start", json!({ "transferId": 1 }))
            .await;
        let (_, complete) = receive_file(&mut peer, 1, Vec::new()).await;
        assert_eq!(complete["code"], "conflict", "{change}");
        let error = complete["error"].as_str().unwrap();
        assert!(error.contains("changed while it was being sent"), "{error}");
        assert!(complete.get("sha256").is_none());
    }
}

#[tokio::test]
async fn a_cancelled_transfer_sends_nothing_more() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.at("f"), content(40 * CHUNK)).unwrap();
    meta(&mut peer, 1, "f").await;
    peer.send_event("transfer.start", json!({ "transferId": 1 }))
        .await;
    peer.send_event("transfer.cancel", json!({ "transferId": 1 }))
        .await;
    let (response, before) = meta_past_frames(&mut peer, 2).await;
    assert_eq!(response["size"], 40 * CHUNK);
    peer.send_event(
        "transfer.ack",
        json!({ "transferId": 1, "bytes": 40 * CHUNK }),
    )
    .await;
    // The acknowledgement would release the rest of the file.
    let (_, after) = meta_past_frames(&mut peer, 3).await;
    assert!(before + after < 40 * CHUNK, "{before} and {after} bytes");
}

/// As `meta`; also counts the bytes of other transfers that were on their way.
async fn meta_past_frames(peer: &mut Peer, id: u32) -> (Value, usize) {
    peer.send_event("transfer.send", json!({ "transferId": id, "path": "f" }))
        .await;
    let mut count = 0;
    loop {
        match peer.next().await {
            Received::Bytes(_, bytes) => count += bytes.len(),
            Received::Text(text) => {
                assert_eq!(text["method"], "transfer.meta", "{text}");
                return (text["params"].clone(), count);
            }
        }
    }
}

#[tokio::test]
async fn only_regular_files_inside_the_jail_are_sent() {
    let gateway = Gateway::open().await;
    let machine = Machine::confined(|work| Confinement {
        jail: Some(work.to_owned()),
        ..Confinement::default()
    });
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.dir.path().join("secret"), "s").unwrap();
    std::fs::create_dir(machine.at("d")).unwrap();
    std::fs::write(machine.at("d/f"), "x").unwrap();
    std::os::unix::fs::symlink("../secret", machine.at("link")).unwrap();
    let secret = machine.dir.path().join("secret");
    let cases = [
        ("nothing", "not_found"),
        ("d", "invalid_arguments"),
        ("link", "forbidden"),
        ("/etc/passwd", "forbidden"),
        (secret.to_str().unwrap(), "forbidden"),
        ("/dev/zero", "forbidden"),
    ];
    for (id, (path, code)) in (0..).zip(cases) {
        let response = meta(&mut peer, id, path).await;
        assert_eq!(response["code"], code, "{path}: {response}");
        assert!(response.get("size").is_none());
    }
    assert_eq!(meta(&mut peer, 99, "d/f").await["size"], 1);
}

#[tokio::test]
async fn the_65th_transfer_at_once_is_refused() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.at("f"), "x").unwrap();
    for id in 0..64 {
        assert_eq!(meta(&mut peer, id, "f").await["size"], 1);
    }
    let response = meta(&mut peer, 64, "f").await;
    assert_eq!(response["code"], "unavailable", "{response}");
    let twice = meta(&mut peer, 7, "f").await;
    assert_eq!(twice["code"], "conflict", "{twice}");
    peer.send_event("transfer.start", json!({ "transferId": 7 }))
        .await;
    let (received, _) = receive_file(&mut peer, 7, Vec::new()).await;
    assert_eq!(received, b"x");
}

#[tokio::test]
async fn a_transfer_the_gateway_knows_nothing_of_is_forgotten() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.at("f"), "x").unwrap();
    peer.send_event("transfer.send", json!({ "transferId": 1, "path": "f" }))
        .await;
    let (id, _, _) = peer.request().await;
    peer.refuse(&id, 404, "no such transfer").await;
    let response = meta(&mut peer, 1, "f").await;
    assert_eq!(response["size"], 1, "its number is free again: {response}");
}
