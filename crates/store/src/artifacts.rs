//! Files with an id, made by a tool, a script or a large result: a record in the
//! database and bytes among the blobs.
//!
//! The bytes are on disk before the record, and the record goes before the bytes. A
//! crash in between leaves bytes that nobody names, never a record without bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use manyhands_core::{ArtifactId, Clock, Ids, Timestamp};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, MultipartUpload, ObjectStoreExt as _, PutMode};
use sha2::{Digest as _, Sha256};

use crate::artifact_record::{ArtifactRecord, COLUMNS, NewArtifact, record};
use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Sql, Statement};

/// S3 wants parts of at least 5 MiB.
const PART: usize = 8 * 1024 * 1024;
/// Expired artifacts removed per transaction.
const SWEEP: i64 = 500;

/// The artifacts. Cheap to clone.
#[derive(Clone)]
pub struct Artifacts {
    sql: Sql,
    blobs: Blobs,
    clock: Arc<dyn Clock>,
    ids: Ids,
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
            clock,
            ids,
        }
    }

    /// Keeps `bytes`.
    pub async fn put(&self, new: NewArtifact, bytes: Bytes) -> Result<ArtifactRecord, StoreError> {
        let whole = futures_util::stream::once(async { Ok(bytes) });
        self.put_stream(new, whole).await
    }

    /// Keeps what `content` gives. When it ends in an error, nothing is kept.
    pub async fn put_stream(
        &self,
        new: NewArtifact,
        content: impl Stream<Item = Result<Bytes, StoreError>> + Send,
    ) -> Result<ArtifactRecord, StoreError> {
        let id: ArtifactId = self.ids.next();
        let (size, sha256) = self.write(id, content).await?;
        let record = ArtifactRecord {
            id,
            name: new.name,
            mime: new.mime,
            size,
            sha256,
            agent: new.agent,
            call: new.call,
            caller: new.caller,
            created: self.clock.now(),
            expires: new.expires,
        };
        if let Err(error) = self.insert(&record).await {
            let _ = self.blobs.delete(&location(id)).await;
            return Err(error);
        }
        Ok(record)
    }

    /// Writes the bytes in parts; their number and hash.
    async fn write(
        &self,
        id: ArtifactId,
        content: impl Stream<Item = Result<Bytes, StoreError>> + Send,
    ) -> Result<(u64, String), StoreError> {
        let mut content = std::pin::pin!(content);
        let place = location(id);
        let (mut part, mut size, mut hash) = (BytesMut::new(), 0_u64, Sha256::new());
        let mut upload: Option<Box<dyn MultipartUpload>> = None;
        let outcome = async {
            while let Some(bytes) = content.try_next().await? {
                hash.update(&bytes);
                size += bytes.len() as u64;
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
                    let put = self
                        .blobs
                        .put_opts(&place, rest.into(), PutMode::Create.into());
                    put.await?;
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
            let _ = upload.abort().await;
        }
        outcome.map(|()| (size, hex::encode(&hash.finalize())))
    }

    async fn insert(&self, record: &ArtifactRecord) -> Result<(), StoreError> {
        let size = i64::try_from(record.size).map_err(|_| StoreError::Full)?;
        let insert = Statement::new(
            "INSERT INTO artifact (id, name, mime, size, sha256, agent, call_id, caller, created, expires)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
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
        .bind(record.expires);
        self.sql.run(insert).await.map(drop)
    }

    /// What is known of one.
    pub async fn get(&self, id: ArtifactId) -> Result<Option<ArtifactRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id.to_string());
        self.sql.one(select).await?.as_ref().map(record).transpose()
    }

    /// The bytes of one, all of them or a part.
    pub async fn open(
        &self,
        id: ArtifactId,
        part: Option<Range<u64>>,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        if self.get(id).await?.is_none() {
            return Err(StoreError::not_found(format!("artifact {id}")));
        }
        let options = GetOptions {
            range: part.map(GetRange::Bounded),
            ..GetOptions::default()
        };
        let found = self.blobs.get_opts(&location(id), options).await?;
        Ok(found.into_stream().map_err(StoreError::from).boxed())
    }

    /// Artifacts, newest first.
    pub async fn list(&self, limit: u32, offset: u32) -> Result<Vec<ArtifactRecord>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" ORDER BY created DESC, id DESC LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        self.sql.all(select).await?.iter().map(record).collect()
    }

    /// Forgets one; whether there was one.
    pub async fn delete(&self, id: ArtifactId) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM artifact WHERE id = $1").bind(id.to_string());
        let known = self.sql.run(delete).await? > 0;
        self.forget_bytes(id).await?;
        Ok(known)
    }

    /// Removes those that are too old; how many there were.
    pub async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut swept = 0;
        loop {
            let mut tx = self.sql.begin().await?;
            let delete = Statement::new(
                "DELETE FROM artifact WHERE id IN
                     (SELECT id FROM artifact WHERE expires <= $1 LIMIT $2)
                 RETURNING id",
            );
            let rows = tx.all(delete.bind(now).bind(SWEEP)).await?;
            tx.commit().await?;
            if rows.is_empty() {
                return Ok(swept);
            }
            for row in rows {
                self.forget_bytes(row.parsed("id")?).await?;
                swept += 1;
            }
        }
    }

    async fn forget_bytes(&self, id: ArtifactId) -> Result<(), StoreError> {
        match self.blobs.delete(&location(id)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn location(id: ArtifactId) -> Path {
    Path::from(format!("artifacts/{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHome, ids};
    use futures_util::stream;
    use manyhands_core::AgentId;

    fn new(name: &str, expires: Option<i64>) -> NewArtifact {
        NewArtifact {
            name: name.to_owned(),
            mime: "image/png".to_owned(),
            agent: AgentId::main(),
            call: ids().next(),
            caller: "client:laptop".to_owned(),
            expires: expires.map(Timestamp),
        }
    }

    async fn bytes(artifacts: &Artifacts, id: ArtifactId) -> Vec<u8> {
        let parts: Vec<Bytes> = artifacts
            .open(id, None)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        parts.concat()
    }

    fn files(home: &TestHome) -> usize {
        let folder = std::fs::read_dir(home.path().join("blobs/artifacts"));
        folder.map_or(0, Iterator::count)
    }

    #[tokio::test]
    async fn an_artifact_survives_reopening_with_its_hash() {
        let home = TestHome::new();
        let artifacts = home.open().await.artifacts().clone();
        let kept = artifacts
            .put(new("ü.png", None), Bytes::from_static(b"hello"))
            .await
            .unwrap();
        let empty = artifacts
            .put(new("empty", None), Bytes::new())
            .await
            .unwrap();
        let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        assert_eq!((kept.size, kept.sha256.as_str()), (5, sha256));
        let artifacts = home.open().await.artifacts().clone();
        assert_eq!(artifacts.get(kept.id).await.unwrap(), Some(kept.clone()));
        assert_eq!(bytes(&artifacts, kept.id).await, b"hello");
        assert_eq!(bytes(&artifacts, empty.id).await, b"");
        let part: Vec<Bytes> = artifacts
            .open(kept.id, Some(1..3))
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(part.concat(), b"el");
        assert_eq!(artifacts.list(1, 1).await.unwrap().len(), 1);
        assert_eq!(artifacts.list(10, 0).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_large_stream_is_kept_whole() {
        let home = TestHome::new();
        let artifacts = home.open().await.artifacts().clone();
        let chunk = |n: u8| Ok(Bytes::from(vec![n; 1_000_003]));
        let kept = artifacts
            .put_stream(new("big", None), stream::iter((0..20).map(chunk)))
            .await;
        let kept = kept.unwrap();
        let expect: Vec<u8> = (0..20).flat_map(|n| vec![n; 1_000_003]).collect();
        assert_eq!(kept.size, expect.len() as u64);
        assert!(bytes(&artifacts, kept.id).await == expect);
        assert_eq!(kept.sha256, hex::encode(&Sha256::digest(&expect)));
    }

    #[tokio::test]
    async fn a_stream_that_breaks_leaves_nothing() {
        let home = TestHome::new();
        let artifacts = home.open().await.artifacts().clone();
        let big = Bytes::from(vec![1; PART + 1]);
        for first in [Bytes::from_static(b"small"), big] {
            let broken = stream::iter([Ok(first), Err(StoreError::Busy)]);
            let error = artifacts
                .put_stream(new("x", None), broken)
                .await
                .unwrap_err();
            assert_eq!(error, StoreError::Busy);
        }
        assert!(artifacts.list(10, 0).await.unwrap().is_empty());
        assert_eq!(files(&home), 0);
    }

    #[tokio::test]
    async fn sweeping_removes_what_is_too_old_and_nothing_else() {
        let home = TestHome::new();
        let artifacts = home.open().await.artifacts().clone();
        let put = async |name: &str, expires| {
            let kept = artifacts
                .put(new(name, expires), Bytes::from_static(b"x"))
                .await;
            kept.unwrap().id
        };
        let (old, young, forever) = (
            put("old", Some(10)).await,
            put("young", Some(11)).await,
            put("forever", None).await,
        );
        assert_eq!(artifacts.sweep(Timestamp(10)).await.unwrap(), 1);
        assert_eq!(artifacts.get(old).await.unwrap(), None);
        assert!(matches!(
            artifacts.open(old, None).await,
            Err(StoreError::NotFound { .. })
        ));
        for id in [young, forever] {
            assert_eq!(bytes(&artifacts, id).await, b"x");
        }
        assert_eq!(files(&home), 2);
        assert!(artifacts.delete(young).await.unwrap());
        assert!(!artifacts.delete(young).await.unwrap());
        assert_eq!(files(&home), 1);
    }
}
