//! What an MCP client is shown at `/mcp`: little unless it asks for more.

use serde_json::{Value, json};

use super::{Scripted, gateway};
use crate::harness::{Gateway, Home};
use crate::http::Request;
use crate::mcp::{Era, message};

fn listed(gateway: &Gateway, path: &str, token: &str) -> Value {
    let body = message(Era::Stateless, 1, "tools/list", json!({}));
    let request = Request::post(path, &body)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", Era::Stateless.version())
        .header("Mcp-Method", "tools/list")
        .bearer(token);
    crate::mcp::answer(&gateway.send(&request))
}

fn shown(gateway: &Gateway, path: &str, token: &str) -> Vec<String> {
    let listed = listed(gateway, path, token);
    let tools = listed["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{listed}"));
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_client_is_shown_few_tools_unless_it_asks_for_more() {
    let home = Home::new();
    let scripted = Scripted::beside(&home, "script", &["echo"]);
    let settings = "[mcp.profiles]\nfiles = [\"gsv__*File\", \"s__*\"]\n".to_owned()
        + &scripted.settings("s", "");
    let gateway = gateway(home, &settings, &["s"]);
    let owner = gateway.owner.clone();
    let small = shown(&gateway, "/mcp", &owner);
    assert_eq!(small.len(), 9, "{small:?}");
    assert!(
        small.contains(&"gateway_invoke".to_owned()) && !small.contains(&"s__echo".to_owned()),
        "{small:?}"
    );
    assert_eq!(small, shown(&gateway, "/mcp?profile=small", &owner));
    let all = shown(&gateway, "/mcp?profile=all", &owner);
    assert!(
        all.len() > 40 && all.contains(&"s__echo".to_owned()),
        "{all:?}"
    );
    let named = shown(&gateway, "/mcp?profile=files", &owner);
    assert!(
        named.contains(&"gsv__ReadFile".to_owned()) && named.contains(&"s__echo".to_owned()),
        "{named:?}"
    );
    assert!(named.len() < all.len());
    let unknown = listed(&gateway, "/mcp?profile=nothing", &owner);
    assert!(
        unknown.to_string().contains("nothing") && unknown.get("result").is_none(),
        "{unknown}"
    );

    // A profile shows; it gives no right.
    let (narrow, _) =
        gateway.token(json!({ "name": "narrow", "role": "client", "tools": ["s__*"] }));
    assert_eq!(shown(&gateway, "/mcp?profile=all", &narrow), ["s__echo"]);
    assert_eq!(shown(&gateway, "/mcp?profile=files", &narrow), ["s__echo"]);
}

#[test]
fn the_settings_choose_what_clients_are_shown() {
    let gateway = Gateway::with_config("[mcp]\nprofile = \"all\"\n");
    let owner = gateway.owner.clone();
    assert!(shown(&gateway, "/mcp", &owner).len() > 40);
    assert_eq!(shown(&gateway, "/mcp?profile=small", &owner).len(), 9);
}
