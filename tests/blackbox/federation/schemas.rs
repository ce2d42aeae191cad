//! Schemas of servers' tools that would stop the gateway: the tool is left out with its reason, and
//! everything else works.

use serde_json::{Value, json};

use super::{Scripted, gateway, names, server};
use crate::harness::{Home, eventually};
use crate::http::Request;
use crate::schemas::{attacked, bombs, deep, ends_under, tree};

#[test]
fn a_tool_whose_schema_would_never_end_is_left_out_and_the_others_work() {
    let home = Home::new();
    let bad = Scripted::beside(&home, "bad", &[]);
    let mut tools: Vec<Value> = bombs()
        .into_iter()
        .enumerate()
        .map(|(n, (schema, _))| json!({ "name": format!("bomb{n}"), "inputSchema": schema }))
        .collect();
    tools.push(json!({ "name": "half", "outputSchema": bombs()[0].0 }));
    tools.push(json!({ "name": "tree", "inputSchema": tree() }));
    tools.push(json!({ "name": "good" }));
    bad.offer(&tools);
    let gateway = gateway(home, &bad.settings("bad", ""), &["bad"]);
    let offered: Vec<String> = names(&gateway)
        .into_iter()
        .filter(|name| name.starts_with("bad__"))
        .collect();
    assert_eq!(offered, ["bad__good", "bad__half", "bad__tree"]);

    let shown = server(&gateway, "bad");
    let left = shown["leftOut"].as_array().expect("what was left out");
    for (n, (_, says)) in bombs().iter().enumerate() {
        let name = format!("bomb{n}");
        let one = left.iter().find(|one| one["tool"] == name.as_str());
        let reason = one.expect("it is named")["reason"].as_str();
        let reason = reason.expect("a reason");
        assert!(
            reason.contains("inputSchema") && reason.contains(says),
            "{reason}"
        );
    }
    let half = left.iter().find(|one| one["tool"] == "half");
    assert!(
        half.expect("it is named")["reason"]
            .to_string()
            .contains("outputSchema")
    );
    let printed = gateway.cli(&["mcp", "test", "bad"]).ok();
    let printed = printed.stdout + &printed.stderr;
    assert!(printed.contains("bomb0 is not available"), "{printed}");

    let post = |tool: &str, arguments: Value| {
        Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&gateway.owner)
    };
    let attack = vec![post("bad__tree", deep(60)); 4];
    for answer in attacked(&gateway, &attack) {
        let said = answer.json();
        assert_eq!(said["code"], "invalid_arguments", "{said}");
        assert!(
            said["error"].to_string().contains("takes too long"),
            "{said}"
        );
    }
    for (tool, arguments) in [
        ("bad__tree", deep(6)),
        ("bad__good", json!({})),
        ("bad__half", json!({})),
    ] {
        let said = gateway.call(tool, arguments);
        assert_eq!(said["ok"], true, "{tool}: {said}");
    }
    ends_under(gateway, attack);
}

#[test]
fn a_tool_with_a_hostile_schema_is_held_and_refused_on_accept() {
    let home = Home::new();
    let bad = Scripted::beside(&home, "bad", &["turns", "changed"]);
    let gateway = gateway(home, &bad.settings("bad", ""), &["bad"]);
    let bomb = bombs()[0].0.clone();
    bad.offer(&[
        json!({ "name": "turns", "inputSchema": bomb }),
        json!({ "name": "changed", "description": "The tool changed" }),
    ]);
    assert_eq!(gateway.call("bad__changed", json!({}))["ok"], true);
    eventually("the change is held", || {
        server(&gateway, "bad")["held"] == 1
    });
    assert_eq!(
        gateway.call("bad__turns", json!({}))["ok"],
        true,
        "as it was taken on"
    );
    let taken = gateway.post("/api/servers/bad/accept", &json!({}));
    assert_eq!(taken.status, 200, "{}", taken.text());
    let shown = server(&gateway, "bad");
    assert_eq!(shown["leftOut"][0]["tool"], "turns", "{shown}");
    assert_eq!(
        names(&gateway)
            .iter()
            .filter(|name| name.starts_with("bad__"))
            .count(),
        1
    );
    assert_eq!(gateway.call("bad__changed", json!({}))["ok"], true);
    gateway.restart().stop();
}
