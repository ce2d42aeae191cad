//! Real servers on an ordinary day.

use serde_json::{Value, json};

use super::{Scripted, gateway, known, names, node, official, server};
use crate::harness::{Gateway, Home, eventually, free_address};

/// That a call went well: what came of it.
#[track_caller]
fn good(said: Value) -> Value {
    assert_eq!(said["ok"], true, "{said}");
    said["result"].clone()
}

#[test]
fn tools_of_real_servers_are_listed_under_their_servers_name() {
    let home = Home::new();
    let shared = home.outside("shared");
    std::fs::create_dir(&shared).expect("a folder");
    std::fs::write(shared.join("note.txt"), "hello from a file").expect("a file");
    let shared = shared
        .canonicalize()
        .expect("a folder")
        .display()
        .to_string();
    let memory = home.outside("memory.jsonl").display().to_string();
    let settings = [
        node("everything", &[&official("everything"), "stdio"], ""),
        node("files", &[&official("filesystem"), &shared], ""),
        node(
            "memory",
            &[&official("memory")],
            &format!("env = {{ MEMORY_FILE_PATH = {memory:?} }}"),
        ),
    ];
    let gateway = gateway(home, &settings.concat(), &["everything", "files", "memory"]);

    let echoed = good(gateway.call("everything__echo", json!({ "message": "hi" })));
    assert_eq!(echoed, "Echo: hi");
    let invoke =
        json!({ "server": "everything", "tool": "get-sum", "arguments": { "a": 2, "b": 3 } });
    let sum = good(gateway.call("gateway_invoke", invoke));
    assert!(sum.to_string().contains('5'), "{sum}");
    let weather = good(gateway.call(
        "everything__get-structured-content",
        json!({ "location": "New York" }),
    ));
    assert!(weather["temperature"].is_number(), "{weather}");

    let note = json!({ "path": format!("{shared}/note.txt") });
    let read = good(gateway.call("files__read_text_file", note));
    assert!(read.to_string().contains("hello from a file"), "{read}");

    let ada = json!({ "entities": [{ "name": "Ada", "entityType": "person", "observations": ["counts"] }] });
    good(gateway.call("memory__create_entities", ada));
    let found = good(gateway.call("memory__search_nodes", json!({ "query": "counts" })));
    assert!(found.to_string().contains("Ada"), "{found}");

    let wrong = gateway.call("everything__echo", json!({ "massage": "hi" }));
    assert_eq!(wrong["code"], "invalid_arguments", "{wrong}");
}

#[test]
fn a_server_speaks_all_three_transports() {
    let mut programs = Vec::new();
    let mut settings = String::new();
    for kind in ["streamableHttp", "sse"] {
        let port = free_address().port();
        let mut program = std::process::Command::new("node");
        program
            .args([&official("everything"), kind])
            .env("PORT", port.to_string());
        let program = crate::harness::Daemon::spawn(program);
        program.log.wait_for(&port.to_string());
        programs.push(program);
        let (path, said) = match kind {
            "sse" => ("sse", "type = \"sse\""),
            _ => ("mcp", ""),
        };
        settings += &format!(
            "[mcpServers.{}]\nurl = \"http://127.0.0.1:{port}/{path}\"\n{said}\n",
            kind.to_lowercase()
        );
    }
    let gateway = gateway(Home::new(), &settings, &["streamablehttp", "sse"]);
    for name in ["streamablehttp", "sse"] {
        let echoed = good(gateway.call(&format!("{name}__echo"), json!({ "message": name })));
        assert_eq!(echoed, format!("Echo: {name}"));
    }
}

#[test]
fn the_owner_hides_renames_and_describes_tools_anew() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["one", "two", "secret_one", "three"]);
    let more = "tools = [\"one\", \"two\", \"secret_*\"]\nhide = [\"secret_*\"]\nrename = { two = \"second\" }\ndescriptions = { one = \"What the owner says\" }";
    let gateway = gateway(home, &scripted.settings("s", more), &["s"]);
    let mut own = names(&gateway);
    own.retain(|name| name.starts_with("s__"));
    assert_eq!(own, ["s__one", "s__second"]);
    let said = good(gateway.call("s__second", json!({ "a": 1 })));
    assert_eq!(
        said,
        json!({ "name": "two", "arguments": { "a": 1 } }),
        "its own name is used there"
    );
    let listed = gateway.get("/api/tools").json();
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let one = tools
        .iter()
        .find(|tool| tool["name"] == "s__one")
        .expect("the tool");
    assert_eq!(one["description"], "What the owner says");
    for hidden in ["s__secret_one", "s__three", "s__two"] {
        assert_eq!(
            gateway.call(hidden, json!({}))["code"],
            "unknown_tool",
            "{hidden}"
        );
    }
}

#[test]
fn a_call_over_its_deadline_is_cancelled_at_the_server() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["silence", "echo"]);
    let gateway = gateway(home, &scripted.settings("s", "timeout = 1"), &["s"]);
    let said = gateway.call("s__silence", json!({}));
    assert_eq!(said["code"], "deadline_exceeded", "{said}");
    eventually("the server is told", || scripted.cancelled() == 1);
    // A second may be too short for a machine that is busy.
    eventually("it serves on", || {
        gateway.call("s__echo", json!({}))["ok"] == true
    });
}

#[test]
fn only_named_tokens_use_a_server() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(
        home,
        &scripted.settings("s", "tokens = [\"friend-*\"]"),
        &["s"],
    );
    let (friend, stranger) = (gateway.client("friend-1"), gateway.client("stranger"));
    let call = |token: &str| gateway.call_as(token, "s__echo", json!({})).json();
    assert_eq!(call(&friend)["ok"], true);
    assert_eq!(call(&gateway.owner)["ok"], true);
    assert_eq!(call(&stranger)["ok"], false, "{}", call(&stranger));
    let invoke = json!({ "server": "s", "tool": "echo", "arguments": {} });
    let around = gateway
        .call_as(&stranger, "gateway_invoke", invoke.clone())
        .json();
    assert_eq!(around["ok"], false, "{around}");
    assert_eq!(
        gateway.call_as(&friend, "gateway_invoke", invoke).json()["ok"],
        true
    );
    let code = json!({ "code": "return await callTool('s', 'echo', {})" });
    let inside = gateway
        .call_as(&stranger, "code-execution_execute", code)
        .json();
    assert_eq!(inside["ok"], false, "{inside}");
    let found = |token: &str| {
        let wanted = json!({ "request": "echo", "types": ["tool"] });
        let said = gateway.call_as(token, "capabilities_discover", wanted);
        said.text().contains("s__echo") || said.text().contains("\"server\":\"s\"")
    };
    assert!(found(&friend) && !found(&stranger));
}

#[test]
fn only_named_agents_use_a_server() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let settings = scripted.settings("s", "agents = [\"other\"]")
        + &scripted.settings("t", "agents = [\"main\"]");
    let gateway = gateway(home, &settings, &["s", "t"]);
    let call = |agent: &str, tool: &str, arguments: &Value| {
        gateway
            .post(&format!("/api/tools/{tool}?agent={agent}"), arguments)
            .json()
    };
    let code = json!({ "code": "return (await callTool('s', 'echo', {})).name" });
    let invoke = json!({ "server": "s", "tool": "echo", "arguments": {} });
    let refused = call("main", "s__echo", &json!({}));
    assert_eq!(refused["code"], "forbidden", "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("agent main") && said.contains("mcpServers.s.agents"),
        "it says who may not, and what would change that: {said}"
    );
    let around = call("main", "gateway_invoke", &invoke);
    assert_eq!(around["code"], "forbidden", "{around}");
    let inside = call("main", "code-execution_execute", &code);
    assert_eq!(inside["ok"], false, "{inside}");
    assert_eq!(call("other", "t__echo", &json!({}))["code"], "forbidden");
    let wanted = json!({ "request": "echo", "types": ["tool"] });
    let offered = |agent: &str| {
        let found = call(agent, "capabilities_discover", &wanted).to_string();
        ["s", "t"].map(|name| found.contains(&format!("\"server\":\"{name}\"")))
    };
    assert_eq!(offered("main"), [false, true]);
    assert_eq!(offered("other"), [true, false]);

    good(call("main", "t__echo", &json!({})));
    good(call("other", "s__echo", &json!({})));
    good(call("other", "gateway_invoke", &invoke));
    let inside = good(call("other", "code-execution_execute", &code));
    assert_eq!(inside["result"], "echo", "{inside}");
}

#[test]
fn a_broken_server_affects_no_other() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let bad = "[mcpServers.nowhere]\ncommand = \"no-such-program\"\n[mcpServers.closed]\nurl = \"http://127.0.0.1:9/mcp\"\n\
               [mcpServers.mute]\ncommand = \"sleep\"\nargs = [\"600\"]\n[mcpServers.ends]\ncommand = \"true\"\n";
    let gateway = gateway(
        home,
        &(bad.to_owned() + &scripted.settings("good", "")),
        &["good"],
    );
    good(gateway.call("good__echo", json!({})));
    for (name, words) in [("nowhere", "not found"), ("closed", ""), ("ends", "")] {
        eventually("its problem is on record", || {
            let problem = server(&gateway, name)["problem"]
                .as_str()
                .map(str::to_owned);
            problem.is_some_and(|problem| problem.contains(words))
        });
    }
    good(gateway.call("good__echo", json!({})));
}

#[test]
fn a_gateway_that_starts_again_knows_tools_without_starting_their_servers() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let first = gateway(home, &scripted.settings("s", ""), &["s"]);
    assert_eq!(scripted.starts().len(), 1);
    let second: Gateway = first.restart();
    assert!(names(&second).contains(&"s__echo".to_owned()));
    assert_eq!(scripted.starts().len(), 1, "nobody used it yet");
    good(second.call("s__echo", json!({})));
    assert_eq!(scripted.starts().len(), 2);
}

#[test]
fn tools_that_come_and_go_are_seen() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["changed", "old"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    scripted.offer(&[
        json!({ "name": "changed", "description": "The tool changed" }),
        json!({ "name": "new" }),
    ]);
    good(gateway.call("s__changed", json!({})));
    eventually("the new tool is there and the old one is not", || {
        let names = names(&gateway);
        names.contains(&"s__new".to_owned()) && !names.contains(&"s__old".to_owned())
    });
    good(gateway.call("s__new", json!({})));
}

#[test]
fn a_server_is_added_and_removed_at_runtime() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, "", &[]);
    let file = gateway.home.path().join("config.toml");
    std::fs::write(&file, scripted.settings("s", "")).expect("the settings");
    known(&gateway, "s");
    std::fs::write(&file, "").expect("the settings");
    eventually("it is gone", || {
        !names(&gateway).contains(&"s__echo".to_owned())
    });
    eventually("its process is gone", || scripted.running().is_empty());
}
