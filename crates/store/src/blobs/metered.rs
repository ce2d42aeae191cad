//! Blobs within quotas: every write is reserved in its workspace's account and charged to the caller
//! before a byte of it reaches the disk.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, RenameTargetMode, Result, UploadPart,
};
use tokio::sync::{Mutex, MutexGuard};

use super::disk::general;
use super::{BlobStore, Blobs};
use crate::error::StoreError;
use crate::quota::{Charged, Ledger, Refused, Reservation, WorkspaceAccount};

/// Number of locks that paths share. The size of a blob must not change between reading and replacing it, or the account
/// would drift.
// A fixed number instead of a map of paths, which would need cleaning up; a collision only makes one writer wait.
const LOCKS: usize = 256;
/// Concurrent deletions.
const DELETIONS: usize = 16;

/// A blob store within quotas. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metered {
    inner: Blobs,
    ledger: Arc<Ledger>,
    paths: Arc<Paths>,
}

struct Paths {
    hasher: RandomState,
    locks: Vec<Mutex<()>>,
}

impl Paths {
    async fn lock(&self, location: &Path) -> MutexGuard<'_, ()> {
        let hash = self.hasher.hash_one(location.as_ref());
        self.locks[(hash % LOCKS as u64) as usize].lock().await
    }
}

impl Metered {
    pub(crate) fn new(inner: Blobs, ledger: Arc<Ledger>) -> Self {
        let paths = Paths {
            // Randomly seeded, so that nobody can choose paths that share a lock.
            hasher: RandomState::new(),
            locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
        };
        Self {
            inner,
            ledger,
            paths: Arc::new(paths),
        }
    }

    /// The size of a blob; `None` if it does not exist.
    async fn size(&self, location: &Path) -> Result<Option<u64>> {
        match self.inner.head(location).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reserves `new` bytes at `location`, writes them with `write`, and counts them.
    ///
    /// In a task of its own: a caller who goes away midway must not leave a file that nobody counted.
    async fn store<T: Send + 'static>(
        &self,
        location: &Path,
        new: u64,
        write: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        // In the caller's task, which knows who pays; the spawned one does not.
        let charged = Charged::new(new).map_err(Refused)?;
        let (blobs, location) = (self.clone(), location.clone());
        let work = async move {
            let Some(account) = blobs.ledger.account(&location) else {
                let written = write.await?;
                charged.keep();
                return Ok(written);
            };
            // One writer for each path: two that saw the same old size would both release it.
            let _path = blobs.paths.lock(&location).await;
            let old = blobs.size(&location).await?;
            let more = new.saturating_sub(old.unwrap_or(0));
            let reserved = blobs.reserve(&account, more, old).await?;
            // Held until the numbers are up to date: a count that ran in between would see the file and
            // the reservation, and count it twice.
            let _changing = blobs.begin(&account).await?;
            let written = write.await?;
            reserved.stored(new, old);
            charged.keep();
            Ok(written)
        };
        finish(work).await
    }

    /// Reserves `bytes` more at a path that holds `old` bytes, or nothing yet.
    async fn reserve(
        &self,
        account: &Arc<WorkspaceAccount>,
        bytes: u64,
        old: Option<u64>,
    ) -> Result<Reservation> {
        let files = u64::from(old.is_none());
        let reserved = account.reserve(&self.ledger, &*self.inner, bytes, files);
        Ok(reserved.await.map_err(Refused)?)
    }

    async fn begin<'a>(
        &self,
        account: &'a WorkspaceAccount,
    ) -> Result<tokio::sync::RwLockReadGuard<'a, ()>> {
        let begun = account.begin(&self.ledger, &*self.inner).await;
        Ok(begun.map_err(Refused)?)
    }

    async fn delete_one(&self, location: Path) -> Result<Path> {
        let Some(account) = self.ledger.account(&location) else {
            self.inner.delete(&location).await?;
            return Ok(location);
        };
        let _path = self.paths.lock(&location).await;
        let _changing = self.begin(&account).await?;
        // Measured before it is gone, and booked only once it is: a failed delete frees nothing.
        let size = self.size(&location).await?;
        self.inner.delete(&location).await?;
        if let Some(size) = size {
            account.removed(size);
        }
        Ok(location)
    }
}

/// Sees `work` to its end whoever stops waiting.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    // A task of its own: a caller that goes away between the write and the booking would leave bytes
    // that nobody accounts for.
    let done = tokio::spawn(work).await;
    done.map_err(|error| general(Box::new(error)))?
}

impl BlobStore for Metered {
    fn scoped(&self, prefix: &Path) -> Result<Blobs> {
        // Locks and accounts are shared: a path is the same blob through every scope.
        Ok(Arc::new(Self {
            inner: self.inner.scoped(prefix)?,
            ..self.clone()
        }))
    }
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metered({:?})", self.inner)
    }
}

impl fmt::Display for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Metered {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let size = payload.content_length() as u64;
        let (inner, place) = (self.inner.clone(), location.clone());
        let write = async move { inner.put_opts(&place, payload, options).await };
        self.store(location, size, write).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let account = self.ledger.account(location);
        let reserved = match &account {
            Some(account) => Some(self.reserve(account, 0, None).await?),
            None => None,
        };
        let upload = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(MeteredUpload {
            upload: Some(upload),
            blobs: self.clone(),
            location: location.clone(),
            account,
            paid: Paid {
                reserved,
                ..Paid::default()
            },
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let blobs = self.clone();
        locations
            .map_ok(move |location| {
                let blobs = blobs.clone();
                async move { blobs.delete_one(location).await }
            })
            .try_buffered(DELETIONS)
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let size = self.inner.head(from).await?.size;
        let (inner, source, target) = (self.inner.clone(), from.clone(), to.clone());
        let write = async move { inner.copy_opts(&source, &target, options).await };
        self.store(to, size, write).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        if from == to {
            return self.inner.rename_opts(from, to, options).await;
        }
        let mode = match options.target_mode {
            RenameTargetMode::Overwrite => CopyMode::Overwrite,
            RenameTargetMode::Create => CopyMode::Create,
        };
        let copy = CopyOptions {
            mode,
            extensions: options.extensions,
        };
        // Copied and then deleted, because source and target can belong to different accounts; a crash
        // in between leaves both files rather than none.
        self.copy_opts(from, to, copy).await?;
        self.delete_one(from.clone()).await.map(drop)
    }
}

/// A blob written in parts, each reserved before it is written.
struct MeteredUpload {
    /// None once it is complete or aborted.
    upload: Option<Box<dyn MultipartUpload>>,
    blobs: Metered,
    location: Path,
    account: Option<Arc<WorkspaceAccount>>,
    paid: Paid,
}

/// What an upload holds until it is complete. Dropped before, all of it is given back.
#[derive(Default)]
struct Paid {
    reserved: Option<Reservation>,
    charged: Vec<Charged>,
    size: u64,
}

impl MeteredUpload {
    fn admit(&mut self, bytes: u64) -> Result<()> {
        let charged = Charged::new(bytes).map_err(Refused)?;
        if let (Some(account), Some(reserved)) = (&self.account, &mut self.paid.reserved) {
            // Without counting again first, which is asynchronous; a part is refused by what is known.
            let more = account.try_reserve(&self.blobs.ledger, bytes, 0);
            reserved.join(more.map_err(Refused)?);
        }
        self.paid.charged.push(charged);
        self.paid.size += bytes;
        Ok(())
    }
}

impl fmt::Debug for MeteredUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MeteredUpload({})", self.location)
    }
}

fn ended() -> Error {
    general("the upload has ended: start another".into())
}

#[async_trait]
impl MultipartUpload for MeteredUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        // Before the part reaches the disk: an upload of unknown length is stopped at the quota, not
        // found too large at its end.
        let admitted = self.admit(data.content_length() as u64);
        match (admitted, &mut self.upload) {
            (Ok(()), Some(upload)) => upload.put_part(data),
            (Ok(()), None) => Box::pin(async { Err(ended()) }),
            (Err(error), _) => Box::pin(async { Err(error) }),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let mut upload = self.upload.take().ok_or_else(ended)?;
        let paid = std::mem::take(&mut self.paid);
        let (blobs, account) = (self.blobs.clone(), self.account.clone());
        let location = self.location.clone();
        let work = async move {
            let done = match account {
                None => upload.complete().await?,
                Some(account) => {
                    let _path = blobs.paths.lock(&location).await;
                    let old = blobs.size(&location).await?;
                    let _changing = blobs.begin(&account).await?;
                    let done = upload.complete().await?;
                    if let Some(reserved) = paid.reserved {
                        reserved.stored(paid.size, old);
                    }
                    done
                }
            };
            paid.charged.into_iter().for_each(Charged::keep);
            Ok(done)
        };
        finish(work).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.paid = Paid::default();
        match self.upload.take() {
            Some(mut upload) => upload.abort().await,
            None => Ok(()),
        }
    }
}

/// The refusal beneath an error of this store.
pub(super) fn refused(error: &(dyn std::error::Error + 'static)) -> Option<StoreError> {
    error
        .downcast_ref::<Refused>()
        .map(|refused| refused.0.clone())
}
