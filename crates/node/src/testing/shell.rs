//! What `Bash` must do.

use std::path::Path;

use serde_json::{Value, json};

use super::Case;

fn returns(name: &'static str, args: Value, result: Value) -> Case {
    Case::returns("Bash", name, args, result)
}

fn fails(name: &'static str, args: Value, parts: &[&'static str]) -> Case {
    Case::fails("Bash", name, args, parts)
}

pub(super) fn cases(workspace: &Path) -> Vec<Case> {
    let mut cases = ends(workspace);
    cases.extend(output());
    cases.extend(path_cases(workspace));
    cases.extend(time());
    cases.extend(left_running(workspace));
    cases.extend(refusals());
    cases
}

fn ends(workspace: &Path) -> Vec<Case> {
    vec![
        returns(
            "a completed command has all fields of the text",
            json!({ "command": "echo hello" }),
            json!({
                "status": "completed", "sessionId": "$uuid", "exitCode": 0, "signal": null,
                "timedOut": false, "startedAt": "$number", "endedAt": "$number",
                "durationMs": "$number", "output": "hello\n", "tail": "hello\n",
                "truncated": false, "workdir": workspace, "totalChars": 6, "$only": true,
            }),
        ),
        returns(
            "an exit code other than 0 is a failure",
            json!({ "command": "exit 3" }),
            json!({ "status": "failed", "exitCode": 3, "signal": null, "timedOut": false }),
        ),
        returns(
            "a signal is told by name",
            json!({ "command": "kill -9 $$" }),
            json!({ "status": "failed", "exitCode": null, "signal": "SIGKILL" }),
        ),
        returns(
            "a command that is not there fails with what the shell says",
            json!({ "command": "no-such-program-anywhere" }),
            json!({ "status": "failed", "exitCode": 127, "output": "$has not found" }),
        ),
        returns(
            "nothing is there to be read",
            json!({ "command": "cat" }),
            json!({ "status": "completed", "output": "" }),
        ),
        returns(
            "our own variables are not handed on",
            json!({ "command": "env | grep -c ^MANYHANDS_" }),
            json!({ "output": "0\n" }),
        ),
    ]
}

fn output() -> Vec<Case> {
    vec![
        returns(
            "both streams are in the output and apart",
            json!({ "command": "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three" }),
            json!({
                "output": "one\ntwo\nthree\n", "stdout": "one\nthree\n", "stderr": "two\n",
            }),
        ),
        returns(
            "without standard error the output is all there is",
            json!({ "command": "echo one" }),
            json!({ "output": "one\n", "stdout": "$absent", "stderr": "$absent" }),
        ),
        returns(
            "characters of every length survive",
            json!({ "command": "printf 'ä€😀'" }),
            json!({ "output": "ä€😀", "totalChars": 3 }),
        ),
        returns(
            "what is no character is replaced",
            json!({ "command": r"printf 'a\377b'" }),
            json!({ "output": "a\u{fffd}b" }),
        ),
        returns(
            "the tail is the last 4000 characters",
            json!({ "command": "printf '%05000d' 7" }),
            json!({ "output": "$chars 5000", "tail": "$chars 4000", "truncated": false }),
        ),
        returns(
            "of more than 200000 characters the end is kept",
            json!({ "command": "printf 'begin%0250000dend' 0" }),
            json!({
                "output": "$chars 200000", "tail": "$ends end", "truncated": true,
                "totalChars": 250_008,
            }),
        )
        .long(),
    ]
}

fn path_cases(workspace: &Path) -> Vec<Case> {
    let sub = workspace.join("sub");
    vec![
        returns(
            "a command starts in the workspace",
            json!({ "command": "pwd" }),
            json!({ "output": format!("{}\n", workspace.display()), "workdir": workspace }),
        ),
        returns(
            "a relative workdir starts at the workspace",
            json!({ "command": "pwd", "workdir": "sub" }),
            json!({ "output": format!("{}\n", sub.display()), "workdir": sub }),
        ),
        returns(
            "an absolute workdir is used as it is",
            json!({ "command": "pwd", "workdir": sub }),
            json!({ "output": format!("{}\n", sub.display()), "workdir": sub }),
        ),
        fails(
            "a workdir must be there",
            json!({ "command": "touch ran", "workdir": "nothing" }),
            &["workdir", "does not exist"],
        ),
        fails(
            "a workdir must be a directory",
            json!({ "command": "touch ran", "workdir": "three.txt" }),
            &["workdir", "is not a directory"],
        ),
        returns(
            "a refused command has not run",
            json!({ "command": "test -e ran; echo $?" }),
            json!({ "output": "1\n" }),
        ),
    ]
}

fn time() -> Vec<Case> {
    vec![
        returns(
            "a command that takes too long is asked to end",
            json!({ "command": "echo early; sleep 1000", "timeout": 200 }),
            json!({
                "status": "failed", "timedOut": true, "exitCode": null, "signal": "SIGTERM",
                "output": "early\n",
            }),
        ),
        returns(
            "and killed if it does not",
            json!({ "command": "trap '' TERM; while :; do sleep 0.05; done", "timeout": 200 }),
            json!({ "status": "failed", "timedOut": true, "signal": "SIGKILL" }),
        ),
        returns(
            "with all it has started",
            json!({
                "command": "(trap '' TERM; sleep 1000 & echo $! > child; wait; wait) & wait",
                "timeout": 300,
            }),
            json!({ "timedOut": true }),
        ),
        returns(
            "which is gone then",
            json!({ "command": "kill -0 $(cat child) 2>/dev/null && echo lives || echo gone" }),
            json!({ "output": "gone\n" }),
        )
        .waiting(),
        returns(
            "a timeout that is not reached changes nothing",
            json!({ "command": "echo done", "timeout": 60_000 }),
            json!({ "status": "completed", "timedOut": false }),
        ),
        returns(
            "a whole number may be written with a fraction of zero",
            json!({ "command": "echo done", "timeout": 60_000.0 }),
            json!({ "status": "completed" }),
        ),
    ]
}

fn left_running(workspace: &Path) -> Vec<Case> {
    let running = json!({
        "status": "running", "sessionId": "$uuid", "pid": "$number", "startedAt": "$number",
        "tail": "$string", "workdir": workspace, "timeoutMs": "$number", "retainedMs": 1_800_000,
        "lifetime": "$string", "$only": true,
    });
    vec![
        returns(
            "a command in the background has all fields of the text",
            json!({ "command": "sleep 1000", "background": true }),
            running.clone(),
        )
        .keeping("sleeping", "sessionId"),
        returns(
            "background: false waits",
            json!({ "command": "echo x", "background": false }),
            json!({ "status": "completed" }),
        ),
        returns(
            "a command that ends in time is completed",
            json!({ "command": "echo quick", "yieldMs": 60_000 }),
            json!({ "status": "completed", "output": "quick\n" }),
        ),
        returns(
            "one that does not goes to the background",
            json!({ "command": "echo so far; sleep 1000", "yieldMs": 1_000 }),
            json!({ "status": "running", "sessionId": "$uuid", "tail": "so far\n" }),
        )
        .keeping("yielded", "sessionId"),
        returns(
            "a wait too short is lengthened",
            json!({ "command": "sleep 1000", "yieldMs": 0 }),
            running,
        )
        .keeping("clamped", "sessionId"),
        returns(
            "a wait too long is shortened",
            json!({ "command": "echo quick", "yieldMs": 999_999_999_u64 }),
            json!({ "status": "completed" }),
        ),
    ]
}

fn refusals() -> Vec<Case> {
    vec![
        fails("a command is needed", json!({}), &["command"]),
        fails(
            "an empty command is none",
            json!({ "command": "" }),
            &["command", "empty"],
        ),
        fails(
            "nor is a blank one",
            json!({ "command": " \n\t" }),
            &["command", "empty"],
        ),
        fails("a command is a text", json!({ "command": 7 }), &["command"]),
        fails(
            "no shell takes a NUL",
            json!({ "command": "echo \u{0}" }),
            &["command", "NUL"],
        ),
        fails(
            "a command longer than the system takes is refused with advice",
            json!({ "command": format!("echo {}", "x".repeat(200_000)) }),
            &["command", "write it to a file"],
        ),
        fails(
            "a timeout is not 0",
            json!({ "command": "true", "timeout": 0 }),
            &["timeout"],
        ),
        fails(
            "a timeout is a number",
            json!({ "command": "true", "timeout": "1" }),
            &["timeout"],
        ),
        fails(
            "a timeout is at most 30 days",
            json!({ "command": "true", "timeout": 2_592_000_001_u64 }),
            &["timeout"],
        ),
        fails(
            "background is true or false",
            json!({ "command": "true", "background": "yes" }),
            &["background"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "command": "true", "workDirectory": "/" }),
            &["workDirectory"],
        ),
    ]
}
