//! What agents may do for whom, and questions to the owner as buttons.

use serde_json::json;

use super::fixture::{ADA, BO, EVE, GROUP, MAIN, OWNED, Stage, uses};
use crate::chats::fixture::{ASK, WRITE};

#[test]
fn a_button_approval_runs_exactly_what_was_shown() {
    let stage = Stage::new(&format!("{OWNED}{ASK}"), WRITE);
    stage.write(ADA, "write it");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    let shown = question["text"].as_str().expect("text").to_owned();
    assert!(shown.contains("\"path\": \"note.md\""), "{shown}");
    assert!(shown.contains("\"content\": \"kept\""), "{shown}");
    assert_eq!(stage.scene.gateway.read("note.md"), None, "not before");
    // Whoever else presses it, nothing happens.
    for other in [BO, EVE] {
        stage.press(other, &question, &yes);
    }
    let heard = || stage.telegram.pending() == 0 && stage.scene.kept() == 3;
    crate::harness::eventually("the presses", heard);
    stage
        .scene
        .wait(stage.telegram.journal(), "a word to the guest", || {
            !stage.requests("answerCallbackQuery").is_empty()
        });
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    assert_eq!(stage.scene.approvals().len(), 1, "it still waits");
    let told = stage.requests("answerCallbackQuery")[0].body["text"].clone();
    assert!(
        told.as_str().is_some_and(|text| text.contains("owner")),
        "{told}"
    );
    stage.press(ADA, &question, &yes);
    stage.reads(ADA.id, "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    stage.scene.at_rest();
    let settled = &stage.written(ADA.id)[0];
    assert_eq!(settled["message_id"], question["message_id"]);
    assert_eq!(settled["reply_markup"], json!(null), "its buttons are gone");
    // Pressed again, it is over.
    let delete = json!({ "path": "note.md" });
    let deleted = stage.scene.gateway.call("gsv__DeleteFile", delete);
    assert_eq!(deleted["ok"], true, "{deleted}");
    stage.press(ADA, &question, &yes);
    let twice = || stage.requests("answerCallbackQuery").len() >= 3;
    stage
        .scene
        .wait(stage.telegram.journal(), "a second word", twice);
    stage.scene.at_rest();
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    assert_eq!(stage.texts(ADA.id).len(), 2);
}

#[test]
fn a_button_denial_discards_the_call() {
    let turns = r#"
  - when: { user: write it }
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: kept } }]
  - when: { result_of: gsv__WriteFile }
    text: So be it.
"#;
    let stage = Stage::new(&format!("{OWNED}{ASK}"), turns);
    stage.write(ADA, "write it");
    let (question, _, no) = stage.asked(ADA.id, "gsv__WriteFile");
    stage.press(ADA, &question, &no);
    stage.reads(ADA.id, "So be it.");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    assert!(
        stage.given(MAIN).contains("the owner denied this call"),
        "{}",
        stage.given(MAIN)
    );
    assert_eq!(stage.scene.approvals(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_question_for_a_guest_goes_to_the_owner_and_the_guest_gets_the_answer() {
    let settings =
        format!("{OWNED}channels.telegram.senders.22.tools = [\"gsv__WriteFile\"]\n{ASK}");
    let stage = Stage::new(&settings, WRITE);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.write(BO, "write it");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    let shown = question["text"].as_str().expect("text");
    assert!(shown.contains("for Bo on telegram"), "{shown}");
    // They are told that it waits, and nothing of what is asked.
    let told = stage.reads(BO.id, "needs my owner's approval");
    assert!(!told["text"].to_string().contains("note.md"), "{told}");
    assert_eq!(stage.texts(BO.id).len(), 1);
    stage.press(ADA, &question, &yes);
    stage.reads(BO.id, "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
}

#[test]
fn a_guest_is_given_the_tools_of_the_settings_and_no_others() {
    let settings = format!(
        "{OWNED}channels.telegram.senders.\"@eve\".tools = [\"gsv__ReadFile\"]\n\
         policy.rules = [{{ decision = \"allow\", tools = [\"*\"] }}]\n"
    );
    let touch = json!({ "cmd": "touch file_cache_dir/touched" });
    let read = json!({ "path": "secret.md" });
    let turns = uses("touch", "bash", &touch, "Touched.")
        + &uses("look", "gsv__ReadFile", &read, "Looked.");
    let settings = settings.replace("[\"22\"]", "[\"22\", \"33\"]");
    let stage = Stage::new(&settings, &turns);
    stage
        .scene
        .gateway
        .write("secret.md", "the cake is in the oven");
    let touched = stage.scene.gateway.home.path().join("host/cache/touched");
    for (guest, session) in [
        (BO, "agent:main:telegram:dm:22"),
        (EVE, "agent:main:telegram:dm:33"),
    ] {
        stage.write(guest, "touch it");
        stage.reads(guest.id, "Touched.");
        let given = stage.given(session);
        assert!(!touched.exists(), "{given}");
        assert!(given.contains("bash"), "{given}");
        stage.write(guest, "look at it");
        stage.reads(guest.id, "Looked.");
        let given = stage.given(session);
        let seen = given.contains("the cake is in the oven");
        assert_eq!(seen, guest.id == EVE.id, "{given}");
    }
    // The owner may.
    stage.write(ADA, "touch it");
    stage.reads(ADA.id, "Touched.");
    assert!(touched.exists(), "{}", stage.given(MAIN));
}

#[test]
fn only_the_owner_is_sent_to_the_settings() {
    let plan = json!({ "task": "a trip" });
    let turns = uses("plan it", "plan_create", &plan, "Tried.");
    let settings = format!("{OWNED}tools.plan_create.enabled = false\n");
    let stage = Stage::new(&settings, &turns);
    for (who, session, words, never) in [
        (ADA, MAIN, "config.toml", "ask the owner"),
        (
            BO,
            "agent:main:telegram:dm:22",
            "ask the owner",
            "config.toml",
        ),
    ] {
        stage.write(who, "plan it");
        stage.reads(who.id, "Tried.");
        let given = stage.given(session);
        assert!(given.contains("plan_create tool is disabled"), "{given}");
        assert!(given.contains(words) && !given.contains(never), "{given}");
    }
}

#[test]
fn rights_in_a_group_are_those_of_whoever_speaks() {
    let settings = format!("{OWNED}policy.rules = [{{ decision = \"allow\", tools = [\"*\"] }}]\n");
    let note = json!({ "path": "note.md", "content": "kept" });
    let stage = Stage::new(&settings, &uses("note", "gsv__WriteFile", &note, "Noted."));
    stage.call(BO, GROUP, "note it");
    stage.reads(GROUP, "Noted.");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    stage.call(ADA, GROUP, "note it");
    let twice = || stage.texts(GROUP).len() == 2;
    stage
        .scene
        .wait(stage.telegram.journal(), "a second answer", twice);
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
}

#[test]
fn rejecting_a_sender_cancels_their_pending_call() {
    let settings = format!(
        "{OWNED}channels.telegram.dm = \"pairing\"\nchannels.telegram.senders.33.tools = [\"gsv__WriteFile\"]\n{ASK}"
    );
    let stage = Stage::new(&settings, WRITE);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.write(EVE, "hello");
    stage.reads(EVE.id, "pair approve");
    stage.scene.approve("telegram", "33", false);
    stage.reads(EVE.id, "Welcome");
    stage.write(EVE, "write it");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    let rejected = stage
        .scene
        .gateway
        .post("/api/pairs/telegram/33/reject", &json!({}));
    assert_eq!(rejected.status, 200, "{}", rejected.text());
    stage.press(ADA, &question, &yes);
    stage.scene.at_rest();
    assert_eq!(stage.scene.gateway.read("note.md"), None);
}

#[test]
fn a_question_from_a_group_is_put_to_the_owner_alone() {
    let stage = Stage::new(&format!("{OWNED}{ASK}"), WRITE);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.call(ADA, GROUP, "write it");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    assert_eq!(stage.texts(GROUP), Vec::<String>::new());
    stage.press(ADA, &question, &yes);
    stage.reads(GROUP, "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
}

#[test]
fn without_a_reachable_owner_the_approval_still_waits() {
    let settings = format!(
        "channels.telegram.allow_from = [\"22\"]\nchannels.telegram.senders.22.tools = [\"gsv__WriteFile\"]\n{ASK}"
    );
    let stage = Stage::new(&settings, WRITE);
    stage.write(BO, "write it");
    stage.reads(BO.id, "needs my owner's approval");
    let waiting = stage.scene.approvals();
    let id = waiting[0]["id"].as_str().expect("an id").to_owned();
    stage.write(BO, &format!("/approve {id}"));
    stage.reads(BO.id, "owner");
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    let decide = json!({ "decision": "approve" });
    let path = format!("/api/approvals/{id}");
    let approved = stage.scene.gateway.post(&path, &decide);
    assert_eq!(approved.status, 200, "{}", approved.text());
    stage.reads(BO.id, "Written.");
}

#[test]
fn errors_are_explained_only_to_the_owner() {
    let broken = "  - when: { user: unanswerable }\n    error: { kind: auth, message: the key of the house is wrong }\n";
    let stage = Stage::new(OWNED, broken);
    stage.write(ADA, "unanswerable");
    stage.reads(ADA.id, "I could not answer: ");
    stage.write(BO, "unanswerable");
    let told = stage.reads(BO.id, "I could not answer that");
    let told = told["text"].as_str().expect("text");
    assert!(
        !told.contains("key") && !told.contains("scripted"),
        "{told}"
    );
    let owner = stage.texts(ADA.id).join("\n");
    assert!(owner.contains("scripted"), "{owner}");
}
