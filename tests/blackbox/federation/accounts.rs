//! Several accounts of one service.

use serde_json::{Value, json};

use super::{Scripted, gateway};
use crate::harness::{Gateway, Home};
use crate::mcp::{self, Era};

/// A gateway with two accounts of the service `s`, the first one first.
fn stage() -> (Gateway, [String; 2]) {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["environment"]);
    let gateway = gateway(
        home,
        &scripted.settings("s", "env = { WHO = \"${WHO}-suffix\" }"),
        &[],
    );
    let pcids = ["first", "second"].map(|name| {
        let words = [
            "connection",
            "add",
            "s",
            "--name",
            name,
            "--credential",
            "WHO",
        ];
        let added = gateway
            .home
            .cli_with(&words, &format!("account-{name}\n"))
            .ok();
        added.stdout.trim().to_owned()
    });
    gateway.post("/api/servers/s/refresh", &json!({}));
    super::known(&gateway, "s");
    (gateway, pcids)
}

/// Calls the server's tool, by the account that is named if one is.
fn invoke(gateway: &Gateway, pcid: Option<&str>) -> Value {
    let mut call = json!({ "server": "s", "tool": "environment", "arguments": { "name": "WHO" } });
    if let Some(pcid) = pcid {
        call["PCID"] = json!(pcid);
    }
    gateway.call("gateway_invoke", call)
}

/// Whether an account was used: it is connected once it was.
fn status(gateway: &Gateway, pcid: &str) -> Value {
    let all = gateway.get("/api/connections").json();
    let all = all["result"]["connections"].as_array().expect("accounts");
    let one = all.iter().find(|one| one["pcid"] == pcid);
    one.expect("the account")["status"].clone()
}

#[test]
fn the_first_account_is_used_and_reported_and_another_may_be_named() {
    let (gateway, [first, second]) = stage();
    let said = invoke(&gateway, None);
    assert_eq!(said["ok"], true, "{said}");
    assert!(
        said.to_string().contains("first of 2") && said.to_string().contains(&first),
        "{said}"
    );
    assert_eq!(
        status(&gateway, &second),
        "disconnected",
        "nobody used it yet"
    );
    let said = invoke(&gateway, Some(&second));
    assert_eq!(said["ok"], true, "{said}");
    assert!(!said.to_string().contains("first of 2"), "{said}");
    assert_eq!(status(&gateway, &first), "connected");
    assert_eq!(status(&gateway, &second), "connected");
}

#[test]
fn an_unknown_or_misplaced_account_is_refused() {
    let (gateway, [first, _]) = stage();
    let unknown = invoke(&gateway, Some("01J00000000000000000000000"));
    assert_eq!(unknown["ok"], false, "{unknown}");
    let inside = json!({ "server": "s", "tool": "environment", "arguments": { "name": "WHO", "PCID": first } });
    let refused = gateway.call("gateway_invoke", inside);
    assert_eq!(refused["code"], "invalid_arguments", "{refused}");
    assert!(refused.to_string().contains("top-level"), "{refused}");
    let none = json!({ "server": "gsv", "tool": "ReadFile", "arguments": {}, "PCID": first });
    assert_eq!(gateway.call("gateway_invoke", none)["ok"], false);
    assert_eq!(invoke(&gateway, Some(&first))["ok"], true);
}

#[test]
fn a_script_uses_and_reports_its_selected_accounts() {
    let (gateway, [first, second]) = stage();
    let code = "return (await callTool('s', 'environment', { name: 'WHO' })).length > 0";
    let run = |selections: Value| {
        gateway.call(
            "code-execution_execute",
            json!({ "code": code, "connectionSelections": selections }),
        )
    };
    let said = run(json!({}));
    assert_eq!(said["result"]["result"], true, "{said}");
    assert_eq!(
        said["result"]["connectionsUsed"],
        json!([{ "service": "s", "PCID": first, "name": "first", "others": 1 }])
    );
    assert_eq!(status(&gateway, &second), "disconnected", "nobody named it");
    let said = run(json!({ "s": second }));
    assert_eq!(said["result"]["result"], true, "{said}");
    assert_eq!(
        said["result"]["connectionsUsed"],
        json!([{ "service": "s", "PCID": second, "name": "second", "others": 0 }])
    );
    assert_eq!(status(&gateway, &second), "connected");
    for (selections, words) in [
        (
            json!({ "s": "01J00000000000000000000000" }),
            "s has no connection",
        ),
        (
            json!({ "S": second }),
            "there is no service \"S\" with connections; use one of s",
        ),
        (json!({ "gsv": first }), "there is no service \"gsv\""),
    ] {
        let said = run(selections);
        assert_eq!(said["code"], "invalid_arguments", "{said}");
        let error = said["error"].as_str().expect("an error");
        assert!(
            error.starts_with("connectionSelections: ") && error.contains(words),
            "{error}"
        );
    }
    let none = gateway.call("code-execution_execute", json!({ "code": "return 1" }));
    assert!(none["result"].get("connectionsUsed").is_none(), "{none}");
}

#[test]
fn a_list_that_a_server_wraps_is_a_list_for_code_and_as_it_is_for_others() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["wrapped", "page"]);
    let gateway = gateway(home, &scripted.settings("s", ""), &["s"]);
    let code = "return [await callTool('s', 'wrapped', {}), await callTool('s', 'page', {})]";
    let said = gateway.call("code-execution_execute", json!({ "code": code }));
    assert_eq!(said["result"]["result"][0], json!([1, 2]), "{said}");
    assert!(said["result"]["result"][1].is_string(), "{said}");
    let invoke = |tool: &str| json!({ "server": "s", "tool": tool, "arguments": {} });
    let said = gateway.call("gateway_invoke", invoke("wrapped"));
    assert_eq!(said["result"], json!({ "result": [1, 2] }), "{said}");
    let said = mcp::call(
        &gateway,
        Era::Stateless,
        &gateway.owner,
        "gateway_invoke",
        &invoke("page"),
    );
    let text = said["result"]["content"][0]["text"].as_str().expect("text");
    assert!(
        text.starts_with("Ignore what"),
        "text without quotes: {said}"
    );
}
