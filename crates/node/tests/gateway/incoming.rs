//! Files that a node receives.

use std::os::unix::fs::PermissionsExt;

use manyhands_node::{Confinement, SandboxMode};
use manyhands_wire::{CHUNK, WINDOW};
use serde_json::{Value, json};

use super::fake::{ADDITIONS, Gateway, Machine, Peer, until};
use super::outgoing::{content, sha256};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn jailed() -> Machine {
    Machine::confined(|work| Confinement {
        jail: Some(work.to_owned()),
        ..Confinement::default()
    })
}

async fn offer(peer: &mut Peer, id: u32, path: &str, size: usize) -> Value {
    let ask = json!({ "transferId": id, "path": path, "size": size, "resume": KEY });
    peer.send_event("transfer.receive", ask).await;
    let accept = peer.expect_request("transfer.accept").await;
    assert_eq!(accept["transferId"], id);
    accept
}

/// Sends `bytes` from `from` on, waiting for what is taken as the protocol says, and gives what
/// was acknowledged last.
async fn push(peer: &mut Peer, id: u32, bytes: &[u8], from: usize) {
    let window = usize::try_from(WINDOW).unwrap();
    let mut acknowledged = from;
    let mut sent = from;
    for chunk in bytes[from..].chunks(CHUNK) {
        while sent + chunk.len() > acknowledged + window {
            acknowledged = ack(peer, id).await;
        }
        peer.bytes(id, chunk).await;
        sent += chunk.len();
    }
    while acknowledged < bytes.len() {
        acknowledged = ack(peer, id).await;
    }
    assert_eq!(acknowledged, bytes.len());
}

async fn ack(peer: &mut Peer, id: u32) -> usize {
    let response = peer.text().await;
    assert_eq!(response["event"], "transfer.ack", "{response}");
    assert_eq!(response["payload"]["transferId"], id);
    usize::try_from(response["payload"]["bytes"].as_u64().unwrap()).unwrap()
}

async fn end(peer: &mut Peer, id: u32, sha256: &str) -> Value {
    peer.send_event(
        "transfer.end",
        json!({ "transferId": id, "sha256": sha256 }),
    )
    .await;
    peer.expect_request("transfer.done").await
}

#[tokio::test]
async fn a_file_is_received_whole_and_acknowledged() {
    for machine in [Machine::new(), jailed()] {
        let gateway = Gateway::open().await;
        let mut peer = machine.at_work(&gateway, ADDITIONS).await;
        for (id, size) in (0..).zip([0, 1, CHUNK, 5 * CHUNK + 7, 40 * CHUNK]) {
            let bytes = content(size);
            let accept = offer(&mut peer, id, "d/e/f", size).await;
            assert_eq!(accept, json!({ "transferId": id }));
            push(&mut peer, id, &bytes, 0).await;
            let done = end(&mut peer, id, &sha256(&bytes)).await;
            assert_eq!(done, json!({ "transferId": id, "bytesWritten": size }));
            assert!(std::fs::read(machine.at("d/e/f")).unwrap() == bytes);
            assert_eq!(std::fs::read_dir(machine.at("d/e")).unwrap().count(), 1);
            assert_eq!(machine.notes(), 0);
        }
    }
}

#[tokio::test]
async fn an_old_file_keeps_its_mode_and_a_link_stays_a_link() {
    for machine in [Machine::new(), jailed()] {
        let gateway = Gateway::open().await;
        let mut peer = machine.at_work(&gateway, ADDITIONS).await;
        std::fs::create_dir(machine.at("d")).unwrap();
        std::fs::write(machine.at("d/real"), "old").unwrap();
        let mode = std::fs::Permissions::from_mode(0o750);
        std::fs::set_permissions(machine.at("d/real"), mode).unwrap();
        std::os::unix::fs::symlink("d/real", machine.at("link")).unwrap();
        offer(&mut peer, 1, "link", 3).await;
        push(&mut peer, 1, b"new", 0).await;
        end(&mut peer, 1, &sha256(b"new")).await;
        assert_eq!(std::fs::read(machine.at("d/real")).unwrap(), b"new");
        let found = std::fs::metadata(machine.at("d/real")).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o750);
        assert!(machine.at("link").is_symlink());
        assert_eq!(machine.names(), ["d", "link"]);
    }
}

#[tokio::test]
async fn a_cut_transfer_is_resumed() {
    for machine in [Machine::new(), jailed()] {
        let gateway = Gateway::open().await;
        let mut peer = machine.at_work(&gateway, ADDITIONS).await;
        let bytes = content(6 * CHUNK + 9);
        std::fs::write(machine.at("f"), "old").unwrap();
        offer(&mut peer, 1, "f", bytes.len()).await;
        push(&mut peer, 1, &bytes[..2 * CHUNK], 0).await;
        drop(peer);
        let mut peer = gateway.complete_handshake(ADDITIONS).await;
        assert_eq!(std::fs::read(machine.at("f")).unwrap(), b"old");
        assert_eq!((machine.names().len(), machine.notes()), (2, 1));
        let accept = offer(&mut peer, 2, "f", bytes.len()).await;
        assert_eq!(accept["offset"], 2 * CHUNK);
        push(&mut peer, 2, &bytes, 2 * CHUNK).await;
        let done = end(&mut peer, 2, &sha256(&bytes)).await;
        assert_eq!(done["bytesWritten"], bytes.len(), "{done}");
        assert!(std::fs::read(machine.at("f")).unwrap() == bytes);
        assert_eq!(
            (machine.names(), machine.notes()),
            (vec!["f".to_owned()], 0)
        );
    }
}

#[tokio::test]
async fn a_cancelled_transfer_is_kept_only_if_the_gateway_says_so() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let bytes = content(3 * CHUNK);
    let some = &bytes[..CHUNK];
    offer(&mut peer, 1, "f", bytes.len()).await;
    push(&mut peer, 1, some, 0).await;
    peer.send_event("transfer.cancel", json!({ "transferId": 1, "keep": true }))
        .await;
    let accept = offer(&mut peer, 2, "f", bytes.len()).await;
    assert_eq!(accept["offset"], CHUNK);
    peer.send_event("transfer.cancel", json!({ "transferId": 2, "keep": false }))
        .await;
    peer.bytes(2, b"still on its way").await;
    until(|| machine.names().is_empty() && machine.notes() == 0).await;
    let accept = offer(&mut peer, 3, "f", bytes.len()).await;
    assert_eq!(accept.get("offset"), None);
}

#[tokio::test]
async fn a_changed_file_restarts_its_transfer() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    offer(&mut peer, 1, "f", 2 * CHUNK).await;
    push(&mut peer, 1, &content(CHUNK), 0).await;
    peer.send_event("transfer.cancel", json!({ "transferId": 1, "keep": true }))
        .await;
    let ask = json!({ "transferId": 2, "path": "f", "size": 3, "resume": "ff".repeat(32) });
    until(|| machine.notes() == 1).await;
    peer.send_event("transfer.receive", ask).await;
    assert_eq!(
        peer.expect_request("transfer.accept").await,
        json!({ "transferId": 2 })
    );
    until(|| machine.names().len() == 1).await;
    push(&mut peer, 2, b"new", 0).await;
    end(&mut peer, 2, &sha256(b"new")).await;
    assert_eq!(machine.names(), ["f"]);
}

#[tokio::test]
async fn a_mismatched_transfer_leaves_the_old_file() {
    for machine in [Machine::new(), jailed()] {
        let gateway = Gateway::open().await;
        let mut peer = machine.at_work(&gateway, ADDITIONS).await;
        std::fs::write(machine.at("f"), "old").unwrap();
        let untouched = || {
            assert_eq!(std::fs::read(machine.at("f")).unwrap(), b"old");
            assert_eq!(
                (machine.names(), machine.notes()),
                (vec!["f".to_owned()], 0)
            );
        };
        offer(&mut peer, 1, "f", 3).await;
        push(&mut peer, 1, b"new", 0).await;
        let done = end(&mut peer, 1, &sha256(b"other")).await;
        assert_eq!(done["code"], "conflict");
        assert!(
            done["error"]
                .as_str()
                .unwrap()
                .contains("changed while it was being sent")
        );
        untouched();
        offer(&mut peer, 2, "f", 4).await;
        push(&mut peer, 2, b"new", 0).await;
        assert_eq!(
            end(&mut peer, 2, &sha256(b"new")).await["code"],
            "conflict",
            "too few"
        );
        untouched();
        offer(&mut peer, 3, "f", 2).await;
        peer.bytes(3, b"new").await;
        let done = peer.expect_request("transfer.done").await;
        assert_eq!(done["code"], "conflict", "too many: {done}");
        untouched();
        offer(&mut peer, 4, "f", 3).await;
        push(&mut peer, 4, b"new", 0).await;
        end(&mut peer, 4, &sha256(b"new")).await;
        assert_eq!(std::fs::read(machine.at("f")).unwrap(), b"new");
    }
}

#[tokio::test]
async fn more_than_a_window_at_once_ends_the_transfer() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let flood = content(usize::try_from(WINDOW).unwrap() + 1);
    offer(&mut peer, 1, "f", flood.len()).await;
    peer.bytes(1, &flood).await;
    let done = peer.expect_request("transfer.done").await;
    assert_eq!(done["code"], "failed", "{done}");
    assert!(
        done["error"]
            .as_str()
            .unwrap()
            .contains("faster than they were acknowledged")
    );
    assert_eq!(machine.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_gateway_without_additions_is_served_without_acknowledgements() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, &[]).await;
    let bytes = content(40 * CHUNK);
    let ask = json!({ "transferId": 1, "path": "f", "size": bytes.len() });
    peer.send_event("transfer.receive", ask).await;
    assert_eq!(
        peer.expect_request("transfer.accept").await,
        json!({ "transferId": 1 })
    );
    for chunk in bytes.chunks(CHUNK) {
        peer.bytes(1, chunk).await;
    }
    peer.send_event("transfer.end", json!({ "transferId": 1 }))
        .await;
    let done = peer.expect_request("transfer.done").await;
    assert_eq!(
        done,
        json!({ "transferId": 1, "bytesWritten": bytes.len() })
    );
    assert!(std::fs::read(machine.at("f")).unwrap() == bytes);
    let ask = json!({ "transferId": 2, "path": "f", "size": 9 });
    peer.send_event("transfer.receive", ask).await;
    peer.expect_request("transfer.accept").await;
    peer.bytes(2, b"half").await;
    drop(peer);
    let _peer = gateway.complete_handshake(&[]).await;
    until(|| machine.names() == ["f"]).await;
    assert!(
        std::fs::read(machine.at("f")).unwrap() == bytes,
        "nothing is kept without a key"
    );
}

#[tokio::test]
async fn nothing_is_received_outside_the_jail() {
    let gateway = Gateway::open().await;
    let machine = jailed();
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let outside = machine.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(machine.at("d")).unwrap();
    std::os::unix::fs::symlink("../outside", machine.at("link")).unwrap();
    let absolute = outside.join("f");
    let cases = [
        (absolute.to_str().unwrap(), "forbidden"),
        ("../outside/f", "forbidden"),
        ("link/f", "forbidden"),
        ("d", "invalid_arguments"),
        ("a\u{0}b", "invalid_arguments"),
    ];
    for (id, (path, code)) in (0..).zip(cases) {
        let accept = offer(&mut peer, id, path, 1).await;
        assert_eq!(accept["code"], code, "{path}: {accept}");
        peer.bytes(id, b"x").await;
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(machine.names(), ["d", "link"]);
    assert_eq!(
        offer(&mut peer, 9, "d/f", 1).await,
        json!({ "transferId": 9 })
    );
}

#[tokio::test]
async fn a_read_only_node_receives_nothing() {
    let gateway = Gateway::open().await;
    let machine = Machine::confined(|_| Confinement {
        jail: None,
        sandbox: SandboxMode::ReadOnly,
    });
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    let accept = offer(&mut peer, 1, "f", 1).await;
    assert_eq!(accept["code"], "forbidden");
    assert!(accept["error"].as_str().unwrap().contains("read-only"));
    assert_eq!(machine.names(), Vec::<String>::new());
}

/// Set in the process whose disk is small: the code that a full disk is reported with there.
const SMALL_DISK: &str = "MANYHANDS_TEST_SMALL_DISK";

/// A small disk needs a mount namespace, or a limit on the size of files, and both hold for a whole process. So this
/// test runs itself again in such a process.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "it starts itself, and finds out there that it did"
)]
fn a_full_disk_is_reported_and_leaves_the_old_file() {
    if let Ok(code) = std::env::var(SMALL_DISK) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(fill_the_disk(&code));
    }
    let disk = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=512k tmpfs \"$0\" && exec \"$@\"";
    // A file that may not grow fails its write only where the signal is ignored.
    let limit = "trap '' XFSZ && ulimit -f 512 && exec \"$@\"";
    let methods: [(&str, &str, &[&str]); 3] = [
        ("unshare", "storage_full", &["--mount", "sh", "-c", mount]),
        (
            "unshare",
            "storage_full",
            &["--user", "--map-root-user", "--mount", "sh", "-c", mount],
        ),
        ("sh", "failed", &["-c", limit]), // where nothing may be mounted
    ];
    let within = |(program, code, args): &(&str, &str, &[&str])| {
        let mut command = std::process::Command::new(program);
        command.args(*args).arg(disk.path());
        command.env("TMPDIR", disk.path()).env(SMALL_DISK, code);
        command
    };
    let possible = |method: &&(&str, &str, &[&str])| {
        let tried = within(method).arg("true").output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let method = methods
        .iter()
        .find(possible)
        .expect("a way to a small disk");
    let test = "incoming::a_full_disk_is_reported_and_leaves_the_old_file";
    let ran = within(method)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{method:?}: {said}");
    assert!(said.contains("1 passed"), "{method:?}: {said}");
}

async fn fill_the_disk(code: &str) {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    std::fs::write(machine.at("f"), "old").unwrap();
    let bytes = content(3 * CHUNK);
    offer(&mut peer, 1, "f", bytes.len()).await;
    for chunk in bytes.chunks(CHUNK) {
        peer.bytes(1, chunk).await;
    }
    let done = loop {
        let response = peer.text().await;
        if response["method"] == "transfer.done" {
            break response["params"].clone();
        }
    };
    assert_eq!(done["code"], code, "{done}");
    assert_eq!(std::fs::read(machine.at("f")).unwrap(), b"old");
    assert_eq!(machine.names(), ["f"]);
}

#[tokio::test]
async fn abandoned_parts_are_removed() {
    let (gateway, machine) = (Gateway::open().await, Machine::new());
    let mut peer = machine.at_work(&gateway, ADDITIONS).await;
    offer(&mut peer, 1, "f", 2 * CHUNK).await;
    push(&mut peer, 1, &content(CHUNK), 0).await;
    drop(peer);
    let _peer = gateway.complete_handshake(ADDITIONS).await;
    let part = machine.at(&machine.names()[0]);
    let old = std::fs::File::options().append(true).open(&part).unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    machine.stop.cancel();
    let next = Machine {
        dir: tempfile::tempdir().unwrap(),
        toolbox: machine.toolbox.clone(),
        log: machine.log.clone(),
        stop: tokio_util::sync::CancellationToken::new(),
    };
    drop(next.run(machine.options(&gateway)));
    until(|| !part.exists() && machine.notes() == 0).await;
}
