//! Every way we know to tamper with the audit, as tests.

use super::{AuditEntry, AuditFilter, AuditKind, ChainVerdict, Durability, VerifyFrom};
use crate::home::AUDIT_HEAD;
use crate::testing::TestHome;
use crate::{Store, StoreError};
use manyhands_core::Timestamp;

async fn say(store: &Store, tool: &str) {
    let entry = AuditEntry {
        tool: tool.to_owned(),
        ..AuditEntry::new(AuditKind::Event, Timestamp(7))
    };
    store
        .audit()
        .record(entry, Durability::OnDisk)
        .await
        .unwrap();
}

/// Ten entries, closed in order, so that the file is as far as the database.
async fn ten(home: &TestHome) {
    let store = home.open().await;
    for number in 1..=10 {
        say(&store, &number.to_string()).await;
    }
    store.close().await.unwrap();
}

/// Verifies without opening the store the usual way, which would put damage on record.
async fn verdict(home: &TestHome) -> ChainVerdict {
    let store = home.open().await;
    let verdict = store.audit().verify(VerifyFrom::Genesis).await.unwrap();
    std::mem::forget(store);
    verdict
}

#[tokio::test]
async fn an_untouched_chain_verifies_from_anywhere() {
    let home = TestHome::new();
    ten(&home).await;
    let store = home.open().await;
    for (from, checked) in [
        (VerifyFrom::Genesis, 10),
        (VerifyFrom::Seq(8), 3),
        (VerifyFrom::Seq(1), 10),
    ] {
        let verdict = store.audit().verify(from).await.unwrap();
        assert_eq!(
            (verdict.ok, verdict.checked),
            (true, checked),
            "{verdict:?}"
        );
    }
    let beyond = store.audit().verify(VerifyFrom::Seq(99)).await;
    assert!(matches!(beyond, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn an_empty_chain_verifies() {
    let home = TestHome::new();
    assert!(verdict(&home).await.ok);
}

const COPY: &str = "at, kind, call_id, caller, agent, tool, effects, arguments_digest, summary,
                    status, code, duration_us, hash";

#[tokio::test]
async fn every_kind_of_tampering_is_found() {
    let swap = "UPDATE audit SET seq = -1 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5;
                UPDATE audit SET seq = 5 WHERE seq = -1";
    let insert: &'static str = format!(
        "UPDATE audit SET seq = seq + 100 WHERE seq > 5; UPDATE audit SET seq = seq - 99 WHERE seq > 100;
         INSERT INTO audit (seq, {COPY}) SELECT 6, {COPY} FROM audit WHERE seq = 5"
    )
    .leak();
    let before_first: &'static str =
        format!("INSERT INTO audit (seq, {COPY}) SELECT 0, {COPY} FROM audit WHERE seq = 5").leak();
    let append: &'static str =
        format!("INSERT INTO audit (seq, {COPY}) SELECT 11, {COPY} FROM audit WHERE seq = 10")
            .leak();
    let table = [
        (
            "UPDATE audit SET summary = 'x' WHERE seq = 4",
            4,
            "not the one that was written",
        ),
        (
            "UPDATE audit SET at = at + 1 WHERE seq = 10",
            10,
            "not the one that was written",
        ),
        (
            "UPDATE audit SET call_id = '' WHERE seq = 4",
            4,
            "not the one that was written",
        ),
        (
            "UPDATE audit SET hash = 'zz' WHERE seq = 4",
            4,
            "not the one that was written",
        ),
        ("UPDATE audit SET caller = x'ff' WHERE seq = 4", 4, ""),
        (
            "DELETE FROM audit WHERE seq = 4",
            4,
            "entries 4 to 4 are missing",
        ),
        (
            "DELETE FROM audit WHERE seq < 4",
            1,
            "entries 1 to 3 are missing",
        ),
        (swap, 4, "not the one that was written"),
        (insert, 6, "not the one that was written"),
        (before_first, 0, "inserted before the first"),
        (append, 11, "not the one that was written"),
        (
            "DELETE FROM audit WHERE seq > 8",
            10,
            "entries 9 to 10 were cut off",
        ),
        ("DELETE FROM audit", 10, "entries 1 to 10 were cut off"),
        ("DELETE FROM audit_head", 10, "the head is missing"),
        (
            "DELETE FROM audit; DELETE FROM audit_head",
            10,
            "entries 1 to 10 were cut off",
        ),
        ("UPDATE audit_head SET seq = 9", 9, "not signed"),
        ("UPDATE audit_head SET mac = 'no'", 10, "not signed"),
    ];
    for (tampering, seq, words) in table {
        let home = TestHome::new();
        ten(&home).await;
        let store = home.open().await;
        assert!(store.audit().verify(VerifyFrom::Genesis).await.unwrap().ok);
        home.raw(tampering).await;
        let found = store.audit().verify(VerifyFrom::Genesis).await.unwrap();
        let named = found
            .problems
            .iter()
            .any(|p| p.seq == seq && p.what.contains(words));
        assert!(!found.ok && named, "{tampering}: {found:?}");
    }
}

#[tokio::test]
async fn an_older_head_with_the_later_entries_cut_off_is_found_by_the_file() {
    let home = TestHome::new();
    let store = home.open().await;
    for number in 1..=5 {
        say(&store, &number.to_string()).await;
    }
    home.raw("CREATE TABLE kept AS SELECT * FROM audit_head")
        .await;
    say(&store, "6").await;
    store.close().await.unwrap();
    home.raw(
        "DELETE FROM audit WHERE seq > 5; DELETE FROM audit_head;
         INSERT INTO audit_head SELECT * FROM kept; DROP TABLE kept",
    )
    .await;
    let found = verdict(&home).await;
    assert!(!found.ok, "{found:?}");
    assert!(
        found.problems[0]
            .what
            .contains("cut off the end: audit.head"),
        "{found:?}"
    );
}

#[tokio::test]
async fn damage_found_at_a_start_stays_on_record() {
    let home = TestHome::new();
    ten(&home).await;
    home.raw("DELETE FROM audit WHERE seq > 8").await;
    let store = home.open().await;
    say(&store, "next").await;
    store.close().await.unwrap();
    let store = home.open().await;
    say(&store, "later").await;
    let found = store.audit().verify(VerifyFrom::Genesis).await.unwrap();
    assert!(!found.ok, "{found:?}");
    assert!(
        found.problems[0].what.contains("damage was found"),
        "{found:?}"
    );
    let last = store.audit().query(&AuditFilter::default()).await.unwrap();
    assert_eq!(last[0].entry.tool, "later", "and the chain goes on");
}

#[tokio::test]
async fn a_lost_or_forged_head_file_is_found_and_one_behind_is_not() {
    let home = TestHome::new();
    ten(&home).await;
    let file = home.path().join(AUDIT_HEAD);
    let old = std::fs::read(&file).unwrap();
    let store = home.open().await;
    say(&store, "11").await;
    store.close().await.unwrap();
    std::fs::write(&file, &old).unwrap();
    assert!(verdict(&home).await.ok, "behind is what a crash leaves");
    let forged = String::from_utf8(old)
        .unwrap()
        .replace("\"seq\":10", "\"seq\":3");
    std::fs::write(&file, forged).unwrap();
    assert!(verdict(&home).await.problems[0].what.contains("not signed"));
    std::fs::remove_file(&file).unwrap();
    let found = verdict(&home).await;
    assert!(
        found
            .problems
            .iter()
            .any(|p| p.what.contains("audit.head is missing")),
        "{found:?}"
    );
}

#[tokio::test]
async fn another_vaults_signature_is_not_trusted() {
    let (home, other) = (TestHome::new(), TestHome::new());
    ten(&home).await;
    ten(&other).await;
    let read = |home: &TestHome| std::fs::read(home.path().join(AUDIT_HEAD)).unwrap();
    std::fs::write(home.path().join(AUDIT_HEAD), read(&other)).unwrap();
    assert!(!verdict(&home).await.ok);
}
