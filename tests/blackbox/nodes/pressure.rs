//! A destination that does not keep up holds up its own transfer and nothing else.

use std::fs::File;

use serde_json::json;

use crate::harness::Gateway;
use crate::http::Connection;
use crate::nodes::fixture::{Machine, request, resident};
use crate::nodes::player::{Player, greeting};

const MB: u64 = 1 << 20;
/// What a window, the queues before the socket and the allocator may take together.
const MARGIN: u64 = 14 * MB;

/// How the destination is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slow {
    /// It knows our additions, reads, and never says that it has taken anything.
    NeverAcknowledges,
    /// It knows nothing of them, and stops reading.
    StopsReading,
}

/// That 1 GB on its way to such a destination stays where it is.
fn check(slow: Slow) {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let large = File::create(laptop.file("large.bin")).expect("a file");
    large.set_len(1 << 30).expect("a large file");
    let mut hello = greeting("attic", &gateway.owner);
    if slow == Slow::NeverAcknowledges {
        hello["additions"] = json!(["transfer.checked"]);
    }
    let mut attic = Player::join_with(&gateway, "attic", hello);
    laptop.bash(&gateway, "true"); // what the first call needs is there before it is measured
    let pids = [gateway.daemon.pid(), laptop.daemon.pid()];
    let before = pids.map(resident);

    let mut asked = Connection::open(gateway.addr).expect("a connection");
    let ends = json!({ "source": laptop.end("large.bin"), "destination": "attic:/large.bin" });
    let call = request(&gateway, "gsv__Transfer", ends).bytes(asked.host());
    asked.write(&call).expect("the call");
    let offer = attic.event("transfer.receive");
    attic.answer(
        "transfer.accept",
        json!({ "transferId": offer["transferId"] }),
    );
    // A whole window where it reads; as much as the systems between them take where it does not.
    let pieces = if slow == Slow::NeverAcknowledges {
        16
    } else {
        1
    };
    for _ in 0..pieces {
        attic.piece();
    }
    let mut most = before;
    for _ in 0..60 {
        let answer = laptop.bash(&gateway, "echo served");
        assert_eq!(answer["output"], "served\n", "{slow:?}");
        most = [0, 1].map(|at| most[at].max(resident(pids[at])));
    }
    for (whose, at) in [("the gateway", 0), ("the source", 1)] {
        let grown = most[at].saturating_sub(before[at]);
        assert!(
            grown < MARGIN,
            "{slow:?}: {whose} grew by {} MB",
            grown / MB
        );
    }
    // Whoever asked goes, and the transfer ends.
    drop(asked);
    if slow == Slow::NeverAcknowledges {
        attic.event("transfer.cancel");
    }
    assert_eq!(laptop.bash(&gateway, "echo served")["output"], "served\n");
}

#[test]
fn a_destination_that_never_acknowledges_costs_one_window() {
    check(Slow::NeverAcknowledges);
}

#[test]
fn a_destination_that_stops_reading_costs_one_window() {
    check(Slow::StopsReading);
}
