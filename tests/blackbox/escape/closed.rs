//! Where the kernel cannot confine a program, none is started.

use std::process::Command;

use serde_json::{Value, json};

use super::Yard;
use crate::harness::{BINARY, Gateway, Home, Ran, UP, run};

/// Answers one system call with "no such call" from here on, then becomes another program.
const WITHOUT: &str = r#"
import ctypes, os, struct, sys
call = int(sys.argv[1])
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(code))), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// The same for filters with a listener, as in a container whose runtime has one itself.
const WITHOUT_LISTENER: &str = r#"
import ctypes, os, struct, sys
call, new_listener = int(sys.argv[1]), 8
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 24), (0x45, 0, 1, new_listener),
    (0x06, 0, 0, 0x00050000 | 16), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(code))), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// What a machine may lack: the call, what the complaint names, and what the remedy does.
const LACKS: [(u32, &str, &str); 2] = [
    (444, "landlock", "lsm="),
    (
        if cfg!(target_arch = "aarch64") {
            277
        } else {
            317
        },
        "filtered",
        "CONFIG_SECCOMP_FILTER",
    ),
];

/// The binary on this home, on a machine that lacks `call`.
fn without(home: &Home, call: u32, args: &[&str]) -> Command {
    wrapped(home, WITHOUT, call, args)
}

fn wrapped(home: &Home, wrapper: &str, call: u32, args: &[&str]) -> Command {
    let mut command = home.wrap(Command::new("python3"));
    command
        .args(["-c", wrapper, &call.to_string(), BINARY])
        .args(args);
    command
}

fn yard(call: Option<u32>) -> Yard {
    let home = Home::new();
    let root = home.outside("work");
    let home = home.with_config(&format!("workspace_root = {:?}\n", super::text(&root)));
    Yard::on(match call {
        Some(call) => {
            let command = without(&home, call, &UP);
            Gateway::from(home, command)
        }
        None => Gateway::on(home),
    })
}

fn doctor(yard: &Yard, call: u32) -> Ran {
    run(without(&yard.gateway.home, call, &["doctor"]), "")
}

fn programs() -> [(&'static str, Value); 2] {
    [
        ("tool::shell_exec", json!({ "argv": ["touch", "ran"] })),
        ("bash", json!({ "cmd": "echo ran > ran" })),
    ]
}

#[test]
fn without_landlock_or_seccomp_nothing_runs_and_the_remedy_is_named() {
    for (call, named, remedy) in LACKS {
        let yard = yard(Some(call));
        for (tool, arguments) in programs() {
            let said = yard.gateway.call(tool, arguments);
            assert_eq!(
                (&said["ok"], &said["code"]),
                (&json!(false), &json!("unavailable")),
                "{said}"
            );
            let error = said["error"].as_str().expect("text").to_lowercase();
            let told = said.to_string();
            assert!(error.contains(named), "{said}");
            assert!(
                told.contains(remedy) && told.contains("manyhands doctor"),
                "{said}"
            );
        }
        assert_eq!(
            std::fs::read_dir(yard.work())
                .expect("the workspace")
                .count(),
            0
        );
        assert_eq!(yard.children(), 0);
        // Files need no sandbox.
        let written = yard
            .gateway
            .call("tool::file_write", json!({ "path": "a", "content": "b" }));
        assert_eq!(written["ok"], true, "{written}");
        let read = yard.gateway.call("tool::file_read", json!({ "path": "a" }));
        assert_eq!(read["result"]["content"], "b", "{read}");
        let list = yard.gateway.call("tool::file_list", json!({ "path": "." }));
        assert_eq!(list["ok"], true, "{list}");
        assert_eq!(yard.gateway.get("/readyz").status, 200);
        let ran = doctor(&yard, call);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.to_lowercase().contains(named) && said.contains(remedy),
            "{said}"
        );
    }
}

#[test]
fn with_both_the_same_calls_run_and_the_doctor_reports_no_problem() {
    let yard = yard(None);
    for (tool, arguments) in programs() {
        let said = yard.gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{said}");
        std::fs::remove_file(yard.work().join("ran")).expect("it ran");
    }
    // The wrapper itself changes nothing: this call is nobody's.
    let ran = doctor(&yard, 9_999);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(yard.gateway.cli(&["doctor"]).code, Some(0));
}

/// Where calls cannot be brokered they are refused, and programs run all the same.
#[test]
fn without_a_listener_programs_cannot_change_modes_and_the_doctor_reports_it() {
    let (seccomp, ..) = LACKS[1];
    let home = Home::new();
    let root = home.outside("work");
    let home = home.with_config(&format!("workspace_root = {:?}\n", super::text(&root)));
    let command = wrapped(&home, WITHOUT_LISTENER, seccomp, &UP);
    let yard = Yard::on(Gateway::from(home, command));
    for (tool, arguments) in programs() {
        let said = yard.gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{said}");
        std::fs::remove_file(yard.work().join("ran")).expect("it ran");
    }
    yard.put("file", "", 0o644);
    for refused in [
        "chmod 600 file",
        "touch -h -d @1 file",
        "chown $(id -u) file",
        "setsid -w true",
    ] {
        assert_ne!(yard.bash(refused).code, 0, "{refused}");
    }
    let outside = format!("chmod 777 {}", super::text(&yard.secret()));
    assert_ne!(yard.bash(&outside).code, 0);
    let doctor = wrapped(&yard.gateway.home, WITHOUT_LISTENER, seccomp, &["doctor"]);
    let ran = run(doctor, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("no seccomp listener"), "{ran:?}");
    let with = self::yard(None);
    with.put("file", "", 0o644);
    assert_eq!(with.bash("chmod 600 file").code, 0);
    let content = with.gateway.cli(&["doctor"]);
    assert!(
        !content.stdout.contains("no seccomp listener"),
        "{content:?}"
    );
}
