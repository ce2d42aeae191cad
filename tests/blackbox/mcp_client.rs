//! Real MCP clients that nobody here wrote: the official TypeScript SDKs, from their registry.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{BINARY, Gateway, run};
use crate::mcp::Lines;
use crate::mcp::changes::Laptop;
use crate::npm::packages;

/// A script of the clients' folder, pointed at a gateway.
fn script(name: &str, gateway: &Gateway, sdk: &str, era: &str, transport: &str) -> Command {
    let target = match transport {
        "stdio" => BINARY,
        _ => &gateway.url,
    };
    let mut node = gateway.home.wrap(Command::new("node"));
    node.arg(packages("mcp-client").join(name))
        .args([sdk, era, transport, target, &gateway.owner]);
    node
}

/// What the client saw.
fn client(gateway: &Gateway, sdk: &str, era: &str, transport: &str) -> Value {
    let ran = run(script("client.mjs", gateway, sdk, era, transport), "");
    assert_eq!(ran.code, Some(0), "{sdk} {era} {transport}: {ran:?}");
    ran.json()
}

fn check(sdk: &str, era: &str, transport: &str) {
    let gateway = Gateway::start();
    let seen = client(&gateway, sdk, era, transport);
    assert_eq!(seen["server"]["name"], "manyhands", "{seen}");
    let listed = gateway.get("/api/tools").json();
    let names = |tools: &Value, key: &str| -> Vec<Value> {
        let tools = tools.as_array().expect("tools");
        tools.iter().map(|tool| tool[key].clone()).collect()
    };
    assert_eq!(
        names(&seen["tools"], "name"),
        names(&listed["result"]["tools"], "wireName")
    );
    let (path, content) = (
        seen["path"].as_str().expect("a path"),
        seen["content"].as_str().expect("a text"),
    );
    assert_eq!(
        gateway.read(path).as_deref(),
        Some(content),
        "what it wrote is there"
    );
    // The client itself checks structured content against the output schema it was given.
    let written = &seen["written"]["value"]["structuredContent"];
    assert_eq!(
        (&written["path"], &written["written"], &written["size"]),
        (&json!(path), &json!(true), &json!(content.len())),
        "{seen}"
    );
    let read = &seen["read"]["value"];
    assert_eq!(read["structuredContent"]["content"], content, "{read}");
    let text: Value =
        serde_json::from_str(read["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(
        text, read["structuredContent"],
        "and as text, for clients without structure"
    );
    assert_eq!(
        seen["listed"]["value"]["structuredContent"]["files"],
        json!([path])
    );
    for (what, words) in [
        ("missing", "file not found: nowhere.md"),
        ("invalid", "path: is required"),
        ("climbing", "contains '..'"),
    ] {
        let result = &seen[what]["value"];
        assert_eq!(result["isError"], true, "{what}: {seen}");
        assert!(
            result["content"][0]["text"]
                .as_str()
                .is_some_and(|text| text.contains(words)),
            "{what}: {result}"
        );
    }
    let unknown = seen["unknown"].to_string();
    assert!(unknown.contains("there is no tool named"), "{unknown}");
    assert!(
        seen["stranger"]["error"].is_string(),
        "a stranger without a token gets no connection: {seen}"
    );
}

#[test]
fn the_current_client_speaks_2026_07_28_over_http() {
    check("v2", "2026-07-28", "http");
}

#[test]
fn the_current_client_speaks_2025_11_25_over_http() {
    check("v2", "2025-11-25", "http");
}

#[test]
fn the_earlier_client_speaks_2025_11_25_over_http() {
    check("v1", "2025-11-25", "http");
}

#[test]
fn the_current_client_speaks_over_standard_streams() {
    check("v2", "2026-07-28", "stdio");
    check("v2", "2025-11-25", "stdio");
}

#[test]
fn the_earlier_client_speaks_over_standard_streams() {
    check("v1", "2025-11-25", "stdio");
}

/// That a client is told when tools come and go, and then sees them come and go.
fn check_changes(sdk: &str, era: &str, transport: &str) {
    let gateway = Gateway::start();
    let mut command = script("changes.mjs", &gateway, sdk, era, transport);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().expect("node");
    let lines = Lines::of(client.stdout.take().expect("its output"));
    let sees = |key: &str| {
        let said = lines.next();
        assert!(
            key != "listed" || said["declared"]["listChanged"] == true,
            "{said}"
        );
        let names = said[key].as_array();
        let names = names.unwrap_or_else(|| panic!("{sdk} {era} {transport}: {said}"));
        assert!(names.contains(&json!("gsv__ReadFile")), "{said}");
        names.contains(&json!("laptop__Read"))
    };
    assert!(!sees("listed"), "nobody has connected yet");
    let laptop = Laptop::connect(&gateway);
    assert!(sees("told"), "{sdk} {era} {transport}: its tool came");
    drop(laptop);
    assert!(!sees("told"), "{sdk} {era} {transport}: its tool went");
    drop(client.stdin.take());
    assert!(client.wait().expect("its end").success());
}

#[test]
fn the_current_client_is_notified_of_changes_over_http() {
    check_changes("v2", "2026-07-28", "http");
    check_changes("v2", "2025-11-25", "http");
}

#[test]
fn the_earlier_client_is_notified_of_changes_over_http() {
    check_changes("v1", "2025-11-25", "http");
}

#[test]
fn the_current_client_is_notified_of_changes_over_stdio() {
    check_changes("v2", "2026-07-28", "stdio");
    check_changes("v2", "2025-11-25", "stdio");
}

#[test]
fn the_earlier_client_is_notified_of_changes_over_stdio() {
    check_changes("v1", "2025-11-25", "stdio");
}
