//! Files with an id, made by a tool, a script or a large result: a record in the
//! database and bytes among the blobs.
//!
//! Bytes are written before their record and removed after it. A crash in between leaves bytes without a record, which
//! the first sweep removes, and never a record without its bytes. Equal bytes are stored once and removed with the last
//! record that names them.

mod bytes;
mod chats;
#[cfg(test)]
mod tests;
mod usage;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use manyhands_core::{ArtifactId, ChatId, Clock, Ids, Timestamp};
use object_store::{GetOptions, GetRange};
use tokio::sync::{Mutex, Semaphore};

use crate::artifact_record::{
    ArtifactFilter, ArtifactQuota, ArtifactRecord, Bucket, COLUMNS, NewArtifact, record,
};
use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::sql::{Sql, Statement, Tx};

pub(crate) use self::bytes::FOLDER;
use self::bytes::{PendingBytes, location};
use self::usage::ArtifactUsage;

/// Expired artifacts removed per transaction.
const SWEEP: i64 = 500;

/// The artifacts. Cheap to clone.
#[derive(Clone)]
pub struct Artifacts {
    sql: Sql,
    blobs: Blobs,
    clock: Arc<dyn Clock>,
    ids: Ids,
    /// Held while a record and its bytes change together.
    lock: Arc<Mutex<()>>,
    /// When this was opened: unknown bytes that are older were left by a crash.
    opened: Timestamp,
    swept: Arc<AtomicBool>,
    large_writes: Arc<Semaphore>,
}

impl std::fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Artifacts")
    }
}

impl Artifacts {
    pub(crate) fn new(sql: Sql, blobs: Blobs, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            sql,
            blobs,
            opened: clock.now(),
            clock,
            ids,
            lock: Arc::default(),
            swept: Arc::default(),
            large_writes: Arc::new(Semaphore::new(bytes::MAX_LARGE_WRITES)),
        }
    }

    /// Stores `bytes`.
    pub async fn put(&self, new: NewArtifact, bytes: Bytes) -> Result<ArtifactRecord, StoreError> {
        let whole = futures_util::stream::once(async { Ok(bytes) });
        self.put_stream(new, whole).await
    }

    /// Stores a stream. If it fails, or exceeds a quota, nothing is stored.
    pub async fn put_stream(
        &self,
        new: NewArtifact,
        content: impl Stream<Item = Result<Bytes, StoreError>> + Send,
    ) -> Result<ArtifactRecord, StoreError> {
        let used = match new.quota {
            ArtifactQuota::UNLIMITED => ArtifactUsage::default(),
            _ => self.used(new.agent.as_str(), &new.caller).await?,
        };
        let id: ArtifactId = self.ids.next();
        let written = PendingBytes::begin(&self.blobs, &self.large_writes, id);
        let (size, sha256) = written.fill(content, &new, used).await?;
        let record = ArtifactRecord {
            id,
            name: new.name,
            mime: new.mime,
            size,
            sha256,
            agent: new.agent,
            call: new.call,
            caller: new.caller,
            chat: match &new.bucket {
                Bucket::Results => None,
                Bucket::Chat(chat) => Some(*chat),
                Bucket::New(_) => Some(self.ids.next()),
            },
            created: self.clock.now(),
            expires: new.expires,
        };
        self.insert_record(&record, &new.bucket, &new.quota, written)
            .await?;
        Ok(record)
    }

    /// Stores the record, sharing equal bytes if there are any.
    async fn insert_record(
        &self,
        record: &ArtifactRecord,
        bucket: &Bucket,
        room: &ArtifactQuota,
        written: PendingBytes,
    ) -> Result<(), StoreError> {
        let size = i64::try_from(record.size).map_err(|_| StoreError::Full)?;
        // Until the commit: a concurrent delete must not remove the equal bytes that this record is about to share.
        let _lock = self.lock.lock().await;
        let mut tx = self.sql.begin().await?;
        if *room != ArtifactQuota::UNLIMITED {
            // Checked again with the numbers of this transaction: other artifacts may have been stored while this
            // one was streamed.
            let select = usage::select(record.agent.as_str(), &record.caller);
            let used = ArtifactUsage::of(&tx.all(select).await?)?;
            if let Err(full) = used.admit(record, room) {
                tx.abandon().await;
                return Err(full);
            }
        }
        let equal = Statement::new("SELECT blob FROM artifact")
            .then_with(" WHERE sha256 = ", record.sha256.as_str())
            .then_with(" AND size = ", size)
            .then(" LIMIT 1");
        let equal = tx
            .one(equal)
            .await?
            .map(|row| row.text("blob"))
            .transpose()?;
        match (bucket, record.chat) {
            (Bucket::New(agent), Some(chat)) => {
                tx.run(chats::insert(chat, agent, record)).await?;
            }
            (Bucket::Chat(_), Some(chat)) if !chats::exists(&mut tx, chat).await? => {
                tx.abandon().await;
                return Err(StoreError::not_found(format!("chat {chat}")));
            }
            _ => {}
        }
        let blob = equal.clone().unwrap_or_else(|| record.id.to_string());
        tx.run(insert(record, size, &blob)).await?;
        usage::added(&mut tx, record.agent.as_str(), &record.caller, size).await?;
        tx.commit().await?;
        // Otherwise the new copy is removed when `written` is dropped: the record names the older bytes.
        if equal.is_none() {
            written.keep();
        }
        Ok(())
    }

    /// One artifact.
    pub async fn get(&self, id: ArtifactId) -> Result<Option<ArtifactRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id.to_string());
        self.sql.one(select).await?.as_ref().map(record).transpose()
    }

    /// The bytes of an artifact, all of them or a range.
    pub async fn open(
        &self,
        id: ArtifactId,
        part: Option<Range<u64>>,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        let select =
            Statement::new("SELECT blob FROM artifact").then_with(" WHERE id = ", id.to_string());
        let row = self.sql.one(select).await?;
        let row = row.ok_or_else(|| StoreError::not_found(format!("artifact {id}")))?;
        let options = GetOptions {
            range: part.map(GetRange::Bounded),
            ..GetOptions::default()
        };
        let place = location(row.parsed("blob")?);
        let found = self.blobs.get_opts(&place, options).await?;
        Ok(found.into_stream().map_err(StoreError::from).boxed())
    }

    /// Artifacts, newest first.
    pub async fn list(
        &self,
        filter: &ArtifactFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<ArtifactRecord>, StoreError> {
        let mut select = Statement::new(COLUMNS).then(" WHERE 1 = 1");
        if let Some(agent) = &filter.agent {
            select = select.then_with(" AND agent = ", agent.as_str());
        }
        if let Some(caller) = &filter.caller {
            select = select.then_with(" AND caller = ", caller.as_str());
        }
        select = match filter.chat {
            None => select,
            Some(None) => select.then(" AND chat IS NULL"),
            Some(Some(chat)) => select.then_with(" AND chat = ", chat.to_string()),
        };
        let select = select
            .then_with(" ORDER BY created DESC, id DESC LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        self.sql.all(select).await?.iter().map(record).collect()
    }

    /// Deletes an artifact; whether there was one.
    pub async fn delete(&self, id: ArtifactId) -> Result<bool, StoreError> {
        let _lock = self.lock.lock().await;
        let mut tx = self.sql.begin().await?;
        let delete = Statement::new(
            "DELETE FROM artifact WHERE id = $1 RETURNING blob, agent, caller, size",
        )
        .bind(id.to_string());
        let rows = tx.all(delete).await?;
        usage::removed(&mut tx, &rows).await?;
        let known = !rows.is_empty();
        let blobs = rows.iter().map(|row| row.parsed("blob"));
        // Determined inside the transaction, after the delete, so that bytes shared with another record stay.
        let gone = orphaned(&mut tx, blobs.collect::<Result<_, _>>()?).await?;
        tx.commit().await?;
        self.delete_blobs(gone).await?;
        Ok(known)
    }

    /// Deletes expired artifacts; returns how many. The first run also removes what a crash left behind.
    pub async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let _lock = self.lock.lock().await;
            let mut tx = self.sql.begin().await?;
            let delete = Statement::new(
                // A batch at a time, each under the lock: uploads wait for one batch and not for the whole sweep.
                "DELETE FROM artifact WHERE id IN
                     (SELECT id FROM artifact WHERE expires <= $1 LIMIT $2)
                 RETURNING blob, agent, caller, size",
            );
            let rows = tx.all(delete.bind(now).bind(SWEEP)).await?;
            usage::removed(&mut tx, &rows).await?;
            let mut blobs = rows
                .iter()
                .map(|row| row.parsed("blob"))
                .collect::<Result<Vec<ArtifactId>, _>>()?;
            blobs.sort_unstable();
            blobs.dedup();
            let gone = orphaned(&mut tx, blobs).await?;
            tx.commit().await?;
            if rows.is_empty() {
                break;
            }
            swept += rows.len() as u64;
            self.delete_blobs(gone).await?;
        }
        self.sweep_chats(now).await?;
        if !self.swept.swap(true, Ordering::Relaxed) {
            self.sweep_orphans().await?;
        }
        Ok(swept)
    }

    /// Removes bytes from before this start that no record names.
    async fn sweep_orphans(&self) -> Result<(), StoreError> {
        let folder = object_store::path::Path::from(FOLDER);
        let mut found = self.blobs.list(Some(&folder));
        while let Some(meta) = found.try_next().await? {
            // Only blobs made before this start: a newer one may belong to an upload whose record is not stored
            // yet.
            let id = meta.location.filename().and_then(|name| name.parse().ok());
            let Some(id) = id.filter(|id| bytes::created(*id) < self.opened) else {
                continue;
            };
            let named = Statement::new("SELECT 1 AS one FROM artifact")
                .then_with(" WHERE blob = ", id.to_string())
                .then(" LIMIT 1");
            if self.sql.one(named).await?.is_none() {
                tracing::info!(event = "artifact_orphan_removed", %id, "removing the bytes of an artifact that was never finished");
                self.delete_blobs(vec![id]).await?;
            }
        }
        Ok(())
    }

    async fn delete_blobs(&self, blobs: Vec<ArtifactId>) -> Result<(), StoreError> {
        for blob in blobs {
            bytes::delete(&self.blobs, blob).await?;
        }
        Ok(())
    }
}

/// Those of `blobs` that no record names.
async fn orphaned(tx: &mut Tx, blobs: Vec<ArtifactId>) -> Result<Vec<ArtifactId>, StoreError> {
    let mut gone = Vec::new();
    for blob in blobs {
        let named = Statement::new("SELECT 1 AS one FROM artifact")
            .then_with(" WHERE blob = ", blob.to_string())
            .then(" LIMIT 1");
        if tx.one(named).await?.is_none() {
            gone.push(blob);
        }
    }
    Ok(gone)
}

fn insert(record: &ArtifactRecord, size: i64, blob: &str) -> Statement {
    Statement::new(
        "INSERT INTO artifact (id, name, mime, size, sha256, agent, call_id, caller, created, expires, chat, blob)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(record.id.to_string())
    .bind(record.name.as_str())
    .bind(record.mime.as_str())
    .bind(size)
    .bind(record.sha256.as_str())
    .bind(record.agent.as_str())
    .bind(record.call.to_string())
    .bind(record.caller.as_str())
    .bind(record.created)
    .bind(record.expires)
    .bind(record.chat.map(|chat: ChatId| chat.to_string()))
    .bind(blob)
}
