//! Programs that try to go on after the call that started them.

use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Yard, bash_argv, marked};
use crate::harness::eventually;
use crate::http::{Connection, PATIENCE, Request};

/// Writes to the file `beat` for ever.
const BEAT: &str = "beat() { while :; do echo x >> beat; sleep 0.01; done; }; export -f beat\n";

/// Waits until the heart beats, or twenty seconds when it never will.
const UNTIL_IT_BEATS: &str = "\nfor i in $(seq 2000); do [ -s beat ] && break; sleep 0.01; done";

const DAEMON: &str = r#"
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
def attempt(leave, *args):
    try: leave(*args)
    except OSError: pass
if os.fork() == 0:
    attempt(os.setsid)
    if os.fork() == 0:
        attempt(os.setpgid, 0, 0)
        for stream in (0, 1, 2): os.close(stream)
        while True:
            with open("beat", "a") as file: file.write("x\n")
            time.sleep(0.01)
    os._exit(0)
"#;

/// Ways to leave something behind that go on by themselves where nobody ends them.
fn ways() -> Vec<(&'static str, String)> {
    let mut ways = vec![
        ("background", "beat &".to_owned()),
        ("nohup", "nohup bash -c beat > /dev/null 2>&1 &".to_owned()),
        (
            "disown",
            "(trap '' TERM HUP INT; beat) & disown -a".to_owned(),
        ),
        ("two forks", "( (beat &) & )".to_owned()),
        (
            "setsid",
            "setsid bash -c beat & setsid -f bash -c beat; beat &".to_owned(),
        ),
        (
            "another name",
            "(exec -a '[kworker/0:1]' bash -c beat) &".to_owned(),
        ),
        ("closed streams", "beat <&- >&- 2>&- &".to_owned()),
        ("job control", "set -m; beat & disown".to_owned()),
        (
            "a session in a session",
            "setsid -f setsid -f bash -c 'trap \"\" TERM HUP; set -m; beat & wait'".to_owned(),
        ),
        ("a timeout", "timeout 1000 bash -c beat &".to_owned()),
        (
            "stopped for a while",
            "(kill -STOP $BASHPID; beat) & kill -CONT $!; beat &".to_owned(),
        ),
    ];
    ways.push(("a daemon of Python", format!("python3 -c '{DAEMON}'")));
    ways
}

#[test]
fn nothing_outlives_its_call() {
    let yard = Yard::new();
    let beats = || std::fs::metadata(yard.work().join("beat")).map_or(0, |meta| meta.len());
    for (number, (name, way)) in ways().into_iter().enumerate() {
        yard.lay_out();
        let mark = format!("{}{number}", yard.canary);
        let script = format!("export MARK='{mark}'\n{BEAT}{way}{UNTIL_IT_BEATS}");
        yard.bash(&script);
        eventually("nothing is left", || marked(&mark).is_empty());
        let after = beats();
        assert!(after > 0, "{name} never began");
        yard.bash("sleep 0.05");
        assert_eq!(beats(), after, "{name} goes on");
        // Freely, it does outlive what started it.
        let mut child = yard.command(&bash_argv(&script)).spawn().expect("bash");
        child.wait().expect("its end");
        let left = marked(&mark);
        end(&mark);
        assert!(!left.is_empty(), "control of {name}");
    }
    yard.assert_well();
}

/// Ends what a control left, by its ids.
fn end(mark: &str) {
    eventually("the control is gone", || {
        let left = marked(mark);
        for pid in left.iter().copied().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        left.is_empty()
    });
}

#[test]
fn a_program_that_ignores_signals_ends_at_its_timeout() {
    let yard = Yard::new();
    let deaf = "trap '' TERM HUP INT QUIT USR1; beat & (trap '' TERM; exec sleep 1000) & beat";
    let mark = &yard.canary;
    let cmd = format!("export MARK='{mark}'\n{BEAT}{deaf}");
    let begun = Instant::now();
    let said = yard
        .gateway
        .call("bash", json!({ "cmd": cmd, "timeout_seconds": 0.5 }));
    assert_eq!(said["result"]["timed_out"], true, "{said}");
    assert_eq!(said["result"]["exit_code"], 124, "{said}");
    assert!(begun.elapsed() < PATIENCE);
    eventually("nothing is left", || marked(mark).is_empty());
    let argv = [
        "python3",
        "-c",
        "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(1000)",
        mark,
    ];
    let said = yard
        .gateway
        .call("tool::shell_exec", json!({ "argv": argv, "timeout": 500 }));
    assert_eq!(said["result"]["timedOut"], true, "{said}");
    eventually("nothing is left", || marked(mark).is_empty());
    yard.assert_well();
}

/// Starts a program that never ends by itself, on a connection that is handed back.
fn endless(yard: &Yard) -> Connection {
    let cmd = format!(
        "export MARK='{}'\n{BEAT}trap '' TERM; setsid bash -c beat & set -m; beat & \
         setsid -f bash -c 'echo > session; beat'; beat",
        yard.canary
    );
    let request =
        Request::post("/api/tools/bash", &json!({ "cmd": cmd })).bearer(&yard.gateway.owner);
    let mut connection = Connection::open(yard.gateway.addr).expect("a connection");
    let bytes = request.bytes(connection.host());
    connection.write(&bytes).expect("sent");
    eventually("it runs", || {
        let files = ["beat", "session"].map(|name| yard.work().join(name));
        !marked(&yard.canary).is_empty() && files.iter().all(|file| file.exists())
    });
    connection
}

#[test]
fn a_caller_who_hangs_up_leaves_nothing_running() {
    let yard = Yard::new();
    drop(endless(&yard));
    eventually("nothing is left", || marked(&yard.canary).is_empty());
    yard.assert_well();
}

#[test]
fn a_gateway_that_stops_or_is_killed_leaves_nothing_running() {
    for killed in [false, true] {
        let yard = Yard::with("[limits]\nshutdown_seconds = 1\n");
        let connection = endless(&yard);
        let Yard { gateway, canary } = yard;
        let _home = if killed {
            gateway.kill9()
        } else {
            gateway.stop()
        };
        eventually("nothing is left", || marked(&canary).is_empty());
        drop(connection);
    }
}
