//! One server as it is at `/mcp/{server}`, seen by the official clients of both eras.

use std::process::Command;

use serde_json::{Value, json};

use super::{STRANGERS, Scripted, gateway, node, official, stranger};
use crate::harness::{Daemon, Gateway, Home, eventually};
use crate::http::Request;
use crate::npm::packages;

/// The servers of the official suite, one of each era.
struct Fixtures {
    gateway: Gateway,
    _modern: Daemon,
}

fn fixtures() -> Fixtures {
    let folder = packages("conformance");
    let mut modern = Command::new("node");
    modern.arg(folder.join("fixture/modern.mjs"));
    let mut modern = Daemon::spawn(modern);
    let url = modern.wait_for_line("http://").expect("its address");
    let legacy = folder.join("fixture/legacy.mjs").display().to_string();
    let settings = node("legacy", &[&legacy, "stdio"], "")
        + &format!("[mcpServers.modern]\nurl = \"{url}\"\n");
    Fixtures {
        gateway: gateway(Home::new(), &settings, &["legacy", "modern"]),
        _modern: modern,
    }
}

fn text(seen: &Value) -> &str {
    seen["value"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{seen}"))
}

#[test]
fn every_client_has_its_questions_answered_whatever_the_server_speaks() {
    let fixtures = fixtures();
    let plan = json!([
        ["call", "test_elicitation", { "message": "who?" }],
        ["call", "test_sampling", { "prompt": "hello" }],
        ["call", "test_input_required_result_list_roots"],
        ["call", "test_input_required_result_multi_round"],
        ["call", "test_input_required_result_multiple_inputs"],
    ]);
    for (sdk, era) in STRANGERS {
        for server in ["legacy", "modern"] {
            let seen = stranger(&fixtures.gateway, sdk, era, server, plan.clone());
            let who = format!("{sdk} {era} at {server}: {seen:?}");
            assert!(text(&seen[0]).contains("my username"), "{who}");
            assert!(text(&seen[1]).contains("you said hello"), "{who}");
            assert!(text(&seen[2]).contains("file:///here"), "{who}");
            assert_eq!(text(&seen[3]), "my name likes my color", "{who}");
            assert!(
                text(&seen[4]).contains("you said Generate a greeting"),
                "{who}"
            );
        }
    }
}

#[test]
fn every_client_sees_results_resources_prompts_and_progress_as_they_are() {
    let fixtures = fixtures();
    let plan = json!([
        ["call", "test_multiple_content_types"],
        ["call", "test_error_handling"],
        ["progress", "test_tool_with_progress"],
        ["tool", "json_schema_2020_12_tool"],
        ["resources"],
        ["templates"],
        ["read", "test://template/7/data"],
        ["prompts"],
        ["prompt", "test_prompt_with_arguments", { "arg1": "a", "arg2": "b" }],
        ["complete", { "type": "ref/prompt", "name": "test_prompt_with_arguments" }, { "name": "arg1", "value": "par" }],
        ["read", "test://nowhere"],
        ["call", "no_such_tool"],
    ]);
    for (sdk, era) in STRANGERS {
        for server in ["legacy", "modern"] {
            let seen = stranger(&fixtures.gateway, sdk, era, server, plan.clone());
            let who = format!("{sdk} {era} at {server}");
            let kinds: Vec<&Value> = seen[0]["value"]["content"]
                .as_array()
                .expect("content")
                .iter()
                .map(|one| &one["type"])
                .collect();
            assert_eq!(kinds, ["text", "image", "resource"], "{who}");
            assert_eq!(seen[1]["value"]["isError"], true, "{who}: {}", seen[1]);
            let steps = seen[2]["value"]["steps"].as_array().expect("steps");
            let done: Vec<&Value> = steps.iter().map(|step| &step["progress"]).collect();
            assert_eq!(done, [0, 50, 100], "{who}");
            assert_eq!(
                seen[3]["value"]["inputSchema"]["$defs"]["address"]["$anchor"], "addressDef",
                "{who}"
            );
            assert!(
                seen[4].to_string().contains("test://static-binary"),
                "{who}"
            );
            assert!(
                seen[5].to_string().contains("test://template/{id}/data"),
                "{who}"
            );
            assert!(seen[6].to_string().contains("Data for ID: 7"), "{who}");
            assert!(
                seen[7].to_string().contains("test_prompt_with_image"),
                "{who}"
            );
            assert!(seen[8].to_string().contains("arg1='a', arg2='b'"), "{who}");
            assert_eq!(
                seen[9]["value"]["completion"]["values"][0], "paris",
                "{who}"
            );
            assert!(
                seen[10]["error"].is_string() && seen[11]["error"].is_string(),
                "{who}: {seen:?}"
            );
        }
    }
}

#[test]
fn a_client_cancellation_is_forwarded_to_the_server() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["silence"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    for (number, (sdk, era)) in (1..).zip(STRANGERS) {
        let seen = stranger(&gateway, sdk, era, "s", json!([["cancel", "silence"]]));
        assert_eq!(seen[0]["value"], "cancelled", "{sdk} {era}");
        eventually("the server is told", || scripted.cancelled() == number);
    }
}

#[test]
fn a_real_server_is_the_same_through_the_gateway() {
    let settings = node("everything", &[&official("everything"), "stdio"], "");
    let gateway = gateway(Home::new(), &settings, &["everything"]);
    for (sdk, era) in STRANGERS {
        let plan = json!([["tools"], ["call", "echo", { "message": "hi" }], ["prompts"], ["templates"],
            ["progress", "trigger-long-running-operation", { "duration": 1, "steps": 2 }]]);
        let seen = stranger(&gateway, sdk, era, "everything", plan);
        assert!(
            seen[0].to_string().contains("\"echo\""),
            "its own names: {}",
            seen[0]
        );
        assert_eq!(text(&seen[1]), "Echo: hi", "{sdk} {era}");
        assert!(
            seen[2]["value"]
                .as_array()
                .is_some_and(|all| !all.is_empty()),
            "{}",
            seen[2]
        );
        assert!(
            seen[3]["value"]
                .as_array()
                .is_some_and(|all| !all.is_empty()),
            "{}",
            seen[3]
        );
        let steps = seen[4]["value"]["steps"].as_array().expect("steps");
        let own = steps.iter().filter(|step| step["total"] == 2);
        assert_eq!(own.count(), 2, "{sdk} {era}: {}", seen[4]);
    }
}

#[test]
fn a_caller_without_access_does_not_reach_a_server() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo", "other"]);
    let gateway = gateway(
        home,
        &scripted.settings("s", "tokens = [\"friend\"]"),
        &["s"],
    );
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let greet = |path: &str, token: &str| {
        gateway.send(
            &Request::post(path, &hello)
                .header("Accept", "application/json, text/event-stream")
                .bearer(token),
        )
    };
    let (friend, stranger) = (gateway.client("friend"), gateway.client("stranger"));
    let greeted = greet("/mcp/s", &friend);
    assert_eq!(greeted.status, 200);
    assert_eq!(greet("/mcp/s", &stranger).status, 403);
    assert_eq!(greet("/mcp/nowhere", &friend).status, 404);
    assert_eq!(greet("/mcp/s", "mh_nonsense").status, 401);

    // A conversation is its beginner's alone.
    let session = greeted
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let go_on = |token: &str| {
        let request =
            Request::post("/mcp/s", &list).header("Accept", "application/json, text/event-stream");
        gateway.send(&request.header("Mcp-Session-Id", &session).bearer(token))
    };
    assert_eq!(go_on(&friend).status, 200);
    assert_eq!(go_on(&gateway.owner).status, 404);

    // What a token may not call it does not see.
    let (narrow, _) =
        gateway.token(json!({ "name": "friend", "role": "client", "tools": ["s__echo"] }));
    let mine = greet("/mcp/s", &narrow)
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let ask = |body: &Value| {
        let request =
            Request::post("/mcp/s", body).header("Accept", "application/json, text/event-stream");
        gateway
            .send(&request.header("Mcp-Session-Id", &mine).bearer(&narrow))
            .json()
    };
    let seen = ask(&list);
    let tools = seen["result"]["tools"].as_array().expect("tools");
    assert_eq!(
        (tools.len(), &tools[0]["name"]),
        (1, &json!("echo")),
        "{seen}"
    );
    let call = |name: &str| {
        ask(
            &json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": name, "arguments": {} } }),
        )
    };
    assert_ne!(call("echo")["result"]["isError"], true);
    assert_eq!(
        call("other")["result"]["isError"],
        true,
        "{}",
        call("other")
    );
}

#[test]
fn only_clients_with_elicitation_get_their_own_connection() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["pid"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let begin = |capabilities: Value| {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } } });
        let request = Request::post("/mcp/s", &hello)
            .header("Accept", "application/json, text/event-stream")
            .bearer(&gateway.owner);
        let greeted = gateway.send(&request);
        greeted
            .header("mcp-session-id")
            .expect("a session")
            .to_owned()
    };
    let pid = |session: &str| {
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "pid" } });
        let request = Request::post("/mcp/s", &call)
            .header("Accept", "application/json, text/event-stream")
            .header("Mcp-Session-Id", session)
            .bearer(&gateway.owner);
        let said = gateway.send(&request).json();
        said["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    };
    let (quiet, other) = (begin(json!({})), begin(json!({})));
    let shared = pid(&quiet);
    assert_eq!([pid(&quiet), pid(&other)], [shared.clone(), shared.clone()]);
    assert_eq!(scripted.starts().len(), 1);

    let talking = begin(json!({ "elicitation": {} }));
    let own = pid(&talking);
    assert_ne!(own, shared);
    assert_eq!(pid(&talking), own);
    assert_eq!(scripted.starts().len(), 2);
}
