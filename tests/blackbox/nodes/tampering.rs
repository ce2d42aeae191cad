//! Files that change on their way: what arrives is one file in one state, or nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::harness::{Gateway, eventually};
use crate::nodes::fixture::{Asked, Machine, Plan, noise, parts, sha256, transfer};
use crate::nodes::player::{Player, greeting};
use crate::nodes::proxy::{Proxy, Way};

const SIZE: usize = 12 * 256 * 1024 + 77;

/// Two machines of which one is behind a proxy, and a transfer that was cut off half way.
struct Halfway {
    gateway: Gateway,
    laptop: Machine,
    server: Machine,
    source: String,
    asked: Asked,
    /// Kept, since the machine comes back through it.
    _proxy: Proxy,
}

impl Halfway {
    fn new(behind: &str, way: Way) -> Self {
        let gateway = Gateway::start();
        let proxy = Proxy::start(gateway.addr);
        let lend = |name: &str| {
            let plan = Plan::new(&gateway, name);
            match name == behind {
                true => plan.through(proxy.address).lend(&gateway),
                false => plan.lend(&gateway),
            }
        };
        let (laptop, server) = (lend("laptop"), lend("server"));
        let source = laptop.put("given.bin", &noise(SIZE, 41));
        proxy.cut_after(8, way, None);
        let asked = transfer(&gateway, &source, &server.end("in/taken.bin"));
        eventually("the cut", || proxy.has_cut());
        Self {
            gateway,
            laptop,
            server,
            source,
            asked,
            _proxy: proxy,
        }
    }

    /// Where that which came before the cut lies; it may be a moment until it does.
    fn part(&self) -> PathBuf {
        let folder = self.server.file("in");
        let part = || {
            let parts = parts(&folder).into_iter().map(|name| folder.join(name));
            parts
                .into_iter()
                .find(|part| fs::metadata(part).is_ok_and(|of| of.len() > 0))
        };
        eventually("a part", || part().is_some());
        part().expect("a part")
    }

    /// Waits for the end: what came, which is a whole file, or nothing came.
    fn end(self, whole: &[&[u8]]) -> Option<Vec<u8>> {
        let said = self.asked.answer();
        let there = fs::read(self.server.file("in/taken.bin")).ok();
        assert_eq!(there.is_some(), said["ok"] == true, "{said}");
        if let Some(there) = &there {
            assert!(whole.contains(&there.as_slice()), "a mixture came: {said}");
            assert_eq!(said["result"]["sha256"], sha256(there), "{said}");
        }
        let again = transfer(
            &self.gateway,
            &self.source,
            &self.server.end("in/taken.bin"),
        );
        let said = again.answer();
        assert_eq!(said["ok"], true, "and it can be sent again: {said}");
        let now = fs::read(self.laptop.file("given.bin")).expect("a file");
        assert!(fs::read(self.server.file("in/taken.bin")).expect("a file") == now);
        assert!(parts(&self.server.file("in")).is_empty());
        there
    }
}

#[test]
fn a_source_that_changes_while_it_is_cut_off_is_not_mixed() {
    let halfway = Halfway::new("laptop", Way::Up);
    let (old, new) = (noise(SIZE, 41), noise(SIZE, 42));
    halfway.laptop.put("given.bin", &new);
    halfway.end(&[&old, &new]);
}

#[test]
fn a_source_that_shrinks_while_it_is_cut_off_is_not_mixed() {
    let halfway = Halfway::new("laptop", Way::Up);
    let (old, new) = (noise(SIZE, 41), noise(1_000, 43));
    halfway.laptop.put("given.bin", &new);
    halfway.end(&[&old, &new]);
}

#[test]
fn a_modified_partial_file_is_never_completed() {
    let halfway = Halfway::new("server", Way::Down);
    let part = halfway.part();
    let mut bytes = fs::read(&part).expect("the part");
    assert!(!bytes.is_empty());
    bytes[0] ^= 0xff;
    // In place, as somebody would who means it.
    use std::os::unix::fs::FileExt;
    let file = fs::File::options().write(true).open(&part);
    file.expect("the part")
        .write_all_at(&bytes[..1], 0)
        .expect("a byte");
    halfway.end(&[&noise(SIZE, 41)]);
}

#[test]
fn a_removed_partial_file_is_sent_again() {
    let halfway = Halfway::new("server", Way::Down);
    fs::remove_file(halfway.part()).expect("a part");
    let came = halfway.end(&[&noise(SIZE, 41)]);
    assert!(came.is_some(), "nothing stands in its way");
}

#[test]
fn bytes_that_do_not_have_the_promised_hash_are_not_written() {
    let gateway = Gateway::start();
    let server = Machine::lend(&gateway, "server");
    let mut hello = greeting("attic", &gateway.owner);
    hello["additions"] = json!(["transfer.checked"]);
    let mut attic = Player::join_with(&gateway, "attic", hello);
    let bytes = noise(300_000, 44);
    let mut send = |destination: &str, hash: String| {
        let asked = transfer(&gateway, "attic:/a", destination);
        let id = attic.event("transfer.send")["transferId"].clone();
        attic.answer(
            "transfer.meta",
            json!({ "transferId": id, "size": bytes.len() }),
        );
        attic.event("transfer.start");
        let number = u32::try_from(id.as_u64().expect("an id")).expect("an id");
        for chunk in bytes.chunks(256 * 1024) {
            attic.send_piece(number, chunk);
        }
        attic.answer(
            "transfer.complete",
            json!({ "transferId": id, "sha256": hash }),
        );
        asked.answer()
    };
    for destination in ["gsv:in/a.bin".to_owned(), server.end("in/a.bin")] {
        let said = send(&destination, sha256(b"something else"));
        assert_eq!(said["ok"], false, "{destination}: {said}");
        assert_eq!(said["code"], "conflict", "{destination}: {said}");
        assert!(!server.file("in/a.bin").exists());
        assert!(parts(&server.file("in")).is_empty(), "{destination}");
        assert!(!gateway.home.blob("agents/main/in/a.bin").exists());
    }
    for destination in ["gsv:in/a.bin".to_owned(), server.end("in/a.bin")] {
        let said = send(&destination, sha256(&bytes));
        assert_eq!(said["ok"], true, "{destination}: {said}");
    }
    assert!(fs::read(server.file("in/a.bin")).expect("a file") == bytes);
}
