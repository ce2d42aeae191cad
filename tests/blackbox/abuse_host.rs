//! The machine's hands under abuse: nonsense, floods, callers that go away, a gateway that is shot.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually, tree};
use crate::http::{Connection, Request};
use crate::mcp::{self, Era};

/// The gateway's own second process, which ends what it leaves behind.
const KEEPER: &[u8] = b"keeper";

/// Every program on this machine whose command line holds `mark`.
pub fn marked(mark: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.windows(mark.len()).any(|part| part == mark.as_bytes())
    })
    .collect()
}

/// Every program that the gateway started and that is not gone, beside the keeper that watches over them.
fn children(gateway: u32) -> usize {
    let of_gateway = format!("PPid:\t{gateway}\n");
    let processes = std::fs::read_dir("/proc").expect("/proc");
    let is_child = |entry: &std::io::Result<std::fs::DirEntry>| {
        let path = entry.as_ref().expect("an entry").path();
        let status = std::fs::read_to_string(path.join("status")).unwrap_or_default();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        status.contains(&of_gateway) && !line.split(|byte| *byte == 0).any(|word| word == KEEPER)
    };
    processes.filter(is_child).count()
}

/// A name that no other program on this machine bears. What bears it when the test is over is
/// ended, so that a failure leaves nothing on the machine.
pub struct Mark(String);

impl std::ops::Deref for Mark {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        for id in marked(&self.0) {
            if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
                let _ = kill_process(id, Signal::KILL);
            }
        }
    }
}

pub fn mark(gateway: &Gateway, name: &str) -> Mark {
    let home = gateway.home.outside("");
    let folder = home.file_name().expect("a name").to_string_lossy();
    Mark(format!("{name}-{folder}"))
}

/// A command of several programs that all bear the mark, one of them deaf to being asked to stop.
pub fn lingering(mark: &str) -> Value {
    let cmd = format!(
        "(trap '' TERM HUP INT; exec -a {mark} sleep 300) & (exec -a {mark} sleep 300) & exec -a {mark} sleep 300"
    );
    json!({ "cmd": cmd, "timeout_seconds": 25 })
}

#[track_caller]
fn ready(gateway: &Gateway) {
    assert_eq!(gateway.send(&Request::get("/readyz")).status, 200);
    let said = gateway.call("bash", json!({ "cmd": "echo alive" }));
    assert_eq!(said["result"]["stdout"], "alive\n", "{said}");
}

const TEXTS: [&str; 28] = [
    "",
    "a.txt",
    ".",
    "..",
    "/",
    "d/",
    "\0",
    "\u{feff}",
    "~",
    "*",
    "file_cache_dir",
    "file_cache_dir/a",
    "file_state_dir/../x",
    "file_state_dir\\x",
    "append",
    "overwrite",
    "echo hi",
    "echo",
    "ls",
    "env",
    "((((",
    "<<E",
    "'",
    "exit 300",
    "@@ -1 +1 @@\n-a\n+b\n",
    "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
    "@@ -99999999999 +1 @@\n x\n",
    "\\ No newline at end of file\n",
];

/// Values that a careless or hostile caller might send.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        5 => prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        8 => text.prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            1 => prop::collection::btree_map(any::<String>(), inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A call that works with a few of its parameters, or others, put to something else.
fn any_call() -> impl Strategy<Value = (&'static str, Value)> {
    let good = [
        ("tool::file_read", json!({ "path": "a.txt" })),
        (
            "tool::file_write",
            json!({ "path": "w.txt", "content": "x" }),
        ),
        ("tool::file_list", json!({ "path": "." })),
        (
            "tool::apply_patch",
            json!({ "path": "new.txt", "patch": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n" }),
        ),
        ("tool::shell_exec", json!({ "argv": ["echo", "hi"] })),
        ("read_file", json!({ "path": "a.txt" })),
        ("write_file", json!({ "path": "w.txt", "content": "x" })),
        ("bash", json!({ "cmd": "echo hi" })),
        ("powershell", json!({ "cmd": "echo hi" })),
    ];
    let parameters = |tool: &str| -> &[&str] {
        match tool {
            "tool::file_read" => &["path", "maxBytes"],
            "tool::file_write" => &["path", "content"],
            "tool::file_list" => &["path", "recursive"],
            "tool::apply_patch" => &["path", "patch"],
            "tool::shell_exec" => &["argv", "cwd", "timeout"],
            "read_file" => &["path"],
            "write_file" => &["path", "content", "mode"],
            _ => &["cmd", "cwd", "timeout_seconds", "run_in_subtask", "x"],
        }
    };
    prop::sample::select(good.to_vec()).prop_flat_map(move |(tool, good)| {
        let key = prop_oneof![
            9 => prop::sample::select(parameters(tool)),
            1 => prop::sample::select(vec!["", "__proto__", "PATH"]),
        ];
        prop::collection::btree_map(key, any_value(), 0..4).prop_map(move |changed| {
            let mut arguments = good.clone();
            for (name, value) in changed {
                arguments[name] = value;
            }
            (tool, arguments)
        })
    })
}

#[test]
fn no_arguments_break_any_tool_of_the_machine() {
    let gateway = Gateway::with_config(
        "[tools]\npowershell.enabled = true\nbash.timeout = 2\nshell_exec.timeout = 2\n",
    );
    std::fs::write(gateway.home.outside("canary"), "canary").expect("a canary");
    for folder in ["workspace", "cache"] {
        let file = gateway.home.path().join("host").join(folder).join("a.txt");
        std::fs::write(file, "a\n").expect("a file");
    }
    let outside = |home: &Path| {
        let mut all = tree(home);
        all.retain(|(name, _)| !name.starts_with("home/"));
        all
    };
    let before = outside(&gateway.home.outside(""));
    let codes = [
        "invalid_arguments",
        "not_found",
        "conflict",
        "failed",
        "too_large",
        "forbidden",
        "unavailable",
    ];
    let connection = RefCell::new(Connection::open(gateway.addr).expect("a connection"));
    let worked = RefCell::new(BTreeSet::new());
    let config = Config {
        cases: 1_500,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&any_call(), |(tool, arguments)| {
        let request =
            Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&gateway.owner);
        let response = connection.borrow_mut().send(&request);
        let response = response.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let said = response.json();
        let fine = said["ok"] == true || codes.contains(&said["code"].as_str().unwrap_or_default());
        prop_assert!(
            response.status != 500 && fine,
            "{tool} {arguments}: {} {said}",
            response.status
        );
        prop_assert_eq!(
            said["ok"] == true,
            said.get("error").is_none(),
            "an envelope: {}",
            said
        );
        if said["ok"] == true {
            worked.borrow_mut().insert(tool);
        }
        Ok(())
    });
    outcome.expect("every call has an envelope");
    assert!(
        worked.borrow().len() >= 8,
        "some were real calls: {:?}",
        worked.borrow()
    );
    assert_eq!(
        outside(&gateway.home.outside("")),
        before,
        "nothing changed outside"
    );
    ready(&gateway);
    eventually("no program is left", || children(gateway.daemon.pid()) == 0);
    gateway.verify_audit();
}

#[test]
fn two_hundred_calls_at_once_run_at_most_32_programs_and_none_is_lost() {
    let gateway = Gateway::start();
    let mark = mark(&gateway, "flood");
    let (pid, addr, owner) = (gateway.daemon.pid(), gateway.addr, gateway.owner.as_str());
    let (most, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers: Vec<(usize, u16, Value)> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(children(pid), Ordering::Relaxed);
            }
        });
        let calls: Vec<_> = (0..200)
            .map(|n| {
                let script = format!("echo {n}; exec -a {} sleep 0.2", &*mark);
                let (tool, arguments) = match n % 2 {
                    0 => ("bash", json!({ "cmd": script })),
                    _ => (
                        "tool::shell_exec",
                        json!({ "argv": ["env", "bash", "-c", script] }),
                    ),
                };
                let request =
                    Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(owner);
                scope.spawn(move || {
                    let response = request.send(addr);
                    (n, response.status, response.json())
                })
            })
            .collect();
        let answers = calls
            .into_iter()
            .map(|call| call.join().expect("an answer"))
            .collect();
        over.store(true, Ordering::Relaxed);
        answers
    });
    let mut ran = 0;
    for (n, status, said) in &answers {
        if said["ok"] == true {
            assert_eq!(
                said["result"]["stdout"],
                format!("{n}\n"),
                "each its own: {said}"
            );
            ran += 1;
        } else {
            assert_eq!(
                (*status, said["code"].as_str()),
                (503, Some("unavailable")),
                "{said}"
            );
            let error = said["error"].as_str().expect("an error");
            assert!(
                error.contains("32 programs run already"),
                "told clearly: {error}"
            );
        }
    }
    assert_eq!(answers.len(), 200);
    assert!(ran >= 32, "{ran} ran");
    let most = most.load(Ordering::Relaxed);
    assert!((1..=32).contains(&most), "{most} at once");
    eventually("no program is left", || {
        children(gateway.daemon.pid()) == 0 && marked(&mark).is_empty()
    });
    ready(&gateway);
    let finished = gateway.audit();
    let ended = |entry: &&Value| {
        ["bash", "tool::shell_exec"].contains(&entry["tool"].as_str().unwrap_or_default())
            && entry["kind"] == "finished"
    };
    assert!(
        finished.iter().filter(ended).count() >= ran,
        "all that ran is in the audit"
    );
    gateway.verify_audit();
}

#[test]
fn a_killed_gateway_leaves_no_program_behind() {
    let mut home = Home::new();
    for round in 0..12 {
        let gateway = Gateway::on(home);
        let mark = mark(&gateway, &format!("shot{round}"));
        let mut connection = Connection::open(gateway.addr).expect("a connection");
        let request = Request::post("/api/tools/bash", &lingering(&mark)).bearer(&gateway.owner);
        connection
            .write(&request.bytes(connection.host()))
            .expect("sent");
        eventually("it runs", || marked(&mark).len() >= 3);
        home = gateway.kill9();
        eventually("all its programs are gone", || marked(&mark).is_empty());
    }
    let gateway = Gateway::on(home);
    ready(&gateway);
    let audit = gateway.audit();
    let interrupted = audit
        .iter()
        .filter(|entry| entry["tool"] == "bash" && entry["code"] == "interrupted");
    assert_eq!(
        interrupted.count(),
        12,
        "and each call is closed in the audit"
    );
    // That of the call just made is removed behind its back.
    let scratch = gateway.home.path().join("host/scratch");
    eventually("nor is there a folder", || tree(&scratch).is_empty());
}

#[test]
fn a_gateway_that_is_asked_to_stop_takes_its_programs_with_it() {
    let gateway = Gateway::with_config("limits.shutdown_seconds = 1\n");
    let mark = mark(&gateway, "stopped");
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let request = Request::post("/api/tools/bash", &lingering(&mark)).bearer(&gateway.owner);
    connection
        .write(&request.bytes(connection.host()))
        .expect("sent");
    eventually("it runs", || marked(&mark).len() >= 3);
    let home = gateway.stop();
    eventually("all its programs are gone", || marked(&mark).is_empty());
    drop(home);
}

#[test]
fn a_caller_that_goes_away_takes_its_program_with_it() {
    let gateway = Gateway::start();
    let owner = gateway.owner.clone();
    let begun = |name: &str| {
        let mark = mark(&gateway, name);
        (lingering(&mark), mark)
    };
    let runs = |mark: &str| eventually("it runs", || marked(mark).len() >= 3);
    let gone = |mark: &str| {
        eventually(&format!("{mark} is gone"), || marked(mark).is_empty());
        eventually("and reaped", || children(gateway.daemon.pid()) == 0);
    };

    let (arguments, mark) = begun("http");
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let request = Request::post("/api/tools/bash", &arguments).bearer(&owner);
    connection
        .write(&request.bytes(connection.host()))
        .expect("sent");
    runs(&mark);
    drop(connection);
    gone(&mark);

    let (arguments, mark) = begun("argv");
    let script = arguments["cmd"].as_str().expect("a script").to_owned();
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let body = json!({ "argv": ["env", "bash", "-c", script], "timeout": 25_000 });
    let request = Request::post("/api/trigger/tool::shell_exec", &body).bearer(&owner);
    connection
        .write(&request.bytes(connection.host()))
        .expect("sent");
    runs(&mark);
    drop(connection);
    gone(&mark);

    let (arguments, mark) = begun("socket");
    let mut socket = gateway.ws();
    socket.ask("tool.invoke", json!({ "tool": "bash", "args": arguments }));
    runs(&mark);
    drop(socket);
    gone(&mark);

    for era in [Era::Initialize, Era::Stateless] {
        let (arguments, mark) = begun(&format!("mcp{}", era.version()));
        let params = json!({ "name": "bash", "arguments": arguments });
        let request = mcp::request(era, "tools/call", params, Some(&owner));
        let mut connection = Connection::open(gateway.addr).expect("a connection");
        connection
            .write(&request.bytes(connection.host()))
            .expect("sent");
        runs(&mark);
        drop(connection);
        gone(&mark);
    }

    let (arguments, mark) = begun("cli");
    let mut command = gateway.command();
    // The arguments come on standard input, so that only the program itself bears the mark.
    command
        .args(["call", "bash", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("manyhands call");
    let mut input = child.stdin.take().expect("its input");
    std::io::Write::write_all(&mut input, arguments.to_string().as_bytes()).expect("a reader");
    drop(input);
    runs(&mark);
    child.kill().expect("a live process");
    child.wait().expect("its end");
    gone(&mark);
    ready(&gateway);
}

#[test]
fn a_call_that_is_ended_takes_its_program_with_it_and_says_why() {
    let gateway = Gateway::with_config("[[policy.rules]]\ndecision = \"allow\"\n");
    let (token, id) = gateway.token(json!({ "name": "laptop", "role": "client" }));
    let revoked = mark(&gateway, "revoked");
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let request = Request::post("/api/tools/bash", &lingering(&revoked)).bearer(&token);
    connection
        .write(&request.bytes(connection.host()))
        .expect("sent");
    eventually("it runs", || marked(&revoked).len() >= 3);
    gateway.cli(&["token", "revoke", &id]).ok();
    eventually("the revoked one is gone", || marked(&revoked).is_empty());

    let dropped = mark(&gateway, "dropped");
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let request = Request::post("/api/tools/bash", &lingering(&dropped)).bearer(&gateway.owner);
    connection
        .write(&request.bytes(connection.host()))
        .expect("sent");
    eventually("it runs", || marked(&dropped).len() >= 3);
    drop(connection);
    eventually("the dropped one is gone", || marked(&dropped).is_empty());

    let late = mark(&gateway, "late");
    let request =
        Request::post("/api/tools/bash?timeout=1", &lingering(&late)).bearer(&gateway.owner);
    let said = gateway.send(&request).json();
    eventually("the late one is gone", || marked(&late).is_empty());
    let told = said["code"] == "deadline_exceeded" || said["result"]["timed_out"] == true;
    assert!(told, "that its time was up is told: {said}");
    let codes = || -> Vec<Value> {
        let audit = gateway.audit();
        let ended = audit
            .iter()
            .filter(|entry| entry["tool"] == "bash" && entry["kind"] == "finished");
        ended.map(|entry| entry["code"].clone()).collect()
    };
    eventually("all three are in the audit", || codes().len() == 3);
    let cancelled = codes().iter().filter(|code| *code == "cancelled").count();
    assert_eq!(
        cancelled,
        2,
        "a call whose asker went away did not end well: {:?}",
        codes()
    );
}
