//! Files under a path, replaced atomically.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_core::{ArtifactId, CollectionId, Timestamp};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStoreExt as _, PutMode};
use sha2::{Digest as _, Sha256};

use super::{CollectionLimits, Collections, book};
use crate::blobs::blob_path;
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Statement};

pub(crate) const FOLDER: &str = "collections";

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// When it was first written.
    pub created: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
}

const COLUMNS: &str = "SELECT path, size, sha256, blob, created, updated FROM filestore_file";

fn file(row: &Row) -> Result<StoredFile, StoreError> {
    Ok(StoredFile {
        path: row.text("path")?,
        size: u64::try_from(row.int("size")?).unwrap_or(0),
        sha256: row.text("sha256")?,
        created: Timestamp(row.int("created")?),
        updated: Timestamp(row.int("updated")?),
    })
}

impl Collections {
    /// Stores a file; returns its record, and whether it is new.
    pub async fn put_file(
        &self,
        id: CollectionId,
        path: &str,
        content: Bytes,
        room: CollectionLimits,
    ) -> Result<(StoredFile, bool), StoreError> {
        let path = checked(path)?;
        // A new blob each time: readers of the old content finish undisturbed, and a crash before the commit leaves
        // it in force.
        let blob = self.ids.next::<ArtifactId>().to_string();
        let size = i64::try_from(content.len()).map_err(|_| StoreError::Full)?;
        let now = self.clock.now();
        let mut kept = StoredFile {
            path: path.clone(),
            size: content.len() as u64,
            sha256: hex::encode(&Sha256::digest(&content)),
            created: now,
            updated: now,
        };
        let (location, create) = (place(&blob), PutMode::Create.into());
        self.blobs
            .put_opts(&location, content.into(), create)
            .await?;
        let _lock = self.lock.lock().await;
        let entered = self.enter_file(id, &mut kept, size, &blob, room).await;
        match entered {
            Ok(Some(old)) => {
                self.delete_blob(&old).await?;
                Ok((kept, false))
            }
            Ok(None) => Ok((kept, true)),
            Err(error) => {
                let _ = self.delete_blob(&blob).await;
                Err(error)
            }
        }
    }

    /// Writes the record; returns the blob it replaced.
    async fn enter_file(
        &self,
        id: CollectionId,
        kept: &mut StoredFile,
        size: i64,
        blob: &str,
        room: CollectionLimits,
    ) -> Result<Option<String>, StoreError> {
        let mut tx = self.sql.begin().await?;
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND path = ", kept.path.as_str());
        let old = tx.one(select).await?;
        let (items, freed) = match &old {
            Some(row) => (0, row.int("size")?),
            None => (1, 0),
        };
        if let Err(error) = book(&mut tx, id, items, size - freed, kept.updated, Some(room)).await {
            tx.abandon().await;
            return Err(error);
        }
        let upsert = Statement::new(
            "INSERT INTO filestore_file (collection, path, size, sha256, blob, created, updated)
             VALUES ($1, $2, $3, $4, $5, $6, $6)
             ON CONFLICT (collection, path) DO UPDATE
             SET size = excluded.size, sha256 = excluded.sha256, blob = excluded.blob,
                 updated = excluded.updated",
        )
        .bind(id.to_string())
        .bind(kept.path.as_str())
        .bind(size)
        .bind(kept.sha256.as_str())
        .bind(blob)
        .bind(kept.updated);
        tx.run(upsert).await?;
        tx.commit().await?;
        match old {
            Some(row) => {
                kept.created = Timestamp(row.int("created")?);
                row.text("blob").map(Some)
            }
            None => Ok(None),
        }
    }

    /// A file and its content.
    pub async fn open_file(
        &self,
        id: CollectionId,
        path: &str,
    ) -> Result<(StoredFile, BoxStream<'static, Result<Bytes, StoreError>>), StoreError> {
        let path = checked(path)?;
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND path = ", path.as_str());
        let row = self.sql.one(select).await?;
        let row = row.ok_or_else(|| StoreError::not_found(format!("the file {path}")))?;
        let place = place(&row.text("blob")?);
        let found = self.blobs.get_opts(&place, GetOptions::default()).await?;
        let bytes = found.into_stream().map_err(StoreError::from).boxed();
        Ok((file(&row)?, bytes))
    }

    /// Files whose path starts with `prefix`, sorted.
    pub async fn files(
        &self,
        id: CollectionId,
        prefix: &str,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<StoredFile>, StoreError> {
        let length = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE collection = ", id.to_string())
            // Not LIKE, in which `_` and `%` of a path would be wildcards.
            .then_with(" AND substr(path, 1, ", length)
            .then_with(") = ", prefix)
            .then_with(" ORDER BY path LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        self.sql.all(select).await?.iter().map(file).collect()
    }

    /// Deletes a file; whether there was one.
    pub async fn remove_file(&self, id: CollectionId, path: &str) -> Result<bool, StoreError> {
        let path = checked(path)?;
        let _lock = self.lock.lock().await;
        let mut tx = self.sql.begin().await?;
        let delete = Statement::new("DELETE FROM filestore_file")
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND path = ", path)
            .then(" RETURNING size, blob");
        let Some(row) = tx.one(delete).await? else {
            tx.abandon().await;
            return Ok(false);
        };
        book(&mut tx, id, -1, -row.int("size")?, self.clock.now(), None).await?;
        tx.commit().await?;
        self.delete_blob(&row.text("blob")?).await?;
        Ok(true)
    }

    /// Removes bytes that a crash left, once: those from before this start that no record names.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        if self.swept.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut found = self.blobs.list(Some(&Path::from(FOLDER)));
        while let Some(meta) = found.try_next().await? {
            let name = meta.location.filename().unwrap_or_default().to_owned();
            let id: Option<ArtifactId> = name.parse().ok();
            let made = |id: ArtifactId| i64::try_from(id.0.as_u128() >> 80).unwrap_or(i64::MAX);
            if id.is_none_or(|id| made(id) >= self.opened.0) {
                continue;
            }
            let named = Statement::new("SELECT 1 AS one FROM filestore_file")
                .then_with(" WHERE blob = ", name.as_str())
                .then(" LIMIT 1");
            if self.sql.one(named).await?.is_none() {
                self.delete_blob(&name).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn delete_blob(&self, blob: &str) -> Result<(), StoreError> {
        match self.blobs.delete(&place(blob)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn place(blob: &str) -> Path {
    Path::from(format!("{FOLDER}/{blob}"))
}

fn checked(path: &str) -> Result<String, StoreError> {
    let path = blob_path(path)?;
    match path.as_ref() {
        "" => Err(StoreError::invalid("the path names no file")),
        path => Ok(path.to_owned()),
    }
}
