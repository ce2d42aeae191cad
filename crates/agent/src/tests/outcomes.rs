//! How turns end is kept in words that programs can rely on.

use std::time::Duration;

use manyhands_core::ErrorCode;
use manyhands_llm::{ErrorKind, Message, StopReason};

use super::*;
use crate::{CallVerdict, Failure, FailureKind, StoredMessage, Subscription, TurnEvent};

async fn failure(kind: ErrorKind) -> Failure {
    let mut fixture = Fixture::new(vec![ScriptedReply::Fails(kind)]).await;
    let sent = fixture.say("r1", "hi").await;
    let TurnEvent::Error(told) = fixture.end("r1").await else {
        panic!("it answered");
    };
    let kept = fixture.minds.ended(&sent.turn).await.unwrap();
    assert_eq!(kept, Some(TurnEvent::Error(told.clone())), "as it was told");
    told
}

#[tokio::test]
async fn a_provider_refusal_is_reported_by_its_kind() {
    let wait = Duration::from_secs(7);
    let limited = ErrorKind::RateLimited {
        retry_after: Some(wait),
    };
    let told = failure(limited).await;
    assert_eq!(told.kind, FailureKind::ProviderRateLimited);
    assert_eq!((told.retry_after, told.acted), (Some(wait), false));
    for (kind, expected, code) in [
        (
            ErrorKind::Auth,
            FailureKind::ProviderAuth,
            ErrorCode::Failed,
        ),
        (
            ErrorKind::Overloaded,
            FailureKind::ProviderOverloaded,
            ErrorCode::Unavailable,
        ),
        (
            ErrorKind::Silent,
            FailureKind::ProviderTimeout,
            ErrorCode::DeadlineExceeded,
        ),
        (
            ErrorKind::BadRequest,
            FailureKind::ProviderBadRequest,
            ErrorCode::Failed,
        ),
        (
            ErrorKind::OverBudget,
            FailureKind::OverBudget,
            ErrorCode::BudgetExceeded,
        ),
    ] {
        let told = failure(kind).await;
        assert_eq!((told.kind, told.kind.code()), (expected, code));
    }
}

/// What the session's history shows.
async fn shown(fixture: &Fixture) -> Vec<StoredMessage> {
    let session = fixture.minds.get(&key()).await.unwrap();
    let shown = fixture.minds.messages(&session, i64::MAX, 100).await;
    shown.unwrap()
}

#[tokio::test]
async fn a_stopped_reply_is_stored_as_far_as_it_was_written() {
    let lines = vec![
        ScriptedReply::SaysAndHangs("half an ans"),
        ScriptedReply::Hangs,
        ScriptedReply::Says("whole"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2"] {
        fixture.say(run, "go").await;
        fixture.actor.hanging.notified().await;
        assert!(fixture.minds.stop(&key()));
        assert_eq!(fixture.end(run).await, TurnEvent::Stopped);
    }
    fixture.say("r3", "again").await;
    assert_eq!(fixture.answer("r3").await, "whole");
    let said = shown(&fixture).await;
    let stopped: Vec<bool> = said.iter().map(|one| one.note.stopped).collect();
    assert_eq!(stopped, [false, true, false, true, false, false]);
    assert_eq!(said[1].message, Message::assistant("half an ans"));
    assert_eq!(
        fixture.last_request().messages,
        [
            Message::user("go"),
            Message::assistant("half an ans"),
            Message::user("go"),
            Message::user("again"),
        ],
        "the model sees what it said, and no notes"
    );
    let session = fixture.minds.get(&key()).await.unwrap();
    let count = fixture.minds.message_count(&session).await.unwrap();
    assert_eq!(count, 5, "a note is no message");
}

#[tokio::test]
async fn the_reason_of_a_failure_is_stored_after_its_message() {
    let limited = ErrorKind::RateLimited {
        retry_after: Some(Duration::from_secs(7)),
    };
    let lines = vec![
        ScriptedReply::Fails(limited),
        ScriptedReply::Panics,
        ScriptedReply::Fails(ErrorKind::Auth),
        ScriptedReply::Says("well"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for run in ["r1", "r2", "r3", "r4"] {
        fixture.say(run, run).await;
        fixture.end(run).await;
        fixture.until_idle().await;
    }
    let said = shown(&fixture).await;
    let errors: Vec<Option<(&str, bool)>> = said
        .iter()
        .map(|one| one.note.error.as_ref())
        .map(|error| error.map(|error| (error.failure.as_str(), error.retryable)))
        .collect();
    assert_eq!(
        errors,
        [
            None,
            Some(("provider_rate_limited", true)),
            None,
            Some(("other", true)),
            None,
            Some(("provider_auth", false)),
            None,
            None,
        ]
    );
    let error = said[1].note.error.as_ref().unwrap();
    assert_eq!(error.retry_after_ms, Some(7_000));
    assert_eq!(error.code, "rate_limited");
    let numbers: Vec<i64> = said.iter().map(|one| one.seq).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    let wrong = fixture.minds.rewind(&key(), 1).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::InvalidArguments);
    fixture.minds.rewind(&key(), 4).await.unwrap();
    assert_eq!(
        shown(&fixture).await.len(),
        4,
        "the note goes with its message"
    );
}

#[tokio::test]
async fn waiting_for_approval_is_no_part_of_a_calls_duration() {
    let lines = vec![
        ScriptedReply::Calls(vec![("ask", "{}")]),
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    let paused = |event: &crate::ChatEvent| matches!(event.what, TurnEvent::Paused { .. });
    fixture.until(paused).await;
    fixture.clock.advance(Duration::from_secs(50));
    fixture.tools.approved.notify_one();
    fixture.tools.waiting.notified().await;
    fixture.clock.advance(Duration::from_secs(3));
    fixture.tools.go.notify_one();
    assert_eq!(fixture.answer("r1").await, "done");
    let made: Vec<_> = shown(&fixture)
        .await
        .into_iter()
        .flat_map(|one| one.made)
        .flatten()
        .map(|made| (made.ms, made.waited_ms, made.outcome))
        .collect();
    let ok = Some(CallVerdict::Ok);
    assert_eq!(made, [(0, 50_000, ok), (3_000, 0, ok)]);
}

#[tokio::test]
async fn a_failure_after_tool_calls_mentions_their_effects() {
    let lines = vec![
        ScriptedReply::Calls(vec![("act", "{}")]),
        ScriptedReply::Fails(ErrorKind::Overloaded),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    let TurnEvent::Error(told) = fixture.end("r1").await else {
        panic!("it answered");
    };
    assert!(told.acted, "asking again may do it twice");
}

#[tokio::test]
async fn a_truncated_reply_is_marked() {
    let lines = vec![
        ScriptedReply::Cut("half an ans"),
        ScriptedReply::Says("whole"),
    ];
    let mut fixture = Fixture::new(lines).await;
    for (run, said, why) in [
        ("r1", "half an ans", StopReason::Length),
        ("r2", "whole", StopReason::End),
    ] {
        fixture.say(run, "go").await;
        let TurnEvent::Final { text, stop, .. } = fixture.end(run).await else {
            panic!("it failed");
        };
        assert_eq!((text.as_str(), stop), (said, why));
    }
}

#[tokio::test]
async fn a_listener_of_one_session_is_not_woken_by_another() {
    let fixture = Fixture::new(vec![ScriptedReply::Says("a"), ScriptedReply::Says("b")]).await;
    let other = "other".parse().unwrap();
    let mut ours = fixture.minds.listen(Subscription::Session(&key()));
    let theirs = fixture.minds.listen(Subscription::Session(&other));
    fixture.say("r1", "hi").await;
    loop {
        let event = ours.next().await.unwrap();
        assert_eq!(event.session, key());
        if event.what.is_end() {
            break;
        }
    }
    assert!(theirs.is_empty());
}

#[tokio::test]
async fn two_calls_with_one_id_stay_separate() {
    let mut fixture = Fixture::new(vec![
        ScriptedReply::Twins(("act", r#"{"n":1}"#), ("act", r#"{"n":2}"#)),
        ScriptedReply::Says("done"),
    ])
    .await;
    fixture.say("r1", "go").await;
    assert_eq!(fixture.answer("r1").await, "done");
    let asked: Vec<i64> = {
        let calls = fixture.tools.calls.lock().unwrap();
        calls
            .iter()
            .map(|call| call.arguments["n"].as_i64().unwrap())
            .collect()
    };
    assert_eq!(asked, [1, 2]);
    let turn = fixture
        .store
        .sessions()
        .turn_of_run(key().as_str(), "r1")
        .await;
    let turn = turn.unwrap().unwrap();
    let kept = fixture.store.sessions().calls(&turn.id, 0).await.unwrap();
    assert!(kept.iter().all(|call| call.outcome.is_some()), "{kept:?}");
}

#[tokio::test]
async fn concurrent_senders_cannot_exceed_the_queue_limit() {
    let fixture = Fixture::new(vec![ScriptedReply::Hangs]).await;
    fixture.env.limits.lock().unwrap().queued = 3;
    let sends = (0..12).map(|n| {
        let (minds, run) = (fixture.minds.clone(), format!("r{n}"));
        async move {
            let input = crate::Input::text("hi");
            minds.send(&key(), Some(run), input, &owner()).await.is_ok()
        }
    });
    let sent = futures_util::future::join_all(sends).await;
    assert_eq!(sent.iter().filter(|ok| **ok).count(), 3);
    assert_eq!(fixture.minds.queued(&key()).await.unwrap(), 3);
}

#[tokio::test]
async fn a_reset_ends_the_turn_and_runs_queued_messages_afterwards() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("anew"),
    ];
    let mut fixture = Fixture::new(lines).await;
    let first = fixture.say("r1", "go").await;
    fixture.tools.waiting.notified().await;
    let input = crate::Input {
        thinking: Some(manyhands_llm::Thinking::Low), // so that it is a turn of its own
        ..crate::Input::text("next")
    };
    fixture.send_as("r2", input, &owner()).await;
    let reset = fixture.minds.reset(&key()).await.unwrap();
    assert!(reset.archived >= 2, "the question and the call");
    assert_eq!(fixture.answer("r2").await, "anew");
    fixture.until_idle().await;
    let ended = fixture.minds.ended(&first.turn).await.unwrap();
    assert_eq!(ended, Some(TurnEvent::Stopped));
    assert_eq!(fixture.messages().await.len(), 2, "only what came after");
}
