//! Connections that read. A query may scan a whole table, so it runs on a thread that may block.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

// Few: WAL readers never wait for the writer, and each connection has its own page cache.
const READERS: usize = 4;
const WAIT_FOR_CONNECTION: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(in crate::sql) struct Readers {
    file: Arc<PathBuf>,
    /// Connections stay open: a new one has to read the whole schema again.
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(in crate::sql) fn new(file: &Path) -> Self {
        Self {
            file: Arc::new(file.to_owned()),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Waits for a connection.
    async fn acquire(&self) -> Result<Reader, StoreError> {
        let permit = timeout(WAIT_FOR_CONNECTION, self.permits.clone().acquire_owned());
        let permit = permit
            .await
            .map_err(|_| StoreError::Busy)?
            .map_err(|_| StoreError::Closed)?;
        let idle = lock(&self.idle).pop();
        Ok(Reader {
            connection: idle,
            of: self.clone(),
            permit: Some(permit),
        })
    }

    pub(in crate::sql) async fn all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let all = move |connection: &Connection| connection::all(connection, &statement);
        self.acquire().await?.on(all).await.1
    }

    pub(in crate::sql) async fn one(
        &self,
        statement: Statement,
    ) -> Result<Option<Row>, StoreError> {
        let one = move |connection: &Connection| connection::one(connection, &statement);
        self.acquire().await?.on(one).await.1
    }

    /// Begins a transaction: all its statements see the same snapshot.
    pub(in crate::sql) async fn moment(&self) -> Result<ReadTx, StoreError> {
        let reader = self.acquire().await?;
        let (reader, begun) = reader
            .on(|connection| connection::execute(connection, "BEGIN"))
            .await;
        begun?;
        Ok(ReadTx { reader })
    }

    /// Waits for queries and closes every connection.
    pub(in crate::sql) async fn close(&self) {
        let most = u32::try_from(READERS).unwrap_or(u32::MAX);
        let all = self.permits.acquire_many(most).await;
        self.permits.close();
        lock(&self.idle).clear();
        drop(all);
    }
}

fn lock(idle: &Mutex<Vec<Connection>>) -> std::sync::MutexGuard<'_, Vec<Connection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection; dropping it gives it back.
struct Reader {
    /// Opened by the first query, where it may block.
    connection: Option<Connection>,
    of: Readers,
    permit: Option<OwnedSemaphorePermit>,
}

impl Reader {
    /// Runs `what` where it may block, and returns with it. If nobody waits any more, it still ends there.
    async fn on<T: Send + 'static>(
        mut self,
        what: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> (Option<Self>, Result<T, StoreError>) {
        let done = tokio::task::spawn_blocking(move || {
            let outcome = self.open().and_then(what);
            (self, outcome)
        });
        match done.await {
            Ok((reader, outcome)) => (Some(reader), outcome),
            // The runtime is shutting down and drops the waiting task; it must not record a failure before that.
            Err(ended) if ended.is_cancelled() => std::future::pending().await,
            Err(_) => (None, Err(StoreError::Closed)),
        }
    }

    fn open(&mut self) -> Result<&Connection, StoreError> {
        if self.connection.is_none() {
            self.connection = Some(connection::open(&self.of.file, true)?);
        }
        self.connection.as_ref().ok_or(StoreError::Closed)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let idle =
            connection.is_autocommit() || connection::execute(&connection, "ROLLBACK").is_ok();
        // Before the permit goes, or the next reader would open a connection of its own.
        if idle && !self.of.permits.is_closed() {
            lock(&self.of.idle).push(connection);
        }
        drop(self.permit.take());
    }
}

/// A transaction that reads.
pub(in crate::sql) struct ReadTx {
    reader: Option<Reader>,
}

impl ReadTx {
    pub(in crate::sql) async fn all(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<Row>, StoreError> {
        self.on(move |connection| connection::all(connection, &statement))
            .await
    }

    pub(in crate::sql) async fn one(
        &mut self,
        statement: Statement,
    ) -> Result<Option<Row>, StoreError> {
        self.on(move |connection| connection::one(connection, &statement))
            .await
    }

    async fn on<T: Send + 'static>(
        &mut self,
        what: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let reader = self.reader.take().ok_or(StoreError::Closed)?;
        let (reader, outcome) = reader.on(what).await;
        self.reader = reader;
        outcome
    }
}
