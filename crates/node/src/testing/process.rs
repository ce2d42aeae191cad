//! What `Process` must do.

use serde_json::{Value, json};

use super::Case;

const UNKNOWN_SESSION: &str = "01890000-0000-7000-8000-000000000000";

fn returns(name: &'static str, args: Value, result: Value) -> Case {
    Case::returns("Process", name, args, result)
}

fn fails(name: &'static str, args: Value, parts: &[&'static str]) -> Case {
    Case::fails("Process", name, args, parts)
}

fn start(name: &'static str, command: &str, captured: &'static str) -> Case {
    let args = json!({ "command": command, "background": true });
    Case::returns("Bash", name, args, json!({ "status": "running" })).keeping(captured, "sessionId")
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = list_and_poll();
    cases.extend(reading());
    cases.extend(writing());
    cases.extend(killing());
    cases.extend(refusals());
    cases
}

fn list_and_poll() -> Vec<Case> {
    vec![
        returns(
            "what was left running is listed, newest first, with all there is to choose by",
            json!({ "action": "list" }),
            json!({ "count": 3, "sessions": [
                {
                    "sessionId": "$uuid", "status": "running", "pid": "$number",
                    "startedAt": "$number", "endedAt": null, "runtimeMs": "$number",
                    "workdir": "$string", "command": "sleep 1000", "tail": "",
                    "truncated": false, "exitCode": null, "signal": null, "timedOut": false,
                },
                { "command": "echo so far; sleep 1000", "tail": "so far\n" },
                { "command": "sleep 1000" },
            ] }),
        ),
        returns(
            "one that runs is told with all fields of the text",
            json!({ "action": "poll", "sessionId": "$sleeping" }),
            json!({
                "status": "running", "sessionId": "$uuid", "running": true, "exitCode": null,
                "signal": null, "tail": "", "timedOut": false, "startedAt": "$number",
                "endedAt": null,
            }),
        ),
        start("one that will end", "echo last words; exit 4", "ended"),
        returns(
            "one that has ended is told with how",
            json!({ "action": "poll", "sessionId": "$ended" }),
            json!({
                "status": "failed", "running": false, "exitCode": 4, "signal": null,
                "tail": "last words\n", "endedAt": "$number",
            }),
        )
        .waiting(),
        returns(
            "and is still listed",
            json!({ "action": "list" }),
            json!({ "count": 4 }),
        ),
        Case::returns(
            "Bash",
            "a command that was waited for is no session",
            json!({ "command": "true" }),
            json!({ "status": "completed" }),
        )
        .keeping("foreground", "sessionId"),
        fails(
            "so it cannot be asked about",
            json!({ "action": "poll", "sessionId": "$foreground" }),
            &["no background session"],
        ),
    ]
}

fn reading() -> Vec<Case> {
    let log = |name, args: Value, result| {
        let mut args = args;
        args["action"] = "log".into();
        args["sessionId"] = "$counted".into();
        returns(name, args, result)
    };
    vec![
        start("one that prints 300 lines", "seq 1 300", "counted"),
        returns(
            "and has ended",
            json!({ "action": "poll", "sessionId": "$counted" }),
            json!({ "status": "completed", "running": false, "exitCode": 0 }),
        )
        .waiting(),
        log(
            "200 lines are given unless told, with how many there are",
            json!({}),
            json!({
                "status": "completed", "sessionId": "$uuid", "log": "$ends \n200\n", "offset": 0,
                "nextOffset": 200, "totalLines": 300, "totalChars": 1092, "truncated": false,
                "exitCode": 0, "signal": null,
            }),
        ),
        log(
            "the next page begins where the last ended",
            json!({ "offset": 200 }),
            json!({ "log": "$starts 201\n", "offset": 200, "nextOffset": "$absent" }),
        ),
        log(
            "as many lines as asked for",
            json!({ "offset": 9, "limit": 2 }),
            json!({ "log": "10\n11\n", "offset": 9, "nextOffset": 11 }),
        ),
        log(
            "past the end there is nothing",
            json!({ "offset": 1_000 }),
            json!({ "log": "", "totalLines": 300 }),
        ),
        fails(
            "no lines are too few",
            json!({ "action": "log", "sessionId": "$counted", "limit": 0 }),
            &["limit"],
        ),
    ]
}

fn writing() -> Vec<Case> {
    let write_input = |name, action: &str, data: Option<&str>, bytes: u64| {
        let mut args = json!({ "action": action, "sessionId": "$listening" });
        if let Some(data) = data {
            args["data"] = data.into();
        }
        returns(
            name,
            args,
            json!({ "status": "running", "sessionId": "$uuid", "bytesWritten": bytes }),
        )
    };
    let log_contains = |name, log: &str| {
        let args = json!({ "action": "log", "sessionId": "$listening" });
        returns(name, args, json!({ "log": log })).waiting()
    };
    vec![
        start(
            "one that listens",
            "while read line; do echo \"got [$line]\"; done",
            "listening",
        ),
        write_input("submit gives a line", "submit", Some("one"), 4),
        log_contains("which is read", "got [one]\n"),
        write_input("write gives what it is given", "write", Some("tw"), 2),
        write_input("and no more", "write", Some("o\n"), 2),
        log_contains("so it is one line", "got [one]\ngot [two]\n"),
        write_input("nothing to write is nothing", "write", None, 0),
        write_input("nothing to submit is an empty line", "submit", None, 1),
        log_contains("which is read too", "got [one]\ngot [two]\ngot []\n"),
        start(
            "one that does not listen",
            "exec 0<&-; echo closed; sleep 1000",
            "deaf",
        ),
        returns(
            "and says so",
            json!({ "action": "poll", "sessionId": "$deaf" }),
            json!({ "tail": "closed\n" }),
        )
        .waiting(),
        fails(
            "cannot be written to",
            json!({ "action": "write", "sessionId": "$deaf", "data": "x" }),
            &["stdin is not writable"],
        ),
    ]
}

fn killing() -> Vec<Case> {
    let mut cases = vec![
        returns(
            "a killed session has ended by SIGKILL",
            json!({ "action": "kill", "sessionId": "$listening" }),
            json!({ "status": "failed", "running": false, "signal": "SIGKILL", "exitCode": null }),
        ),
        fails(
            "it is not written to any more",
            json!({ "action": "write", "sessionId": "$listening", "data": "x" }),
            &["already exited"],
        ),
        fails(
            "nor is a line",
            json!({ "action": "submit", "sessionId": "$ended", "data": "x" }),
            &["already exited"],
        ),
        fails(
            "and not killed twice",
            json!({ "action": "kill", "sessionId": "$listening" }),
            &["already exited"],
        ),
    ];
    for left in ["$sleeping", "$yielded", "$clamped", "$deaf"] {
        let args = json!({ "action": "kill", "sessionId": left });
        cases.push(returns(
            "all that was left running ends",
            args,
            json!({ "running": false }),
        ));
    }
    cases
}

fn refusals() -> Vec<Case> {
    let mut cases = vec![
        fails("an action is needed", json!({}), &["action"]),
        fails(
            "an action is one of six",
            json!({ "action": "stop" }),
            &["action"],
        ),
        fails(
            "an unknown parameter is named",
            json!({ "action": "list", "session": "x" }),
            &["session"],
        ),
        fails(
            "an offset is not negative",
            json!({ "action": "log", "sessionId": UNKNOWN_SESSION, "offset": -1 }),
            &["offset"],
        ),
        fails(
            "what is no id names no session",
            json!({ "action": "poll", "sessionId": "seven" }),
            &["no background session"],
        ),
    ];
    for action in ["poll", "log", "write", "submit", "kill"] {
        let args = json!({ "action": action });
        cases.push(fails("a session must be named", args, &["sessionId"]));
        let args = json!({ "action": action, "sessionId": UNKNOWN_SESSION });
        cases.push(fails(
            "a session must be there",
            args,
            &["no background session", UNKNOWN_SESSION],
        ));
    }
    cases
}
