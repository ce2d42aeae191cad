use std::time::Duration;

use manyhands_llm::{ErrorKind, Message};
use manyhands_store::object_store::ObjectStoreExt as _;

use super::*;
use crate::{ResetPolicy, SessionSettings};

const LONG: &str = "A long answer that goes on and on. A long answer that goes on and on. A long answer that goes on and on. A long answer that goes on and on.";

#[tokio::test]
async fn a_context_overflow_is_compacted_and_retried() {
    let lines = vec![
        ScriptedReply::Says(LONG),
        ScriptedReply::Says(LONG),
        ScriptedReply::Fails(ErrorKind::ContextOverflow),
        ScriptedReply::Says("They spoke at length."),
        ScriptedReply::Says("fits now"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "tell me").await;
        fixture.answer(run).await;
    }
    fixture.say("r3", "more").await;
    assert_eq!(fixture.answer("r3").await, "fits now");
    let messages = fixture.messages().await;
    let summary = serde_json::to_string(&messages[0]).unwrap();
    assert!(summary.contains("They spoke at length."), "{summary}");
    assert_eq!(messages.last(), Some(&Message::assistant("fits now")));
    let place = "archives/main".into();
    let archived = fixture
        .store
        .blobs()
        .list_with_delimiter(Some(&place))
        .await;
    assert_eq!(archived.unwrap().common_prefixes.len(), 1);
}

#[tokio::test]
async fn a_reset_archives_the_conversation_and_starts_empty() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")]).await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    let reset = fixture.minds.reset(&key()).await.unwrap();
    assert_eq!((reset.archived, reset.tokens), (2, 12));
    let archive = fixture
        .store
        .blobs()
        .get(&reset.archived_to.as_str().into())
        .await;
    assert!(!archive.unwrap().bytes().await.unwrap().is_empty());
    let session = fixture.minds.get(&key()).await.unwrap();
    assert_eq!(session.previous, [reset.old]);
    assert_eq!((session.id, session.input_tokens), (reset.new, 0));
    fixture.say("r2", "anew").await;
    fixture.answer("r2").await;
    assert_eq!(fixture.messages().await.len(), 2);
}

#[tokio::test]
async fn two_concurrent_settings_changes_both_apply() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("a")]).await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    let setting = |number: u32| {
        let minds = fixture.minds.clone();
        async move {
            let set = move |settings: &mut SessionSettings, label: &mut Option<String>| match number
            {
                0 => *label = Some("ours".to_owned()),
                1 => settings.max_tokens = Some(7),
                2 => settings.system_prompt = Some("be brief".to_owned()),
                _ => settings.reset_policy = Some(ResetPolicy::Manual),
            };
            minds.patch(&key(), set).await.unwrap();
        }
    };
    let opened = async { fixture.minds.open(&key()).await.unwrap() };
    tokio::join!(setting(0), setting(1), opened, setting(2), setting(3));
    let session = fixture.minds.get(&key()).await.unwrap();
    let settings = fixture.minds.settings(&session);
    assert_eq!(session.label.as_deref(), Some("ours"));
    assert_eq!(settings.max_tokens, Some(7));
    assert_eq!(settings.system_prompt.as_deref(), Some("be brief"));
    assert_eq!(settings.reset_policy, Some(ResetPolicy::Manual));
}

#[tokio::test]
async fn an_idle_session_is_reset_by_the_next_message() {
    let mut fixture = Fixture::new(vec![
        ScriptedReply::Says("a"),
        ScriptedReply::Says("b"),
        ScriptedReply::Says("c"),
    ])
    .await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    let idle = |settings: &mut SessionSettings, _: &mut Option<String>| {
        settings.reset_policy = Some(ResetPolicy::Idle { idle_minutes: 60 });
    };
    fixture.minds.patch(&key(), idle).await.unwrap();
    fixture.clock.advance(Duration::from_secs(59 * 60));
    fixture.say("r2", "still here").await;
    fixture.answer("r2").await;
    assert_eq!(fixture.messages().await.len(), 4);
    fixture.clock.advance(Duration::from_secs(61 * 60));
    fixture.say("r3", "back again").await;
    fixture.answer("r3").await;
    assert_eq!(fixture.messages().await.len(), 2);
}

#[tokio::test]
async fn trimming_keeps_the_last_messages_whole() {
    let lines = vec![
        ScriptedReply::Calls(vec![("look", "{}")]),
        ScriptedReply::Says("one"),
        ScriptedReply::Says("two"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "hi").await;
        fixture.answer(run).await;
    }
    let trimmed = fixture.minds.trim(&key(), 2).await.unwrap();
    assert_eq!((trimmed.trimmed, trimmed.kept), (4, 2));
    assert_eq!(fixture.messages().await.len(), 2);
    let nothing = fixture.minds.trim(&key(), 50).await.unwrap();
    assert_eq!(nothing.trimmed, 0);
}
