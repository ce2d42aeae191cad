//! How far an answer of the owner reaches, and the mode that asks.

use serde_json::json;

use super::{answer, approvals, ends, gateway, pauses, said};
use crate::harness::eventually;

const ASK: &str = "[[policy.rules]]\ndecision = \"ask\"\ntools = [\"gsv__WriteFile\"]\n";

#[test]
fn an_approval_for_the_conversation_reaches_no_other_and_ends_with_it() {
    let gateway = gateway("", ASK);
    let written = || gateway.read("note.md");
    let asked = pauses(&gateway, "one", "write it");
    assert_eq!(written(), None);
    let scope = json!({ "decision": "approve", "scope": "conversation" });
    assert_eq!(answer(&gateway, &asked, scope)["scope"], "conversation");
    eventually("it is written", || written().is_some());
    eventually("the turn ended", || said(&gateway, "one").contains("done"));
    ends(&gateway, "one", "write it");
    let other = pauses(&gateway, "two", "write it");
    answer(&gateway, &other, json!({ "decision": "approve" }));
    eventually("the turn ended", || said(&gateway, "two").contains("done"));
    pauses(&gateway, "two", "write it");
    gateway.post("/api/sessions/one/reset", &json!({}));
    pauses(&gateway, "one", "write it");
}

#[test]
fn an_approval_for_always_adds_the_rule_that_was_shown() {
    let gateway = gateway("", ASK);
    let config = gateway.home.path().join("config.toml");
    let before = std::fs::read_to_string(&config).expect("the settings");
    let asked = pauses(&gateway, "one", "write it");
    let shown = asked["proposedRule"].clone();
    assert_eq!(shown["decision"], "allow", "{asked}");
    assert_eq!(shown["tools"], json!(["gsv__WriteFile"]), "{asked}");
    let scope = json!({ "decision": "approve", "scope": "always" });
    answer(&gateway, &asked, scope);
    let rules = gateway.get("/api/policy").json()["result"].to_string();
    let after = std::fs::read_to_string(&config).expect("the settings");
    assert_ne!(before, after);
    assert!(after.contains("allow"), "{after}");
    assert!(rules.contains("\"allow\""), "{rules}");
    ends(&gateway, "two", "write it");
    let gateway = gateway.restart();
    ends(&gateway, "three", "write it");
    assert!(approvals(&gateway).is_empty());
    // Another agent still asks: the rule names this one.
    assert_eq!(shown["agents"], json!(["main"]), "{shown}");
}

#[test]
fn a_denial_tells_the_model_why() {
    let gateway = gateway("", ASK);
    let asked = pauses(&gateway, "one", "write it");
    let no = json!({ "decision": "deny", "message": "use the other file" });
    answer(&gateway, &asked, no);
    eventually("the model is told", || {
        said(&gateway, "one").contains("use the other file")
    });
    assert_eq!(gateway.read("note.md"), None);
}

#[test]
fn a_read_only_agent_reads_and_changes_nothing() {
    let settings = "[policy]\nmode = \"read-only\"\n[agents.free]\nmode = \"ask\"\n";
    let gateway = gateway("", settings);
    for message in ["write it", "run it"] {
        ends(&gateway, "main", message);
    }
    assert_eq!(gateway.read("note.md"), None);
    assert_eq!(super::runs(&gateway), 0);
    assert!(approvals(&gateway).is_empty(), "refused, not asked");
    let told = said(&gateway, "main");
    assert!(told.contains("read-only"), "{told}");
    gateway.write("note.md", "the owner writes");
    ends(&gateway, "main", "read it");
    assert!(
        said(&gateway, "main").contains("the owner writes"),
        "the control"
    );
    ends(&gateway, "agent:free:main", "write it");
    assert!(
        gateway.home.blob("agents/free/note.md").exists(),
        "the control"
    );
}
