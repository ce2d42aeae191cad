use futures_util::TryStreamExt as _;
use manyhands_core::{Clock as _, ErrorCode};
use manyhands_store::object_store::path::Path;

use super::*;
use crate::{DeletedSession, FailureKind, Minds, TurnEvent};

/// Deletes the session.
async fn delete(minds: &Minds) -> DeletedSession {
    let closed = minds.close(&key()).await.unwrap();
    closed.delete().await.unwrap()
}

impl Fixture {
    /// Where archives are.
    async fn archives(&self) -> Vec<String> {
        let found = self.store.blobs().list(Some(&Path::from("archives")));
        let found: Vec<_> = found.try_collect().await.unwrap();
        found
            .into_iter()
            .map(|one| one.location.to_string())
            .collect()
    }

    async fn found(&self, words: &str) -> usize {
        let scope = manyhands_store::MemoryScope::All;
        let found = self.minds.search(words, &scope, 10).await.unwrap();
        found.found.len()
    }
}

#[tokio::test]
async fn deletion_removes_messages_archives_and_search_results() {
    let lines = vec![
        ScriptedReply::Says("about kettles"),
        ScriptedReply::Says("more kettles"),
        ScriptedReply::Says("anew"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "kettle").await;
    fixture.answer("r1").await;
    fixture.minds.reset(&key()).await.unwrap();
    fixture.say("r2", "another kettle").await;
    fixture.answer("r2").await;
    assert_eq!(fixture.found("kettle").await, 4);
    assert_eq!(fixture.archives().await.len(), 1);
    let gone = delete(&fixture.minds).await;
    assert_eq!((gone.messages, gone.archives, gone.questions), (4, 1, 0));
    let told = fixture
        .until(|event| event.what == TurnEvent::Deleted)
        .await;
    assert_eq!(told.session, key());
    assert_eq!(fixture.found("kettle").await, 0);
    assert_eq!(fixture.archives().await, [""; 0]);
    assert_eq!(
        fixture.store.sessions().deleted_archives().await.unwrap(),
        [""; 0]
    );
    let again = fixture.minds.close(&key()).await.map(drop).unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
    assert!(again.text().contains("there is no session"), "{again}");
    let used = fixture.store.sessions().usage("2026-01-01").await.unwrap();
    assert_eq!(used[0].calls, 2, "what it cost stays counted");
    // What is said afterwards begins a new one.
    fixture.say("r3", "hello").await;
    assert_eq!(fixture.answer("r3").await, "anew");
    let messages = fixture.last_request().messages;
    assert_eq!(messages.len(), 1, "{messages:?}");
    fixture.minds.remember_all().await.unwrap();
    assert_eq!(fixture.found("kettle").await, 0);
    assert_eq!(fixture.found("hello").await, 1, "the search works");
}

#[tokio::test]
async fn deletion_stops_the_turn_and_fails_queued_messages() {
    let lines = vec![ScriptedReply::Hangs, ScriptedReply::Says("anew")];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "first").await;
    fixture.actor.hanging.notified().await;
    fixture.say("r2", "second").await;
    delete(&fixture.minds).await;
    assert_eq!(fixture.end("r1").await, TurnEvent::Stopped);
    match fixture.end("r2").await {
        TurnEvent::Error(failure) => {
            assert_eq!(failure.kind, FailureKind::Forbidden);
            assert_eq!(failure.text, "the conversation was deleted");
        }
        other => panic!("{other:?}"),
    }
    assert!(fixture.minds.get(&key()).await.is_err());
    assert_eq!(fixture.minds.queued(&key()).await.unwrap(), 0);
    fixture.say("r3", "third").await;
    assert_eq!(fixture.answer("r3").await, "anew");
}

#[tokio::test]
async fn a_message_during_deletion_starts_a_new_session() {
    let mut fixture =
        Fixture::new(vec![ScriptedReply::Says("one"), ScriptedReply::Says("two")]).await;
    fixture.say("r1", "first").await;
    fixture.answer("r1").await;
    let closed = fixture.minds.close(&key()).await.unwrap();
    fixture.say("r2", "second").await;
    closed.delete().await.unwrap();
    assert_eq!(fixture.answer("r2").await, "two");
    let said = fixture.minds.recent(&key(), 10).await.unwrap();
    let said: Vec<&str> = said.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(said, ["second", "two"]);
}

#[tokio::test]
async fn a_closed_session_is_not_deleted() {
    let mut fixture =
        Fixture::new(vec![ScriptedReply::Says("one"), ScriptedReply::Says("two")]).await;
    fixture.say("r1", "first").await;
    fixture.answer("r1").await;
    drop(fixture.minds.close(&key()).await.unwrap());
    fixture.say("r2", "second").await;
    assert_eq!(fixture.answer("r2").await, "two");
    assert_eq!(fixture.entries().await.len(), 4);
}

#[tokio::test]
async fn archives_left_by_a_crash_are_removed_at_start() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("about kettles")]).await;
    fixture.say("r1", "kettle").await;
    fixture.answer("r1").await;
    fixture.minds.reset(&key()).await.unwrap();
    fixture.until_idle().await;
    // The records are gone, and then the gateway ends.
    let sessions = fixture.store.sessions();
    let gone = sessions.delete(key().as_str(), fixture.clock.now()).await;
    assert!(gone.unwrap().is_some());
    let fixture = fixture.restart(Vec::new()).await;
    assert_eq!(fixture.archives().await.len(), 1);
    fixture.minds.remember_all().await.unwrap();
    assert_eq!(fixture.found("kettle").await, 0);
    assert_eq!(fixture.minds.clear_gone().await.unwrap(), 1);
    assert_eq!(fixture.archives().await, [""; 0]);
    assert_eq!(fixture.minds.clear_gone().await.unwrap(), 0);
}

#[tokio::test]
async fn of_two_concurrent_deletions_one_finds_nothing() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("one")]).await;
    fixture.say("r1", "first").await;
    fixture.answer("r1").await;
    let both = || async {
        let closed = fixture.minds.close(&key()).await?;
        closed.delete().await
    };
    let (one, other) = tokio::join!(both(), both());
    let (well, ill) = match (one, other) {
        (Ok(well), Err(ill)) | (Err(ill), Ok(well)) => (well, ill),
        both => panic!("{both:?}"),
    };
    assert_eq!(well.messages, 2);
    assert_eq!(ill.code, ErrorCode::NotFound);
}
