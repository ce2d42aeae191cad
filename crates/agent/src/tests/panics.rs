//! A turn that panics ends, says so, and leaves its session free.

use manyhands_store::TurnState;

use super::*;
use crate::{FailureKind, Input, Origin, TurnEvent};

/// What somebody is told of a panic: that it was one, and nothing of what it said.
#[track_caller]
fn is_internal(what: &TurnEvent) -> bool {
    let TurnEvent::Error(failure) = what else {
        panic!("{what:?}");
    };
    assert_eq!(failure.kind, FailureKind::Other);
    assert!(failure.text.contains("internal error"), "{failure:?}");
    assert!(!failure.text.contains("secret-detail"), "{failure:?}");
    failure.acted
}

#[tokio::test]
async fn a_turn_whose_model_panics_fails_and_the_next_one_works() {
    let lines = vec![
        ScriptedReply::Panics,
        ScriptedReply::Says("fine"),
        ScriptedReply::Says("as ever"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let sent = fixture.say("r1", "hi").await;
    assert!(!is_internal(&fixture.end("r1").await));
    fixture.until_idle().await;
    assert_eq!(fixture.minds.busy_count(), 0);
    let kept = fixture.store.sessions().turn(&sent.turn).await.unwrap();
    assert_eq!(kept.unwrap().state, TurnState::Failed);
    fixture.say("r2", "again").await;
    assert_eq!(fixture.answer("r2").await, "fine");
    fixture.say("r3", "control").await;
    assert_eq!(fixture.answer("r3").await, "as ever");
}

#[tokio::test]
async fn a_turn_whose_call_panics_fails_and_its_conversation_goes_on() {
    let lines = vec![
        ScriptedReply::Calls(vec![("look", r#"{"panics":true}"#)]),
        ScriptedReply::Says("fine"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    assert!(is_internal(&fixture.end("r1").await), "it had acted");
    fixture.say("r2", "go on").await;
    assert_eq!(fixture.answer("r2").await, "fine");
    // The call that was open has a result, so that models take the conversation.
    assert!(fixture.messages().await.len() >= 4);
}

#[tokio::test]
async fn messages_queued_behind_a_panic_are_processed() {
    let mut fixture =
        Fixture::new(vec![ScriptedReply::Panics, ScriptedReply::Says("second")]).await;
    let guest = Origin {
        name: "guest".to_owned(),
        person: Some("line:guest".to_owned()),
        trusted: false,
        ..owner()
    };
    fixture.say("r1", "first").await;
    fixture.send_as("r2", Input::text("second"), &guest).await;
    is_internal(&fixture.end("r1").await);
    assert_eq!(fixture.answer("r2").await, "second");
}

#[tokio::test]
async fn merged_messages_also_fail_on_a_panic() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Panics,
        ScriptedReply::Says("fine"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    fixture.tools.waiting.notified().await;
    fixture.say("r2", "and this").await;
    fixture.tools.go.notify_one();
    assert!(is_internal(&fixture.end("r2").await));
    assert!(is_internal(&fixture.end("r1").await));
    fixture.say("r3", "control").await;
    assert_eq!(fixture.answer("r3").await, "fine");
}

#[tokio::test]
async fn a_panic_is_not_tried_again_after_a_restart() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Panics]).await;
    fixture.say("r1", "hi").await;
    is_internal(&fixture.end("r1").await);
    let mut fixture = fixture.restart(vec![ScriptedReply::Says("fine")]).await;
    assert_eq!(fixture.minds.resume().await.unwrap(), 0);
    fixture.say("r2", "again").await;
    assert_eq!(fixture.answer("r2").await, "fine");
}
