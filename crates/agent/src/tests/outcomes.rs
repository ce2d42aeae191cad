//! How turns end is kept in words that programs can rely on.

use std::time::Duration;

use manyhands_core::ErrorCode;
use manyhands_llm::{ErrorKind, StopReason};

use super::*;
use crate::{Failure, FailureKind, Subscription, TurnEvent};

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
