//! Who is heard, in chats of their own and in groups.

use serde_json::json;

use super::fixture::{ADA, BO, EVE, GROUP, MAIN, OWNED, Stage, called, uses};
use crate::harness::eventually;
use crate::http::Request;

const GOOD: &str = "Good morning, dear friend.";

/// The code that a stranger was given.
#[track_caller]
fn code(stage: &Stage) -> String {
    let pairs = stage.scene.pairs();
    let code = pairs[0]["code"].as_str();
    code.unwrap_or_else(|| panic!("{pairs:?}")).to_owned()
}

#[test]
fn an_unknown_sender_gets_a_code_once_and_reaches_nothing() {
    let stage = Stage::new("", "");
    stage.write(EVE, "hello");
    stage.reads(EVE.id, "manyhands pair approve telegram");
    stage.write(EVE, "/status");
    stage.write(EVE, "hello, hello");
    stage.at_rest();
    let texts = stage.texts(EVE.id);
    let code = code(&stage);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains(&code), "{texts:?}");
    let pair = &stage.scene.pairs()[0];
    assert_eq!(pair["state"], "asking");
    assert_eq!(pair["senderId"], "33");
    assert_eq!(pair["name"], "Eve");
    assert_eq!(pair["message"], "hello");
    assert_eq!(stage.scene.sessions(), Vec::<String>::new());
    assert_eq!(stage.requests("sendChatAction").len(), 0, "no sign of life");
    // Whoever is approved is answered.
    stage.scene.approve("telegram", &code.to_lowercase(), false);
    stage.reads(EVE.id, "Welcome");
    stage.write(EVE, "hello");
    stage.reads(EVE.id, GOOD);
    assert_eq!(stage.scene.sessions(), ["agent:main:telegram:dm:33"]);
    assert_eq!(stage.scene.pairs()[0]["owner"], false);
}

#[test]
fn a_sender_approved_as_owner_has_the_owners_rights() {
    let note = json!({ "path": "note.md", "content": "kept" });
    let stage = Stage::new("", &uses("note", "gsv__WriteFile", &note, "Noted."));
    stage.write(EVE, "hello");
    stage.reads(EVE.id, "pair approve");
    stage.scene.approve("telegram", "33", true);
    stage.reads(EVE.id, "as the owner");
    stage.write(EVE, "note it");
    stage.reads(EVE.id, "Noted.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    assert_eq!(stage.scene.sessions(), [MAIN]);
}

#[test]
fn a_rejected_sender_is_ignored_silently_until_unblocked() {
    let stage = Stage::new("", "");
    stage.write(EVE, "hello");
    stage.reads(EVE.id, "pair approve");
    let rejected = stage
        .scene
        .gateway
        .post("/api/pairs/telegram/33/reject", &json!({}));
    assert_eq!(rejected.status, 200, "{}", rejected.text());
    stage.write(EVE, "hello");
    stage.call(EVE, GROUP, "hello");
    stage.at_rest();
    assert_eq!(stage.texts(EVE.id).len(), 1, "only the code");
    assert_eq!(stage.texts(GROUP), Vec::<String>::new());
    assert_eq!(stage.scene.sessions(), Vec::<String>::new());
    // Forgotten, they are a stranger again, with another code.
    let first = stage.texts(EVE.id);
    let forget = Request::new("DELETE", "/api/pairs/telegram/33");
    let gateway = &stage.scene.gateway;
    let forgotten = gateway.send(&forget.bearer(&gateway.owner));
    assert_eq!(forgotten.status, 200, "{}", forgotten.text());
    stage.write(EVE, "hello");
    let again = code_again(&stage);
    assert!(!first[0].contains(&again), "{first:?}");
    stage.scene.approve("telegram", &again, false);
    stage.write(EVE, "hello");
    stage.reads(EVE.id, GOOD);
}

#[track_caller]
fn code_again(stage: &Stage) -> String {
    let two = || stage.texts(EVE.id).len() == 2;
    stage
        .scene
        .wait(stage.telegram.journal(), "a second code", two);
    code(stage)
}

#[test]
fn an_allow_list_admits_by_id_and_handle_silently() {
    let settings = "channels.telegram.dm = \"allowlist\"\nchannels.telegram.allow_from = [\"22\", \"@Ada_L\"]\n";
    let stage = Stage::new(settings, "");
    stage.write(EVE, "hello");
    stage.write(BO, "hello");
    stage.write(ADA, "hello");
    stage.reads(BO.id, GOOD);
    stage.reads(ADA.id, GOOD);
    stage.at_rest();
    assert_eq!(stage.texts(EVE.id), Vec::<String>::new());
    assert_eq!(stage.scene.pairs(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_group_mention_by_a_known_sender_is_answered_as_a_reply() {
    let stage = Stage::new(OWNED, "");
    stage.send(BO, GROUP, json!({ "text": "hello to all" }));
    stage.call(EVE, GROUP, "hello");
    let called = stage.call(BO, GROUP, "hello");
    let answer = stage.reads(GROUP, GOOD);
    stage.at_rest();
    assert_eq!(answer["reply_to_message"]["message_id"], called);
    assert_eq!(stage.texts(GROUP), [GOOD]);
    let session = "agent:main:telegram:group:-5";
    let heard = stage.scene.heard(session);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(stage.texts(EVE.id), Vec::<String>::new(), "nor elsewhere");
    assert_eq!(stage.scene.pairs(), Vec::<serde_json::Value>::new());
    // An answer to the bot calls it too, and so does a command that names it.
    let back = json!({ "text": "hello again", "reply_to_message": answer });
    let back = stage.send(BO, GROUP, back);
    let two = || stage.texts(GROUP).len() == 2;
    stage
        .scene
        .wait(stage.telegram.journal(), "a second answer", two);
    let second = &stage.written(GROUP)[1];
    assert_eq!(second["reply_to_message"]["message_id"], back);
    let command = json!({
        "text": "/status@hands_bot",
        "entities": [{ "type": "bot_command", "offset": 0, "length": 17 }],
    });
    stage.send(BO, GROUP, command);
    let status = stage.reads(GROUP, "session: ");
    assert!(
        status["text"].as_str().unwrap().contains(session),
        "{status}"
    );
}

#[test]
fn groups_follow_the_settings() {
    let listed = |policy: &str| {
        format!(
            "{OWNED}channels.telegram.groups = \"{policy}\"\nchannels.telegram.allow_groups = [\"-5\"]\n"
        )
    };
    let members = Stage::new(&listed("members"), "");
    members.send(EVE, GROUP, json!({ "text": "hello" }));
    members.call(EVE, -6, "hello");
    let called_at = members.call(EVE, GROUP, "hello");
    let answer = members.reads(GROUP, GOOD);
    members.at_rest();
    assert_eq!(answer["reply_to_message"]["message_id"], called_at);
    assert_eq!(
        (members.texts(GROUP).len(), members.texts(-6).len()),
        (1, 0)
    );
    let all = Stage::new(&listed("all"), "");
    all.send(EVE, -6, json!({ "text": "hello" }));
    all.send(EVE, GROUP, json!({ "text": "hello" }));
    all.reads(GROUP, GOOD);
    all.at_rest();
    assert_eq!(all.texts(-6), Vec::<String>::new());
    let off = Stage::new(&listed("off"), "");
    off.send(ADA, GROUP, called("hello"));
    off.write(ADA, "hello");
    off.reads(ADA.id, GOOD);
    off.at_rest();
    assert_eq!(off.texts(GROUP), Vec::<String>::new());
}

#[test]
fn messages_of_bots_start_nothing() {
    let settings = "channels.telegram.dm = \"open\"\n";
    let stage = Stage::new(settings, "");
    let from = json!({ "id": 99, "is_bot": true, "first_name": "Other", "username": "other_bot" });
    stage.send(EVE, GROUP, json!({ "text": called("hello")["text"], "entities": called("x")["entities"], "from": from }));
    stage.call(EVE, GROUP, "hello");
    stage.reads(GROUP, GOOD);
    stage.at_rest();
    assert_eq!(stage.texts(GROUP).len(), 1);
}

#[test]
fn the_current_allow_list_applies() {
    let settings = "channels.telegram.dm = \"allowlist\"\n";
    let stage = Stage::new(settings, "");
    stage.write(EVE, "hello");
    eventually("it is heard", || stage.scene.kept() == 1);
    stage.at_rest();
    assert_eq!(stage.texts(EVE.id), Vec::<String>::new());
    let listed = [
        "config",
        "set",
        "channels.telegram.allow_from",
        "[\"@eve\"]",
    ];
    stage.scene.gateway.cli(&listed).ok();
    let path = "/api/config?path=channels.telegram.allow_from";
    eventually("the new list", || {
        stage.scene.gateway.get(path).text().contains("@eve")
    });
    stage.write(EVE, "hello");
    stage.reads(EVE.id, GOOD);
    assert_eq!(
        stage.texts(EVE.id).len(),
        1,
        "what was passed over stays so"
    );
}

#[test]
fn nobody_is_approved_who_has_not_asked() {
    let stage = Stage::new("", "");
    for who in ["44", "ABCDEFGH"] {
        let path = format!("/api/pairs/telegram/{who}/approve");
        let refused = stage.scene.gateway.post(&path, &json!({}));
        assert_eq!(refused.status, 404, "{}", refused.text());
    }
    stage.write(EVE, "hello");
    stage.reads(EVE.id, "pair approve");
    // A code counts for the platform on which it was given.
    let elsewhere = format!("/api/pairs/slack/{}/approve", code(&stage));
    let refused = stage.scene.gateway.post(&elsewhere, &json!({}));
    assert_eq!(refused.status, 404, "{}", refused.text());
    assert_eq!(stage.scene.pairs()[0]["state"], "asking");
    stage.scene.approve("telegram", &code(&stage), false);
}
