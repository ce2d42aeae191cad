//! A node's tools through every face, for every kind of token.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::Gateway;
use crate::mcp::{self, Era};
use crate::nodes::fixture::{Machine, noise, tools_of, wait_offline};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06";
const EVERY_TOOL: [&str; 7] = [
    "laptop__Bash",
    "laptop__Edit",
    "laptop__Glob",
    "laptop__Grep",
    "laptop__Process",
    "laptop__Read",
    "laptop__Write",
];

#[test]
fn every_interface_gives_the_same_result_of_a_nodes_tool() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.put("notes.txt", "one\ntwo\n".as_bytes());
    let arguments = json!({ "path": "notes.txt", "offset": 1 });
    let expect = json!({
        "path": laptop.file("notes.txt"), "content": "2\ttwo", "lines": 1, "totalLines": 2,
    });

    let http = gateway.call("laptop__Read", arguments.clone());
    assert_eq!(http, json!({ "ok": true, "result": expect }));
    let socket = gateway.ws().call("laptop__Read", &arguments);
    assert_eq!(socket, http, "the socket");
    let line = gateway.cli(&["call", "laptop__Read", &arguments.to_string()]);
    assert_eq!(line.ok().json(), http, "the command line");
    for era in [Era::Initialize, Era::Stateless] {
        let said = mcp::call(&gateway, era, &gateway.owner, "laptop__Read", &arguments);
        assert_eq!(
            said["result"]["structuredContent"], expect,
            "{era:?}: {said}"
        );
        assert_ne!(said["result"]["isError"], true, "{said}");
    }
}

#[test]
fn every_interface_gives_the_same_error_of_a_nodes_tool() {
    let gateway = Gateway::start();
    let _laptop = Machine::lend(&gateway, "laptop");
    let arguments = json!({ "path": "nowhere.txt" });
    let http = gateway.call("laptop__Read", arguments.clone());
    assert_eq!(
        (&http["ok"], &http["code"]),
        (&json!(false), &json!("not_found")),
        "{http}"
    );
    let words = http["error"].as_str().expect("words");
    assert!(words.contains("nowhere.txt"), "{http}");
    assert_eq!(gateway.ws().call("laptop__Read", &arguments), http);
    let line = gateway.cli(&["call", "laptop__Read", &arguments.to_string()]);
    assert_ne!(line.code, Some(0));
    assert_eq!(line.json(), http);
    let said = mcp::call(
        &gateway,
        Era::Stateless,
        &gateway.owner,
        "laptop__Read",
        &arguments,
    );
    assert_eq!(said["result"]["isError"], true, "{said}");
    let text = said["result"]["content"][0]["text"].as_str();
    assert_eq!(text, Some(words), "{said}");
}

/// That a picture arrives at an MCP client to be looked at, all of it.
fn check_picture(bytes: &[u8], mime: &str, name: &str) {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.put(name, bytes);
    for era in [Era::Initialize, Era::Stateless] {
        let arguments = json!({ "path": name });
        let said = mcp::call(&gateway, era, &gateway.owner, "laptop__Read", &arguments);
        let blocks = said["result"]["content"].as_array();
        let blocks = blocks.unwrap_or_else(|| panic!("{era:?}: no content"));
        let about = format!("Image file: {name} ({mime}, {} bytes)", bytes.len());
        assert_eq!(blocks[0], json!({ "type": "text", "text": about }));
        assert_eq!(blocks[1]["type"], "image");
        assert_eq!(blocks[1]["mimeType"], mime);
        let data = blocks[1]["data"].as_str().expect("the picture");
        let there = STANDARD.decode(data).expect("base64");
        assert!(
            there == bytes,
            "{era:?}: another picture of {} bytes",
            there.len()
        );
        assert_eq!(blocks.len(), 2, "{era:?}");
    }
}

#[test]
fn a_picture_reaches_an_mcp_client_as_an_image() {
    check_picture(PNG, "image/png", "dot.png");
    check_picture(b"GIF89a\x01\0\x01\0\0\0\0\xff;", "image/gif", "dot.gif");
}

#[test]
fn a_picture_of_8_mb_comes_whole() {
    let mut picture = PNG.to_vec();
    picture.extend(noise(8 << 20, 3));
    check_picture(&picture, "image/png", "large.png");
}

#[test]
fn wrong_arguments_are_named_and_change_nothing() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let refused = |tool: &str, arguments: Value, parameter: &str| {
        let said = laptop.call(&gateway, tool, arguments.clone());
        assert_eq!(
            said["code"], "invalid_arguments",
            "{tool} {arguments}: {said}"
        );
        let problems = said["problems"].as_array().expect("problems");
        let named = problems
            .iter()
            .any(|problem| problem["parameter"] == parameter);
        assert!(
            named,
            "{tool} {arguments}: {parameter} is not named in {said}"
        );
    };
    refused("Write", json!({ "path": "new.txt" }), "content");
    refused("Write", json!({ "path": 7, "content": "x" }), "path");
    refused(
        "Write",
        json!({ "path": "new.txt", "content": "x", "mode": 1 }),
        "mode",
    );
    refused(
        "Bash",
        json!({ "command": "touch ran", "timeout": "long" }),
        "timeout",
    );
    refused(
        "Bash",
        json!({ "command": "touch ran", "shell": "zsh" }),
        "shell",
    );
    refused("Process", json!({ "action": "restart" }), "action");
    refused("Grep", json!({ "path": "." }), "pattern");
    refused(
        "Edit",
        json!({ "path": "a", "oldString": "a", "newString": "b", "all": true }),
        "all",
    );
    assert_eq!(fs::read_dir(&laptop.folder).expect("a folder").count(), 0);
    let control = laptop.call(
        &gateway,
        "Write",
        json!({ "path": "new.txt", "content": "x" }),
    );
    assert_eq!(control["ok"], true, "{control}");
    assert!(laptop.file("new.txt").exists());
}

#[test]
fn a_nodes_tools_appear_and_disappear_with_it_and_clients_are_notified() {
    let gateway = Gateway::start();
    let mut client = gateway.ws();
    assert!(tools_of(&gateway, "laptop").is_empty());
    let laptop = Machine::lend(&gateway, "laptop");
    told_of_a_change(&mut client);
    let mut listed = tools_of(&gateway, "laptop");
    listed.sort();
    assert_eq!(listed, EVERY_TOOL);
    let record = gateway.get("/api/nodes").json()["result"]["nodes"][0].clone();
    assert_eq!(record["nodeId"], "laptop");
    let capabilities = json!([
        "filesystem.edit",
        "filesystem.list",
        "filesystem.read",
        "filesystem.write",
        "shell.exec",
        "text.search",
    ]);
    assert_eq!(record["hostCapabilities"], capabilities);
    assert!(
        record["clientPlatform"]
            .as_str()
            .is_some_and(|platform| platform.contains('-'))
    );
    assert_eq!(record["clientVersion"], env!("CARGO_PKG_VERSION"));

    drop(laptop);
    wait_offline(&gateway, "laptop");
    told_of_a_change(&mut client);
    assert!(tools_of(&gateway, "laptop").is_empty());
    let gone = gateway.call("laptop__Read", json!({ "path": "a" }));
    assert_eq!(gone["code"], "unknown_tool", "{gone}");
}

/// Waits until a client is told that tools came or went.
fn told_of_a_change(client: &mut crate::socket::Socket) {
    loop {
        let frame = client.frame().expect("an open socket");
        if frame["event"] == "tools.changed" {
            return;
        }
    }
}

#[test]
fn a_read_only_token_reads_and_neither_writes_nor_runs() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    laptop.put("notes.txt", b"text");
    let (token, _) = gateway.token(json!({ "name": "looker", "role": "read-only" }));
    let call = |tool: &str, arguments: Value| {
        gateway
            .call_as(&token, &laptop.tool(tool), arguments)
            .json()
    };
    for (tool, arguments) in [
        ("Read", json!({ "path": "notes.txt" })),
        ("Glob", json!({ "pattern": "*" })),
        ("Grep", json!({ "pattern": "text" })),
    ] {
        let said = call(tool, arguments);
        assert_eq!(said["ok"], true, "{tool}: {said}");
    }
    for (tool, arguments) in [
        ("Bash", json!({ "command": "touch ran" })),
        ("Process", json!({ "action": "list" })),
        ("Write", json!({ "path": "ran", "content": "" })),
        (
            "Edit",
            json!({ "path": "notes.txt", "oldString": "text", "newString": "x" }),
        ),
    ] {
        let said = call(tool, arguments);
        assert_eq!(said["code"], "forbidden", "{tool}: {said}");
    }
    assert!(!laptop.file("ran").exists());
    assert_eq!(fs::read(laptop.file("notes.txt")).expect("a file"), b"text");
}

#[test]
fn a_clients_command_on_a_node_needs_approval() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let client = gateway.client("agent");
    let command = json!({ "command": "touch ran" });
    let asked = gateway
        .call_as(&client, "laptop__Bash", command.clone())
        .json();
    assert_eq!(asked["code"], "approval_required", "{asked}");
    assert!(!laptop.file("ran").exists());
    let id = asked["details"]["approvalId"].as_str().expect("an id");
    gateway.cli(&["approvals", "approve", id]).ok();
    let said = gateway.call_as(&client, "laptop__Bash", command).json();
    assert_eq!(said["ok"], true, "{said}");
    assert!(laptop.file("ran").exists());
}

#[test]
fn a_token_for_one_nodes_read_moves_no_other_file() {
    let gateway = Gateway::start();
    let (laptop, server) = (
        Machine::lend(&gateway, "laptop"),
        Machine::lend(&gateway, "server"),
    );
    let open = laptop.put("open.txt", b"open");
    let secret = server.put("secret.txt", b"secret");
    gateway.write("mine.md", "mine");
    let limited = |tools: Value| {
        gateway
            .token(json!({ "name": "limited", "role": "client", "tools": tools }))
            .0
    };
    let transfer = |token: &str, source: &str, destination: &str| {
        let ends = json!({ "source": source, "destination": destination });
        gateway.call_as(token, "gsv__Transfer", ends).json()
    };

    let reader = limited(json!(["laptop__Read"]));
    let read = gateway
        .call_as(&reader, "laptop__Read", json!({ "path": "open.txt" }))
        .json();
    assert_eq!(read["ok"], true, "{read}");
    let said = transfer(&reader, &open, "gsv:copy.txt");
    assert_eq!(said["code"], "forbidden", "{said}");

    let carrier = limited(json!(["laptop__Read", "gsv__Transfer", "gsv__WriteFile"]));
    for (source, destination) in [
        (secret.as_str(), "gsv:copy.txt"),
        (&secret, &laptop.end("copy.txt")),
        (&open, &server.end("copy.txt")),
        ("gsv:mine.md", &laptop.end("copy.txt")),
        (&open, &laptop.end("copy.txt")),
    ] {
        let said = transfer(&carrier, source, destination);
        assert_eq!(
            said["code"], "forbidden",
            "{source} to {destination}: {said}"
        );
    }
    assert_eq!(gateway.read("copy.txt"), None);
    assert!(!laptop.file("copy.txt").exists() && !server.file("copy.txt").exists());
    let control = transfer(&carrier, &open, "gsv:copy.txt");
    assert_eq!(control["ok"], true, "{control}");
    assert_eq!(gateway.read("copy.txt").as_deref(), Some("open"));
}

#[test]
fn a_token_that_may_only_list_or_edit_carries_no_files() {
    let gateway = Gateway::start();
    let laptop = Machine::lend(&gateway, "laptop");
    let secret = laptop.put("secret.txt", b"secret");
    gateway.write("mine.md", "mine");
    let refused = |tool: &str, source: &str, destination: &str| {
        let tools = json!([laptop.tool(tool), "gsv__Transfer"]);
        let new = json!({ "name": "limited", "role": "client", "tools": tools });
        let (token, _) = gateway.token(new);
        let ends = json!({ "source": source, "destination": destination });
        let said = gateway.call_as(&token, "gsv__Transfer", ends).json();
        assert_eq!(said["code"], "forbidden", "with {tool} alone: {said}");
    };
    refused("Glob", &secret, "gsv:copy.txt");
    refused("Write", &secret, "gsv:copy.txt");
    refused("Bash", &secret, "gsv:copy.txt");
    refused("Edit", "gsv:mine.md", &laptop.end("new.txt"));
    refused("Read", "gsv:mine.md", &laptop.end("new.txt"));
    assert_eq!(gateway.read("copy.txt"), None);
    assert!(!laptop.file("new.txt").exists());
    let tools = json!(["laptop__Read", "laptop__Write", "gsv__Transfer"]);
    let new = json!({ "name": "carrier", "role": "client", "tools": tools });
    let (token, _) = gateway.token(new);
    let ends = json!({ "source": secret, "destination": laptop.end("new.txt") });
    let control = gateway.call_as(&token, "gsv__Transfer", ends).json();
    assert_eq!(control["ok"], true, "{control}");
}
