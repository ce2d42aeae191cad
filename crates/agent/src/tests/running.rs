//! What whoever comes to a turn that goes on is given, and how it is told apart from what is told.

use manyhands_llm::Message;

use super::fixture::*;
use crate::TurnEvent;

#[tokio::test]
async fn a_late_subscriber_gets_text_calls_and_approvals_so_far() {
    let lines = vec![
        ScriptedReply::Calls(vec![("look", "{}"), ("ask", "{}")]),
        ScriptedReply::Says("done"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    let paused = fixture
        .until(|event| matches!(event.what, TurnEvent::Paused { .. }))
        .await;
    fixture.say("r2", "and then").await;
    let running = fixture.minds.running(&key()).unwrap();
    assert_eq!(running.run_id, "r1");
    let calls: Vec<(bool, bool)> = running
        .calls
        .iter()
        .map(|call| (call.done.is_some(), call.approval.is_some()))
        .collect();
    assert_eq!(calls, [(true, false), (false, true)], "only one waits");
    assert_eq!(
        paused.mark.call_id.as_ref(),
        Some(&running.calls[1].call_id)
    );
    let waiting = fixture.minds.waiting(&key()).await.unwrap();
    let waiting: Vec<_> = waiting
        .iter()
        .map(|one| (one.run_id.as_str(), one.text.as_str()))
        .collect();
    assert_eq!(waiting, [("r2", "and then")]);
    fixture.tools.approved.notify_one();
    let taken = fixture
        .until(|event| matches!(event.what, TurnEvent::Taken { .. }) && event.run_id == "r2")
        .await;
    let TurnEvent::Taken { into, message, .. } = &taken.what else {
        panic!("{taken:?}");
    };
    assert_eq!(into.as_deref(), Some("r1"));
    assert_eq!(message, &Message::user("and then"));
    let end = fixture
        .until(|event| event.run_id == "r1" && event.what.is_end())
        .await;
    let entries = fixture.entries().await;
    let seqs: Vec<i64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(
        (taken.mark.seq, end.mark.seq),
        (Some(seqs[3]), Some(seqs[4]))
    );
    assert!(end.mark.reply > running.reply);
    assert_eq!(
        fixture.minds.running(&key()),
        None,
        "it is over when that is told"
    );
    assert!(fixture.minds.waiting(&key()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turns_start_is_published_before_its_other_events() {
    let mut fixture = Fixture::new(vec![ScriptedReply::Says("hello")]).await;
    fixture.say("r1", "hi").await;
    let first = fixture.until(|event| event.run_id == "r1").await;
    assert!(matches!(first.what, TurnEvent::Taken { into: None, .. }));
    let entries = fixture.entries().await;
    assert_eq!(first.mark.seq, Some(entries[0].seq));
    fixture.end("r1").await;
}

#[tokio::test]
async fn call_durations_survive_compaction() {
    let lines = vec![
        ScriptedReply::Says("hello"),
        ScriptedReply::Calls(vec![("look", "{}"), ("act", "{}")]),
        ScriptedReply::Says("done"),
        ScriptedReply::Says("a summary"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "hi").await;
    fixture.answer("r1").await;
    fixture.say("r2", "go").await;
    let done = fixture
        .until(|event| matches!(event.what, TurnEvent::ToolDone { .. }))
        .await;
    let TurnEvent::ToolDone { stats, .. } = &done.what else {
        panic!("{done:?}");
    };
    let call = stats.call.expect("an audit id");
    fixture.answer("r2").await;
    fixture.until_idle().await;
    let made = async |fixture: &Fixture| {
        let session = fixture.minds.get(&key()).await.unwrap();
        let said = fixture.minds.messages(&session, i64::MAX, 100).await;
        let said = said.unwrap().into_iter();
        let made: Vec<_> = said.flat_map(|one| one.made).flatten().collect();
        made
    };
    let before = made(&fixture).await;
    assert_eq!(before.len(), 2);
    assert_eq!(before[0].call, Some(call));
    let compacted = fixture.minds.compact(&key()).await.unwrap();
    assert!(compacted.trimmed > 0);
    assert_eq!(made(&fixture).await, before);
}
