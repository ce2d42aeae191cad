//! The official inspector of MCP servers, pointed at both paths of a gateway.

use std::process::Command;

use serde_json::{Value, json};

use super::{Scripted, gateway};
use crate::harness::{Gateway, Home, Ran, run};
use crate::npm::packages;

/// What the inspector says of one of the `paths` that its settings name.
fn inspect(gateway: &Gateway, server: &str, args: &[&str]) -> Ran {
    let folder = packages("inspector");
    let owner = format!("Bearer {}", gateway.owner);
    let entry = |path: &str, authorization: &str| {
        json!({
            "type": "streamable-http", "url": format!("{}{path}", gateway.url),
            "headers": { "Authorization": authorization },
        })
    };
    let settings = json!({ "mcpServers": {
        "all": entry("/mcp", &owner),
        "one": entry("/mcp/s", &owner),
        "stranger": entry("/mcp", "Bearer mh_nonsense"),
    } });
    let file = gateway.home.outside("inspector.json");
    std::fs::write(&file, settings.to_string()).expect("its settings");
    let mut node = gateway.home.wrap(Command::new("node"));
    node.arg(folder.join("node_modules/.bin/mcp-inspector"))
        .args(["--cli", "--config"])
        .arg(&file)
        .args(["--server", server])
        .args(args)
        .env("MCP_INSPECTOR_SECRET_STORE", "memory");
    run(node, "")
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("tools");
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

#[test]
fn the_official_inspector_lists_and_calls_tools_on_both_paths() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let listed = inspect(&gateway, "all", &["--method", "tools/list"])
        .ok()
        .json();
    assert_eq!(names(&listed).len(), 9, "{listed}");
    assert!(names(&listed).contains(&"gateway_invoke"), "{listed}");
    let listed = inspect(&gateway, "one", &["--method", "tools/list"])
        .ok()
        .json();
    assert_eq!(names(&listed), ["echo"]);

    let call = ["--method", "tools/call", "--tool-name"];
    let door = [
        "gateway_invoke",
        "--tool-arg",
        "server=s",
        "--tool-arg",
        "tool=echo",
        "--tool-arg",
        "arguments={\"a\":1}",
    ];
    let said = inspect(&gateway, "all", &[&call[..], &door].concat())
        .ok()
        .json();
    let expected = json!({ "name": "echo", "arguments": { "a": 1 } });
    assert_eq!(said["structuredContent"], expected, "{said}");
    let own = ["echo", "--tool-arg", "a=1"];
    let said = inspect(&gateway, "one", &[&call[..], &own].concat())
        .ok()
        .json();
    let text = said["content"][0]["text"].as_str().expect("a text");
    assert_eq!(
        serde_json::from_str::<Value>(text).ok(),
        Some(expected),
        "{said}"
    );

    let stranger = inspect(&gateway, "stranger", &["--method", "tools/list"]);
    assert_ne!(stranger.code, Some(0), "{stranger:?}");
    assert!(!stranger.stdout.contains("gateway_invoke"), "{stranger:?}");
}
