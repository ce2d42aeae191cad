//! Files to and from a node written by others, and frames that are nobody's.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{Asked, Machine, noise, sha256, transfer};
use crate::nodes::player::Player;

const CHUNK: usize = 256 * 1024;

fn id(event: &Value) -> u32 {
    u32::try_from(event["transferId"].as_u64().expect("an id")).expect("a small id")
}

/// Plays the source of a transfer as published, to its last frame.
fn send(player: &mut Player, path: &str, bytes: &[u8], mime: &str) -> u32 {
    let event = player.event("transfer.send");
    assert_eq!(event["path"], path, "{event}");
    let transfer = id(&event);
    let meta = json!({ "transferId": transfer, "size": bytes.len(), "mime": mime });
    assert!(!player.answer("transfer.meta", meta));
    assert_eq!(id(&player.event("transfer.start")), transfer);
    for chunk in bytes.chunks(CHUNK) {
        player.send_piece(transfer, chunk);
    }
    assert!(!player.answer("transfer.complete", json!({ "transferId": transfer })));
    transfer
}

/// Plays the destination of a transfer as published: what was offered, and what came.
fn receive(player: &mut Player, path: &str) -> (Value, Vec<u8>) {
    let offer = player.event("transfer.receive");
    assert_eq!(offer["path"], path, "{offer}");
    let transfer = id(&offer);
    assert!(!player.answer("transfer.accept", json!({ "transferId": transfer })));
    let mut came = Vec::new();
    let size = offer["size"].as_u64().expect("a size");
    while (came.len() as u64) < size {
        let (of, bytes) = player.piece();
        assert_eq!(of, transfer);
        assert!(bytes.len() <= CHUNK, "{}", bytes.len());
        came.extend(bytes);
    }
    assert_eq!(id(&player.event("transfer.end")), transfer);
    let done = json!({ "transferId": transfer, "bytesWritten": came.len() });
    assert!(!player.answer("transfer.done", done));
    (offer, came)
}

#[track_caller]
fn arrived(asked: Asked, bytes: &[u8], mime: &str) {
    let said = asked.answer();
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(said["result"]["bytesTransferred"], bytes.len(), "{said}");
    assert_eq!(said["result"]["mime"], mime, "{said}");
    assert_eq!(said["result"]["sha256"], sha256(bytes), "{said}");
}

#[test]
fn a_node_written_by_others_sends_files_to_the_workspace_and_to_a_machine() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let mut attic = Player::join(&gateway, "attic");
    for size in [0, 1, CHUNK, 3 * CHUNK + 5] {
        let bytes = noise(size, 11);
        let asked = transfer(&gateway, "attic:/dust", "gsv:boxes/dust");
        send(&mut attic, "/dust", &bytes, "application/x-dust");
        arrived(asked, &bytes, "application/x-dust");
        let there = fs::read(gateway.home.blob("agents/main/boxes/dust"));
        assert!(there.expect("a file") == bytes, "{size} bytes");

        let asked = transfer(&gateway, "attic:/dust", &laptop.end("new/dust"));
        send(&mut attic, "/dust", &bytes, "application/x-dust");
        arrived(asked, &bytes, "application/x-dust");
        assert!(
            fs::read(laptop.file("new/dust")).expect("a file") == bytes,
            "{size} bytes"
        );
    }
}

#[test]
fn a_node_written_by_others_receives_files_of_the_workspace_and_of_a_machine() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let mut attic = Player::join(&gateway, "attic");
    for size in [0, 1, CHUNK + 1, 6 << 20] {
        let bytes = noise(size, 12);
        let source = laptop.put("thing.bin", &bytes);
        let asked = transfer(&gateway, &source, "attic:/thing");
        let (offer, came) = receive(&mut attic, "/thing");
        assert_eq!(offer["size"], size);
        assert!(
            offer.get("resume").is_none(),
            "no addition that it did not announce: {offer}"
        );
        assert!(came == bytes, "{size} bytes");
        let said = asked.answer();
        assert_eq!(said["result"]["bytesTransferred"], size, "{said}");
    }
    gateway.write("note.md", "a note");
    let asked = transfer(&gateway, "gsv:note.md", "attic:/note.md");
    let (_, came) = receive(&mut attic, "/note.md");
    assert_eq!(came, b"a note");
    assert_eq!(asked.answer()["ok"], true);
}

#[test]
fn two_nodes_written_by_others_pass_a_file_on() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    let mut cellar = Player::join(&gateway, "cellar");
    let bytes = noise(5 * CHUNK + 3, 13);
    let asked = transfer(&gateway, "attic:/a", "cellar:/b");
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || {
        send(&mut attic, "/a", &sent, "application/x-dust");
        attic
    });
    let (offer, came) = receive(&mut cellar, "/b");
    assert_eq!(offer["mime"], "application/x-dust");
    assert!(came == bytes);
    drop(sender.join().expect("the sender"));
    arrived(asked, &bytes, "application/x-dust");
}

#[test]
fn a_nodes_error_ends_the_transfer_with_its_message() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    gateway.write("note.md", "a note");
    let failed = |asked: Asked, words: &str| {
        let said = asked.answer();
        assert_eq!(said["ok"], false, "{said}");
        assert!(
            said["error"]
                .as_str()
                .is_some_and(|text| text.contains(words)),
            "{words}: {said}"
        );
    };

    let asked = transfer(&gateway, "attic:/a", "gsv:a");
    let event = attic.event("transfer.send");
    attic.answer(
        "transfer.meta",
        json!({ "transferId": id(&event), "error": "moths ate it" }),
    );
    failed(asked, "moths ate it");

    let asked = transfer(&gateway, "gsv:note.md", "attic:/a");
    let event = attic.event("transfer.receive");
    attic.answer(
        "transfer.accept",
        json!({ "transferId": id(&event), "error": "no room" }),
    );
    failed(asked, "no room");

    let asked = transfer(&gateway, "gsv:note.md", "attic:/a");
    let event = attic.event("transfer.receive");
    attic.answer("transfer.accept", json!({ "transferId": id(&event) }));
    attic.event("transfer.end");
    attic.answer(
        "transfer.done",
        json!({ "transferId": id(&event), "error": "it fell" }),
    );
    failed(asked, "it fell");

    let asked = transfer(&gateway, "gsv:note.md", "attic:/a");
    let event = attic.event("transfer.receive");
    attic.answer("transfer.accept", json!({ "transferId": id(&event) }));
    attic.event("transfer.end");
    attic.answer(
        "transfer.done",
        json!({ "transferId": id(&event), "bytesWritten": 1 }),
    );
    failed(asked, "1 of 6 bytes");

    // More or less than was promised is not the file.
    for sent in [3, 7] {
        let asked = transfer(&gateway, "attic:/a", "gsv:a");
        let event = attic.event("transfer.send");
        attic.answer(
            "transfer.meta",
            json!({ "transferId": id(&event), "size": 5 }),
        );
        attic.event("transfer.start");
        attic.send_piece(id(&event), &noise(sent, 1));
        attic.tell("transfer.complete", json!({ "transferId": id(&event) }));
        failed(asked, "changed while it was being sent");
    }
    assert_eq!(gateway.read("a"), None, "nothing of it is seen");
}

#[test]
fn frames_of_foreign_transfers_are_ignored() {
    let gateway = Gateway::start();
    let mut attic = Player::join(&gateway, "attic");
    let mut thief = Player::join(&gateway, "thief");
    let bytes = noise(2 * CHUNK, 14);
    let asked = transfer(&gateway, "attic:/a", "gsv:a.bin");
    let event = attic.event("transfer.send");
    let transfer = id(&event);
    let meta = json!({ "transferId": transfer, "size": bytes.len() });
    attic.answer("transfer.meta", meta.clone());
    attic.event("transfer.start");
    attic.send_piece(transfer, &bytes[..CHUNK]);
    for stray in [transfer, 0, u32::MAX, transfer + 1] {
        thief.send_piece(stray, &noise(CHUNK, 15));
    }
    for broken in [vec![], vec![1], vec![1, 2, 3]] {
        thief.send_bytes(broken);
    }
    for (method, params) in [
        ("transfer.meta", meta),
        ("transfer.complete", json!({ "transferId": transfer })),
        (
            "transfer.accept",
            json!({ "transferId": transfer, "error": "no" }),
        ),
        (
            "transfer.done",
            json!({ "transferId": transfer, "bytesWritten": 1 }),
        ),
    ] {
        let said = thief.say(method, params);
        let taken = said["ok"] == true && said["payload"]["dropped"] != true;
        assert!(!taken, "{method} is not its to say: {said}");
    }
    attic.send_piece(transfer + 1, b"of nothing");
    attic.send_piece(transfer, &bytes[CHUNK..]);
    attic.answer("transfer.complete", json!({ "transferId": transfer }));
    assert_eq!(asked.answer()["ok"], true);
    let there = fs::read(gateway.home.blob("agents/main/a.bin")).expect("a file");
    assert!(there == bytes, "its bytes and nobody else's");

    let asked = crate::nodes::fixture::ask(&gateway, "thief__Bash", json!({ "command": "x" }));
    let (call, _) = thief.called();
    thief.answer(
        "tool.result",
        json!({ "callId": call, "result": "still served" }),
    );
    assert_eq!(asked.answer()["result"], "still served");
}
