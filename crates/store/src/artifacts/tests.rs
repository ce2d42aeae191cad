//! Claims about artifacts.

use super::bytes::PART;
use super::*;
use crate::hex;
use crate::testing::{TestHome, ids};
use futures_util::stream;
use manyhands_core::AgentId;
use object_store::ObjectStoreExt as _;
use sha2::{Digest as _, Sha256};

fn new(name: &str, expires: Option<i64>) -> NewArtifact {
    NewArtifact {
        name: name.to_owned(),
        mime: "image/png".to_owned(),
        agent: AgentId::main(),
        call: ids().next(),
        caller: "client:laptop".to_owned(),
        bucket: Bucket::Results,
        quota: ArtifactQuota::UNLIMITED,
        expires: expires.map(Timestamp),
    }
}

async fn bytes(artifacts: &Artifacts, id: ArtifactId) -> Vec<u8> {
    let parts: Vec<Bytes> = artifacts
        .open(id, None)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    parts.concat()
}

async fn all(artifacts: &Artifacts) -> Vec<ArtifactRecord> {
    let listed = artifacts.list(&ArtifactFilter::default(), 1_000, 0).await;
    listed.unwrap()
}

/// Waits until so many files are there: what was not kept goes a moment later.
async fn settled(home: &TestHome, count: usize) {
    for _ in 0..10_000 {
        if files(home) == count {
            return;
        }
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
    assert_eq!(files(home), count);
}

fn files(home: &TestHome) -> usize {
    let folder = std::fs::read_dir(home.path().join("blobs/artifacts"));
    folder.map_or(0, Iterator::count)
}

#[tokio::test]
async fn an_artifact_survives_reopening_with_its_hash() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let kept = artifacts
        .put(new("ü.png", None), Bytes::from_static(b"hello"))
        .await
        .unwrap();
    let empty = artifacts
        .put(new("empty", None), Bytes::new())
        .await
        .unwrap();
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!((kept.size, kept.sha256.as_str()), (5, sha256));
    let artifacts = home.open().await.artifacts().clone();
    assert_eq!(artifacts.get(kept.id).await.unwrap(), Some(kept.clone()));
    assert_eq!(bytes(&artifacts, kept.id).await, b"hello");
    assert_eq!(bytes(&artifacts, empty.id).await, b"");
    let part: Vec<Bytes> = artifacts
        .open(kept.id, Some(1..3))
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(part.concat(), b"el");
    assert_eq!(
        artifacts
            .list(&ArtifactFilter::default(), 1, 1)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(all(&artifacts).await.len(), 2);
}

#[tokio::test]
async fn a_large_stream_is_stored_completely() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let chunk = |n: u8| Ok(Bytes::from(vec![n; 1_000_003]));
    let kept = artifacts
        .put_stream(new("big", None), stream::iter((0..20).map(chunk)))
        .await;
    let kept = kept.unwrap();
    let expect: Vec<u8> = (0..20).flat_map(|n| vec![n; 1_000_003]).collect();
    assert_eq!(kept.size, expect.len() as u64);
    assert!(bytes(&artifacts, kept.id).await == expect);
    assert_eq!(kept.sha256, hex::encode(&Sha256::digest(&expect)));
}

#[tokio::test]
async fn a_stream_that_breaks_leaves_nothing() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let big = Bytes::from(vec![1; PART + 1]);
    for first in [Bytes::from_static(b"small"), big] {
        let broken = stream::iter([Ok(first), Err(StoreError::Busy)]);
        let error = artifacts
            .put_stream(new("x", None), broken)
            .await
            .unwrap_err();
        assert_eq!(error, StoreError::Busy);
    }
    assert!(all(&artifacts).await.is_empty());
    settled(&home, 0).await;
}

#[tokio::test]
async fn sweeping_removes_expired_artifacts_and_nothing_else() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let put = async |name: &str, expires| {
        let kept = artifacts
            .put(new(name, expires), Bytes::from(format!("x {name}")))
            .await;
        kept.unwrap().id
    };
    let (old, young, forever) = (
        put("old", Some(10)).await,
        put("young", Some(11)).await,
        put("forever", None).await,
    );
    assert_eq!(artifacts.sweep(Timestamp(10)).await.unwrap(), 1);
    assert_eq!(artifacts.get(old).await.unwrap(), None);
    assert!(matches!(
        artifacts.open(old, None).await,
        Err(StoreError::NotFound { .. })
    ));
    for (id, name) in [(young, "young"), (forever, "forever")] {
        assert_eq!(bytes(&artifacts, id).await, format!("x {name}").as_bytes());
    }
    assert_eq!(files(&home), 2);
    assert!(artifacts.delete(young).await.unwrap());
    assert!(!artifacts.delete(young).await.unwrap());
    assert_eq!(files(&home), 1);
}

#[tokio::test]
async fn equal_bytes_are_stored_once_and_removed_with_the_last_record() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let put = |name: &'static str| {
        let (artifacts, new) = (artifacts.clone(), new(name, None));
        tokio::spawn(async move {
            artifacts
                .put(new, Bytes::from_static(b"same"))
                .await
                .unwrap()
        })
    };
    let all: Vec<_> = (0..16).map(|_| put("same.txt")).collect();
    let mut kept = Vec::new();
    for one in all {
        kept.push(one.await.unwrap().id);
    }
    settled(&home, 1).await;
    let last = kept.pop().unwrap();
    for id in kept {
        assert!(artifacts.delete(id).await.unwrap());
        assert_eq!(bytes(&artifacts, last).await, b"same");
    }
    assert!(artifacts.delete(last).await.unwrap());
    assert_eq!(files(&home), 0);
}

#[tokio::test]
async fn an_artifact_over_quota_leaves_nothing_behind() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let room = ArtifactQuota {
        one: 10,
        agent: 15,
        all: 18,
        ..ArtifactQuota::UNLIMITED
    };
    let put = async |agent: &str, text: &'static str| {
        let new = NewArtifact {
            agent: agent.parse().unwrap(),
            quota: room,
            bucket: Bucket::New(AgentId::main()),
            ..new("a.txt", None)
        };
        artifacts
            .put(new, Bytes::from_static(text.as_bytes()))
            .await
    };
    let refused = |kept: Result<ArtifactRecord, StoreError>, words: &str| match kept {
        Err(StoreError::Limit { what }) => assert!(what.contains(words), "{what}"),
        other => panic!("{other:?}"),
    };
    refused(
        put("main", "0123456789a").await,
        "limits.artifact_file_bytes",
    );
    let first = put("main", "0123456789").await.unwrap();
    refused(put("main", "abcdef").await, "limits.artifact_agent_bytes");
    put("main", "abcde").await.unwrap();
    refused(put("other", "fghi").await, "limits.artifact_total_bytes");
    put("other", "fgh").await.unwrap();
    settled(&home, 3).await;
    assert_eq!(all(&artifacts).await.len(), 3);
    artifacts.delete(first.id).await.unwrap();
    put("main", "0123456789").await.unwrap();
}

#[tokio::test]
async fn artifacts_of_agents_and_callers_are_limited() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let put = async |agent: &str, caller: &str, room: ArtifactQuota, text: &'static str| {
        let new = NewArtifact {
            agent: agent.parse().unwrap(),
            caller: caller.to_owned(),
            quota: room,
            ..new("a.txt", None)
        };
        artifacts
            .put(new, Bytes::from_static(text.as_bytes()))
            .await
    };
    let refused = |kept: Result<ArtifactRecord, StoreError>, words: &str| match kept {
        Err(StoreError::Quota { what }) => assert!(what.contains(words), "{what}"),
        other => panic!("{other:?}"),
    };
    let two = ArtifactQuota {
        agent_files: 2,
        ..ArtifactQuota::UNLIMITED
    };
    let first = put("main", "a", two, "").await.unwrap();
    put("main", "b", two, "1").await.unwrap();
    let full = put("main", "c", two, "").await;
    refused(full, "2 of 2 artifacts (limits.artifact_agent_files)");
    put("other", "c", two, "2").await.unwrap();
    let one = ArtifactQuota {
        caller_files: 1,
        ..ArtifactQuota::UNLIMITED
    };
    refused(
        put("main", "a", one, "3").await,
        "limits.artifact_caller_files",
    );
    put("main", "d", one, "4").await.unwrap();
    let ten = ArtifactQuota {
        caller: 10,
        ..ArtifactQuota::UNLIMITED
    };
    put("main", "e", ten, "01234567").await.unwrap();
    let full = put("other", "e", ten, "012").await;
    refused(full, "8 bytes of 10 bytes (limits.artifact_caller_bytes)");
    put("other", "e", ten, "01").await.unwrap();
    settled(&home, 6).await;
    artifacts.delete(first.id).await.unwrap();
    put("main", "a", one, "5").await.unwrap();
}

#[tokio::test]
async fn counts_agree_with_the_records_whatever_was_added_and_removed() {
    let home = TestHome::new();
    let store = home.open().await;
    let artifacts = store.artifacts();
    for number in 0..12_i64 {
        let new = NewArtifact {
            agent: ["main", "other"][number as usize % 2].parse().unwrap(),
            caller: format!("c{}", number % 3),
            ..new("a", (number < 5).then_some(number))
        };
        let kept = artifacts
            .put(new, Bytes::from(vec![0; number as usize]))
            .await;
        if number == 7 {
            artifacts.delete(kept.unwrap().id).await.unwrap();
        }
    }
    artifacts.sweep(Timestamp(100)).await.unwrap();
    let counted = async |text: &'static str| -> Vec<(String, i64, i64)> {
        let rows = artifacts.sql.all(Statement::new(text)).await.unwrap();
        let row = |row: &crate::sql::Row| {
            let number = |column| row.int(column).unwrap();
            (row.text("name").unwrap(), number("files"), number("bytes"))
        };
        rows.iter().map(row).collect()
    };
    for (kept, real) in [
        (
            "SELECT name, files, bytes FROM artifact_usage WHERE scope = 'agent' ORDER BY 1",
            "SELECT agent AS name, COUNT(*) AS files, SUM(size) AS bytes FROM artifact GROUP BY agent ORDER BY 1",
        ),
        (
            "SELECT name, files, bytes FROM artifact_usage WHERE scope = 'caller' ORDER BY 1",
            "SELECT caller AS name, COUNT(*) AS files, SUM(size) AS bytes FROM artifact GROUP BY caller ORDER BY 1",
        ),
        (
            "SELECT name, files, bytes FROM artifact_usage WHERE scope = 'all'",
            "SELECT '' AS name, COUNT(*) AS files, SUM(size) AS bytes FROM artifact",
        ),
    ] {
        assert_eq!(counted(kept).await, counted(real).await);
    }
    for record in all(artifacts).await {
        artifacts.delete(record.id).await.unwrap();
    }
    let empty = counted("SELECT name, files, bytes FROM artifact_usage").await;
    assert_eq!(
        empty,
        [],
        "nothing is remembered of those that keep nothing"
    );
}

#[tokio::test]
async fn concurrent_uploads_do_not_exceed_the_quota() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let room = ArtifactQuota {
        one: 100,
        agent: 50,
        all: 100,
        ..ArtifactQuota::UNLIMITED
    };
    let puts: Vec<_> = (0..20)
        .map(|n| {
            let artifacts = artifacts.clone();
            let new = NewArtifact {
                quota: room,
                ..new("a", None)
            };
            tokio::spawn(async move {
                artifacts
                    .put(new, Bytes::from(format!("{n:010}")))
                    .await
                    .is_ok()
            })
        })
        .collect();
    let mut kept = 0;
    for put in puts {
        kept += usize::from(put.await.unwrap());
    }
    assert_eq!(kept, 5);
    settled(&home, 5).await;
}

#[tokio::test]
async fn a_chat_is_made_with_its_first_artifact_and_found_again() {
    let home = TestHome::new();
    let artifacts = home.open().await.artifacts().clone();
    let helper: AgentId = "helper".parse().unwrap();
    let first = NewArtifact {
        bucket: Bucket::New(helper.clone()),
        ..new("a", None)
    };
    let first = artifacts
        .put(first, Bytes::from_static(b"1"))
        .await
        .unwrap();
    let chat = first.chat.unwrap();
    let known = artifacts.chat(chat).await.unwrap().unwrap();
    assert_eq!((known.agent, known.maker), (helper, AgentId::main()));
    let second = NewArtifact {
        bucket: Bucket::Chat(chat),
        ..new("b", None)
    };
    artifacts
        .put(second, Bytes::from_static(b"2"))
        .await
        .unwrap();
    artifacts
        .put(new("c", None), Bytes::from_static(b"3"))
        .await
        .unwrap();
    let filter = ArtifactFilter {
        chat: Some(Some(chat)),
        ..ArtifactFilter::default()
    };
    assert_eq!(artifacts.list(&filter, 10, 0).await.unwrap().len(), 2);
    let filter = ArtifactFilter {
        chat: Some(None),
        ..ArtifactFilter::default()
    };
    assert_eq!(artifacts.list(&filter, 10, 0).await.unwrap().len(), 1);
    let unknown: ChatId = ids().next();
    let nowhere = NewArtifact {
        bucket: Bucket::Chat(unknown),
        ..new("d", None)
    };
    let error = artifacts
        .put(nowhere, Bytes::from_static(b"4"))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    settled(&home, 3).await;
}

#[tokio::test]
async fn leftovers_of_a_crash_are_removed_and_nothing_else() {
    let home = TestHome::new();
    let store = home.open().await;
    let artifacts = store.artifacts().clone();
    let kept = artifacts
        .put(new("a", None), Bytes::from_static(b"kept"))
        .await
        .unwrap();
    let left = "artifacts/0192f0c1-2b3c-7abc-8def-0123456789ab"; // made in 2024
    let running = format!("artifacts/{}", ids().next::<ArtifactId>());
    for path in [left, &running] {
        let path = object_store::path::Path::from(path);
        store.blobs().put(&path, "half".into()).await.unwrap();
    }
    assert_eq!(files(&home), 3);
    artifacts.sweep(Timestamp(0)).await.unwrap();
    assert_eq!(files(&home), 2);
    assert!(!home.path().join("blobs").join(left).exists());
    assert_eq!(bytes(&artifacts, kept.id).await, b"kept");
}
