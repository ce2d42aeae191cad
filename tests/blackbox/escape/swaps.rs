//! A folder of the workspace that turns into a link to the outside and back, all the time.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::{Yard, text};
use crate::harness::tree;
use crate::http::{Connection, Request};

const SWAPS: usize = 100_000;
const CALLS: usize = 1_000;
const CALLERS: usize = 3;
const PROGRAMS: usize = 100;

/// A folder `swap` with a file `secret` of its own, and a link `other` to the outside.
fn stage(yard: &Yard, folder: &Path) {
    std::fs::create_dir(folder.join("swap")).expect("a folder");
    std::fs::write(folder.join("swap/secret"), "harmless\n").expect("a file");
    symlink(yard.outside(), folder.join("other")).expect("a link");
}

/// One call of each file tool, by turns.
fn call(number: usize, cache: &str) -> (&'static str, Value) {
    let planted = format!("swap/planted-{}", number % 7);
    match number % 8 {
        0 => ("tool::file_read", json!({ "path": "swap/secret" })),
        1 => (
            "tool::file_list",
            json!({ "path": "swap", "recursive": true }),
        ),
        2 => ("tool::file_list", json!({ "path": ".", "recursive": true })),
        3 => (
            "read_file",
            json!({ "path": format!("{cache}/swap/secret") }),
        ),
        4 => ("read_file", json!({ "path": "file_cache_dir/swap/secret" })),
        5 => (
            "tool::file_write",
            json!({ "path": planted, "content": "planted" }),
        ),
        6 => (
            "write_file",
            json!({ "path": format!("file_cache_dir/{planted}"), "content": "planted" }),
        ),
        _ => ("tool::file_read", json!({ "path": "swap/../swap/secret" })),
    }
}

/// What a caller saw, beside what must never be.
#[derive(Default)]
struct Seen {
    inside: AtomicUsize,
    refused: AtomicUsize,
    told: AtomicUsize,
}

impl Seen {
    fn note(&self, answer: &Value, canary: &str) {
        let text = answer.to_string();
        let count = if text.contains(canary) {
            &self.told
        } else if answer["ok"] == true {
            &self.inside
        } else {
            &self.refused
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_folder_swapped_for_a_link_never_leads_outside() {
    let yard = Yard::new();
    let cache = yard.gateway.home.path().join("host/cache");
    let folders = [yard.work(), cache.clone()];
    for folder in &folders {
        stage(&yard, folder);
    }
    let before = tree(&yard.outside());
    let (addr, owner) = (yard.gateway.addr, yard.gateway.owner.clone());
    let canary = &yard.canary;
    let (seen, programs) = (Seen::default(), Seen::default());
    let busy = AtomicUsize::new(CALLERS + 1);
    let stop = AtomicBool::new(false);
    let send = |connection: &mut Connection, tool: &str, arguments: &Value| {
        let request = Request::post(&format!("/api/tools/{tool}"), arguments).bearer(&owner);
        connection.send(&request).expect("an answer").json()
    };
    let swaps = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0;
            while swaps < SWAPS || !stop.load(Ordering::Relaxed) {
                for folder in &folders {
                    let (one, other) = (folder.join("swap"), folder.join("other"));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("a swap");
                    swaps += 1;
                }
            }
            swaps
        });
        for caller in 0..CALLERS {
            let (seen, busy, stop, send, cache) = (&seen, &busy, &stop, &send, text(&cache));
            scope.spawn(move || {
                let mut connection = Connection::open(addr).expect("a connection");
                for number in 0..CALLS {
                    let (tool, arguments) = call(number + caller, cache);
                    seen.note(&send(&mut connection, tool, &arguments), canary);
                }
                leave(busy, stop);
            });
        }
        scope.spawn(|| {
            let mut connection = Connection::open(addr).expect("a connection");
            for number in 0..PROGRAMS {
                let (tool, arguments) = if number % 2 == 0 {
                    ("tool::shell_exec", json!({ "argv": ["cat", "secret"], "cwd": "swap" }))
                } else {
                    ("bash", json!({ "cmd": "cat secret; echo x > planted; cat ../swap/secret", "cwd": "swap" }))
                };
                programs.note(&send(&mut connection, tool, &arguments), canary);
            }
            leave(&busy, &stop);
        });
        swapper.join().expect("the swapper")
    });
    assert!(swaps >= SWAPS, "{swaps}");
    for (what, seen, all) in [
        ("files", &seen, CALLS * CALLERS),
        ("programs", &programs, PROGRAMS),
    ] {
        let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        assert_eq!(count(&seen.told), 0, "{what}");
        // Both faces of the folder were met, so the race was one.
        assert!(
            count(&seen.inside) > all / 20,
            "{what}: {} inside",
            count(&seen.inside)
        );
        assert!(
            count(&seen.refused) > all / 20,
            "{what}: {} refused",
            count(&seen.refused)
        );
    }
    assert!(
        tree(&yard.outside()) == before,
        "something was planted outside"
    );
    yard.assert_well();
}

/// The last to leave stops the swapper.
fn leave(busy: &AtomicUsize, stop: &AtomicBool) {
    if busy.fetch_sub(1, Ordering::SeqCst) == 1 {
        stop.store(true, Ordering::SeqCst);
    }
}

/// Without a guard the same swaps do lead outside: the race can be lost.
#[test]
fn the_same_swaps_fool_a_program_that_opens_by_name() {
    let yard = Yard::new();
    let (free, canary) = (yard.free(), &yard.canary);
    stage(&yard, &free);
    let done = AtomicBool::new(false);
    let fooled = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (one, other) = (free.join("swap"), free.join("other"));
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("a swap");
            }
        });
        let path = free.join("swap/secret");
        let checked_then_opened = || {
            let plain = std::fs::symlink_metadata(free.join("swap")).is_ok_and(|m| m.is_dir());
            plain && std::fs::read_to_string(&path).is_ok_and(|text| text.contains(canary))
        };
        let fooled = (0..1_000_000).any(|_| checked_then_opened());
        done.store(true, Ordering::Relaxed);
        fooled
    });
    assert!(fooled);
}
