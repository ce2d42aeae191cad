//! A blob written in parts, invisible until it is complete.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use manyhands_guard::{PendingFile, WriteMode};
use object_store::path::Path;
use object_store::{MultipartUpload, PutPayload, PutResult, Result, UploadPart};
use tokio::sync::oneshot;

use super::disk::{Disk, general, put_result, refusal};

/// Parts are appended in the order they were given, whatever the order in which their
/// futures are polled.
pub(super) struct DiskUpload {
    disk: Disk,
    location: Path,
    pending: Arc<Mutex<Option<PendingFile>>>,
    /// Fires when the part before the next one is written.
    previous: Option<oneshot::Receiver<()>>,
}

impl std::fmt::Debug for DiskUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DiskUpload({})", self.location)
    }
}

fn take(pending: &Mutex<Option<PendingFile>>) -> Option<PendingFile> {
    pending
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
}

impl DiskUpload {
    pub(super) async fn start(disk: Disk, location: Path) -> Result<Self> {
        let (at, place, named) = (disk.clone(), disk.place(&location)?, location.clone());
        let begin = move || at.begin(&place).map_err(|error| refusal(&named, error));
        let pending = disk.job(begin).await?;
        Ok(Self {
            disk,
            location,
            pending: Arc::new(Mutex::new(Some(pending))),
            previous: None,
        })
    }
}

#[async_trait]
impl MultipartUpload for DiskUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (written, next) = oneshot::channel();
        let previous = self.previous.replace(next);
        let (disk, location, pending) = (
            self.disk.clone(),
            self.location.clone(),
            self.pending.clone(),
        );
        // Started at once rather than when polled: the next part waits for this one, whose future the caller may
        // poll later or never.
        let part = tokio::spawn(async move {
            let failed =
                || general("an earlier part was not written: start the upload again".into());
            if let Some(previous) = previous {
                previous.await.map_err(|_| failed())?;
            }
            let append = move || {
                let mut held = pending.lock().unwrap_or_else(PoisonError::into_inner);
                let file = held.as_mut().ok_or_else(failed)?;
                for bytes in &data {
                    let appended = file.write_all(bytes);
                    appended.map_err(|error| refusal(&location, error))?;
                }
                Ok(())
            };
            disk.job(append).await?;
            // Only after the write: if it fails, the sender is dropped, and the next part and `complete` fail too.
            let _ = written.send(());
            Ok(())
        });
        Box::pin(async move { part.await.map_err(|error| general(Box::new(error)))? })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let failed = || general("a part was not written: start the upload again".into());
        if let Some(last) = self.previous.take() {
            last.await.map_err(|_| failed())?;
        }
        let pending = take(&self.pending).ok_or_else(failed)?;
        let location = self.location.clone();
        let commit = move || {
            let meta = pending.commit(WriteMode::Overwrite);
            meta.map(|meta| put_result(&meta))
                .map_err(|error| refusal(&location, error))
        };
        self.disk.job(commit).await
    }

    async fn abort(&mut self) -> Result<()> {
        let pending = self.pending.clone();
        // Dropping a pending file removes it from the disk, which may block.
        let discard = move || {
            drop(take(&pending));
            Ok(())
        };
        self.disk.job(discard).await
    }
}
