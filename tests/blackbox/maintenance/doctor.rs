//! `GET /api/doctor` and `manyhands doctor`: the same findings, from inside the gateway.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::Request;
use crate::sql::Sql;

#[track_caller]
fn findings(gateway: &Gateway) -> Vec<Value> {
    let said = gateway.get("/api/doctor").json();
    let found = said["result"]["findings"].as_array();
    found.unwrap_or_else(|| panic!("{said}")).clone()
}

/// The findings about one thing.
fn about(found: &[Value], what: &str) -> Vec<Value> {
    let of = found.iter().filter(|one| one["what"] == what);
    of.cloned().collect()
}

/// Asks until something stands so; what was found of it then.
#[track_caller]
fn comes_to(gateway: &Gateway, what: &str, state: &str) -> Value {
    let mut seen = Value::Null;
    eventually(&format!("{what} is {state}"), || {
        let found = about(&findings(gateway), what);
        let there = found.into_iter().find(|one| one["state"] == state);
        seen = there.unwrap_or_default();
        !seen.is_null()
    });
    seen
}

#[test]
fn a_fresh_gateway_is_in_order_and_the_command_line_says_the_same() {
    let gateway = Gateway::start();
    let found = findings(&gateway);
    for what in [
        "home",
        "settings",
        "token",
        "space",
        "database",
        "audit",
        "clock",
        "vault",
        "listening",
        "models",
        "nodes",
        "page",
        "sandbox",
    ] {
        let of = about(&found, what);
        assert!(!of.is_empty(), "{what}: {found:?}");
        assert!(of.iter().all(|one| one["state"] != "wrong"), "{of:?}");
    }
    for one in &found {
        let has_remedy = one["remedy"].is_string();
        assert_eq!(has_remedy, one["state"] != "ok", "{one}");
    }
    let ran = gateway.cli(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for what in ["gateway", "database", "audit", "vault", "own node"] {
        assert!(ran.stdout.contains(&format!("ok     {what}")), "{ran:?}");
    }
}

#[test]
fn what_is_wrong_is_found_with_its_remedy_and_is_well_again_when_mended() {
    let gateway = Gateway::start();
    comes_to(&gateway, "home", "ok");
    let open = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(gateway.home.path(), mode).expect("a mode");
    };
    open(0o755);
    let home = comes_to(&gateway, "home", "wrong");
    assert!(home["remedy"].to_string().contains("chmod 700"), "{home}");
    let ran = gateway.cli(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("ERROR  home"), "{ran:?}");
    open(0o700);
    comes_to(&gateway, "home", "ok");
    let config = gateway.home.path().join("config.toml");
    let before = std::fs::read_to_string(&config).expect("the settings");
    std::fs::write(&config, format!("{before}\nlisten = 7\n")).expect("the settings");
    let settings = comes_to(&gateway, "settings", "wrong");
    assert!(
        settings["about"].to_string().contains("listen"),
        "{settings}"
    );
    std::fs::write(&config, before).expect("the settings");
    comes_to(&gateway, "settings", "ok");
}

#[test]
fn an_audit_that_was_tampered_with_is_found() {
    let gateway = Gateway::start();
    gateway.write("a.md", "x");
    comes_to(&gateway, "audit", "ok");
    let mut sql = Sql::open(&gateway.home.path());
    let changed = sql.run("UPDATE audit SET summary = 'nothing' WHERE tool = 'gsv__WriteFile'");
    assert!(changed > 0);
    sql.close();
    let audit = comes_to(&gateway, "audit", "wrong");
    assert!(
        audit["remedy"].to_string().contains("audit verify"),
        "{audit}"
    );
}

#[test]
fn a_server_that_does_not_start_is_something_to_look_at_and_no_secret_is_told() {
    let gateway =
        Gateway::with_config("[mcpServers.gone]\ncommand = \"/nowhere/at-all\"\nargs = []\n");
    let put = gateway.send(
        &Request::new("PUT", "/api/secrets/canary")
            .bearer(&gateway.owner)
            .json(&json!({ "value": "s3cret-canary-value" })),
    );
    assert_eq!(put.status, 200, "{}", put.text());
    let tested = gateway.cli(&["mcp", "test", "gone"]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
    let found = comes_to(&gateway, "servers", "look");
    assert!(found["about"].to_string().contains("gone"), "{found}");
    let all = format!("{:?}", findings(&gateway));
    assert!(!all.contains("s3cret-canary-value") && !all.contains(&gateway.owner));
    assert_eq!(
        gateway.cli(&["doctor"]).code,
        Some(0),
        "others' faults are not ours"
    );
}

#[test]
fn only_the_owner_asks() {
    let gateway = Gateway::start();
    let client = gateway.client("laptop");
    for path in ["/api/doctor", "/api/config/schema", "/api/usage/calls"] {
        let refused = gateway.send(&Request::get(path).bearer(&client));
        assert_eq!(refused.status, 403, "{path}");
        assert_eq!(gateway.send(&Request::get(path)).status, 401, "{path}");
        assert_eq!(gateway.get(path).status, 200, "{path}");
    }
}
