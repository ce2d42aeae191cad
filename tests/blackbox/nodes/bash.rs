//! `Bash` and `Process` of a real machine: what the table of the contract cannot see from inside.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::Connection;
use crate::nodes::fixture::{Machine, ask, lives, request};

#[test]
fn a_command_that_runs_out_of_time_is_ended_with_all_its_descendants() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    // A grandchild that does not hear TERM, in the same group.
    let command = "trap '' TERM; (trap '' TERM; sleep 1000 & wait) & echo begun; sleep 1000";
    let (said, timeout) = runs_out_of_time(&gateway, &laptop, command, "begun");
    let result = &said["result"];
    assert_eq!(
        (&result["timedOut"], &result["status"]),
        (&json!(true), &json!("failed")),
        "{said}"
    );
    assert_eq!(
        (&result["signal"], &result["exitCode"]),
        (&json!("SIGKILL"), &Value::Null),
        "{said}"
    );
    let took = result["durationMs"].as_u64().expect("a time");
    let least = timeout + 250;
    assert!(
        (least..least + 20_000).contains(&took),
        "TERM, 250 ms, KILL: {took}"
    );
    eventually("all of them gone", || laptop.children().is_empty());

    let gentle = "trap 'echo heard TERM; exit 3' TERM; echo begun; while :; do sleep 0.02; done";
    let (said, _) = runs_out_of_time(&gateway, &laptop, gentle, "heard TERM");
    let result = &said["result"];
    assert_eq!(
        (&result["timedOut"], &result["exitCode"]),
        (&json!(true), &json!(3)),
        "{said}"
    );
    assert!(
        result["output"]
            .as_str()
            .is_some_and(|text| text.contains("heard TERM")),
        "{said}"
    );
}

/// Runs a command out of its time, which is longer each time that was too short to see these words:
/// what was said, and the time in milliseconds.
fn runs_out_of_time(
    gateway: &Gateway,
    laptop: &Machine,
    command: &str,
    words: &str,
) -> (Value, u64) {
    let mut timeout = 400;
    loop {
        let arguments = json!({ "command": command, "timeout": timeout });
        let said = laptop.call(gateway, "Bash", arguments);
        let printed = said["result"]["output"].as_str();
        if timeout > 10_000 || printed.is_some_and(|text| text.contains(words)) {
            return (said, timeout);
        }
        timeout *= 4; // this machine was too slow to begin with it
    }
}

#[test]
fn the_deadline_of_a_command_is_its_own() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let said = laptop.call(
        &gateway,
        "Bash",
        json!({ "command": "sleep 1000", "timeout": 1 }),
    );
    assert_eq!(said["result"]["timedOut"], true, "{said}");
    let listed = gateway.get("/api/tools").json();
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let bash = tools
        .iter()
        .find(|tool| tool["name"] == "laptop__Bash")
        .expect("it");
    let seconds = bash["timeoutSeconds"].as_u64();
    assert!(
        seconds.is_some_and(|seconds| seconds >= 300),
        "no shorter than the text's: {bash}"
    );
    // Ten minutes are more than the gateway's own deadline of such a call, and are accepted.
    let said = laptop.call(
        &gateway,
        "Bash",
        json!({ "command": "echo done", "timeout": 600_000 }),
    );
    assert_eq!(said["result"]["output"], "done\n", "{said}");
}

#[test]
fn a_caller_that_goes_away_ends_its_command() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let command = json!({ "command": "echo $$ > pid; sleep 1000 & wait" });
    let mut caller = Connection::open(gateway.addr).expect("a connection");
    let call = request(&gateway, "laptop__Bash", command.clone()).bytes(caller.host());
    caller.write(&call).expect("the call");
    eventually("the command runs", || laptop.children().len() >= 2);
    drop(caller);
    eventually("all of it gone", || laptop.children().is_empty());

    let mut socket = gateway.ws();
    socket.ask(
        "tool.invoke",
        json!({ "tool": "laptop__Bash", "args": command }),
    );
    eventually("the command runs", || laptop.children().len() >= 2);
    drop(socket);
    eventually("all of it gone", || laptop.children().is_empty());
    assert_eq!(laptop.bash(&gateway, "echo served")["output"], "served\n");
}

#[test]
fn endless_output_keeps_its_end_in_whole_characters() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    // 300,000 characters of 2, 3 and 4 bytes: every edge of a read falls into some of them.
    let command =
        "for i in $(seq 1000); do for j in $(seq 100); do printf 'ä€😀'; done; done; printf end";
    let said = laptop.call(&gateway, "Bash", json!({ "command": command }));
    let result = &said["result"];
    assert_eq!(
        (&result["truncated"], &result["totalChars"]),
        (&json!(true), &json!(300_003))
    );
    let [output, tail] = ["output", "tail"].map(|key| result[key].as_str().expect("text"));
    assert_eq!(
        (output.chars().count(), tail.chars().count()),
        (200_000, 4_000)
    );
    assert!(output.ends_with("ä€😀end") && tail.ends_with("ä€😀end"));
    assert!(!output.contains('\u{fffd}'), "a character was torn");
    let id = result["artifactId"].as_str().expect("an artifact");
    let whole = gateway.get(&format!("/api/artifacts/{id}")).text();
    assert_eq!(whole, "ä€😀".repeat(100_000) + "end", "all of it is stored");
}

#[test]
fn commands_run_in_the_users_login_shell() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let profile = gateway.home.outside("user").join(".bash_profile");
    fs::write(profile, "export FROM_PROFILE=yes\n").expect("a profile");
    let result = laptop.bash(
        &gateway,
        "echo $0 $FROM_PROFILE; shopt -q login_shell && echo login",
    );
    let output = result["output"].as_str().expect("text");
    assert!(
        output.contains("bash yes\n") && output.ends_with("login\n"),
        "{output}"
    );
}

#[test]
fn many_commands_run_at_once_and_none_waits_for_another() {
    let gateway = Gateway::start();
    let _laptop = Machine::lend(&gateway, "laptop");
    // Each waits for the one after it, so that they end only if all run together.
    let asked: Vec<_> = (0..8)
        .map(|n| {
            let command = format!(
                "touch here-{n}; while [ ! -e here-{} ]; do sleep 0.02; done; echo {n}",
                (n + 1) % 8
            );
            ask(&gateway, "laptop__Bash", json!({ "command": command }))
        })
        .collect();
    for (n, asked) in asked.into_iter().enumerate() {
        assert_eq!(asked.answer()["result"]["output"], format!("{n}\n"));
    }
}

#[test]
fn a_session_is_listed_polled_read_written_to_and_killed() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let start =
        json!({ "command": "while read line; do echo \"got $line\"; done", "background": true });
    let started = laptop.call(&gateway, "Bash", start)["result"].clone();
    let (session, pid) = (
        started["sessionId"].clone(),
        started["pid"].as_u64().expect("a pid"),
    );
    let pid = u32::try_from(pid).expect("a pid");
    assert!(lives(pid));
    let process = |action: &str, more: Value| {
        let mut arguments = json!({ "action": action, "sessionId": session });
        for (key, value) in more.as_object().into_iter().flatten() {
            arguments[key] = value.clone();
        }
        laptop.call(&gateway, "Process", arguments)
    };
    let list = laptop.call(&gateway, "Process", json!({ "action": "list" }));
    assert_eq!(
        list["result"]["sessions"][0]["sessionId"], session,
        "{list}"
    );
    process("submit", json!({ "data": "one" }));
    process("write", json!({ "data": "two\n" }));
    eventually("both lines", || {
        process("log", json!({}))["result"]["log"] == "got one\ngot two\n"
    });
    let killed = process("kill", json!({}));
    assert_eq!(killed["result"]["signal"], "SIGKILL", "{killed}");
    eventually("it is gone", || !lives(pid));
    let poll = process("poll", json!({}))["result"].clone();
    assert_eq!(
        (&poll["running"], &poll["signal"]),
        (&json!(false), &json!("SIGKILL")),
        "{poll}"
    );
    let late = process("write", json!({ "data": "x" }));
    assert_eq!(late["ok"], false, "{late}");
}

#[test]
fn a_wait_too_short_is_lengthened_and_one_too_long_does_not_hold_up_the_end() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let quick = |wait: u64| {
        laptop.call(
            &gateway,
            "Bash",
            json!({ "command": "echo quick", "yieldMs": wait }),
        )
    };
    assert_eq!(quick(1_000_000_000)["result"]["output"], "quick\n");
    for wait in [0, 1] {
        let said = laptop.call(
            &gateway,
            "Bash",
            json!({ "command": "sleep 1000", "yieldMs": wait }),
        );
        assert_eq!(said["result"]["status"], "running", "{said}");
        assert!(said["result"]["pid"].is_u64(), "{said}");
    }
}
