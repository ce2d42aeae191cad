//! `~` on a machine: the home of its user, and never a way out of a jail.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::nodes::fixture::{Machine, Plan};

/// A machine whose user has a home with a note in it.
fn lend(gateway: &Gateway, name: &str, flags: &[&str]) -> (Machine, std::path::PathBuf) {
    let home = gateway.home.outside(&format!("home-{name}"));
    fs::create_dir_all(home.join("papers")).expect("a home");
    let home = home.canonicalize().expect("a home");
    fs::write(home.join("papers/note.txt"), "from home\n").expect("a note");
    let plan = Plan::new(gateway, name).env("HOME", home.to_str().expect("a path"));
    (plan.with(flags).lend(gateway), home)
}

#[test]
fn a_tilde_is_the_home_of_the_machines_user() {
    let gateway = Gateway::start();
    let (machine, home) = lend(&gateway, "laptop", &[]);
    let gives = |tool: &str, arguments: Value| {
        let said = machine.call(&gateway, tool, arguments.clone());
        assert_eq!(said["ok"], true, "{tool} {arguments}: {said}");
        said["result"].clone()
    };
    let note = home.join("papers/note.txt");
    let read = gives("Read", json!({ "path": "~/papers/note.txt" }));
    assert_eq!(read["path"], note.to_str().expect("a path"));
    gives("Write", json!({ "path": "~/new.txt", "content": "one" }));
    gives(
        "Edit",
        json!({ "path": "~/new.txt", "oldString": "one", "newString": "two" }),
    );
    assert_eq!(fs::read_to_string(home.join("new.txt")).expect("it"), "two");
    let found = gives("Glob", json!({ "pattern": "**/note.txt", "path": "~" }));
    assert!(found.to_string().contains("note.txt"), "{found}");
    let found = gives(
        "Grep",
        json!({ "pattern": "from home", "path": "~/papers" }),
    );
    assert!(found.to_string().contains("note.txt"), "{found}");
    let ran = gives("Bash", json!({ "command": "pwd", "workdir": "~/papers" }));
    let papers = home.join("papers");
    assert_eq!(ran["output"], format!("{}\n", papers.display()));
    let ends = json!({ "source": "laptop:~/papers/note.txt", "destination": "gsv:note.txt" });
    let said = gateway.call("gsv__Transfer", ends);
    assert_eq!(said["result"]["bytesTransferred"], 10, "{said}");
    let ends = json!({ "source": "gsv:note.txt", "destination": "laptop:~/back.txt" });
    assert_eq!(gateway.call("gsv__Transfer", ends)["ok"], true);
    assert_eq!(
        fs::read_to_string(home.join("back.txt")).expect("it"),
        "from home\n"
    );
    // A file that is really called so has a path of its own.
    machine.put("~", b"tilde");
    let read = gives("Read", json!({ "path": "./~" }));
    assert_eq!(read["content"], "1\ttilde", "{read}");
}

#[test]
fn a_tilde_leads_out_of_no_jail() {
    let gateway = Gateway::start();
    let folder = gateway.home.outside("jail");
    fs::create_dir_all(&folder).expect("a folder");
    let jail = folder.canonicalize().expect("a folder");
    let plan = Plan::new(&gateway, "laptop").in_folder(&jail);
    let home = gateway.home.outside("home");
    fs::create_dir_all(&home).expect("a home");
    fs::write(home.join("note.txt"), "canary-4711").expect("a note");
    let plan = plan.env("HOME", home.to_str().expect("a path"));
    let flags = ["--jail", jail.to_str().expect("a path")];
    let machine = plan.with(&flags).lend(&gateway);
    for (tool, arguments) in [
        ("Read", json!({ "path": "~/note.txt" })),
        ("Read", json!({ "path": "~//note.txt" })),
        ("Write", json!({ "path": "~/planted", "content": "x" })),
        ("Grep", json!({ "pattern": "canary", "path": "~" })),
        ("Glob", json!({ "pattern": "*", "path": "~" })),
    ] {
        let said = machine.call(&gateway, tool, arguments.clone());
        assert_eq!(said["ok"], false, "{tool} {arguments}: {said}");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains("is outside"), "{error}");
        assert!(!error.contains("canary-4711"), "{error}");
    }
    assert!(!home.join("planted").exists());
    let ends = json!({ "source": "laptop:~/note.txt", "destination": "gsv:note.txt" });
    assert_eq!(gateway.call("gsv__Transfer", ends)["ok"], false);
    // Control: inside of the jail everything works.
    let put = machine.call(
        &gateway,
        "Write",
        json!({ "path": "a.txt", "content": "x" }),
    );
    assert_eq!(put["ok"], true, "{put}");
}

#[test]
fn a_background_program_reports_its_runtime() {
    let gateway = Gateway::start();
    let machine = Machine::lend(&gateway, "laptop");
    let left = |arguments: Value| {
        let said = machine.call(&gateway, "Bash", arguments);
        assert_eq!(said["result"]["status"], "running", "{said}");
        said["result"].clone()
    };
    let background = left(json!({ "command": "sleep 600", "background": true }));
    let words = background["lifetime"].as_str().expect("words");
    assert!(words.contains("5 minutes after its start"), "{words}");
    assert!(words.contains("for 30 minutes"), "{words}");
    assert_eq!(
        (&background["timeoutMs"], &background["retainedMs"]),
        (&json!(300_000), &json!(1_800_000))
    );
    let yielded = left(json!({ "command": "sleep 600", "yieldMs": 10, "timeout": 7_200_000 }));
    let words = yielded["lifetime"].as_str().expect("words");
    assert!(words.contains("2 hours after its start"), "{words}");
}
