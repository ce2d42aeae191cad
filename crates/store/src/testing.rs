//! What this crate's tests share: a throw-away home and a way to tamper with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyhands_core::{Clock, Ids, ManualClock, OsEntropy, Secret, Timestamp};

use crate::{Store, StoreError};

/// A clock that stands still.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp(1_800_000_000_000)))
}

pub(crate) fn ids() -> Ids {
    Ids::new(clock(), Arc::new(OsEntropy))
}

/// A home that is removed with its test.
pub(crate) struct TestHome {
    dir: tempfile::TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) async fn open(&self) -> Store {
        self.try_open(None).await.expect("the home opens")
    }

    pub(crate) async fn try_open(&self, passphrase: Option<Secret>) -> Result<Store, StoreError> {
        Store::open(&self.path(), clock(), ids(), passphrase).await
    }

    /// Changes the database behind the store's back.
    pub(crate) async fn raw(&self, statements: &'static str) {
        let file = self.path().join("manyhands.db");
        let connection = rusqlite::Connection::open(file).expect("a second connection");
        connection
            .busy_timeout(std::time::Duration::from_secs(10))
            .expect("a timeout");
        connection
            .execute_batch(statements)
            .expect("the tampering works");
    }

    /// Every file of the home with its bytes, except SQLite's shared memory.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        contents(&self.path())
    }
}

impl Drop for TestHome {
    /// A store that was not closed may still be writing its `audit.head`, which would
    /// make the one attempt of `TempDir` fail and leave the folder behind.
    fn drop(&mut self) {
        for _ in 0..10_000 {
            match std::fs::remove_dir_all(self.dir.path()) {
                Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {
                    std::thread::yield_now();
                }
                _ => return,
            }
        }
    }
}

/// Every file beneath `root` with its bytes, except SQLite's shared memory.
pub(crate) fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|end| end != "db-shm") {
                let bytes = std::fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}
