//! One handle for all storage.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{Clock, Ids, Secret};

use crate::approvals::Approvals;
use crate::artifacts::{Artifacts, FOLDER as ARTIFACTS};
use crate::audit::Audit;
use crate::blobs::{Blobs, Disk, Metered, blob_path};
use crate::chats::Chats;
use crate::collections::{Collections, FOLDER as COLLECTIONS};
use crate::connections::Connections;
use crate::continuations::Continuations;
use crate::cron::Cron;
use crate::error::StoreError;
use crate::home::{self, BLOBS, DATABASE};
use crate::nodes::Nodes;
use crate::pins::Pins;
use crate::provenance::Provenance;
use crate::quota::{DiskWatch, Ledger, Quotas};
use crate::sessions::{AgentMail, Sessions};
use crate::sql::{Inspection, Sql, Statement, inspect};
use crate::tokens::Tokens;
use crate::vault::{FirstUse, Vault, VaultKey};

/// Folder of archived conversations, among the blobs.
const ARCHIVES: &str = "archives";

/// The contents of a home. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    home: PathBuf,
    sql: Sql,
    tokens: Tokens,
    nodes: Nodes,
    pins: Pins,
    provenance: Provenance,
    connections: Connections,
    continuations: Continuations,
    cron: Cron,
    sessions: Sessions,
    mail: AgentMail,
    approvals: Approvals,
    artifacts: Artifacts,
    collections: Collections,
    chats: Chats,
    archives: Blobs,
    blobs: Blobs,
    ledger: Arc<Ledger>,
    disk: DiskWatch,
    vault: Vault,
    audit: Audit,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inner({})", self.home.display())
    }
}

impl Store {
    /// Opens a home, creating what is missing. A database of another version, a wrong
    /// passphrase or a lost key file is refused and left as it is.
    pub async fn open(
        home: &Path,
        clock: Arc<dyn Clock>,
        ids: Ids,
        passphrase: Option<Secret>,
    ) -> Result<Self, StoreError> {
        home::prepare(home)?;
        let sql = Sql::open(&home.join(DATABASE)).await?;
        match Self::assemble(home, sql.clone(), clock, ids, passphrase).await {
            Ok(store) => Ok(store),
            Err(error) => {
                // The pool holds the file open; a home that failed to open must be free for the next attempt.
                sql.close().await;
                Err(error)
            }
        }
    }

    async fn assemble(
        home: &Path,
        sql: Sql,
        clock: Arc<dyn Clock>,
        ids: Ids,
        passphrase: Option<Secret>,
    ) -> Result<Self, StoreError> {
        let key = vault_key(home, &sql, ids.clone(), passphrase).await?;
        let vault = Vault::new(sql.clone(), key, clock.clone(), ids.clone());
        let ledger = Arc::new(Ledger::new(clock.clone()));
        let blobs: Blobs = Arc::new(Metered::new(open_blobs(home)?, ledger.clone()));
        let disk = DiskWatch::new(home, clock.clone());
        let audit = Audit::open(sql.clone(), &vault, home, clock.clone()).await?;
        let approvals = Approvals::new(sql.clone());
        let tree = |name: &str| Ok::<_, StoreError>(blobs.scoped(&blob_path(name)?)?);
        let (artifacts, collections) = (tree(ARTIFACTS)?, tree(COLLECTIONS)?);
        let inner = Inner {
            home: home.to_owned(),
            tokens: Tokens::new(sql.clone()),
            nodes: Nodes::new(sql.clone()),
            pins: Pins::new(sql.clone()),
            provenance: Provenance::open(sql.clone()).await?,
            connections: Connections::new(sql.clone()),
            continuations: Continuations::new(sql.clone()),
            cron: Cron::new(sql.clone()),
            sessions: Sessions::new(sql.clone(), approvals.changes().clone()),
            mail: AgentMail::new(sql.clone()),
            approvals,
            artifacts: Artifacts::new(sql.clone(), artifacts, clock.clone(), ids.clone()),
            chats: Chats::new(sql.clone(), clock.clone(), ids.clone()),
            collections: Collections::new(sql.clone(), collections, vault.clone(), clock, ids),
            archives: tree(ARCHIVES)?,
            blobs,
            ledger,
            disk,
            sql,
            vault,
            audit,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.inner.home
    }

    /// Access tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.inner.tokens
    }

    /// Registered nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.inner.nodes
    }

    /// Approved tool definitions of MCP servers.
    pub fn pins(&self) -> &Pins {
        &self.inner.pins
    }

    /// State of requests whose clients run tools themselves.
    pub fn continuations(&self) -> &Continuations {
        &self.inner.continuations
    }

    /// Taint marks of stored objects.
    pub fn provenance(&self) -> &Provenance {
        &self.inner.provenance
    }

    /// Chats: inbox, outbox, senders.
    pub fn chats(&self) -> &Chats {
        &self.inner.chats
    }

    /// Accounts of services.
    pub fn connections(&self) -> &Connections {
        &self.inner.connections
    }

    /// Scheduled jobs.
    pub fn cron(&self) -> &Cron {
        &self.inner.cron
    }

    /// Sessions and their turns.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// Messages between agents.
    pub fn mail(&self) -> &AgentMail {
        &self.inner.mail
    }

    /// Approval requests.
    pub fn approvals(&self) -> &Approvals {
        &self.inner.approvals
    }

    /// Files with an id.
    pub fn artifacts(&self) -> &Artifacts {
        &self.inner.artifacts
    }

    /// Datastores, filestores, knowledge bases and vaults.
    pub fn collections(&self) -> &Collections {
        &self.inner.collections
    }

    /// Archived conversations: the blobs below `archives/`.
    pub fn archives(&self) -> &Blobs {
        &self.inner.archives
    }

    /// Blobs. Use [`artifacts`](Self::artifacts) for those below `artifacts/`.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Free disk space.
    pub fn disk(&self) -> &DiskWatch {
        &self.inner.disk
    }

    /// Sets the quotas; nothing is limited before.
    pub fn limit(&self, quotas: Quotas) {
        self.inner.ledger.set(quotas);
        self.inner.disk.set_min_free(quotas.min_free_bytes);
    }

    /// Secrets.
    pub fn vault(&self) -> &Vault {
        &self.inner.vault
    }

    /// The audit.
    pub fn audit(&self) -> &Audit {
        &self.inner.audit
    }

    /// Simulates a full disk: at most `more` pages above the current size, or no limit.
    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, more: Option<i64>) {
        self.inner.sql.limit_pages(more).await;
    }

    /// Fails if the database does not answer.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.inner
            .sql
            .one(Statement::new("SELECT 1 AS one"))
            .await
            .map(drop)
    }

    /// Checks every page of the database, for at most `within`.
    pub async fn inspect(&self, within: Duration) -> Result<Inspection, StoreError> {
        inspect(&self.inner.home.join(DATABASE), within).await
    }

    /// Writes what is queued and closes the database. Every clone is closed with it.
    pub async fn close(&self) -> Result<(), StoreError> {
        // The audit first: its writer still needs the database. Its error is reported only after everything
        // is closed.
        let audit = self.inner.audit.close().await;
        self.inner.sql.close().await;
        audit
    }
}

/// Opens the folder of blobs, and removes half-written files of a crash in the background.
fn open_blobs(home: &Path) -> Result<Blobs, StoreError> {
    let disk =
        Disk::open(&home.join(BLOBS)).map_err(|error| StoreError::io("opening blobs", &error))?;
    let jail = disk.root().clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = jail.sweep_temporaries() {
            tracing::warn!(event = "blob_sweep_failed", %error, "failed to remove half-written blobs; the next start repeats it");
        }
    });
    Ok(Arc::new(disk))
}

/// Opens the vault's key off the runtime's threads: deriving one takes a while.
async fn vault_key(
    home: &Path,
    sql: &Sql,
    ids: Ids,
    passphrase: Option<Secret>,
) -> Result<VaultKey, StoreError> {
    // Anything that needs the key counts: with it lost, a new key must not be created in silence.
    let sealed = Statement::new(
        "SELECT (SELECT COUNT(*) FROM secret) + (SELECT COUNT(*) FROM audit_head) AS sealed",
    );
    let row = sql.one(sealed).await?;
    let first_use = match row.map_or(Ok(0), |row| row.int("sealed"))? {
        0 => FirstUse::Yes,
        _ => FirstUse::No,
    };
    let home = home.to_owned();
    let opening = move || VaultKey::open(&home, passphrase.as_ref(), first_use, &ids);
    tokio::task::spawn_blocking(opening)
        .await
        .map_err(|_| StoreError::Closed)?
}

#[cfg(test)]
mod tests {
    use crate::testing::TestHome;
    use std::os::unix::fs::MetadataExt as _;

    #[tokio::test]
    async fn every_file_of_an_open_home_is_private() {
        let home = TestHome::new();
        let store = home.open().await;
        store.tokens().list().await.unwrap();
        let mut seen = Vec::new();
        for entry in std::fs::read_dir(home.path()).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            let expect = if meta.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(meta.mode() & 0o7777, expect, "{:?}", entry.path());
            seen.push(entry.file_name().into_string().unwrap());
        }
        seen.sort();
        let expect = [
            "audit.head",
            "blobs",
            "manyhands.db",
            "manyhands.db-shm",
            "manyhands.db-wal",
            "vault.key",
        ];
        assert_eq!(seen, expect);
    }

    #[tokio::test]
    async fn closing_closes_every_clone_and_the_home_opens_again() {
        let home = TestHome::new();
        let store = home.open().await;
        let clone = store.clone();
        store.close().await.unwrap();
        assert!(clone.tokens().list().await.is_err());
        assert!(home.open().await.tokens().list().await.unwrap().is_empty());
    }
}
