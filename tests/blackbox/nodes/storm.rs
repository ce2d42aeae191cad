//! Many come and go, and afterwards everything is as it was.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::{Gateway, eventually};
use crate::nodes::fixture::{Machine, descriptors, resident, tools};
use crate::nodes::player::{Player, greeting};

const CONNECTS: usize = 2_000;
const THREADS: usize = 8;
/// Fewer names than come at once now and then, so that they take each other's place too.
const NAMES: usize = 24;
const MB: u64 = 1 << 20;

fn come_and_go(to: SocketAddr, owner: &str, turn: usize) {
    let name = format!("storm-{}", turn % NAMES);
    let Ok((player, _)) = Player::greet(to, greeting(&name, owner)) else {
        panic!("{name} was refused");
    };
    match turn % 3 {
        0 => player.leave(),
        1 => player.vanish(),
        _ => drop(player),
    }
}

/// Lets so many come and go, several at a time.
fn storm(gateway: &Gateway, connects: usize) {
    let (turns, to, owner) = (AtomicUsize::new(0), gateway.addr, gateway.owner.as_str());
    let turn = || {
        let turn = turns.fetch_add(1, Ordering::Relaxed);
        (turn < connects).then_some(turn)
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(turn) = turn() {
                    come_and_go(to, owner, turn);
                }
            });
        }
    });
}

fn online(gateway: &Gateway) -> usize {
    let said = gateway.get("/api/nodes").json();
    let nodes = said["result"]["nodes"].as_array().expect("nodes").clone();
    nodes.iter().filter(|node| node["online"] == true).count()
}

#[test]
fn after_2000_connects_and_disconnects_everything_is_as_it_was() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.bash(&gateway, "true");
    // The names, the pools and the caches are there before it is measured.
    storm(&gateway, 200);
    eventually("only the machine online", || online(&gateway) == 1);
    let pid = gateway.daemon.pid();
    let (listed, files, memory) = (tools(&gateway), descriptors(pid), resident(pid));
    let children = children(pid);

    storm(&gateway, CONNECTS);
    eventually("only the machine online", || online(&gateway) == 1);
    assert_eq!(tools(&gateway), listed);
    // The database's pool may have opened what it had not needed before: two for each of four readers.
    eventually("as many descriptors", || descriptors(pid) <= files + 8);
    assert_eq!(self::children(pid), children);
    let grown = resident(pid).saturating_sub(memory);
    assert!(grown < 16 * MB, "{} MB more", grown / MB);
    assert!(gateway.metric("websocket_connections", &[]) <= 1.0);
    assert_eq!(laptop.bash(&gateway, "echo served")["output"], "served\n");
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let of = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
    };
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut own: Vec<u32> = pids.filter(|child| of(*child) == Some(pid)).collect();
    own.sort_unstable();
    own
}
