//! What quotas of workspaces promise, as tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutPayload};

use super::Blobs;
use crate::quota::{Charge, Quotas, charged_to};
use crate::testing::TestHome;
use crate::{Store, StoreError};

fn at(path: &str) -> Path {
    Path::from(path)
}

fn bytes(count: usize) -> PutPayload {
    vec![b'x'; count].into()
}

fn limit(store: &Store, bytes: u64, files: u64) {
    store.limit(Quotas {
        workspace_bytes: bytes,
        workspace_files: files,
        min_free_bytes: 0,
    });
}

async fn put(blobs: &Blobs, path: &str, count: usize) -> Result<(), StoreError> {
    let put = blobs.put(&at(path), bytes(count)).await;
    put.map(drop).map_err(StoreError::from)
}

fn quota(result: Result<(), StoreError>) -> String {
    match result {
        Err(StoreError::Quota { what }) => what,
        other => panic!("{other:?}"),
    }
}

/// What is really on disk below an agent's folder: bytes and files.
fn on_disk(home: &TestHome, agent: &str) -> (u64, u64) {
    let root = home.path().join("blobs/agents").join(agent);
    let files = crate::testing::contents(&root);
    let bytes = files.values().map(|bytes| bytes.len() as u64).sum();
    (bytes, files.len() as u64)
}

#[tokio::test]
async fn bytes_and_files_of_a_workspace_are_bounded_and_freed_by_deleting() {
    let home = TestHome::new();
    let store = home.open().await;
    let blobs = store.blobs();
    limit(&store, 100, 3);
    put(blobs, "agents/main/a", 60).await.unwrap();
    let full = quota(put(blobs, "agents/main/b", 41).await);
    for part in ["main", "60 bytes", "100 bytes", "limits.workspace_bytes"] {
        assert!(full.contains(part), "{part}: {full}");
    }
    assert_eq!(on_disk(&home, "main"), (60, 1), "nothing of it is written");
    put(blobs, "agents/main/b", 40).await.unwrap();
    put(blobs, "agents/other/a", 100).await.unwrap();
    put(blobs, "skills/global", 500).await.unwrap();
    // Replacing counts what is more, and frees what is less.
    put(blobs, "agents/main/a", 10).await.unwrap();
    put(blobs, "agents/main/c", 50).await.unwrap();
    quota(put(blobs, "agents/main/a", 11).await);
    let full = quota(put(blobs, "agents/main/d", 0).await);
    assert!(
        full.contains("3 of 3 files (limits.workspace_files)"),
        "{full}"
    );
    blobs.delete(&at("agents/main/b")).await.unwrap();
    put(blobs, "agents/main/d", 40).await.unwrap();
    assert_eq!(on_disk(&home, "main"), (100, 3));
    limit(&store, 0, 0);
    put(blobs, "agents/main/e", 1_000).await.unwrap();
}

#[tokio::test]
async fn a_failed_write_uses_no_quota() {
    let home = TestHome::new();
    let store = home.open().await;
    let blobs = store.blobs();
    limit(&store, 100, 10);
    put(blobs, "agents/main/a", 10).await.unwrap();
    for _ in 0..20 {
        let create = PutMode::Create.into();
        let taken = blobs
            .put_opts(&at("agents/main/a"), bytes(50), create)
            .await;
        assert!(taken.is_err());
        assert!(put(blobs, "agents/main/a/below", 50).await.is_err());
        assert!(blobs.delete(&at("agents/main/none")).await.is_err());
    }
    put(blobs, "agents/main/b", 90).await.unwrap();
    quota(put(blobs, "agents/main/c", 1).await);
}

#[tokio::test]
async fn uploads_in_parts_and_copies_are_counted() {
    let home = TestHome::new();
    let store = home.open().await;
    let blobs = store.blobs();
    limit(&store, 100, 10);
    let mut upload = blobs.put_multipart(&at("agents/main/big")).await.unwrap();
    upload.put_part(bytes(60)).await.unwrap();
    quota(put(blobs, "agents/main/a", 41).await);
    let more = upload.put_part(bytes(41)).await;
    quota(more.map_err(StoreError::from));
    upload.abort().await.unwrap();
    assert_eq!(on_disk(&home, "main").0, 0, "nothing of it is left");
    let mut upload = blobs.put_multipart(&at("agents/main/big")).await.unwrap();
    upload.put_part(bytes(60)).await.unwrap();
    upload.complete().await.unwrap();
    let copy = blobs
        .copy(&at("agents/main/big"), &at("agents/main/copy"))
        .await;
    quota(copy.map_err(StoreError::from));
    put(blobs, "agents/main/a", 40).await.unwrap();
    blobs
        .rename(&at("agents/main/a"), &at("agents/main/b"))
        .await
        .unwrap_err();
    blobs.delete(&at("agents/main/big")).await.unwrap();
    blobs
        .rename(&at("agents/main/a"), &at("agents/main/b"))
        .await
        .unwrap();
    blobs
        .copy(&at("agents/main/b"), &at("agents/main/c"))
        .await
        .unwrap();
    assert_eq!(on_disk(&home, "main"), (80, 2));
    quota(put(blobs, "agents/main/d", 21).await);
    put(blobs, "agents/main/d", 20).await.unwrap();
    drop(
        blobs
            .put_multipart(&at("agents/main/dropped"))
            .await
            .unwrap(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_writers_cannot_exceed_the_quota_together() {
    let home = TestHome::new();
    let store = home.open().await;
    limit(&store, 1_000, 0);
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..64 {
        let blobs = store.blobs().clone();
        writers.spawn(async move {
            let mut written = 0;
            for round in 0..4 {
                // Own paths, shared paths, and paths that are deleted again.
                let own = format!("agents/main/{number}-{round}");
                written += u64::from(put(&blobs, &own, 37).await.is_ok());
                let _ = put(&blobs, "agents/main/shared", 30 + number).await;
                let short = format!("agents/main/short{}", number % 4);
                if put(&blobs, &short, 20).await.is_ok() {
                    let _ = blobs.delete(&at(&short)).await;
                }
            }
            written
        });
    }
    let written: u64 = writers.join_all().await.into_iter().sum();
    let (used, files) = on_disk(&home, "main");
    assert!(used <= 1_000, "{used} bytes in {files} files");
    assert!(written > 10, "the control: {written} writes fitted");
    // The account is what the disk says: exactly the rest fits.
    let blobs = store.blobs();
    quota(put(blobs, "agents/main/rest", (1_001 - used) as usize).await);
    put(blobs, "agents/main/rest", (1_000 - used) as usize)
        .await
        .unwrap();
    assert_eq!(on_disk(&home, "main").0, 1_000);
}

#[tokio::test]
async fn a_disconnecting_caller_leaves_nothing_uncounted() {
    let home = TestHome::new();
    let store = home.open().await;
    limit(&store, 10_000, 0);
    let blobs = store.blobs();
    for number in 0..50 {
        let path = format!("agents/main/{number}");
        let mut write = Box::pin(put(blobs, &path, 100));
        // Not begun at all, or given up after a few steps.
        for _ in 0..number % 5 {
            if futures_util::poll!(&mut write).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let tree = at("agents/main");
    while blobs.list(Some(&tree)).count().await < 40 {
        tokio::task::yield_now().await;
    }
    put(blobs, "agents/main/rest", 6_000).await.unwrap();
    quota(put(blobs, "agents/main/more", 1).await);
    assert_eq!(on_disk(&home, "main"), (10_000, 41));
}

#[tokio::test]
async fn what_is_stored_is_counted_after_a_crash_and_after_deleting_by_hand() {
    let home = TestHome::new();
    let store = home.open().await;
    limit(&store, 100, 10);
    put(store.blobs(), "agents/main/d/a", 70).await.unwrap();
    let mut half = store
        .blobs()
        .put_multipart(&at("agents/main/half"))
        .await
        .unwrap();
    half.put_part(bytes(20)).await.unwrap();
    std::mem::forget(half);
    std::mem::forget(store); // neither closed nor dropped, as when killed
    let store = home.open().await;
    limit(&store, 100, 10);
    quota(put(store.blobs(), "agents/main/b", 31).await);
    put(store.blobs(), "agents/main/b", 30).await.unwrap();
    let store = home.open().await;
    limit(&store, 100, 10);
    std::fs::remove_file(home.path().join("blobs/agents/main/d/a")).unwrap();
    put(store.blobs(), "agents/main/c", 70).await.unwrap();
}

/// Pays up to a limit.
struct Purse {
    left: AtomicU64,
}

impl Charge for Purse {
    fn charge(&self, bytes: u64) -> Result<(), StoreError> {
        let paid = self
            .left
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(bytes)
            });
        let what = "the purse is empty".to_owned();
        paid.map(drop).map_err(|_| StoreError::Quota { what })
    }

    fn refund(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn every_write_of_a_call_is_charged_to_its_caller_and_failures_are_refunded() {
    let home = TestHome::new();
    let store = home.open().await;
    limit(&store, 100, 0);
    let purse = Arc::new(Purse {
        left: AtomicU64::new(150),
    });
    let left = || purse.left.load(Ordering::SeqCst);
    let blobs = store.blobs();
    charged_to(purse.clone(), async {
        put(blobs, "agents/main/a", 40).await.unwrap();
        assert_eq!(left(), 110);
        quota(put(blobs, "agents/main/b", 61).await);
        assert_eq!(left(), 110, "a refused write costs nothing");
        put(blobs, "collections/x", 50).await.unwrap();
        assert_eq!(left(), 60, "outside of workspaces too");
        let mut upload = blobs.put_multipart(&at("artifacts/y")).await.unwrap();
        upload.put_part(bytes(30)).await.unwrap();
        assert!(upload.put_part(bytes(31)).await.is_err());
        upload.abort().await.unwrap();
        assert_eq!(left(), 60);
        quota(put(blobs, "artifacts/z", 61).await);
    })
    .await;
    put(blobs, "artifacts/free", 1_000).await.unwrap();
    assert_eq!(left(), 60, "the gateway's own writes are charged to nobody");
}
