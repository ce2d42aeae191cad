//! `acp_spawn` with an agent that does what it is told.

use serde_json::{Value, json};

use super::{done, gateway, give, told, workspace};
use crate::harness::{Gateway, eventually};
use crate::http::Request;

#[test]
fn a_task_is_done_and_reported_in_the_envelope() {
    let gateway = gateway("");
    let said = give(&gateway, "asks", "hello");
    let envelope = &said["result"];
    assert_eq!(envelope["status"], "done", "{said}");
    assert_eq!(envelope["output"], "Good morning.");
    assert_eq!(envelope["output_kind"], "text");
    assert_eq!(envelope["summary"], "Good morning.");
    assert_eq!(
        (&envelope["output_schema"], &envelope["error"]),
        (&Value::Null, &json!(""))
    );
    assert!(
        envelope["task_id"]
            .as_str()
            .is_some_and(|id| !id.is_empty())
    );
    let audited = gateway.audit();
    assert!(audited.iter().any(|entry| entry["tool"] == "acp_spawn"));
}

#[test]
fn it_is_available_only_if_enabled() {
    let plain = Gateway::start();
    let said = give(&plain, "asks", "hello");
    assert_eq!(said["ok"], false, "{said}");
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|e| e.contains("disabled")),
        "{said}"
    );
    let gateway = gateway("");
    let said = give(&gateway, "nobody", "hello");
    assert_eq!(said["code"], "invalid_arguments", "{said}");
    let error = said["error"].as_str().expect("an error");
    assert!(
        error.contains("'nobody' is not one of asks, bare,"),
        "{error}"
    );
}

#[test]
fn a_schema_is_checked_and_a_wrong_answer_is_asked_for_once_more() {
    let gateway = gateway("");
    let schema = json!({ "type": "object", "required": ["answer"] });
    let ask = |task: &str, schema: &Value| {
        let call = json!({ "agent": "asks", "task": task, "output_schema": schema });
        gateway.call("acp_spawn", call)
    };
    let said = ask("json", &schema);
    assert_eq!(said["result"]["output"], json!({ "answer": 7 }), "{said}");
    assert_eq!(said["result"]["output_kind"], "json");
    let said = ask("almost", &schema);
    assert_eq!(said["result"]["output"], json!({ "answer": 8 }), "{said}");
    let said = ask("json", &json!({ "type": "array" }));
    assert_eq!(said["result"]["status"], "failed", "{said}");
    let error = said["result"]["error"].as_str().expect("an error");
    assert!(error.contains("does not match output_schema"), "{error}");
    let said = ask("json", &json!({ "type": "no such type" }));
    assert_eq!(said["code"], "invalid_arguments", "{said}");
}

#[test]
fn it_works_in_its_folder_with_a_home_of_its_own_and_little_else() {
    let gateway = gateway("");
    let seen = told(&gateway, "asks", "where");
    let here = workspace(&gateway).canonicalize().expect("the workspace");
    assert_eq!(seen["cwd"], json!(here));
    let home = gateway.home.path().join("host/acp/asks");
    assert_eq!(seen["home"], json!(home));
    assert!(seen["key"].is_null(), "{seen}");
    let names = seen["names"].to_string();
    assert!(!names.contains("MANYHANDS"), "{names}");
    std::fs::create_dir(here.join("sub")).expect("a folder");
    let call = |cwd: &str| {
        let call = json!({ "agent": "asks", "task": "where", "cwd": cwd });
        gateway.call("acp_spawn", call)
    };
    let said = call("sub");
    assert!(
        said["result"]["output"]
            .as_str()
            .is_some_and(|o| o.contains("/workspace/sub")),
        "{said}"
    );
    for elsewhere in ["..", "/etc", "absent"] {
        assert_eq!(call(elsewhere)["code"], "invalid_arguments", "{elsewhere}");
    }
}

#[test]
fn files_are_read_and_written_below_its_folder_and_nowhere_else() {
    let gateway = gateway("");
    let folder = workspace(&gateway);
    std::fs::write(folder.join("a.txt"), "tea").expect("a file");
    let outside = gateway.home.outside("outside.txt");
    std::fs::write(&outside, "theirs").expect("a file");
    std::os::unix::fs::symlink(&outside, folder.join("link")).expect("a link");
    let path = |name: &str| folder.join(name).display().to_string();
    let read = |path: &str| told(&gateway, "asks", &format!("read {path}"));
    assert_eq!(read(&path("a.txt"))["content"], "tea");
    for elsewhere in [
        path("link"),
        path("../x"),
        outside.display().to_string(),
        "/etc/passwd".to_owned(),
    ] {
        let refused = read(&elsewhere);
        assert!(refused["code"].is_number(), "{elsewhere}: {refused}");
    }
    let write = |path: &str| told(&gateway, "asks", &format!("write {path}"));
    assert_eq!(write(&path("new/b.txt")), json!({}));
    let written = std::fs::read_to_string(folder.join("new/b.txt"));
    assert_eq!(written.expect("the file"), "seven");
    assert!(write(&outside.display().to_string())["code"].is_number());
    assert_eq!(
        std::fs::read_to_string(&outside).expect("the file"),
        "theirs"
    );
}

#[test]
fn requests_beyond_the_capabilities_are_refused() {
    let gateway = gateway("");
    let folder = workspace(&gateway);
    let file = folder.join("b.txt");
    for task in [
        format!("write {}", file.display()),
        format!("run touch {}", file.display()),
    ] {
        let refused = told(&gateway, "bare", &task);
        assert_eq!(refused["code"], -32601, "{task}: {refused}");
        assert!(!file.exists());
    }
    told(&gateway, "asks", &format!("write {}", file.display()));
    assert!(file.exists(), "the control");
}

#[test]
fn it_is_sandboxed_unless_the_owner_disabled_that() {
    let gateway = gateway("");
    let secret = gateway.home.path().join("owner.token");
    let outside = gateway.home.outside("loose.txt");
    let task = format!("reach {} {}", secret.display(), outside.display());
    let seen = told(&gateway, "asks", &task);
    let expect = json!({ "secret": "PermissionError", "outside": "PermissionError", "here": "done", "home": "done" });
    assert_eq!(seen, expect);
    assert!(!outside.exists());
    let seen = told(&gateway, "free", &task);
    assert_eq!(
        (&seen["secret"], &seen["outside"]),
        (&json!("done"), &json!("done"))
    );
    assert!(outside.exists());
}

#[test]
fn its_commands_run_in_the_sandbox_of_bash() {
    let gateway = gateway("");
    let run = |command: &str| told(&gateway, "free", &format!("run {command}"));
    let seen = run("echo one; echo two >&2; exit 3");
    assert_eq!(seen["exitCode"], 3, "{seen}");
    let output = seen["output"].as_str().expect("its output");
    assert!(
        output.contains("one\n") && output.contains("two\n"),
        "{output}"
    );
    run("echo hi > made.txt");
    assert!(workspace(&gateway).join("made.txt").exists());
    let secret = gateway.home.path().join("owner.token");
    let seen = run(&format!("cat {}", secret.display()));
    assert_ne!(seen["exitCode"], 0, "{seen}");
    assert!(
        !seen["output"].to_string().contains(&gateway.owner),
        "{seen}"
    );
    let outside = gateway.home.outside("x");
    assert_ne!(run(&format!("touch {}", outside.display()))["exitCode"], 0);
    assert!(!outside.exists());
    let seen = run("cat config.yaml");
    assert!(seen["data"].to_string().contains("deny_paths"), "{seen}");
}

#[test]
fn without_bash_there_is_no_terminal() {
    let gateway = gateway("[tools.bash]\nenabled = false\n");
    assert_eq!(told(&gateway, "asks", "run true")["code"], -32601);
    assert_eq!(done(&gateway, "asks", "hello"), "Good morning.");
}

#[test]
fn permissions_are_asked_of_the_owner() {
    for (answer, expect) in [("approve", "yes"), ("deny", "no")] {
        let gateway = gateway("");
        let chosen = std::thread::scope(|scope| {
            let call = json!({ "agent": "asks", "task": "permit" });
            let request = Request::post("/api/tools/acp_spawn", &call).bearer(&gateway.owner);
            let to = gateway.addr;
            let asking = scope.spawn(move || request.send(to).json());
            let mut approval = Value::Null;
            eventually("a question waits", || {
                let listed = gateway.get("/api/approvals").json();
                approval = listed["result"]["approvals"][0].clone();
                approval.is_object()
            });
            assert_eq!(approval["tool"], "acp_permit");
            let shown = &approval["arguments"];
            assert_eq!(
                (&shown["agent"], &shown["title"], &shown["kind"]),
                (&json!("asks"), &json!("paint the shed"), &json!("execute"))
            );
            assert_eq!(shown["input"]["command"], "paint");
            let id = approval["id"].as_str().expect("an id");
            gateway.cli(&["approvals", answer, id]).ok();
            asking.join().expect("the task")
        });
        let output = chosen["result"]["output"].as_str().expect("its output");
        let chosen: Value = serde_json::from_str(output).expect("JSON");
        assert_eq!(chosen["optionId"], expect, "{answer}");
    }
}

#[test]
fn settings_and_rules_decide_about_permissions() {
    let gateway = gateway("");
    assert_eq!(told(&gateway, "denied", "permit")["optionId"], "no");
    assert_eq!(told(&gateway, "vouched", "permit")["optionId"], "yes");
    let audited = gateway.audit();
    assert!(
        audited.iter().any(|entry| entry["tool"] == "acp_permit"),
        "never silently"
    );
    let denying =
        super::gateway("[[policy.rules]]\ndecision = \"deny\"\ntools = [\"acp_permit\"]\n");
    assert_eq!(told(&denying, "vouched", "permit")["optionId"], "no");
    let allowing = super::gateway(
        "[[policy.rules]]\ndecision = \"allow\"\ntools = [\"acp_permit\"]\nwhen = { kind = { equals = \"execute\" } }\n",
    );
    assert_eq!(told(&allowing, "asks", "permit")["optionId"], "yes");
}

#[test]
fn a_client_asks_before_it_starts_one() {
    let gateway = gateway("");
    let laptop = gateway.client("laptop");
    let call = json!({ "agent": "asks", "task": "hello" });
    let said = gateway.call_as(&laptop, "acp_spawn", call).json();
    assert_eq!(said["code"], "approval_required", "{said}");
}

#[test]
fn a_secret_of_the_vault_is_given_to_it_and_shown_to_nobody() {
    let gateway = gateway("");
    let missing = give(&gateway, "keyed", "where");
    assert_eq!(missing["code"], "unavailable", "{missing}");
    let set = gateway
        .home
        .cli_with(&["secret", "set", "KEY"], "s3cr3t-of-the-agent\n");
    set.ok();
    let seen = give(&gateway, "keyed", "where").to_string();
    assert!(!seen.contains("s3cr3t-of-the-agent"), "{seen}");
    assert!(seen.contains("redacted"), "it had it: {seen}");
}
