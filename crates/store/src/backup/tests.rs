//! What backups and restores must do, as tests.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manyhands_core::{Secret, Timestamp};
use object_store::ObjectStoreExt as _;

use super::{Backup, Overwrite, Restore, backup, restore};
use crate::testing::{TestHome, clock, contents, ids};
use crate::{
    AuditEntry, AuditFilter, AuditKind, Durability, Holder, HomeLock, Store, StoreError,
    VerifyFrom, blob_path,
};

pub(super) const NOW: Timestamp = Timestamp(1_800_000_000_000);

pub(super) fn saving(home: &TestHome, file: &Path) -> Backup {
    Backup {
        home: home.path(),
        file: file.to_owned(),
        overwrite: Overwrite::Refuse,
        now: NOW,
        product_version: "1.2.3".to_owned(),
    }
}

pub(super) fn restoring(file: &Path, home: &Path) -> Restore {
    Restore {
        file: file.to_owned(),
        home: home.to_owned(),
        overwrite: Overwrite::Refuse,
        now: NOW,
    }
}

async fn open(home: &Path) -> Store {
    Store::open(home, clock(), ids(), None).await.unwrap()
}

async fn say(store: &Store, tool: &str) {
    let entry = AuditEntry {
        tool: tool.to_owned(),
        ..AuditEntry::new(AuditKind::Event, NOW)
    };
    store
        .audit()
        .record(entry, Durability::OnDisk)
        .await
        .unwrap();
}

async fn put(store: &Store, path: &str, text: &'static str) {
    let path = blob_path(path).unwrap();
    store.blobs().put(&path, text.into()).await.unwrap();
}

/// A home with something of everything, still open, and where to put backups.
pub(super) async fn lived_in() -> (TestHome, Store, tempfile::TempDir, PathBuf) {
    let home = TestHome::new();
    let store = home.open().await;
    store
        .vault()
        .set("mail", &Secret::new("hunter2"))
        .await
        .unwrap();
    put(&store, "agents/main/notes ü %.md", "notes").await;
    put(&store, "empty", "").await;
    for number in 0..20 {
        say(&store, &number.to_string()).await;
    }
    std::fs::write(home.path().join("config.toml"), "a = 1").unwrap();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("backup.tar.gz");
    (home, store, outside, file)
}

#[tokio::test]
async fn a_restored_home_equals_the_one_that_was_saved() {
    let (home, store, outside, file) = lived_in().await;
    let saved = backup(saving(&home, &file)).await.unwrap();
    assert_eq!((saved.members, saved.skipped.len()), (6, 0), "{saved:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    say(&store, "after the backup").await;

    let there = outside.path().join("deep/new home");
    let restored = restore(restoring(&file, &there)).await.unwrap();
    assert_eq!((restored.members, restored.previous_home), (6, None));
    assert_eq!(
        (restored.created, restored.product_version.as_str()),
        (NOW, "1.2.3")
    );
    let copy = open(&there).await;
    assert_eq!(
        copy.vault().get("mail").await.unwrap(),
        Some(Secret::new("hunter2"))
    );
    let verdict = copy.audit().verify(VerifyFrom::Genesis).await.unwrap();
    assert_eq!((verdict.ok, verdict.checked), (true, 20), "{verdict:?}");
    let all = AuditFilter::default();
    let mut original = store.audit().query(&all).await.unwrap();
    original.remove(0);
    assert_eq!(copy.audit().query(&all).await.unwrap(), original);
    assert_eq!(
        contents(&there.join("blobs"))
            .into_values()
            .collect::<Vec<_>>(),
        contents(&home.path().join("blobs"))
            .into_values()
            .collect::<Vec<_>>()
    );
    assert_eq!(
        std::fs::read_to_string(there.join("config.toml")).unwrap(),
        "a = 1"
    );
    for (name, mode) in [
        ("", 0o700),
        ("blobs/agents", 0o700),
        ("manyhands.db", 0o600),
        ("vault.key", 0o600),
    ] {
        assert_eq!(
            std::fs::metadata(there.join(name)).unwrap().mode() & 0o7777,
            mode,
            "{name}"
        );
    }
    let left: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "no scratch stays behind: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_during_writes_is_a_consistent_snapshot() {
    let (home, store, outside, file) = lived_in().await;
    let stop = Arc::new(AtomicBool::new(false));
    let busy = tokio::spawn({
        let (store, stop) = (store.clone(), stop.clone());
        async move {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                say(&store, &format!("busy {number}")).await;
                put(
                    &store,
                    "changing",
                    if number % 2 == 0 { "even" } else { "uneven" },
                )
                .await;
                store
                    .vault()
                    .set("mail", &Secret::new(number.to_string()))
                    .await
                    .unwrap();
            }
            number
        }
    });
    let mut last = 0;
    for number in 0..3 {
        let file = file.with_extension(number.to_string());
        backup(saving(&home, &file)).await.unwrap();
        let there = outside.path().join(format!("home-{number}"));
        restore(restoring(&file, &there)).await.unwrap();
        let copy = open(&there).await;
        let verdict = copy.audit().verify(VerifyFrom::Genesis).await.unwrap();
        assert!(verdict.ok, "{verdict:?}");
        assert!(verdict.checked >= last);
        last = verdict.checked;
        copy.vault().get("mail").await.unwrap().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(busy.await.unwrap() > 0);
    assert!(store.audit().verify(VerifyFrom::Genesis).await.unwrap().ok);
}

#[tokio::test]
async fn neither_a_file_nor_a_home_is_overwritten_by_default() {
    let (home, store, outside, file) = lived_in().await;
    std::fs::write(&file, "precious").unwrap();
    let refused = backup(saving(&home, &file)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    let forced = Backup {
        overwrite: Overwrite::Replace,
        ..saving(&home, &file)
    };
    backup(forced).await.unwrap();

    let there = outside.path().join("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("mine"), "precious").unwrap();
    let refused = restore(restoring(&file, &there)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused:?}");
    assert_eq!(contents(&there).len(), 1);
    for again in ["", "-2"] {
        let forced = Restore {
            overwrite: Overwrite::Replace,
            ..restoring(&file, &there)
        };
        let kept = restore(forced).await.unwrap().previous_home.unwrap();
        let name = format!("there.before-restore-2027-01-15T08-00-00Z{again}");
        assert_eq!(kept, outside.path().join(name));
    }
    let first = outside
        .path()
        .join("there.before-restore-2027-01-15T08-00-00Z/mine");
    assert_eq!(std::fs::read_to_string(first).unwrap(), "precious");
    open(&there).await;
    drop(store);
}

#[tokio::test]
async fn a_home_in_use_is_not_replaced() {
    let (home, _store, outside, file) = lived_in().await;
    backup(saving(&home, &file)).await.unwrap();
    let there = outside.path().join("there");
    let holder = Holder {
        pid: 42,
        listen: Some("127.0.0.1:1".to_owned()),
        started_at: NOW,
    };
    let lock = HomeLock::acquire(&there, &holder).unwrap();
    let forced = Restore {
        overwrite: Overwrite::Replace,
        ..restoring(&file, &there)
    };
    let refused = restore(forced.clone()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Locked { by } if by == "process 42 listening on 127.0.0.1:1")
    );
    assert_eq!(contents(&there).len(), 1, "only the lock is there");
    drop(lock);
    restore(forced).await.unwrap();
}

#[tokio::test]
async fn links_are_not_followed_out_and_are_reported() {
    let (home, _store, outside, file) = lived_in().await;
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "outside-secret").unwrap();
    symlink(&secret, home.path().join("blobs/leak")).unwrap();
    symlink("..", home.path().join("blobs/up")).unwrap();
    symlink(".", home.path().join("blobs/loop")).unwrap();
    symlink(&secret, home.path().join("owner.token")).unwrap();
    let saved = backup(saving(&home, &file)).await.unwrap();
    let mut skipped = saved.skipped.clone();
    skipped.sort();
    assert_eq!(skipped.len(), 4, "{skipped:?}");
    let there = outside.path().join("there");
    restore(restoring(&file, &there)).await.unwrap();
    let leaked = contents(&there)
        .into_values()
        .any(|bytes| bytes == b"outside-secret");
    assert!(!leaked);
    assert!(there.join("blobs/agents/main/notes ü %.md").is_file());
}

#[tokio::test]
async fn a_folder_that_is_not_a_home_is_not_backed_up() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.tar.gz");
    let error = backup(saving(&home, &file)).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn host_folders_are_restored_and_temporary_ones_are_not() {
    let (home, _store, outside, file) = lived_in().await;
    for (path, mode) in [
        ("host/workspace/src/run.sh", 0o755),
        ("host/workspace/notes.txt", 0o644),
        ("host/state/todo.md", 0o600),
        ("host/cache/page.html", 0o600),
        ("host/scratch/run-1/x", 0o600),
    ] {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "kept").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    backup(saving(&home, &file)).await.unwrap();
    let there = outside.path().join("new home");
    restore(restoring(&file, &there)).await.unwrap();
    for (path, mode) in [
        ("host/workspace/src/run.sh", Some(0o700)),
        ("host/workspace/notes.txt", Some(0o600)),
        ("host/state/todo.md", Some(0o600)),
        ("host/cache", None),
        ("host/scratch", None),
    ] {
        let found = std::fs::metadata(there.join(path)).ok();
        assert_eq!(found.map(|found| found.mode() & 0o7777), mode, "{path}");
    }
}
