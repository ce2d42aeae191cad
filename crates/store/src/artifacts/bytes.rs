//! Writes the bytes of an artifact.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, TryStreamExt as _};
use manyhands_core::{ArtifactId, Timestamp};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutMode};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::ArtifactUsage;
use crate::artifact_record::NewArtifact;
use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::hex;

/// S3 wants parts of at least 5 MiB.
pub(super) const PART: usize = 8 * 1024 * 1024;
/// Larger artifacts need one of a few permits while they are written, because their parts are held in memory.
const SMALL: u64 = 1024 * 1024;
/// Number of permits.
pub(super) const MAX_LARGE_WRITES: usize = 16;
/// Their folder among the blobs.
pub(crate) const FOLDER: &str = "artifacts";

/// Bytes without a record. Removed when dropped without [`PendingBytes::keep`].
pub(super) struct PendingBytes {
    blobs: Blobs,
    large_writes: Arc<Semaphore>,
    id: ArtifactId,
    kept: bool,
}

impl PendingBytes {
    pub(super) fn begin(blobs: &Blobs, large_writes: &Arc<Semaphore>, id: ArtifactId) -> Self {
        Self {
            blobs: blobs.clone(),
            large_writes: large_writes.clone(),
            id,
            kept: false,
        }
    }

    /// Keeps them: a record names them now.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }

    /// Writes a stream in parts; returns its size and hash.
    pub(super) async fn fill(
        &self,
        content: impl Stream<Item = Result<Bytes, StoreError>> + Send,
        new: &NewArtifact,
        used: ArtifactUsage,
    ) -> Result<(u64, String), StoreError> {
        let mut content = std::pin::pin!(content);
        let (place, left) = (location(self.id), used.remaining(&new.quota));
        if let Some(full) = used.refusal(0, new.agent.as_str(), &new.quota) {
            return Err(full); // before a byte of it is taken
        }
        let (mut part, mut size, mut hash) = (BytesMut::new(), 0_u64, Sha256::new());
        let (mut upload, mut permit): (Option<Box<dyn MultipartUpload>>, _) = (None, None);
        let outcome = async {
            while let Some(bytes) = content.try_next().await? {
                size += bytes.len() as u64;
                if size > left {
                    let full = used.refusal(size, new.agent.as_str(), &new.quota);
                    return Err(full.unwrap_or(StoreError::Full));
                }
                // Taken only now: most artifacts are small and never wait for the few permits.
                if size > SMALL && permit.is_none() {
                    permit = self.large_writes.acquire().await.ok();
                }
                // Hashed while streaming: reading the bytes again for the hash would double the I/O of a large
                // artifact.
                hash.update(&bytes);
                part.extend_from_slice(&bytes);
                while part.len() >= PART {
                    if upload.is_none() {
                        upload = Some(self.blobs.put_multipart(&place).await?);
                    }
                    if let Some(upload) = &mut upload {
                        upload.put_part(part.split_to(PART).freeze().into()).await?;
                    }
                }
            }
            let rest = part.split().freeze();
            match &mut upload {
                None => {
                    // A fresh id cannot exist; if it does, something is wrong and nothing may be overwritten.
                    let create = PutMode::Create.into();
                    self.blobs.put_opts(&place, rest.into(), create).await?;
                }
                Some(upload) => {
                    if !rest.is_empty() {
                        upload.put_part(rest.into()).await?;
                    }
                    upload.complete().await?;
                }
            }
            Ok(())
        }
        .await;
        if let (Err(_), Some(upload)) = (&outcome, &mut upload) {
            // Its own failure is not reported: the first error says what went wrong, and the next start removes
            // leftovers.
            let _ = upload.abort().await;
        }
        outcome.map(|()| (size, hex::encode(&hash.finalize())))
    }
}

impl Drop for PendingBytes {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let (blobs, id) = (self.blobs.clone(), self.id);
        // In a task of its own: drop cannot wait, and the caller may have been cancelled.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = delete(&blobs, id).await {
                    tracing::warn!(event = "artifact_cleanup_failed", %error, "failed to remove the bytes of an artifact that was not stored; the next start removes them");
                }
            });
        }
    }
}

pub(super) async fn delete(blobs: &Blobs, id: ArtifactId) -> Result<(), StoreError> {
    match blobs.delete(&location(id)).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn location(id: ArtifactId) -> Path {
    Path::from(format!("{FOLDER}/{id}"))
}

/// When an id was made: the first 48 bits of a UUIDv7 are milliseconds.
pub(super) fn created(id: ArtifactId) -> Timestamp {
    let millis = id.0.as_u128() >> 80;
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
}
