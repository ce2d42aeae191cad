//! Servers that speak both eras: each client is served in its own.

use serde_json::{Value, json};

use super::{STRANGERS, client, gateway, node, servers};
use crate::harness::{Home, run};
use crate::http::Request;

#[test]
fn a_server_of_both_eras_asks_and_logs_to_an_older_client_as_it_would_directly() {
    let program = servers().join("modern.mjs").display().to_string();
    let settings = node("both", &[&program, "stdio", "both"], "");
    let gateway = gateway(Home::new(), &settings, &["both"]);
    let plan = json!([["level", "info"], ["call", "push"], ["call", "deploy", { "to": "x" }], ["call", "echo", { "message": "hi" }]]);
    for (sdk, era) in STRANGERS {
        let older = era == "2025-11-25";
        let ran = run(client(&gateway, sdk, era, "both", &plan), "")
            .ok()
            .json();
        let text = |at: usize| ran["seen"][at]["value"]["content"][0]["text"].as_str();
        let logged = |told: &Value| told["params"]["data"] == "it was asked";
        let told = ran["told"].as_array().expect("what it was told");
        if older {
            assert_eq!(text(1), Some("my name, you said hello"), "{sdk}: {ran}");
            assert!(told.iter().any(logged), "{sdk}: {ran}");
        } else {
            let refused = text(1).is_some_and(|text| text.starts_with("not in this era"));
            assert!(refused, "a modern client stays in its own era: {ran}");
        }
        // What asks in the words of the newer era works in both.
        let deployed = text(2).unwrap_or_else(|| panic!("{sdk} {era}: {ran}"));
        assert!(deployed.starts_with("accept"), "{sdk} {era}: {deployed}");
        assert_eq!(text(3), Some("hi"), "{sdk} {era}");
    }
}

#[test]
fn undeclared_features_are_not_forwarded_and_invalid_parameters_are_refused() {
    let program = servers().join("modern.mjs").display().to_string();
    let settings = node("both", &[&program, "stdio", "both"], "");
    let gateway = gateway(Home::new(), &settings, &["both"]);
    let client = json!({ "name": "t", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let post = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Request::post("/mcp/both", &body)
            .header("Accept", "application/json, text/event-stream")
            .bearer(&gateway.owner)
    };
    let greeted = gateway.send(&post("initialize", hello));
    let session = greeted.header("mcp-session-id").expect("a session");
    let ask = |method: &str, params: Value| {
        let request = post(method, params).header("Mcp-Session-Id", session);
        gateway.send(&request).json()
    };
    let reference = json!({ "type": "ref/prompt", "name": "hello" });
    let argument = json!({ "name": "a", "value": "b" });
    for (method, params, code) in [
        (
            "initialize",
            json!({ "protocolVersion": "2025-11-25" }),
            -32602,
        ),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": [] }),
            -32602,
        ),
        ("tools/call", json!({ "arguments": {} }), -32602),
        ("tools/call", json!({ "name": "nobody" }), -32602),
        ("tools/list", json!({ "cursor": "nonsense" }), -32602),
        ("prompts/get", json!({ "name": "nobody" }), -32602),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument }),
            -32601,
        ),
        ("no/such", json!({}), -32601),
    ] {
        let said = ask(method, params.clone());
        assert_eq!(said["error"]["code"], code, "{method} {params}: {said}");
    }
    let read = ask("resources/read", json!({ "uri": "note://one" }));
    assert_eq!(read["result"]["contents"][0]["text"], "noted", "{read}");
    let body = Request::post("/mcp/both", &json!([])).bearer(&gateway.owner);
    assert_eq!(gateway.send(&body).status, 400);
}
