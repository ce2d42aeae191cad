//! Programs that use up what there is: processes, memory, disk, descriptors, output.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use super::{Yard, marked, status_bytes};
use crate::harness::eventually;
use crate::http::{PATIENCE, Request};

/// Most that the gateway may take of memory, whatever it is fed.
const MODEST: u64 = 150 << 20;

#[test]
fn a_fork_bomb_ends_with_its_call() {
    let yard = Yard::new();
    // Doubles eight times and stays: about five hundred, so that the control harms nobody.
    let bomb = "b() { trap '' TERM; if [ $1 -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; \
        echo >> up; exec sleep 1000; }; b 8";
    let cmd = format!("export MARK='{}'\n{bomb}", yard.canary);
    let begun = Instant::now();
    let said = yard
        .gateway
        .call("bash", json!({ "cmd": cmd, "timeout_seconds": 2.0 }));
    assert_eq!(said["result"]["timed_out"], true, "{said}");
    assert!(begun.elapsed() < PATIENCE);
    let up = std::fs::read(yard.work().join("up"))
        .expect("it went off")
        .len();
    assert!(up > 50, "only {up}");
    eventually("all are gone", || marked(&yard.canary).is_empty());
    yard.assert_well();
}

#[test]
fn four_gigabytes_of_output_are_counted_and_not_held() {
    const KEPT: u64 = 1_000_000;
    const ALL: u64 = 4 << 30;
    let yard = Yard::with(&format!("[limits]\nartifact_bytes = {KEPT}\n"));
    let size = ALL.to_string();
    let said = yard.gateway.call(
        "tool::shell_exec",
        json!({ "argv": ["head", "-c", size, "/dev/zero"] }),
    );
    let result = &said["result"];
    assert_eq!(
        (
            &result["exitCode"],
            &result["truncated"],
            &result["stdoutSize"]
        ),
        (&json!(0), &json!(true), &json!(ALL)),
        "{}",
        said.to_string().chars().take(500).collect::<String>()
    );
    assert!(result["stdout"].as_str().expect("text").len() < 110_000);
    let id = result["stdoutArtifactId"].as_str().expect("an artifact");
    let kept = yard.gateway.get(&format!("/api/artifacts/{id}"));
    assert_eq!(kept.body.len() as u64, KEPT);
    let peak = status_bytes(yard.gateway.daemon.pid(), "VmHWM:");
    assert!(peak < MODEST, "{peak} bytes");
    yard.assert_well();
}

#[test]
fn memory_files_and_descriptors_are_bounded() {
    let yard = Yard::new();
    for (name, script) in [
        ("memory", "b = bytearray(5 << 29)"),
        (
            "one file",
            "f = open('big', 'wb'); f.truncate((1 << 30) + 1)",
        ),
        (
            "descriptors",
            "f = [open('/dev/null') for n in range(2000)]",
        ),
    ] {
        let argv = ["python3", "-c", script].map(str::to_owned);
        let confined = yard.shell(&argv);
        assert_ne!(confined.code, 0, "{name}: {confined:?}");
        let free = yard.freely(&argv);
        assert_eq!(free.code, 0, "control of {name}: {free:?}");
    }
    yard.assert_well();
}

/// Makes folders in one another, deeper than any recursion should follow; from below, since
/// each step deeper would take longer than the last.
const DEEP: &str = r#"python3 -c 'import os
os.chdir(os.environ.get("TMPDIR", "."))
os.mkdir("d")
for n in range(16000): os.mkdir("e"); os.rename("d", "e/d"); os.rename("e", "d")'"#;

/// Takes such folders apart from above. Whatever removes them by recursion breaks, a test's
/// own temporary folder included.
fn flatten(folder: &Path) {
    let (top, next) = (folder.join("d"), folder.join("next"));
    while top.exists() {
        let deeper = std::fs::rename(top.join("d"), &next).is_ok();
        std::fs::remove_dir(&top).expect("an empty folder");
        if deeper {
            std::fs::rename(&next, &top).expect("a folder");
        }
    }
}

/// The temporary folder of a call goes with it, and the gateway survives removing it.
#[test]
fn no_temporary_folder_is_too_deep_or_too_closed_to_be_removed() {
    let yard = Yard::new();
    let scratch = yard.gateway.home.path().join("host/scratch");
    let left = || std::fs::read_dir(&scratch).expect("the folder").count();
    for (name, script) in [
        ("ordinary", "mkdir -p $TMPDIR/a/b; echo x > $TMPDIR/a/b/c"),
        (
            "closed",
            "mkdir -p $TMPDIR/a/b; echo x > $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b $TMPDIR/a; true",
        ),
        ("closed itself", "echo x > $TMPDIR/a; chmod 0 $TMPDIR; true"),
        (
            "a link",
            "ln -s / $TMPDIR/root; rmdir $TMPDIR 2> /dev/null; true",
        ),
    ] {
        let said = yard.bash(script);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        eventually(name, || left() == 0);
    }
    let deep =
        Request::post("/api/tools/bash", &json!({ "cmd": DEEP })).bearer(&yard.gateway.owner);
    let answer = deep.try_send(yard.gateway.addr);
    let answer = answer.expect("the gateway survives").json();
    assert_eq!(answer["result"]["exit_code"], json!(0), "{answer}");
    eventually("the deep folder goes", || left() == 0);
    yard.assert_well();
}

/// A workspace as deep as that is listed, or refused, and the gateway goes on.
#[test]
fn a_deep_workspace_does_no_harm() {
    let yard = Yard::new();
    let try_call = |tool: &str, arguments| {
        let path = format!("/api/tools/{tool}");
        let request = Request::post(&path, &arguments).bearer(&yard.gateway.owner);
        request.try_send(yard.gateway.addr)
    };
    let made = try_call("bash", json!({ "cmd": DEEP.replace("TMPDIR", "NOWHERE") }));
    let listed = try_call("tool::file_list", json!({ "path": ".", "recursive": true }));
    flatten(&yard.work());
    for answer in [made, listed] {
        let answer = answer.expect("the gateway survives").json();
        assert_eq!(answer["ok"], true, "{answer}");
    }
    yard.assert_well();
}

/// Shared memory, queues and semaphores of the old kind stay until the machine is restarted.
#[test]
fn nothing_is_left_in_the_kernel() {
    let yard = Yard::new();
    let key = yard.gateway.daemon.pid() as i32;
    for (make, remove) in [
        ("shmget(k, 1 << 20, 0o1600)", "shmctl(n, 0, 0)"),
        ("msgget(k, 0o1600)", "msgctl(n, 0, 0)"),
        ("semget(k, 1, 0o1600)", "semctl(n, 0, 0)"),
    ] {
        let script = format!(
            "import ctypes, sys; c = ctypes.CDLL(None); k = {key}; n = c.{make}\n\
             if n >= 0 and sys.argv[1:]: c.{remove}\n\
             sys.exit(n < 0)"
        );
        let confined = yard.shell(&["python3", "-c", &script].map(str::to_owned));
        // Where it worked it is there still, and making it once more fails: tidy up either way.
        let tidy = format!(
            "import ctypes; c = ctypes.CDLL(None); k = {key}; n = c.{}; c.{remove}",
            make.replace("0o1600", "0")
        );
        yard.freely(&["python3", "-c", &tidy].map(str::to_owned));
        let free = yard.freely(&["python3", "-c", &script, "tidy"].map(str::to_owned));
        assert_eq!(free.code, 0, "control of {make}: {free:?}");
        assert_ne!(confined.code, 0, "{make} worked from inside");
    }
}
