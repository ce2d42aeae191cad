//! The tools of the gateway's machine give the same outcome whichever face they are called through.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Gateway, Ran, steady};
use crate::http::Request;
use crate::mcp::{self, Era, Pipe};
use crate::socket::Socket;

/// A call, the code it ends with ("" for a result) and its HTTP status.
type Case = (&'static str, Value, &'static str, u16);

fn cases() -> Vec<Case> {
    let patch =
        |from: &str| json!({ "path": "a.txt", "patch": format!("@@ -1 +1 @@\n-{from}\n+ONE\n") });
    vec![
        (
            "tool::file_read",
            json!({ "path": "a.txt", "maxBytes": 4 }),
            "",
            200,
        ),
        (
            "tool::file_read",
            json!({ "path": "../../canary" }),
            "invalid_arguments",
            400,
        ),
        (
            "tool::file_read",
            json!({ "path": "nowhere" }),
            "not_found",
            404,
        ),
        (
            "tool::file_write",
            json!({ "path": "new/é.txt", "content": "é\r\n" }),
            "",
            200,
        ),
        (
            "tool::file_write",
            json!({ "path": "new/" }),
            "invalid_arguments",
            400,
        ),
        (
            "tool::file_list",
            json!({ "path": "fixed", "recursive": true }),
            "",
            200,
        ),
        (
            "tool::file_list",
            json!({ "path": "a.txt" }),
            "invalid_arguments",
            400,
        ),
        ("tool::apply_patch", patch("one"), "", 200),
        ("tool::apply_patch", patch("other"), "conflict", 409),
        (
            "tool::shell_exec",
            json!({ "argv": ["env", "sh", "-c", "echo out; echo err >&2; exit 3"] }),
            "",
            200,
        ),
        (
            "tool::shell_exec",
            json!({ "argv": ["/bin/echo"] }),
            "forbidden",
            403,
        ),
        (
            "read_file",
            json!({ "path": "file_cache_dir/c.txt" }),
            "",
            200,
        ),
        (
            "read_file",
            json!({ "path": "file_cache_dir" }),
            "invalid_arguments",
            400,
        ),
        (
            "write_file",
            json!({ "path": "file_state_dir/s.txt", "content": "more", "mode": "append" }),
            "",
            200,
        ),
        (
            "write_file",
            json!({ "path": "big.txt", "content": "x".repeat(600) }),
            "too_large",
            413,
        ),
        (
            "bash",
            json!({ "cmd": "echo out; echo err >&2; kill -9 $$" }),
            "",
            200,
        ),
        (
            "bash",
            json!({ "cmd": "cat a.txt | wc -l", "run_in_subtask": true }),
            "",
            200,
        ),
        (
            "bash",
            json!({ "cmd": "cat config.yaml" }),
            "forbidden",
            403,
        ),
        (
            "bash",
            json!({ "cmd": "true", "timeout_seconds": 0 }),
            "invalid_arguments",
            400,
        ),
        (
            "powershell",
            json!({ "cmd": "cat config.yaml" }),
            "forbidden",
            403,
        ),
    ]
}

const CONFIG: &str = "[tools]\npowershell.enabled = true\nwrite_file.max_bytes = 500\n";

/// Puts the folders back to what every call starts from.
fn reset(host: &Path) {
    std::fs::write(host.join("workspace/a.txt"), "one\ntwo\n").expect("a file");
    std::fs::write(host.join("state/s.txt"), "kept ").expect("a file");
    std::fs::write(host.join("cache/c.txt"), "cached").expect("a file");
    let _ = std::fs::remove_dir_all(host.join("workspace/new")); // not there at first
}

/// What came of a call, as every face can tell it.
#[derive(Debug, PartialEq)]
struct Said {
    result: Value,
    error: String,
}

fn of_envelope(envelope: &Value) -> Said {
    let error = steady(&envelope["error"]);
    assert_eq!(envelope["ok"] == true, error.is_null(), "{envelope}");
    let error = error.as_str().unwrap_or_default().to_owned();
    Said {
        result: steady(&envelope["result"]),
        error,
    }
}

fn of_cli(ran: &Ran) -> Said {
    let said = of_envelope(&ran.json());
    assert_eq!(
        (ran.code == Some(0), ran.stderr.as_str()),
        (said.error.is_empty(), ""),
        "{ran:?}"
    );
    said
}

fn of_mcp(answer: &Value) -> Said {
    let result = &answer["result"];
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"));
    if result["isError"] == true {
        let error = steady(&json!(text)).as_str().unwrap_or_default().to_owned();
        return Said {
            result: Value::Null,
            error,
        };
    }
    let shown: Value = serde_json::from_str(text).expect("the text is the value as JSON");
    assert_eq!(
        shown, result["structuredContent"],
        "text and structure are one value"
    );
    Said {
        result: steady(&shown),
        error: String::new(),
    }
}

#[test]
fn the_same_call_gives_the_same_outcome_on_every_interface() {
    let gateway = Gateway::with_config(CONFIG);
    let host = gateway.home.path().join("host");
    std::fs::write(gateway.home.outside("canary"), "canary").expect("a canary");
    std::fs::create_dir_all(host.join("workspace/fixed/d")).expect("folders");
    std::fs::write(host.join("workspace/fixed/d/x"), "x").expect("a file");
    let owner = gateway.owner.as_str();
    let mut socket = Socket::connect(gateway.addr, owner);
    let eras = [Era::Initialize, Era::Stateless];
    let mut pipes = eras.map(|era| Pipe::start(&gateway, era, owner));
    for (tool, arguments, code, status) in cases() {
        let wire = tool.replace("::", "__");
        let text = arguments.to_string();
        let post = |path: String| {
            reset(&host);
            let response = gateway.send(&Request::post(&path, &arguments).bearer(owner));
            assert_eq!(
                response.status,
                status,
                "{path} {text}: {}",
                response.text()
            );
            assert_eq!(
                response.json()["code"].as_str().unwrap_or_default(),
                code,
                "{path} {text}"
            );
            of_envelope(&response.json())
        };
        let expect = post(format!("/api/tools/{tool}"));
        let same = |face: &str, said: Said| {
            assert_eq!(said, expect, "{face} {tool} {text}");
            reset(&host);
        };
        same("HTTP tools, alias", post(format!("/api/tools/{wire}")));
        same("HTTP trigger", post(format!("/api/trigger/{tool}")));
        same("HTTP trigger, alias", post(format!("/api/trigger/{wire}")));
        same(
            "command line call",
            of_cli(&gateway.cli(&["call", tool, &text])),
        );
        same(
            "command line trigger",
            of_cli(&gateway.cli(&["trigger", tool, &text])),
        );
        same("WebSocket", of_envelope(&socket.call(tool, &arguments)));
        for (era, pipe) in eras.into_iter().zip(&mut pipes) {
            same(
                era.version(),
                of_mcp(&mcp::call(&gateway, era, owner, &wire, &arguments)),
            );
            same("MCP stdio", of_mcp(&pipe.call(&wire, &arguments)));
        }
    }
    let canary = std::fs::read_to_string(gateway.home.outside("canary"));
    assert_eq!(canary.expect("the canary"), "canary");
    for pipe in pipes {
        assert_eq!(pipe.finish(), Some(0));
    }
}

#[test]
fn structured_results_fit_the_schemas_that_mcp_publishes() {
    let gateway = Gateway::with_config(CONFIG);
    let host = gateway.home.path().join("host");
    std::fs::create_dir_all(host.join("workspace/fixed/d")).expect("folders");
    let mut wrong = Vec::new();
    for era in [Era::Initialize, Era::Stateless] {
        let tools = mcp::list(&gateway, era, &gateway.owner);
        for (tool, arguments, code, _) in cases() {
            reset(&host);
            let wire = tool.replace("::", "__");
            let listed = tools
                .iter()
                .find(|one| one["name"] == wire.as_str())
                .expect("listed");
            assert_eq!(listed["outputSchema"]["type"], "object", "{wire}");
            let answer = mcp::call(&gateway, era, &gateway.owner, &wire, &arguments);
            if code.is_empty() {
                let schema = jsonschema::validator_for(&listed["outputSchema"]).expect("a schema");
                let errors = schema.iter_errors(&answer["result"]["structuredContent"]);
                wrong.extend(errors.map(|e| format!("{wire}: {e}")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "clients check this and give up: {wrong:#?}"
    );
}
