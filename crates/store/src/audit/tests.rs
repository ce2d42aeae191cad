//! What the audit must do, as tests.

use super::*;
use crate::testing::{TestHome, ids};
use manyhands_core::{CallId, Effects, Pattern, Timestamp};

fn entry(kind: AuditKind, tool: &str, call: Option<CallId>) -> AuditEntry {
    AuditEntry {
        call,
        caller: "client:laptop".to_owned(),
        agent: "main".to_owned(),
        tool: tool.to_owned(),
        effects: Effects::READS,
        ..AuditEntry::new(kind, Timestamp(1_000))
    }
}

fn event(tool: &str) -> AuditEntry {
    entry(AuditKind::Event, tool, None)
}

async fn tools(audit: &Audit) -> Vec<String> {
    let all = audit.query(&AuditFilter::default()).await.unwrap();
    all.into_iter().map(|record| record.entry.tool).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_callers_share_few_transactions_and_none_is_lost() {
    let home = TestHome::new();
    let store = home.open().await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let audit = store.audit().clone();
        callers.spawn(async move {
            let told = audit
                .record(event(&format!("t{number}")), Durability::OnDisk)
                .await;
            told.unwrap();
        });
    }
    callers.join_all().await;
    let commits = store.audit().commits();
    assert!(commits <= 100, "{commits} transactions");
    let filter = AuditFilter {
        limit: Some(2_000),
        ..AuditFilter::default()
    };
    let all = store.audit().query(&filter).await.unwrap();
    let seqs: Vec<i64> = all.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=1_000).rev().collect::<Vec<i64>>());
    let different: std::collections::HashSet<_> = all.iter().map(|r| &r.entry.tool).collect();
    assert_eq!(different.len(), 1_000);
    let verdict = store.audit().verify(VerifyFrom::Genesis).await.unwrap();
    assert_eq!((verdict.ok, verdict.checked), (true, 1_000));
}

#[tokio::test]
async fn acknowledged_entries_survive_a_crash() {
    let home = TestHome::new();
    let store = home.open().await;
    store
        .audit()
        .record(event("a"), Durability::OnDisk)
        .await
        .unwrap();
    std::mem::forget(store); // neither closed nor dropped, as when killed
    let store = home.open().await;
    store
        .audit()
        .record(event("b"), Durability::OnDisk)
        .await
        .unwrap();
    assert_eq!(tools(store.audit()).await, ["b", "a"]);
    assert!(store.audit().verify(VerifyFrom::Genesis).await.unwrap().ok);
}

#[tokio::test]
async fn closing_writes_what_is_queued_and_then_refuses() {
    let home = TestHome::new();
    let store = home.open().await;
    for number in 0..10 {
        let queued = store
            .audit()
            .record(event(&number.to_string()), Durability::Soon);
        queued.await.unwrap();
    }
    store.audit().close().await.unwrap();
    let late = store.audit().record(event("late"), Durability::Soon).await;
    assert_eq!(late, Err(StoreError::Closed));
    store.close().await.unwrap();
    let store = home.open().await;
    assert_eq!(tools(store.audit()).await.len(), 10);
    assert!(store.audit().verify(VerifyFrom::Genesis).await.unwrap().ok);
}

#[tokio::test]
async fn an_entry_nobody_waits_for_is_written_by_itself() {
    let home = TestHome::new();
    let store = home.open().await;
    store
        .audit()
        .record(event("a"), Durability::Soon)
        .await
        .unwrap();
    while store.audit().commits() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tools(store.audit()).await, ["a"]);
}

#[tokio::test]
async fn a_full_disk_is_reported_and_the_chain_continues_once_there_is_space() {
    let home = TestHome::new();
    let store = home.open().await;
    let audit = store.audit();
    audit
        .record(event("before"), Durability::OnDisk)
        .await
        .unwrap();
    store.limit_pages(Some(1)).await;
    let big = || AuditEntry {
        summary: "x".repeat(MAX_SUMMARY),
        ..event("lost")
    };
    // What still fits into the last page may be written; then it is full.
    let mut fitted = 0;
    while audit.record(big(), Durability::OnDisk).await != Err(StoreError::Full) {
        fitted += 1;
        assert!(fitted < 100, "the limit does not hold");
    }
    let soon = audit.record(big(), Durability::Soon).await;
    assert_eq!(
        soon,
        Err(StoreError::Full),
        "while it fails, nobody is left in the dark"
    );
    store.limit_pages(None).await;
    audit
        .record(event("after"), Durability::OnDisk)
        .await
        .unwrap();
    let seen = tools(audit).await;
    assert_eq!((seen.len(), seen[0].as_str()), (fitted + 2, "after"));
    assert!(audit.verify(VerifyFrom::Genesis).await.unwrap().ok);
}

#[tokio::test]
async fn two_stores_on_one_home_share_one_chain() {
    let home = TestHome::new();
    let (one, two) = (home.open().await, home.open().await);
    for store in [&one, &two, &one, &two] {
        store
            .audit()
            .record(event("t"), Durability::OnDisk)
            .await
            .unwrap();
    }
    let verdict = one.audit().verify(VerifyFrom::Genesis).await.unwrap();
    assert_eq!((verdict.ok, verdict.checked), (true, 4));
}

#[tokio::test]
async fn calls_without_an_end_are_found_after_a_crash() {
    let home = TestHome::new();
    let store = home.open().await;
    let ids = ids();
    let (done, cut, at_once): (CallId, CallId, CallId) = (ids.next(), ids.next(), ids.next());
    let changes = |kind, call| AuditEntry {
        effects: Effects::WRITES,
        ..entry(kind, "t", Some(call))
    };
    let say = async |kind, call, durability| {
        let told = store.audit().record(changes(kind, call), durability);
        told.await.unwrap();
    };
    say(AuditKind::Started, done, Durability::OnDisk).await;
    say(AuditKind::Started, cut, Durability::OnDisk).await;
    say(AuditKind::Started, at_once, Durability::Soon).await;
    say(AuditKind::Finished, at_once, Durability::Soon).await;
    say(AuditKind::Finished, done, Durability::OnDisk).await;
    let store = home.open().await;
    let open = store.audit().unfinished().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].entry.call, Some(cut));
    let end = changes(AuditKind::Finished, cut);
    store.audit().record(end, Durability::OnDisk).await.unwrap();
    assert!(store.audit().unfinished().await.unwrap().is_empty());
}

#[tokio::test]
async fn queries_return_the_newest_first() {
    let home = TestHome::new();
    let store = home.open().await;
    let audit = store.audit();
    for number in 0..1_200 {
        let tool = if number % 400 == 0 {
            "gsv__ReadFile"
        } else {
            "tool::shell"
        };
        let mut entry = entry(AuditKind::Finished, tool, None);
        entry.at = Timestamp(number);
        entry.status = [AuditStatus::Ok, AuditStatus::Error][usize::from(number == 7)];
        audit.record(entry, Durability::Soon).await.unwrap();
    }
    audit.close().await.unwrap();
    let check = async |filter: AuditFilter, expect: &[i64]| {
        let found = audit.query(&filter).await.unwrap();
        let seqs: Vec<i64> = found.iter().map(|record| record.seq).collect();
        assert_eq!(seqs, expect, "{filter:?}");
    };
    let all = AuditFilter::default;
    let tool = |text: &str| Some(Pattern::new(text));
    check(
        AuditFilter {
            limit: Some(2),
            ..all()
        },
        &[1_200, 1_199],
    )
    .await;
    check(
        AuditFilter {
            tool: tool("gsv__*"),
            ..all()
        },
        &[801, 401, 1],
    )
    .await;
    check(
        AuditFilter {
            tool: tool("gsv__ReadFile"),
            ..all()
        },
        &[801, 401, 1],
    )
    .await;
    check(
        AuditFilter {
            tool: tool("*File"),
            limit: Some(1),
            ..all()
        },
        &[801],
    )
    .await;
    check(
        AuditFilter {
            tool: tool("GSV__*"),
            ..all()
        },
        &[],
    )
    .await;
    check(
        AuditFilter {
            status: Some(AuditStatus::Error),
            ..all()
        },
        &[8],
    )
    .await;
    check(
        AuditFilter {
            after_seq: Some(1_198),
            ..all()
        },
        &[1_200, 1_199],
    )
    .await;
    check(
        AuditFilter {
            before_seq: Some(3),
            ..all()
        },
        &[2, 1],
    )
    .await;
    check(
        AuditFilter {
            caller: Some("nobody".to_owned()),
            ..all()
        },
        &[],
    )
    .await;
    let count = audit.count_since("client:laptop", Timestamp(1_000)).await;
    assert_eq!(count.unwrap(), 200);
    assert_eq!(audit.count_since("nobody", Timestamp(0)).await.unwrap(), 0);
}

#[tokio::test]
async fn the_head_beside_the_database_follows_without_waiting_for_the_end() {
    let home = TestHome::new();
    let store = home.open().await;
    store
        .audit()
        .record(event("t"), Durability::OnDisk)
        .await
        .unwrap();
    let file = home.path().join("audit.head");
    let follows = async {
        while !file.exists() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(10), follows).await;
    assert!(waited.is_ok(), "the head was not written");
}
