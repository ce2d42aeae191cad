//! While a call waits for the owner, the other people of a chat are answered.

use serde_json::json;

use super::fixture::{ADA, BO, EVE, GROUP, Stage};
use crate::chats::fixture::{ASK, WRITE};

const NOTICE: &str = "needs my owner's approval";

/// Bo and Eve are guests, and may have files written once the owner agrees.
fn settings() -> String {
    format!(
        "sessions.identity_links.owner = [\"telegram:11\"]\nchannels.telegram.allow_from = [\"22\", \"33\"]\n\
         channels.telegram.tools = [\"gsv__WriteFile\"]\n{ASK}"
    )
}

/// A stage on which Bo's call waits for Ada.
fn waiting() -> Stage {
    let stage = Stage::new(&settings(), WRITE);
    stage.write(ADA, "hello");
    stage.reads(ADA.id, "Good morning");
    stage.call(BO, GROUP, "write it");
    stage.reads(GROUP, NOTICE);
    stage
}

/// How often the group read something.
fn times(stage: &Stage, words: &str) -> usize {
    let texts = stage.texts(GROUP);
    texts.iter().filter(|text| text.contains(words)).count()
}

/// What was said in the group's session, with the roles.
fn said(stage: &Stage) -> Vec<(String, String)> {
    stage.scene.said("agent:main:telegram:group:-5")
}

#[test]
fn others_in_the_group_are_answered_while_a_call_waits_for_the_owner() {
    let stage = waiting();
    stage.call(EVE, GROUP, "hello");
    stage.reads(GROUP, "Good morning");
    stage.call(EVE, GROUP, "hello again");
    stage
        .scene
        .wait(stage.telegram.journal(), "a second answer", || {
            times(&stage, "Good morning") == 2
        });
    assert_eq!(stage.scene.gateway.read("note.md"), None, "it still waits");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    stage.press(ADA, &question, &yes);
    stage.reads(GROUP, "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    stage.at_rest();
    assert_eq!(times(&stage, NOTICE), 1, "{:?}", stage.texts(GROUP));
    assert_eq!(times(&stage, "Written."), 1, "{:?}", stage.texts(GROUP));
    // Nobody in the group is shown what the owner was asked.
    assert_eq!(times(&stage, "note.md"), 0, "{:?}", stage.texts(GROUP));
    let results = said(&stage).into_iter().filter(|(role, _)| role == "tool");
    assert_eq!(
        results.count(),
        1,
        "the call was made once: {:?}",
        said(&stage)
    );
    // The conversation goes on with everybody.
    stage.call(EVE, GROUP, "hello once more");
    stage.at_rest();
    assert!(
        times(&stage, "Good morning") >= 3,
        "{:?}",
        stage.texts(GROUP)
    );
}

#[test]
fn later_messages_of_the_waiting_sender_wait_too() {
    let stage = waiting();
    stage.call(BO, GROUP, "hello from Bo");
    stage.scene.all_worked_on();
    stage.call(EVE, GROUP, "hello from Eve");
    stage.reads(GROUP, "Good morning");
    let (question, yes, _) = stage.asked(ADA.id, "gsv__WriteFile");
    assert_eq!(times(&stage, "Good morning"), 1, "{:?}", stage.texts(GROUP));
    stage.press(ADA, &question, &yes);
    // It is taken in after the result, so that one answer is for both.
    stage.scene.wait(stage.telegram.journal(), "an answer", || {
        times(&stage, "Good morning") == 2
    });
    stage.at_rest();
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    let heard = said(&stage);
    let at = |words: &str| heard.iter().position(|(_, text)| text.contains(words));
    assert!(at("hello from Eve") < at("hello from Bo"), "{heard:?}");
}

#[test]
fn a_waiting_call_is_denied_or_stopped_without_affecting_others() {
    let stage = waiting();
    stage.call(EVE, GROUP, "hello");
    stage.reads(GROUP, "Good morning");
    let (question, _, no) = stage.asked(ADA.id, "gsv__WriteFile");
    stage.press(ADA, &question, &no);
    stage.reads(GROUP, "Written."); // which is all that this model says of a result
    stage.at_rest();
    assert_eq!(stage.scene.gateway.read("note.md"), None);
    stage.call(EVE, GROUP, "hello");
    stage.at_rest();
    assert_eq!(times(&stage, "Good morning"), 2, "{:?}", stage.texts(GROUP));
}

#[test]
fn a_parked_call_resumes_after_a_crash() {
    let stage = waiting();
    stage.call(EVE, GROUP, "hello");
    stage.reads(GROUP, "Good morning");
    let Stage {
        scene, telegram, ..
    } = stage;
    let stage = Stage::again(scene.kill9(WRITE), telegram);
    stage.scene.connected("telegram", "default");
    let [asked] = &stage.scene.approvals()[..] else {
        panic!("one question: {:?}", stage.scene.approvals());
    };
    stage.call(EVE, GROUP, "hello after the crash");
    stage.scene.wait(stage.telegram.journal(), "an answer", || {
        times(&stage, "Good morning") == 2
    });
    let path = format!("/api/approvals/{}", asked["id"].as_str().expect("an id"));
    let approved = stage
        .scene
        .gateway
        .post(&path, &json!({ "decision": "approve" }));
    assert_eq!(approved.status, 200, "{}", approved.text());
    stage.reads(GROUP, "Written.");
    assert_eq!(stage.scene.gateway.read("note.md").as_deref(), Some("kept"));
    stage.at_rest();
    assert_eq!(times(&stage, NOTICE), 1, "{:?}", stage.texts(GROUP));
    assert_eq!(times(&stage, "Written."), 1, "{:?}", stage.texts(GROUP));
}
