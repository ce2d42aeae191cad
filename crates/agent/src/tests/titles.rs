//! Titles come after the first reply and never in its way; sessions are branched and arranged.

use std::time::Duration;

use manyhands_core::{Caller, Timestamp};
use manyhands_llm::{ErrorKind, Message, Purpose};
use manyhands_store::Rearrangement;

use super::*;
use crate::{ChatEvent, SessionKey, TurnEvent};

async fn fixture(lines: Vec<ScriptedReply>) -> Fixture {
    let fixture = Fixture::new(lines).await;
    *fixture.env.title_model.lock().unwrap() = Some(model());
    fixture
}

fn changed(event: &ChatEvent) -> bool {
    matches!(event.what, TurnEvent::Changed)
}

async fn title(fixture: &Fixture) -> Option<String> {
    fixture.minds.get(&key()).await.unwrap().title
}

#[tokio::test]
async fn a_title_is_asked_for_once_after_the_reply_and_paid_for() {
    let lines = vec![
        ScriptedReply::Says("It is blue."),
        ScriptedReply::Says("\"The blue teapot.\""),
        ScriptedReply::Says("Still blue."),
    ];
    let mut fixture = fixture(lines).await;
    fixture.say("r1", "which colour is the teapot").await;
    assert_eq!(fixture.answer("r1").await, "It is blue.");
    let wait = async {
        while title(&fixture).await.as_deref() != Some("The blue teapot") {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    waited.expect("a title");
    let asked = fixture.last_request();
    assert_eq!((asked.purpose, asked.tools.len()), (Purpose::Title, 0));
    assert!(asked.max_output_tokens.is_some_and(|most| most <= 200));
    let spent = fixture.minds.get(&key()).await.unwrap().output_tokens;
    assert_eq!(spent, 4, "both replies");
    fixture.say("r2", "and now").await;
    assert_eq!(fixture.answer("r2").await, "Still blue.");
    assert_eq!(fixture.messages().await.len(), 4, "the title is no message");
}

#[tokio::test]
async fn a_model_that_fails_or_hangs_leaves_the_first_words_and_the_turn_alone() {
    for title_reply in [ScriptedReply::Fails(ErrorKind::Auth), ScriptedReply::Hangs] {
        let lines = vec![ScriptedReply::Says("It is blue."), title_reply];
        let mut fixture = fixture(lines).await;
        fixture.say("r1", "which colour is it").await;
        assert_eq!(fixture.answer("r1").await, "It is blue.");
        fixture.until_idle().await;
        assert_eq!(title(&fixture).await.as_deref(), Some("which colour is it"));
        // Nobody waits for it when the gateway stops.
        fixture.env.stopping.cancel();
        fixture.minds.rest().await;
    }
}

#[tokio::test]
async fn only_conversations_of_people_get_a_title_from_a_model() {
    for (name, count) in [
        ("agent:main:heartbeat", 1),
        ("agent:main:sub:x", 1),
        ("agent:main:cron:a:b", 1),
        ("agent:main:main", 2),
    ] {
        let lines = vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")];
        let fixture = fixture(lines).await;
        let key: SessionKey = name.parse().unwrap();
        let pending = fixture
            .minds
            .ask(&key, crate::Input::text("go"), &owner())
            .await;
        pending.unwrap().answer(&mut |_| {}).await.unwrap();
        fixture.env.stopping.cancel();
        if count == 2 {
            while fixture.actor.asked.lock().unwrap().len() < count {
                tokio::task::yield_now().await;
            }
        }
        fixture.minds.rest().await;
        let asked = fixture.actor.asked.lock().unwrap().len();
        assert_eq!(asked, count, "{name}");
    }
}

#[tokio::test]
async fn a_branch_has_the_settings_and_the_taint_of_what_it_copies() {
    let lines = vec![
        ScriptedReply::Says("one"),
        ScriptedReply::Says("two"),
        ScriptedReply::Says("three"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let tainted = crate::Origin {
        tainted: manyhands_core::Taint::by("web"),
        ..owner()
    };
    fixture
        .send_as("r1", crate::Input::text("first"), &tainted)
        .await;
    fixture.answer("r1").await;
    fixture.say("r2", "second").await;
    fixture.answer("r2").await;
    fixture.until_idle().await;
    let fresh: SessionKey = "copy".parse().unwrap();
    let (caller, key) = (Caller::gateway(), key());
    let branch = fixture.minds.branch(&caller, &key, 2, &fresh, None);
    branch.await.unwrap();
    let copy = fixture.minds.get(&fresh).await.unwrap();
    assert!(copy.taint.is_tainted());
    assert_eq!(copy.title.as_deref(), Some("first"));
    let again = fixture.minds.branch(&caller, &key, 2, &fresh, None);
    assert!(again.await.is_err(), "the key is taken");
    let pending = fixture
        .minds
        .ask(&fresh, crate::Input::text("other"), &owner())
        .await;
    pending.unwrap().answer(&mut |_| {}).await.unwrap();
    let expect = [
        Message::user("first"),
        Message::assistant("one"),
        Message::user("other"),
    ];
    assert_eq!(fixture.last_request().messages, expect);
}

#[tokio::test]
async fn what_is_arranged_outlives_a_reset_and_the_title_does_not() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("one")]).await;
    fixture.say("r1", "first").await;
    fixture.answer("r1").await;
    fixture.until_idle().await;
    let change = Rearrangement {
        pinned: Some(true),
        folder: Some(Some("Work".to_owned())),
        ..Rearrangement::default()
    };
    fixture.minds.arrange(&key(), change).await.unwrap();
    fixture.until(changed).await;
    fixture.minds.reset(&key()).await.unwrap();
    let session = fixture.minds.get(&key()).await.unwrap();
    assert!(session.arrangement.pinned);
    assert_eq!(session.arrangement.folder.as_deref(), Some("Work"));
    assert_eq!((session.title, session.context_tokens), (None, None));
    assert!(session.last_reset > Some(Timestamp(0)));
}
