//! Uploads and removals of artifacts over HTTP are calls like any other.

use serde_json::json;

use super::{answer, approvals};
use crate::harness::Gateway;
use crate::http::{Request, Response};

fn upload(gateway: &Gateway, token: &str, name: &str) -> Response {
    let request = Request::new("POST", &format!("/api/artifacts?name={name}"));
    gateway.send(&request.body("some text").bearer(token))
}

fn remove(gateway: &Gateway, token: &str, id: &str) -> Response {
    gateway.send(&Request::new("DELETE", &format!("/api/artifacts/{id}")).bearer(token))
}

#[track_caller]
fn count(gateway: &Gateway) -> usize {
    let listed = gateway.get("/api/artifacts").json();
    let all = listed["result"]["artifacts"].as_array();
    all.unwrap_or_else(|| panic!("{listed}")).len()
}

#[track_caller]
fn stored(response: &Response) -> String {
    let said = response.json();
    let id = said["result"]["id"].as_str();
    id.unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn a_rule_that_refuses_writing_refuses_uploads_and_removals() {
    let rules = "[[policy.rules]]\ndecision = \"deny\"\ntools = [\"gateway_write_artifact\"]\ncallers = [\"client:phone\"]\n";
    let gateway = Gateway::start();
    let (phone, tablet) = (gateway.client("phone"), gateway.client("tablet"));
    let (own, other) = (
        stored(&upload(&gateway, &phone, "a.txt")),
        stored(&upload(&gateway, &tablet, "b.txt")),
    );
    let config = gateway.home.path().join("config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap_or_default();
    text.push_str(rules);
    std::fs::write(&config, text).expect("the settings");
    let gateway = gateway.restart();
    let refused = upload(&gateway, &phone, "c.txt");
    assert_eq!(
        refused.json()["code"],
        "denied_by_policy",
        "{}",
        refused.text()
    );
    let refused = remove(&gateway, &phone, &own);
    assert_eq!(
        refused.json()["code"],
        "denied_by_policy",
        "{}",
        refused.text()
    );
    assert_eq!(count(&gateway), 2);
    assert_eq!(remove(&gateway, &tablet, &other).status, 200, "the control");
    stored(&upload(&gateway, &tablet, "c.txt"));
    assert_eq!(count(&gateway), 2);
    let calls = gateway.audit();
    let of_uploads = |one: &&serde_json::Value| one["tool"] == "gateway_write_artifact";
    assert!(calls.iter().filter(of_uploads).count() >= 6, "{calls:?}");
}

#[test]
fn a_rule_that_asks_holds_uploads_until_the_owner_approves() {
    let rules = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gateway_write_artifact\"]\ncallers = [\"client:*\"]\n";
    let gateway = Gateway::with_config(rules);
    let phone = gateway.client("phone");
    let asked = upload(&gateway, &phone, "a.txt");
    assert_eq!(
        asked.json()["code"],
        "approval_required",
        "{}",
        asked.text()
    );
    assert_eq!(count(&gateway), 0);
    let question = approvals(&gateway).remove(0);
    assert_eq!(question["arguments"]["name"], "a.txt", "{question}");
    answer(&gateway, &question, json!({ "decision": "approve" }));
    let id = stored(&upload(&gateway, &phone, "a.txt"));
    let asked = remove(&gateway, &phone, &id);
    assert_eq!(
        asked.json()["code"],
        "approval_required",
        "{}",
        asked.text()
    );
    assert_eq!(count(&gateway), 1);
}

#[test]
fn uploads_count_towards_the_callers_rate() {
    let gateway = Gateway::with_config("[limits]\ncalls_per_minute = 2\n");
    let phone = gateway.client("phone");
    for name in ["a.txt", "b.txt"] {
        stored(&upload(&gateway, &phone, name));
    }
    let refused = upload(&gateway, &phone, "c.txt");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(count(&gateway), 2);
}
