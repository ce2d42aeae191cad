//! Usage of each agent's workspace.
//!
//! An account is counted by walking the agent's tree once, when it is first used, so it is right
//! after a crash whatever was cut off. From then on every write reserves its bytes first and books
//! them when it is done: parallel writers can never exceed the quota together. Before a write is
//! refused the tree is walked again, at most once a minute, since people may delete files by hand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock as StdRwLock};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use manyhands_core::Clock;
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::{Quotas, human_size};
use crate::error::StoreError;

/// The folder of workspaces: each agent has one below it.
const WORKSPACES: &str = "agents";
/// Minimum time between two counts of a full account.
const RECOUNT: Duration = Duration::from_secs(60);
/// Maximum accounts in memory; idle ones are dropped and counted again when needed.
const MAX_ACCOUNTS: usize = 4_096;

/// The accounts of all workspaces.
pub(crate) struct Ledger {
    quotas: StdRwLock<Quotas>,
    clock: Arc<dyn Clock>,
    accounts: Mutex<HashMap<String, Arc<WorkspaceAccount>>>,
}

impl Ledger {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            quotas: StdRwLock::default(),
            clock,
            accounts: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, quotas: Quotas) {
        *self.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
    }

    fn quotas(&self) -> Quotas {
        *self.quotas.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a blob; `None` outside of workspaces.
    pub(crate) fn account(&self, location: &Path) -> Option<Arc<WorkspaceAccount>> {
        let mut parts = location.as_ref().split('/');
        let (folder, agent) = (parts.next()?, parts.next()?);
        if folder != WORKSPACES {
            return None;
        }
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = accounts.get(agent) {
            return Some(known.clone());
        }
        // Accounts in use stay: a second one for the same workspace would not see its reservations.
        if accounts.len() >= MAX_ACCOUNTS {
            accounts.retain(|_, account| Arc::strong_count(account) > 1);
        }
        let account = Arc::new(WorkspaceAccount::new(agent));
        accounts.insert(agent.to_owned(), account.clone());
        Some(account)
    }
}

/// Usage of one workspace.
pub(crate) struct WorkspaceAccount {
    agent: String,
    /// Read lock while a blob changes, write lock while blobs are counted.
    changing: RwLock<()>,
    state: Mutex<AccountState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct StoredSize {
    bytes: u64,
    files: u64,
}

#[derive(Debug, Default)]
struct AccountState {
    stored: StoredSize,
    /// For writes in progress.
    reserved: StoredSize,
    /// When `stored` was counted.
    counted: Option<Duration>,
}

impl AccountState {
    fn release(&mut self, held: StoredSize) {
        self.reserved.bytes = self.reserved.bytes.saturating_sub(held.bytes);
        self.reserved.files = self.reserved.files.saturating_sub(held.files);
    }
}

impl WorkspaceAccount {
    fn new(agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            changing: RwLock::new(()),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the account is counted; the caller may change blobs while it holds the guard.
    pub(crate) async fn begin(
        &self,
        ledger: &Ledger,
        blobs: &dyn ObjectStore,
    ) -> Result<RwLockReadGuard<'_, ()>, StoreError> {
        loop {
            let guard = self.changing.read().await;
            // Checked again under the read lock: counting happens under the write lock, and another caller may have
            // done it.
            if self.state().counted.is_some() {
                return Ok(guard);
            }
            drop(guard);
            self.count(ledger, blobs, None).await?;
        }
    }

    /// Walks the tree, unless somebody did since `seen`.
    async fn count(
        &self,
        ledger: &Ledger,
        blobs: &dyn ObjectStore,
        seen: Option<Duration>,
    ) -> Result<(), StoreError> {
        let _alone = self.changing.write().await;
        if self.state().counted != seen {
            return Ok(());
        }
        let tree = Path::from_iter([WORKSPACES, self.agent.as_str()]);
        let mut found = blobs.list(Some(&tree));
        let mut stored = StoredSize::default();
        while let Some(blob) = found.try_next().await? {
            stored.bytes = stored.bytes.saturating_add(blob.size);
            stored.files += 1;
        }
        let mut state = self.state();
        state.stored = stored;
        state.counted = Some(ledger.clock.monotonic());
        Ok(())
    }

    /// Reserves room, after counting again if the account may only seem full. Not to be called while
    /// holding the guard of [`WorkspaceAccount::begin`], for which counting waits.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        ledger: &Ledger,
        blobs: &dyn ObjectStore,
        bytes: u64,
        files: u64,
    ) -> Result<Reservation, StoreError> {
        if self.state().counted.is_none() {
            self.count(ledger, blobs, None).await?;
        }
        match self.try_reserve(ledger, bytes, files) {
            Ok(reserved) => Ok(reserved),
            Err(full) => {
                let seen = self.state().counted;
                let age = seen.map(|at| ledger.clock.monotonic().saturating_sub(at));
                if age.is_some_and(|age| age < RECOUNT) {
                    return Err(full);
                }
                self.count(ledger, blobs, seen).await?;
                self.try_reserve(ledger, bytes, files)
            }
        }
    }

    /// Reserves room if there is some by what is known.
    pub(crate) fn try_reserve(
        self: &Arc<Self>,
        ledger: &Ledger,
        bytes: u64,
        files: u64,
    ) -> Result<Reservation, StoreError> {
        let quotas = ledger.quotas();
        let mut state = self.state();
        let used = state.stored.bytes.saturating_add(state.reserved.bytes);
        let count = state.stored.files + state.reserved.files;
        let over = |limit: u64, used: u64, more: u64| {
            limit > 0 && more > 0 && used.saturating_add(more) > limit
        };
        let what = if over(quotas.workspace_bytes, used, bytes) {
            format!(
                "the workspace of {} is full: it holds {} of {} (limits.workspace_bytes), and {} more are needed; delete files, or ask the owner to raise the limit",
                self.agent,
                human_size(used),
                human_size(quotas.workspace_bytes),
                human_size(bytes),
            )
        } else if over(quotas.workspace_files, count, files) {
            format!(
                "the workspace of {} is full: it holds {count} of {} files (limits.workspace_files); delete files, or ask the owner to raise the limit",
                self.agent, quotas.workspace_files,
            )
        } else {
            // Reserved under the same lock as the check: two writers cannot both take the last bytes.
            state.reserved.bytes = state.reserved.bytes.saturating_add(bytes);
            state.reserved.files += files;
            return Ok(Reservation {
                account: self.clone(),
                held: StoredSize { bytes, files },
            });
        };
        Err(StoreError::Quota { what })
    }

    /// Books a blob that is gone.
    pub(crate) fn removed(&self, bytes: u64) {
        let mut state = self.state();
        state.stored.bytes = state.stored.bytes.saturating_sub(bytes);
        state.stored.files = state.stored.files.saturating_sub(1);
    }
}

/// Space reserved for a write. Dropped without [`Reservation::stored`], it is free again.
pub(crate) struct Reservation {
    account: Arc<WorkspaceAccount>,
    held: StoredSize,
}

impl Reservation {
    /// Adds what another reservation of the same account holds.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.held.bytes = self.held.bytes.saturating_add(other.held.bytes);
        self.held.files += other.held.files;
        other.held = StoredSize::default();
    }

    /// Books a blob of `new` bytes that took the place of one of `old` bytes, or of none.
    pub(crate) fn stored(mut self, new: u64, old: Option<u64>) {
        // Taken, so that dropping the reservation releases nothing a second time.
        let held = std::mem::take(&mut self.held);
        let mut state = self.account.state();
        state.release(held);
        state.stored.bytes = state.stored.bytes.saturating_add(new);
        match old {
            Some(old) => state.stored.bytes = state.stored.bytes.saturating_sub(old),
            None => state.stored.files += 1,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.state().release(self.held);
    }
}
