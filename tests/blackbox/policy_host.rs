//! Who may use the hands on this machine: asked by default, by rule, and never for those who only look.

use serde_json::{Value, json};

use crate::harness::{Gateway, tree};

const BASH: &str = "bash";
const SHELL: &str = "tool::shell_exec";

/// A call of each that adds one line to a file of the workspace.
fn calls() -> [(&'static str, Value); 2] {
    [
        (BASH, json!({ "cmd": "echo \"ran $((1+1))\" >> log" })),
        (SHELL, json!({ "argv": ["sed", "-i", "$a ran 2", "log"] })),
    ]
}

fn log(gateway: &Gateway) -> std::path::PathBuf {
    gateway.home.path().join("host/workspace/log")
}

fn lines(gateway: &Gateway) -> usize {
    let text = std::fs::read_to_string(log(gateway)).expect("the log");
    text.lines().count() - 1
}

#[test]
fn a_client_is_asked_before_it_runs_anything_and_an_answer_serves_once() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    for (tool, arguments) in calls() {
        std::fs::write(log(&gateway), "begun\n").expect("the log");
        let asked = gateway.call_as(&client, tool, arguments.clone());
        let said = asked.json();
        assert_eq!(
            (asked.status, said["code"].as_str()),
            (428, Some("approval_required")),
            "{said}"
        );
        assert_eq!(
            said["details"]["arguments"], arguments,
            "exactly what will run is shown: {said}"
        );
        let id = said["details"]["approvalId"]
            .as_str()
            .expect("an id")
            .to_owned();
        let listed = gateway.get("/api/approvals").json();
        let shown = listed["result"]["approvals"].as_array().expect("approvals");
        let shown = shown
            .iter()
            .find(|one| one["id"] == id.as_str())
            .expect("the question");
        let seen = ["tool", "arguments", "caller", "effects"].map(|field| &shown[field]);
        assert_eq!(
            seen,
            [
                &json!(tool),
                &arguments,
                &json!("laptop"),
                &json!(["reads", "writes", "runs"])
            ]
        );
        assert_eq!(lines(&gateway), 0, "nothing ran");
        gateway.cli(&["approvals", "approve", &id]).ok();
        let mut other = arguments.clone();
        match tool {
            BASH => other["cmd"] = json!("echo evil >> log"),
            _ => other["argv"][2] = json!("$a evil"),
        }
        assert_eq!(
            gateway.call_as(&client, tool, other).status,
            428,
            "something else is asked about anew"
        );
        let mut elsewhere = arguments.clone();
        elsewhere["cwd"] = json!("sub");
        assert_eq!(
            gateway.call_as(&client, tool, elsewhere).status,
            428,
            "and so is another place"
        );
        assert_eq!(lines(&gateway), 0, "{tool}: still nothing ran");
        let ran = gateway.call_as(&client, tool, arguments.clone());
        assert_eq!(ran.status, 200, "{}", ran.text());
        assert_eq!(lines(&gateway), 1, "{tool}: it ran");
        assert_eq!(
            gateway.call_as(&client, tool, arguments).status,
            428,
            "once is once"
        );
        assert_eq!(lines(&gateway), 1, "{tool}");
    }
}

#[test]
fn a_client_who_was_refused_ran_nothing() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    std::fs::write(log(&gateway), "begun\n").expect("the log");
    for (tool, arguments) in calls() {
        let said = gateway.call_as(&client, tool, arguments.clone()).json();
        let id = said["details"]["approvalId"]
            .as_str()
            .expect("an id")
            .to_owned();
        let answer = json!({ "decision": "deny" });
        assert_eq!(
            gateway
                .post(&format!("/api/approvals/{id}"), &answer)
                .status,
            200
        );
        let said = gateway.call_as(&client, tool, arguments).json();
        assert_eq!(said["code"], "approval_denied", "{said}");
    }
    assert_eq!(lines(&gateway), 0);
    for (tool, arguments) in calls() {
        assert_eq!(
            gateway.call(tool, arguments)["ok"],
            true,
            "the control: the owner is not asked"
        );
    }
    assert_eq!(lines(&gateway), 2);
}

const RULES: &str = r#"
[[policy.rules]]
decision = "deny"
tools = ["bash"]
when.cmd.matches = '\bforbidden\b'
reason = "not that word"

[[policy.rules]]
decision = "deny"
tools = ["tool__shell_exec"]
when."argv.1".starts_with = "-"

[[policy.rules]]
decision = "allow"
callers = ["client:*"]
tools = ["tool::shell_exec"]
when."argv.0".equals = "echo"

[[policy.rules]]
decision = "allow"
callers = ["client:*"]
tools = ["bash"]
when.cmd.starts_with = "echo "

[[policy.rules]]
decision = "ask"
tools = ["bash"]
when.run_in_subtask.equals = true
"#;

#[test]
fn rules_look_at_the_program_and_at_the_command() {
    let gateway = Gateway::with_config(RULES);
    let client = gateway.client("laptop");
    let (owner, client) = (gateway.owner.as_str(), client.as_str());
    let argv = |argv: &[&str]| json!({ "argv": argv });
    let cmd = |cmd: &str| json!({ "cmd": cmd });
    let table = [
        (client, SHELL, argv(&["echo", "hi"]), ""),
        (client, "tool__shell_exec", argv(&["echo", "hi"]), ""),
        (client, SHELL, argv(&["cat", "echo"]), "approval_required"),
        (client, SHELL, argv(&["echo", "-n"]), "denied_by_policy"),
        (owner, SHELL, argv(&["echo", "-n"]), "denied_by_policy"),
        (owner, SHELL, argv(&["cat"]), ""),
        (client, SHELL, argv(&["rm"]), "approval_required"),
        (client, BASH, cmd("echo hi"), ""),
        (client, BASH, cmd(" echo hi"), "approval_required"),
        (client, BASH, cmd("ls"), "approval_required"),
        (client, BASH, cmd("echo forbidden"), "denied_by_policy"),
        (owner, BASH, cmd("echo forbidden"), "denied_by_policy"),
        (owner, BASH, cmd("echo forbiddenly"), ""),
        (
            owner,
            BASH,
            json!({ "cmd": "ls", "run_in_subtask": true }),
            "approval_required",
        ),
        (
            owner,
            BASH,
            json!({ "cmd": "ls", "run_in_subtask": false }),
            "",
        ),
    ];
    for (token, tool, arguments, code) in table {
        let said = gateway.call_as(token, tool, arguments.clone()).json();
        assert_eq!(
            said["code"].as_str().unwrap_or_default(),
            code,
            "{tool} {arguments}: {said}"
        );
    }
    let said = gateway.call(BASH, cmd("echo forbidden"));
    assert!(
        said["error"]
            .as_str()
            .is_some_and(|error| error.contains("not that word")),
        "{said}"
    );
}

#[test]
fn a_token_that_may_only_read_reads_and_does_nothing_else() {
    let gateway = Gateway::start();
    let reader = gateway
        .token(json!({ "name": "reader", "role": "read-only" }))
        .0;
    let host = gateway.home.path().join("host");
    std::fs::write(host.join("workspace/a.txt"), "text\n").expect("a file");
    std::fs::write(host.join("cache/a.txt"), "text\n").expect("a file");
    let at = json!({ "path": "a.txt" });
    let patch = "@@ -1 +1 @@\n-text\n+evil\n";
    let table = [
        ("tool::file_read", at.clone(), true),
        (
            "tool::file_list",
            json!({ "path": ".", "recursive": true }),
            true,
        ),
        ("read_file", at, true),
        (
            "tool::file_write",
            json!({ "path": "new.txt", "content": "evil" }),
            false,
        ),
        (
            "tool::apply_patch",
            json!({ "path": "a.txt", "patch": patch }),
            false,
        ),
        (SHELL, json!({ "argv": ["touch", "evil"] }), false),
        (
            "write_file",
            json!({ "path": "a.txt", "content": "evil" }),
            false,
        ),
        (BASH, json!({ "cmd": "touch evil" }), false),
    ];
    let listed = gateway
        .send(&crate::http::Request::get("/api/tools").bearer(&reader))
        .json();
    let listed = listed["result"]["tools"].as_array().expect("tools").clone();
    let files = || ["workspace", "cache", "state"].map(|folder| tree(&host.join(folder)));
    let before = files();
    for (tool, arguments, may) in &table {
        let response = gateway.call_as(&reader, tool, arguments.clone());
        let said = response.json();
        assert_eq!(said["ok"], *may, "{tool}: {said}");
        if !may {
            assert_eq!(
                (response.status, said["code"].as_str()),
                (403, Some("forbidden")),
                "{tool}"
            );
        }
        assert_eq!(
            listed.iter().any(|one| one["name"] == *tool),
            *may,
            "{tool} is listed for whom it is"
        );
    }
    assert_eq!(files(), before, "nothing changed");
    for (tool, arguments, _) in table {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "the control: {tool} {said}");
    }
}
