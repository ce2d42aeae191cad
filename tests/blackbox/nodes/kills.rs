//! kill -9 of a node and of the gateway in the middle of a call.

use std::fs;

use serde_json::json;

use crate::harness::{Gateway, eventually};
use crate::http::{Connection, Request};
use crate::nodes::fixture::{
    Machine, ask, is_lost, transfer, wait_all_gone, wait_offline, wait_online,
};

#[test]
fn a_killed_node_fails_its_calls_at_once_and_leaves_nothing_running() {
    let gateway = Gateway::start();
    let (mut laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let background = json!({ "command": "sleep 1000 & sleep 1000 & wait", "background": true });
    laptop.call(&gateway, "Bash", background);
    let command = json!({ "command": "(trap '' TERM; sleep 1000) & sleep 1000" });
    let asked = ask(&gateway, "laptop__Bash", command);
    let grep = ask(&gateway, "laptop__Bash", json!({ "command": "sleep 1000" }));
    eventually("all of them run", || laptop.children().len() >= 6);
    laptop.daemon.kill9();
    is_lost(&asked.answer());
    is_lost(&grep.answer());
    wait_all_gone(&laptop.mark());
    wait_offline(&gateway, "laptop");
    assert_eq!(server.bash(&gateway, "echo served")["output"], "served\n");
    let again = Machine::lend(&gateway, "laptop");
    assert_eq!(again.bash(&gateway, "echo back")["output"], "back\n");
}

#[test]
fn a_stopping_node_ends_its_programs_and_disconnects() {
    let gateway = Gateway::start();
    let mut laptop = Machine::lend(&gateway, "laptop");
    let asked = ask(&gateway, "laptop__Bash", json!({ "command": "sleep 1000" }));
    laptop.call(
        &gateway,
        "Bash",
        json!({ "command": "sleep 1000", "background": true }),
    );
    eventually("both run", || laptop.children().len() >= 2);
    laptop.daemon.signal(rustix::process::Signal::TERM);
    assert!(laptop.daemon.wait().success());
    is_lost(&asked.answer());
    wait_all_gone(&laptop.mark());
    wait_offline(&gateway, "laptop");
}

#[test]
fn a_killed_gateway_ends_what_waited_for_it_and_its_nodes_come_back_by_themselves() {
    let gateway = Gateway::settled();
    let at = gateway.addr;
    let mut laptop = Machine::lend(&gateway, "laptop");
    let background = json!({ "command": "while :; do sleep 0.05; done", "background": true });
    let started = laptop.call(&gateway, "Bash", background)["result"].clone();
    let mut caller = Connection::open(at).expect("a connection");
    let command = json!({ "command": "echo ran >> runs; sleep 1000" });
    let call = Request::post("/api/tools/laptop__Bash", &command).bearer(&gateway.owner);
    caller.write(&call.bytes(caller.host())).expect("the call");
    eventually("the command runs", || {
        fs::read_to_string(laptop.file("runs")).is_ok_and(|runs| runs == "ran\n")
    });
    let home = gateway.kill9();
    assert!(caller.read().is_err(), "nobody hangs");
    laptop
        .daemon
        .wait_for_line("lost its connection")
        .expect("a line");
    // The foreground ends with whoever waited for it; what was left in the background goes on.
    eventually("the foreground has ended", || {
        let lines = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let waits = |line: Vec<u8>| {
            line.windows(10)
                .any(|words| words == b"sleep\x001000".as_slice())
        };
        !laptop.children().iter().map(lines).any(waits)
    });
    let gateway = Gateway::at(home, at);
    wait_online(&gateway, "laptop");
    let poll = json!({ "action": "poll", "sessionId": started["sessionId"] });
    let said = laptop.call(&gateway, "Process", poll);
    assert_eq!(said["result"]["running"], true, "{said}");
    assert_eq!(
        fs::read_to_string(laptop.file("runs")).expect("a file"),
        "ran\n",
        "it ran once"
    );
    let kill = json!({ "action": "kill", "sessionId": started["sessionId"] });
    assert_eq!(laptop.call(&gateway, "Process", kill)["ok"], true);
    eventually("nothing is left", || laptop.children().is_empty());
    // The call that had begun is on record as interrupted.
    let audit = gateway.audit();
    let interrupted = audit
        .iter()
        .any(|entry| entry["tool"] == "laptop__Bash" && entry.to_string().contains("interrupted"));
    assert!(interrupted, "{audit:?}");
}

#[test]
fn a_gateway_killed_in_a_transfer_leaves_the_file_whole_or_absent_and_it_can_be_sent_again() {
    let gateway = Gateway::settled();
    let at = gateway.addr;
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let bytes = crate::nodes::fixture::noise(64 << 20, 31);
    let source = laptop.put("large.bin", &bytes);
    let destination = server.end("in/large.bin");
    let ends = json!({ "source": source, "destination": destination });
    let mut caller = Connection::open(at).expect("a connection");
    let call = Request::post("/api/tools/gsv__Transfer", &ends).bearer(&gateway.owner);
    caller.write(&call.bytes(caller.host())).expect("the call");
    // Or all of it already, where the machine is quicker than this test.
    eventually("some of it is there", || {
        let arrived = server.file("in/large.bin").exists();
        arrived || !crate::nodes::fixture::parts(&server.file("in")).is_empty()
    });
    let home = gateway.kill9();
    drop(caller);
    if let Ok(there) = fs::read(server.file("in/large.bin")) {
        assert!(there == bytes, "half a file");
    }
    let gateway = Gateway::at(home, at);
    wait_online(&gateway, "laptop");
    wait_online(&gateway, "server");
    let said = transfer(&gateway, &source, &destination).answer();
    assert_eq!(said["ok"], true, "{said}");
    assert!(fs::read(server.file("in/large.bin")).expect("a file") == bytes);
    assert!(crate::nodes::fixture::parts(&server.file("in")).is_empty());
}
