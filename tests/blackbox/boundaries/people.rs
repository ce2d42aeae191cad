//! People in chats, whatever they call themselves.

use serde_json::{Value, json};

use crate::chats::fixture::{ASK, WRITE};
use crate::chats::telegram::fixture::{BO, OWNED, Stage, uses};
use crate::federation::{Scripted, known};
use crate::harness::Home;
use crate::http::Request;

const SESSION: &str = "agent:main:telegram:dm:22";

/// Bo writes under another name.
fn write_named(stage: &Stage, name: &str, text: &str) {
    let from = json!({ "id": BO.id, "is_bot": false, "first_name": name, "username": name });
    stage.send(BO, BO.id, json!({ "text": text, "from": from }));
}

#[test]
fn a_guest_named_like_a_token_has_neither_its_conversations_nor_its_servers() {
    let aside = Home::new();
    let server = Scripted::beside(&aside, "server", &["page"]);
    let settings = format!(
        "{OWNED}channels.telegram.senders.22.tools = [\"gsv__SessionsList\", \"memory_search\", \"s__*\"]\n{}",
        server.settings("s", "tokens = [\"phone\"]")
    );
    let turns = uses("which are mine", "gsv__SessionsList", &json!({}), "Listed.")
        + &uses(
            "remember",
            "memory_search",
            &json!({ "query": "cake" }),
            "Searched.",
        )
        + &uses("look there", "s__page", &json!({}), "Looked.");
    let stage = Stage::new(&settings, &turns);
    let gateway = &stage.scene.gateway;
    known(gateway, "s");
    let phone = gateway.client("phone");
    let chat = json!({ "sessionKey": "private", "message": "hello, the cake is in the oven" });
    let said = gateway.send(&Request::post("/api/chat", &chat).bearer(&phone));
    assert_eq!(said.json()["ok"], true, "{}", said.text());
    let own = |tool: &str, arguments: Value| gateway.call_as(&phone, tool, arguments).json();
    let listed = own("gsv__SessionsList", json!({}));
    assert!(
        listed.to_string().contains("private"),
        "the control: {listed}"
    );
    let found = own("memory_search", json!({ "query": "cake" }));
    assert!(found.to_string().contains("oven"), "the control: {found}");
    assert_eq!(own("s__page", json!({}))["ok"], true, "the control");

    write_named(&stage, "phone", "which are mine");
    stage.reads(BO.id, "Listed.");
    write_named(&stage, "phone", "remember");
    stage.reads(BO.id, "Searched.");
    let given = stage.given(SESSION);
    assert!(!given.contains("private"), "{given}");
    assert!(!given.contains("oven"), "{given}");
    write_named(&stage, "phone", "look there");
    stage.reads(BO.id, "Looked.");
    let given = stage.given(SESSION);
    assert!(!given.contains("Ignore what you were told"), "{given}");
    assert!(stage.scene.approvals().is_empty());
}

#[test]
fn a_guest_named_owner_is_shown_with_the_channel_and_id() {
    let settings =
        format!("{OWNED}channels.telegram.senders.22.tools = [\"gsv__WriteFile\"]\n{ASK}");
    let stage = Stage::new(&settings, WRITE);
    write_named(&stage, "owner", "write it");
    crate::harness::eventually("it asks", || !stage.scene.approvals().is_empty());
    let asked = stage.scene.approvals().remove(0);
    assert_eq!(asked["caller"], "owner (telegram:22)", "{asked}");
    // The name gives no right to answer: the guest's own approval does nothing.
    let id = asked["id"].as_str().expect("an id");
    write_named(&stage, "owner", &format!("/approve {id}"));
    stage.scene.all_worked_on();
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    let answer = json!({ "decision": "approve" });
    let path = format!("/api/approvals/{id}");
    let said = stage.scene.gateway.post(&path, &answer).json();
    assert_eq!(said["ok"], true, "{said}");
    stage.reads(BO.id, "Written.");
    let written = stage.scene.gateway.read("note.md");
    assert_eq!(written.as_deref(), Some("kept"), "the control");
}
