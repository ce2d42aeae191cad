//! What retention promises, and every way we know to abuse it, as tests.

use std::io::Read as _;

use manyhands_core::{CallId, Effects, Timestamp};
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use serde_json::Value;

use super::{AuditEntry, AuditFilter, AuditKind, ChainVerdict, Durability, Retention, VerifyFrom};
use crate::testing::{TestHome, ids};
use crate::{Store, StoreError};

/// Entries that retention never touches.
const LATEST: u64 = 1_000;

async fn say(store: &Store, at: i64, durability: Durability) {
    let entry = AuditEntry {
        tool: at.to_string(),
        summary: "x".repeat(100),
        ..AuditEntry::new(AuditKind::Event, Timestamp(at))
    };
    store.audit().record(entry, durability).await.unwrap();
}

/// A store with entries whose time is their number.
async fn filled(home: &TestHome, count: i64) -> Store {
    let store = home.open().await;
    for at in 1..count {
        say(&store, at, Durability::Soon).await;
    }
    say(&store, count, Durability::OnDisk).await;
    store
}

fn before(at: i64) -> Retention {
    Retention {
        before: Some(Timestamp(at)),
        ..Retention::default()
    }
}

async fn verify(store: &Store) -> ChainVerdict {
    store.audit().verify(VerifyFrom::Genesis).await.unwrap()
}

async fn seqs(store: &Store) -> Vec<i64> {
    let filter = AuditFilter {
        limit: Some(100_000),
        ..AuditFilter::default()
    };
    let all = store.audit().query(&filter).await.unwrap();
    all.iter().rev().map(|record| record.seq).collect()
}

#[tokio::test]
async fn old_entries_go_and_the_rest_is_still_proven() {
    let home = TestHome::new();
    let store = filled(&home, 1_500).await;
    assert_eq!(store.audit().prune(&before(1)).await.unwrap(), 0);
    assert_eq!(store.audit().prune(&before(401)).await.unwrap(), 400);
    assert_eq!(store.audit().prune(&before(401)).await.unwrap(), 0);
    let verdict = verify(&store).await;
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.checked, verdict.removed), (1_101, 400));
    assert_eq!(seqs(&store).await, (401..=1_501).collect::<Vec<_>>());
    let announced = &store.audit().query(&AuditFilter::default()).await.unwrap()[0];
    assert_eq!(announced.entry.code, "audit_pruned");
    let said: Value = serde_json::from_str(&announced.entry.summary).unwrap();
    assert_eq!((&said["first"], &said["through"]), (&1.into(), &400.into()));
    assert_eq!(said["count"], 400);
    assert_eq!(said["from"], "1970-01-01T00:00:00.001Z");
    // The chain goes on, and so does retention, also after a crash.
    say(&store, 1_501, Durability::OnDisk).await;
    std::mem::forget(store);
    let store = home.open().await;
    say(&store, 1_502, Durability::OnDisk).await;
    assert_eq!(store.audit().prune(&before(451)).await.unwrap(), 50);
    let verdict = verify(&store).await;
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!(verdict.removed, 450);
    for from in [1, 450, 451, 452, 1_504] {
        let part = store.audit().verify(VerifyFrom::Seq(from)).await.unwrap();
        assert!(part.ok, "{from}: {part:?}");
    }
    store.close().await.unwrap();
    assert!(verify(&home.open().await).await.ok);
}

#[tokio::test]
async fn the_latest_entries_and_calls_that_run_stay() {
    let home = TestHome::new();
    let store = home.open().await;
    for at in 1..=20 {
        say(&store, at, Durability::Soon).await;
    }
    let call: CallId = ids().next();
    let begun = AuditEntry {
        call: Some(call),
        effects: Effects::WRITES,
        ..AuditEntry::new(AuditKind::Started, Timestamp(21))
    };
    store
        .audit()
        .record(begun.clone(), Durability::OnDisk)
        .await
        .unwrap();
    let store = filled(&home, 1_500).await;
    assert_eq!(store.audit().prune(&before(9_999)).await.unwrap(), 20);
    let ended = AuditEntry {
        kind: AuditKind::Finished,
        ..begun
    };
    store
        .audit()
        .record(ended, Durability::OnDisk)
        .await
        .unwrap();
    while store.audit().prune(&before(9_999)).await.unwrap() > 0 {}
    assert_eq!(seqs(&store).await.len() as u64, LATEST + 1);
    assert!(verify(&store).await.ok);
}

#[tokio::test]
async fn a_large_audit_shrinks_below_its_limit_and_a_forged_size_removes_nothing() {
    let home = TestHome::new();
    let store = filled(&home, 1_600).await;
    let most = |bytes| Retention {
        max_bytes: Some(bytes),
        ..Retention::default()
    };
    // Each entry counts about half a kilobyte.
    assert_eq!(store.audit().prune(&most(1_000_000)).await.unwrap(), 0);
    home.raw("UPDATE audit_head SET bytes = 9000000000").await;
    assert_eq!(
        store.audit().prune(&most(1_000_000)).await.unwrap(),
        0,
        "what is there is counted before anything goes"
    );
    let gone = store.audit().prune(&most(700_000)).await.unwrap();
    assert!((300..500).contains(&gone), "{gone}");
    assert_eq!(store.audit().prune(&most(700_000)).await.unwrap(), 0);
    let verdict = verify(&store).await;
    assert_eq!((verdict.ok, verdict.removed), (true, gone), "{verdict:?}");
}

#[tokio::test]
async fn removed_entries_are_archived_first_and_can_be_verified() {
    let home = TestHome::new();
    let store = filled(&home, 1_010).await;
    let retention = Retention {
        archive: Some(store.blobs().clone()),
        ..before(11)
    };
    // What a crash between the archive and the removal leaves is written again.
    let place = Path::from("audit/1-10.jsonl.gz");
    store.blobs().put(&place, "half".into()).await.unwrap();
    assert_eq!(store.audit().prune(&retention).await.unwrap(), 10);
    let packed = store
        .blobs()
        .get(&place)
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let numbers: Vec<i64> = lines.iter().map(|l| l["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    let said = &store.audit().query(&AuditFilter::default()).await.unwrap()[0];
    let said: Value = serde_json::from_str(&said.entry.summary).unwrap();
    assert_eq!(said["archive"], place.as_ref());
    assert_eq!(
        said["hash"], lines[9]["hash"],
        "the sealed hash is the last one's"
    );
    use sha2::Digest as _;
    let sha256 = crate::hex::encode(&sha2::Sha256::digest(&packed));
    assert_eq!(said["archive_sha256"], sha256);
}

#[tokio::test]
async fn a_damaged_beginning_is_not_sealed_over() {
    for damage in [
        "UPDATE audit SET summary = 'y' WHERE seq = 5",
        "DELETE FROM audit WHERE seq = 5",
        "UPDATE audit SET hash = 'zz' WHERE seq = 1",
        "UPDATE audit SET at = 0 WHERE seq = 300",
    ] {
        let home = TestHome::new();
        let store = filled(&home, 1_400).await;
        home.raw(damage).await;
        let refused = store.audit().prune(&before(401)).await;
        assert!(
            matches!(refused, Err(StoreError::Corrupt { .. })),
            "{damage}: {refused:?}"
        );
        assert!(
            seqs(&store).await.len() >= 1_399,
            "{damage}: nothing was removed"
        );
        assert!(!verify(&store).await.ok, "{damage}");
    }
}

#[tokio::test]
async fn every_way_to_remove_more_or_to_move_the_checkpoint_is_found() {
    let table = [
        ("DELETE FROM audit WHERE seq = 401", 401, "entries 401 to 401 are missing"),
        ("DELETE FROM audit WHERE seq <= 600", 401, "entries 401 to 600 are missing"),
        ("DELETE FROM audit_checkpoint", 1, "entries 1 to 400 are missing"),
        ("UPDATE audit_checkpoint SET seq = 500; DELETE FROM audit WHERE seq <= 500", 500, "not signed"),
        ("UPDATE audit_checkpoint SET seq = 300", 300, "not signed"),
        ("UPDATE audit_checkpoint SET entry = 1000", 400, "not signed"),
        ("UPDATE audit_checkpoint SET mac = 'no'", 400, "not signed"),
        (
            "UPDATE audit_checkpoint SET hash = (SELECT hash FROM audit WHERE seq = 500), seq = 500;
             DELETE FROM audit WHERE seq <= 500",
            500,
            "not signed",
        ),
        // A checkpoint of its own past, which this vault did sign.
        (
            "DELETE FROM audit_checkpoint; INSERT INTO audit_checkpoint SELECT * FROM older",
            201,
            "entries 201 to 400 are missing",
        ),
        (
            "INSERT INTO audit SELECT 400, at, kind, call_id, caller, agent, tool, effects,
                arguments_digest, summary, status, code, duration_us, hash FROM audit WHERE seq = 450",
            400,
            "inserted before the first",
        ),
        (
            "UPDATE audit SET summary = REPLACE(summary, '400', '399') WHERE code = 'audit_pruned'",
            1_502,
            "not the one that was written",
        ),
        ("DELETE FROM audit WHERE seq = 1502", 1_502, "entries 1502 to 1502 are missing"),
        ("DELETE FROM audit WHERE seq >= 1502", 1_503, "cut off"),
        ("UPDATE audit SET summary = 'y' WHERE seq = 401", 401, "not the one that was written"),
    ];
    for (tampering, seq, words) in table {
        let home = TestHome::new();
        let store = filled(&home, 1_500).await;
        store.audit().prune(&before(201)).await.unwrap();
        home.raw("CREATE TABLE older AS SELECT * FROM audit_checkpoint")
            .await;
        store.audit().prune(&before(401)).await.unwrap();
        say(&store, 1_501, Durability::OnDisk).await;
        let sound = verify(&store).await;
        assert_eq!(
            (sound.ok, sound.removed),
            (true, 400),
            "the control: {sound:?}"
        );
        home.raw(tampering).await;
        let found = verify(&store).await;
        let named = found
            .problems
            .iter()
            .any(|p| p.seq == seq && p.what.contains(words));
        assert!(!found.ok && named, "{tampering}: {found:?}");
        let refused = store.audit().prune(&before(450)).await;
        let sealed = verify(&store).await;
        assert!(
            !sealed.ok,
            "{tampering}: retention must not hide it: {refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verifying_while_entries_go_finds_nothing_wrong() {
    let home = TestHome::new();
    let store = filled(&home, 4_000).await;
    let pruning = {
        let store = store.clone();
        tokio::spawn(async move {
            for at in (100..=3_000).step_by(100) {
                store.audit().prune(&before(at)).await.unwrap();
            }
        })
    };
    let mut verdicts = Vec::new();
    while !pruning.is_finished() {
        verdicts.push(verify(&store).await);
    }
    pruning.await.unwrap();
    verdicts.push(verify(&store).await);
    for verdict in &verdicts {
        assert!(verdict.ok, "{verdict:?}");
    }
    assert_eq!(verdicts.last().unwrap().removed, 2_999);
}

#[tokio::test]
async fn another_vaults_checkpoint_is_not_trusted() {
    let (home, other) = (TestHome::new(), TestHome::new());
    let (store, forger) = (filled(&home, 1_100).await, filled(&other, 1_100).await);
    forger.audit().prune(&before(51)).await.unwrap();
    store.audit().prune(&before(51)).await.unwrap();
    assert!(verify(&store).await.ok);
    let path = other.path().join("manyhands.db");
    let copy: &'static str = format!(
        "ATTACH '{}' AS forged; DELETE FROM main.audit_checkpoint;
         INSERT INTO main.audit_checkpoint SELECT * FROM forged.audit_checkpoint",
        path.display()
    )
    .leak();
    home.raw(copy).await;
    let found = verify(&store).await;
    assert!(found.problems[0].what.contains("not signed"), "{found:?}");
}
