//! Calls found by their id, looked at page by page, and counted by day; and what can be set.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::Request;

#[track_caller]
fn entries(gateway: &Gateway, query: &str) -> Vec<Value> {
    let said = gateway.get(&format!("/api/audit?{query}")).json();
    let found = said["result"]["entries"].as_array();
    found.unwrap_or_else(|| panic!("{said}")).clone()
}

#[test]
fn an_answer_names_its_call_and_the_audit_finds_it_by_that() {
    let gateway = Gateway::start();
    let written = json!({ "path": "a.md", "content": "x" });
    for (path, body, status) in [
        ("/api/tools/gsv__WriteFile", written, 200),
        ("/api/tools/gsv__ReadFile", json!({ "path": "none" }), 404),
        ("/api/tools/gsv__ReadFile", json!({ "nonsense": 1 }), 400),
        ("/api/tools/no_such_tool", json!({}), 404),
        ("/api/trigger/tool::file_list", json!({ "path": "." }), 200),
    ] {
        let said = gateway.post(path, &body);
        assert_eq!(said.status, status, "{path}: {}", said.text());
        let call = said.header("x-manyhands-call").expect("its id").to_owned();
        let envelope = said.json();
        assert!(
            envelope.get("call").is_none(),
            "the envelope stays: {envelope}"
        );
        let mut found = Vec::new();
        eventually("its entry", || {
            found = entries(&gateway, &format!("call={call}"));
            !found.is_empty()
        });
        assert!(
            found.iter().all(|one| one["call"] == call.as_str()),
            "{found:?}"
        );
        let kinds: Vec<&str> = found
            .iter()
            .filter_map(|one| one["kind"].as_str())
            .collect();
        assert!(
            kinds.contains(&"finished") || kinds.contains(&"refused"),
            "{kinds:?}"
        );
    }
    let listed = gateway.cli(&["audit", "list", "--call", "nonsense"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    let unknown = "call=00000000-0000-7000-8000-000000000000";
    assert!(entries(&gateway, unknown).is_empty());
    assert_eq!(gateway.get("/api/audit?call=nonsense").status, 400);
}

#[test]
fn the_audit_is_read_page_by_page_and_by_agent() {
    let gateway = Gateway::start();
    for number in 0..7 {
        gateway.write(&format!("{number}.md"), "x");
    }
    let other = Request::post(
        "/api/tools/gsv__WriteFile?agent=scout",
        &json!({ "path": "s.md", "content": "x" }),
    );
    assert_eq!(gateway.send(&other.bearer(&gateway.owner)).status, 200);
    let all: Vec<i64> = gateway
        .audit()
        .iter()
        .filter_map(|one| one["seq"].as_i64())
        .collect();
    let (mut paged, mut before) = (Vec::new(), i64::MAX);
    loop {
        let page = entries(&gateway, &format!("limit=4&before={before}"));
        let Some(last) = page.last() else { break };
        before = last["seq"].as_i64().expect("a number");
        paged.extend(page.iter().filter_map(|one| one["seq"].as_i64()));
    }
    assert_eq!(paged, all);
    let scout = entries(&gateway, "agent=scout");
    assert_eq!(scout.len(), 2, "started and finished: {scout:?}");
    let newest = all[0].to_string();
    let asked = [
        "audit", "list", "--agent", "scout", "--before", &newest, "--json",
    ];
    let shown = gateway.cli(&asked).ok().json();
    let shown = shown["entries"].as_array().expect("entries");
    assert!(shown.iter().all(|one| one["agent"] == "scout"), "{shown:?}");
    assert_eq!(shown.len(), 1);
}

#[test]
fn calls_are_counted_by_day_and_tool_with_how_long_they_took() {
    let gateway = Gateway::with_config("timezone = \"UTC\"\n");
    assert_eq!(
        gateway.get("/api/usage/calls").json()["result"]["days"],
        json!([])
    );
    for number in 0..5 {
        gateway.write(&format!("{number}.md"), "x");
    }
    for _ in 0..3 {
        gateway.call("gsv__ReadFile", json!({ "path": "none" }));
    }
    let mut said = Value::Null;
    eventually("all are counted", || {
        said = gateway.get("/api/usage/calls?days=2").json()["result"].clone();
        // A test that runs over midnight sees two days.
        let days = said["days"].as_array().expect("days");
        days.iter()
            .filter_map(|day| day["calls"].as_u64())
            .sum::<u64>()
            == 8
    });
    let sum = |tool: &str, field: &str| {
        let tools = said["tools"].as_array().expect("tools");
        let of = tools.iter().filter(|one| one["tool"] == tool);
        of.filter_map(|one| one[field].as_u64()).sum::<u64>()
    };
    assert_eq!(
        (
            sum("gsv__WriteFile", "calls"),
            sum("gsv__WriteFile", "errors")
        ),
        (5, 0)
    );
    assert_eq!(
        (
            sum("gsv__ReadFile", "calls"),
            sum("gsv__ReadFile", "errors")
        ),
        (3, 3)
    );
    for one in said["days"].as_array().into_iter().flatten() {
        let (half, most) = (one["p50Ms"].as_f64(), one["p95Ms"].as_f64());
        assert!(half > Some(0.0) && half <= most, "{one}");
    }
    assert_eq!(said["complete"], true);
    assert_eq!(said["bound"]["calls"], 200_000);
    for wrong in ["days=0", "days=91", "days=x", "month=1"] {
        assert_eq!(
            gateway.get(&format!("/api/usage/calls?{wrong}")).status,
            400,
            "{wrong}"
        );
    }
}

/// Every path of a schema with what stands there.
fn walk(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    found.push((path.to_owned(), schema.clone()));
    for (key, child) in schema["properties"].as_object().into_iter().flatten() {
        walk(child, &format!("{path}.{key}"), found);
    }
}

#[test]
fn the_schema_says_what_each_setting_means_and_which_are_secret() {
    let gateway = Gateway::start();
    let said = gateway.get("/api/config/schema").json();
    let mut found = Vec::new();
    walk(&said["result"]["schema"], "", &mut found);
    for (path, schema) in &found {
        assert!(schema["description"].is_string(), "{path}: {schema}");
    }
    let at = |path: &str| {
        let one = found.iter().find(|(there, _)| there == path);
        one.map(|(_, schema)| schema.clone()).unwrap_or_default()
    };
    assert_eq!(at(".listen")["x-restart"], true, "{}", at(".listen"));
    assert_eq!(at(".workspace_root")["x-local"], true);
    // Whatever is set is described: no key of the settings is missing.
    let all = gateway.get("/api/config").json();
    let set: BTreeSet<String> = all["result"]["config"]
        .as_object()
        .expect("settings")
        .keys()
        .cloned()
        .collect();
    let known: BTreeSet<String> = said["result"]["schema"]["properties"]
        .as_object()
        .expect("keys")
        .keys()
        .cloned()
        .collect();
    assert!(set.is_subset(&known), "{:?}", set.difference(&known));
}

#[test]
fn a_setting_is_taken_out_again_and_its_default_holds() {
    let gateway = Gateway::start();
    let show =
        || gateway.get("/api/config?path=limits.calls_per_day").json()["result"]["value"].clone();
    let default = show();
    let put = Request::new("PUT", "/api/config").bearer(&gateway.owner);
    let put = put.json(&json!({ "path": "limits.calls_per_day", "value": 12_345 }));
    assert_eq!(gateway.send(&put).status, 200);
    assert_eq!(show(), 12_345);
    let unset = |path: &str, token: &str| {
        let path = format!("/api/config?path={path}");
        gateway.send(&Request::new("DELETE", &path).bearer(token))
    };
    let client = gateway.client("laptop");
    assert_eq!(unset("limits.calls_per_day", &client).status, 403);
    assert_eq!(show(), 12_345);
    let done = unset("limits.calls_per_day", &gateway.owner);
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(show(), default);
    for (path, status) in [
        ("nonsense", 400),
        ("workspace_root", 403),
        ("tools", 403),
        ("channels.telegram.accounts", 403),
    ] {
        let refused = unset(path, &gateway.owner);
        assert_eq!(refused.status, status, "{path}: {}", refused.text());
    }
}
