use std::time::Duration;

use super::*;
use crate::{SessionMessage, TurnEvent, TurnUsage};

impl Fixture {
    /// What is said of costs: the number of the message, and what it says.
    async fn costs(&self, before: i64, limit: u32) -> Vec<(i64, TurnUsage)> {
        let said = self.minds.before(&key(), before, limit).await.unwrap();
        let cost = |one: SessionMessage| Some((one.seq, one.usage?));
        said.into_iter().filter_map(cost).collect()
    }
}

fn told(end: TurnEvent) -> TurnUsage {
    match end {
        TurnEvent::Final { usage, .. } => usage,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_history_has_the_published_cost_and_duration() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("one"),
        ScriptedReply::Says("two"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "first").await;
    fixture.tools.waiting.notified().await;
    assert_eq!(fixture.costs(i64::MAX, 50).await, [], "it goes on");
    fixture.clock.advance(Duration::from_millis(1_500));
    fixture.tools.go.notify_one();
    let first = told(fixture.end("r1").await);
    let expect = TurnUsage {
        replies: 2,
        input_tokens: 20,
        output_tokens: 4,
        cost_micros: 6,
        duration_ms: Some(1_500),
    };
    assert_eq!(first, expect);
    fixture.say("r2", "second").await;
    let second = told(fixture.end("r2").await);
    assert_eq!(second.duration_ms, Some(0));
    assert_eq!(
        fixture.costs(i64::MAX, 50).await,
        [(3, first), (5, second)],
        "with the last message of each"
    );
    // However it is read in pages, each is said once.
    for limit in 1..=6 {
        let (mut before, mut all) = (i64::MAX, Vec::new());
        while before > 0 {
            let page = fixture.minds.before(&key(), before, limit).await.unwrap();
            all.splice(0..0, fixture.costs(before, limit).await);
            before = page.first().map_or(0, |one| one.seq);
        }
        assert_eq!(all, [(3, first), (5, second)], "{limit} at a time");
    }
    fixture.until_idle().await;
    let fixture = fixture.restart(Vec::new()).await;
    let kept = fixture.costs(i64::MAX, 50).await;
    assert_eq!(kept, [(3, first), (5, second)], "also after a restart");
}

#[tokio::test]
async fn a_merged_message_belongs_to_the_turn_that_read_it() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Says("both"),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "first").await;
    fixture.tools.waiting.notified().await;
    fixture.say("r2", "and also").await;
    fixture.tools.go.notify_one();
    let usage = told(fixture.end("r1").await);
    let last = fixture.entries().await.last().unwrap().seq;
    assert_eq!(fixture.costs(i64::MAX, 50).await, [(last, usage)]);
}

#[tokio::test]
async fn a_stopped_turn_reports_its_cost_if_there_was_a_reply() {
    let lines = vec![
        ScriptedReply::Calls(vec![("wait", "{}")]),
        ScriptedReply::Fails(manyhands_llm::ErrorKind::Auth),
    ];
    let mut fixture = Fixture::new(lines).await;
    fixture.say("r1", "go").await;
    fixture.tools.waiting.notified().await;
    fixture.minds.stop(&key());
    assert_eq!(fixture.end("r1").await, TurnEvent::Stopped);
    fixture.until_idle().await;
    fixture.say("r2", "go on").await;
    assert!(matches!(fixture.end("r2").await, TurnEvent::Error(_)));
    let costs = fixture.costs(i64::MAX, 50).await;
    assert_eq!(costs.len(), 1, "{costs:?}");
    assert_eq!(costs[0].1.replies, 1);
}

#[tokio::test]
async fn compaction_neither_repeats_costs_nor_adds_its_own() {
    let fixture = Fixture::compacted().await;
    let entries = fixture.entries().await;
    let costs = fixture.costs(i64::MAX, 50).await;
    assert_eq!(costs.len(), 1, "only the second is still shown");
    assert_eq!(costs[0].0, entries.last().unwrap().seq);
    assert_eq!((costs[0].1.replies, costs[0].1.cost_micros), (1, 3));
    let session = fixture.minds.get(&key()).await.unwrap();
    assert_eq!(session.cost_micros, 9, "the session counts the summary too");
}
