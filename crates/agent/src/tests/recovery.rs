use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{AgentId, Effects, Ids, ManualClock, SeededEntropy, Timestamp};
use manyhands_llm::Message;
use manyhands_store::{ApprovalFilter, ApprovalState, NewApproval, TurnState};

use super::*;
use crate::{InputReceipt, SessionKey, TurnEvent};

#[tokio::test]
async fn a_turn_resumes_after_a_restart_and_no_tool_runs_twice() {
    let lines = vec![ScriptedReply::Calls(vec![
        ("act", "{}"),
        ("wait", "{}"),
        ("act", r#"{"n":2}"#),
    ])];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    fixture.tools.waiting.notified().await;
    assert_eq!(fixture.tools.names(), ["act", "wait"]);
    let mut again = fixture.restart(vec![ScriptedReply::Says("done")]).await;
    assert_eq!(again.minds.resume().await.unwrap(), 1);
    assert_eq!(again.answer("r1").await, "done");
    assert_eq!(again.tools.names(), ["act"], "only what had not begun");
    let messages = again.messages().await;
    let Message::Tool { results } = &messages[2] else {
        panic!("{messages:?}");
    };
    let text = serde_json::to_string(&results[1]).unwrap();
    assert!(text.contains("outcome unknown"), "{text}");
    assert!(serde_json::to_string(&results[0]).unwrap().contains("did"));
    fixture = again.restart(Vec::new()).await;
    assert_eq!(fixture.minds.resume().await.unwrap(), 0);
}

#[tokio::test]
async fn an_interrupted_model_request_is_repeated() {
    let fixture = Fixture::new(vec![ScriptedReply::Hangs]).await;
    fixture.say("r1", "think").await;
    fixture.actor.hanging.notified().await;
    let mut again = fixture.restart(vec![ScriptedReply::Says("thought")]).await;
    again.minds.resume().await.unwrap();
    assert_eq!(again.answer("r1").await, "thought");
    assert_eq!(
        again.messages().await.len(),
        2,
        "the question is there once"
    );
}

#[tokio::test]
async fn a_pending_approval_survives_a_restart() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Calls(vec![("ask", "{}")])]).await;
    let sent = fixture.say("r1", "go").await;
    fixture
        .until(|event| matches!(event.what, TurnEvent::Paused { .. }))
        .await;
    let mut again = fixture.restart(vec![ScriptedReply::Says("done")]).await;
    let turn = again
        .store
        .sessions()
        .turn(&sent.turn)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(turn.state, TurnState::Waiting);
    again.minds.resume().await.unwrap();
    again
        .until(|event| matches!(event.what, TurnEvent::Paused { .. }))
        .await;
    again.tools.approved.notify_one();
    assert_eq!(again.answer("r1").await, "done");
    assert_eq!(again.tools.names(), ["ask"]);
}

/// A turn that waits for the owner, after a restart without the tool.
async fn without_its_tool() -> (Fixture, InputReceipt) {
    let mut fixture = Fixture::new(vec![ScriptedReply::Calls(vec![("ask", "{}")])]).await;
    let sent = fixture.say("r1", "go").await;
    fixture
        .until(|event| matches!(event.what, TurnEvent::Paused { .. }))
        .await;
    let again = fixture.restart(vec![ScriptedReply::Says("done")]).await;
    again.tools.lack("ask");
    (again, sent)
}

#[tokio::test]
async fn a_tool_that_comes_back_after_the_gateway_is_waited_for() {
    let (mut again, sent) = without_its_tool().await;
    again.minds.resume().await.unwrap();
    again.tools.approved.notify_one();
    let sessions = again.store.sessions();
    let turn = sessions.turn(&sent.turn).await.unwrap().unwrap();
    assert_eq!(turn.state, TurnState::Waiting);
    assert!(again.tools.names().is_empty());
    again.tools.lack("");
    assert_eq!(again.answer("r1").await, "done");
    assert_eq!(again.tools.names(), ["ask"]);
}

#[tokio::test]
async fn a_turn_continues_without_a_tool_that_stays_offline() {
    let (mut again, _) = without_its_tool().await;
    let (now, approvals) = (Timestamp(1), again.store.approvals().clone());
    let key = SessionKey::main(&AgentId::main());
    let entropy = Arc::new(SeededEntropy::new(1));
    let ids = Ids::new(Arc::new(ManualClock::at(now)), entropy);
    for (at, tool, session) in [
        (1, "ask", Some(key.to_string())),
        (2, "act", Some(key.to_string())),
        (3, "ask", None),
    ] {
        let new = NewApproval {
            id: ids.next(),
            fingerprint: at.to_string(),
            caller: "gateway".to_owned(),
            caller_name: "gateway".to_owned(),
            agent: AgentId::main(),
            session,
            tool: tool.to_owned(),
            arguments: serde_json::json!({}),
            effects: Effects::RUNS,
            rule: "test".to_owned(),
            reason: None,
            proposal: None,
            taint: manyhands_core::Taint::NONE,
            expires: Timestamp(i64::MAX),
        };
        approvals.open_or_find(&new, now).await.unwrap();
    }
    again.env.limits.lock().unwrap().tools = Duration::ZERO;
    again.minds.resume().await.unwrap();
    assert_eq!(again.answer("r1").await, "done");
    assert!(again.tools.names().is_empty());
    let text = serde_json::to_string(&again.messages().await[2]).unwrap();
    assert!(text.contains("there is no tool"), "{text}");
    let asked = approvals
        .list(&ApprovalFilter::default(), now)
        .await
        .unwrap();
    let left: Vec<(&str, bool)> = asked
        .iter()
        .filter(|one| one.state == ApprovalState::Pending)
        .map(|one| (one.tool.as_str(), one.session.is_some()))
        .collect();
    assert_eq!(asked.len(), 3);
    assert!(
        left.contains(&("act", true)) && left.contains(&("ask", false)),
        "{left:?}"
    );
    assert_eq!(left.len(), 2);
}

#[tokio::test]
async fn queued_inputs_keep_their_order() {
    let fixture = Fixture::new(vec![ScriptedReply::Hangs]).await;
    fixture.say("r1", "one").await;
    fixture.actor.hanging.notified().await;
    fixture.say("r2", "two").await;
    fixture.say("r3", "three").await;
    let lines = vec![
        ScriptedReply::Says("1"),
        ScriptedReply::Says("2"),
        ScriptedReply::Says("3"),
    ];
    let mut again = fixture.restart(lines).await;
    again.minds.resume().await.unwrap();
    for (run, answer) in [("r1", "1"), ("r2", "2"), ("r3", "3")] {
        assert_eq!(again.answer(run).await, answer);
    }
}
