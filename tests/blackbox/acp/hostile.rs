//! `acp_spawn` with an agent that means ill: it costs its own task and nothing else.

use serde_json::{Value, json};

use super::{done, gateway, give, workspace};
use crate::harness::{Gateway, eventually};
use crate::http::{Connection, Request};

fn error(said: &Value) -> String {
    assert_eq!(said["result"]["status"], "failed", "{said}");
    assert_eq!(said["result"]["output"], Value::Null);
    said["result"]["error"]
        .as_str()
        .expect("an error")
        .to_owned()
}

/// That the gateway is as it was.
fn still_well(gateway: &Gateway) {
    assert_eq!(done(gateway, "asks", "hello"), "Good morning.");
}

#[test]
fn endless_output_is_bounded() {
    let gateway = gateway("");
    for (task, why) in [
        ("line", "a line is longer than 8388608 bytes"),
        ("garbage", "more than 1000 lines were not messages"),
        ("flood", "bytes were sent"),
    ] {
        let said = error(&give(&gateway, "asks", task));
        assert!(said.contains(why), "{task}: {said}");
    }
    still_well(&gateway);
}

#[test]
fn a_crashed_agent_is_reported_with_its_last_log_lines() {
    let gateway = gateway("");
    let said = error(&give(&gateway, "asks", "die"));
    assert!(said.contains("it exited before responding"), "{said}");
    assert!(said.contains("the boiler burst"), "{said}");
    still_well(&gateway);
}

#[test]
fn hundreds_of_terminals_are_not_to_be_had() {
    let gateway = gateway("");
    let made: u32 = done(&gateway, "asks", "terminals")
        .parse()
        .expect("a number");
    assert!((1..=16).contains(&made), "{made}");
    let none = || {
        let running = std::fs::read_dir("/proc").expect("processes");
        let sleeps = |entry: std::fs::DirEntry| {
            let of =
                |file: &str| std::fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            of("cmdline").contains("sleep\u{0}1000")
                && of("environ").contains(&gateway.home.path().display().to_string())
        };
        !running.flatten().any(sleeps)
    };
    eventually("its commands are gone", none);
    still_well(&gateway);
}

/// Makes a call and does not wait for its answer.
fn begin(gateway: &Gateway, call: &Value) -> Connection {
    let request = Request::post("/api/tools/acp_spawn", call).bearer(&gateway.owner);
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let bytes = request.bytes(connection.host());
    connection.write(&bytes).expect("the call");
    connection
}

/// The processes that an agent noted.
fn pids(gateway: &Gateway) -> Vec<String> {
    let file = workspace(gateway).join("pids");
    let mut noted = String::new();
    eventually("it notes who it is", || {
        noted = std::fs::read_to_string(&file).unwrap_or_default();
        noted.ends_with("end")
    });
    let words = noted.split_whitespace().map(str::to_owned);
    words.filter(|word| word != "end").collect()
}

fn all_gone(pids: &[String]) {
    eventually("it and its children are gone", || {
        pids.iter()
            .all(|pid| !std::path::Path::new("/proc").join(pid).exists())
    });
}

#[test]
fn a_silent_agent_is_ended_with_its_processes_on_timeout() {
    let gateway = gateway("");
    let said = error(&give(&gateway, "brief", "silence"));
    assert!(
        said.contains("it exceeded its limit of 3 seconds"),
        "{said}"
    );
    assert!(
        workspace(&gateway).join("cancelled").exists(),
        "it was told"
    );
    all_gone(&pids(&gateway));
    still_well(&gateway);
}

#[test]
fn a_caller_that_goes_takes_the_agent_with_it() {
    let gateway = gateway("");
    let call = json!({ "agent": "asks", "task": "silence" });
    let connection = begin(&gateway, &call);
    let pids = pids(&gateway);
    assert!(
        std::path::Path::new("/proc").join(&pids[0]).exists(),
        "it runs"
    );
    drop(connection);
    all_gone(&pids);
    assert!(
        workspace(&gateway).join("cancelled").exists(),
        "it was told"
    );
    still_well(&gateway);
}

#[test]
fn a_gateway_that_is_killed_leaves_no_agent_behind() {
    let gateway = gateway("");
    let call = json!({ "agent": "asks", "task": "silence" });
    let _connection = begin(&gateway, &call);
    let pids = pids(&gateway);
    let _home = gateway.kill9();
    all_gone(&pids);
}
