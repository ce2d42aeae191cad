//! Blobs in a folder, opened only beneath its handle.
//!
//! The local store of `object_store` opens by path, follows links and does not sync. This one goes through the [`Jail`]: a
//! link cannot lead outside, a reader sees the old blob or the new one, and a completed put survives a power cut.
//!
//! Each agent has its own tree, and so has every other folder at the top (see [`trees`]). A blob is opened beneath the
//! handle of its tree, which is reached without following links: nothing in one tree leads into another.
//!
//! [`trees`]: super::trees

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_guard::{Jail, JailError, Meta, Missing, PendingFile, RelPath, Version, WriteMode};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyMode, CopyOptions, Error, GetOptions, GetResult, GetResultPayload,
    ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, RenameTargetMode, Result,
};
use tokio::sync::Semaphore;

use super::listing::{list, list_one};
use super::trees::BlobLocation;
use super::upload::DiskUpload;
use super::{BlobStore, Blobs};

/// Concurrent disk jobs; more are queued in order.
const JOBS: usize = 64;
/// Bytes per read of a large blob; a smaller one takes a single job.
const CHUNK: u64 = 256 * 1024;
/// Concurrent deletions.
const DELETIONS: usize = 16;

/// Attempts of a write whose empty tree is removed concurrently.
const MAX_ATTEMPTS: usize = 100;

/// A store of blobs in one folder. Cheap to clone.
#[derive(Clone)]
pub struct Disk {
    root: Jail,
    /// The subtree that this store is restricted to.
    scope: RelPath,
    jobs: Arc<Semaphore>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a folder on disk")
    }
}

impl Disk {
    /// Opens the folder at `root`, which must exist.
    pub fn open(root: &std::path::Path) -> std::io::Result<Self> {
        Ok(Self {
            root: Jail::open(root)?,
            scope: RelPath::root(),
            jobs: Arc::new(Semaphore::new(JOBS)),
        })
    }

    /// The folder of all trees.
    pub(crate) fn root(&self) -> &Jail {
        &self.root
    }

    /// The location of a blob, if it is within the scope.
    pub(super) fn place(&self, location: &Path) -> Result<BlobLocation> {
        let path = inside(location)?;
        BlobLocation::of_blob(&self.scope, &path)
            .ok_or_else(|| refusal(location, JailError::Escapes))
    }

    /// The location of a folder, if it is within the scope.
    pub(super) fn folder(&self, prefix: &Path) -> Result<BlobLocation> {
        let path = inside(prefix)?;
        BlobLocation::of_folder(&self.scope, &path)
            .ok_or_else(|| refusal(prefix, JailError::Escapes))
    }

    /// The folder that a listing without prefix starts at.
    pub(super) fn top(&self) -> Result<Path> {
        Path::parse(self.scope.as_str()).map_err(|error| general(Box::new(error)))
    }

    /// The tree of a location, which must exist.
    pub(super) fn tree(&self, place: &BlobLocation) -> std::result::Result<Jail, JailError> {
        self.root.sub_without_links(&place.tree, Missing::Refuse)
    }

    /// Starts writing a blob, creating its tree if missing.
    pub(super) fn begin(
        &self,
        place: &BlobLocation,
    ) -> std::result::Result<PendingFile, JailError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let tree = self.root.sub_without_links(&place.tree, Missing::Create);
            match tree.and_then(|tree| tree.begin_write(&place.below)) {
                // A delete that ran in between may have removed the folder as empty after it was created;
                // bounded, because something else may keep removing it.
                Err(JailError::NotFound) if tries < MAX_ATTEMPTS => {}
                done => return done,
            }
        }
    }

    /// Runs `job` on a blocking thread, a limited number at a time.
    pub(super) async fn job<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // Bounded: each job occupies a blocking thread, and a slow disk must not use up all of them.
        let permit = self.jobs.clone().acquire_owned().await;
        let permit = permit.map_err(|error| general(Box::new(error)))?;
        let done = tokio::task::spawn_blocking(move || {
            // The permit is released by the job, not by its caller: a cancelled caller leaves the job running.
            let done = job();
            drop(permit);
            done
        });
        done.await.map_err(|error| general(Box::new(error)))?
    }
}

pub(super) fn general(source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Generic {
        store: "disk",
        source,
    }
}

pub(super) fn inside(location: &Path) -> Result<RelPath> {
    RelPath::parse(location.as_ref()).map_err(|error| general(Box::new(error)))
}

/// Translates an error of the jail. A blob store has no directories: reading one is `NotFound`.
pub(super) fn refusal(location: &Path, error: JailError) -> Error {
    let (path, kind) = (location.to_string(), &error);
    match kind {
        JailError::NotFound => Error::NotFound {
            path,
            source: Box::new(error),
        },
        JailError::Exists => Error::AlreadyExists {
            path,
            source: Box::new(error),
        },
        JailError::Changed => Error::Precondition {
            path,
            source: Box::new(error),
        },
        JailError::Escapes => Error::PermissionDenied {
            path,
            source: Box::new(error),
        },
        _ => general(Box::new(error)),
    }
}

fn read_refusal(location: &Path, error: JailError) -> Error {
    match error {
        JailError::IsDirectory | JailError::NotDirectory => Error::NotFound {
            path: location.to_string(),
            source: Box::new(error),
        },
        other => refusal(location, other),
    }
}

pub(super) fn modified(millis: i64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn object_meta(location: &Path, meta: &Meta) -> ObjectMeta {
    ObjectMeta {
        location: location.clone(),
        last_modified: modified(meta.modified_ms).into(),
        size: meta.size,
        e_tag: Some(meta.version.to_string()),
        version: None,
    }
}

pub(super) fn put_result(meta: &Meta) -> PutResult {
    PutResult {
        e_tag: Some(meta.version.to_string()),
        version: None,
        extensions: Default::default(),
    }
}

fn write_mode(mode: PutMode) -> Result<WriteMode> {
    match mode {
        PutMode::Overwrite => Ok(WriteMode::Overwrite),
        PutMode::Create => Ok(WriteMode::CreateNew),
        PutMode::Update(seen) => match seen.e_tag {
            Some(e_tag) => Ok(WriteMode::IfVersion(Version::new(e_tag))),
            None => Err(general("an update names no e_tag".into())),
        },
    }
}

/// The content type by file extension.
fn content_type(path: &RelPath) -> &'static str {
    match path.extension() {
        Some("md") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "text/yaml",
        _ => "text/plain",
    }
}

/// Result of the first job of `get_opts`.
struct Opened {
    file: std::fs::File,
    meta: ObjectMeta,
    range: Range<u64>,
    /// The content, if it is small.
    whole: Option<Bytes>,
}

fn open(
    disk: &Disk,
    place: &BlobLocation,
    location: &Path,
    options: &GetOptions,
) -> Result<Opened> {
    let (mut file, meta) = disk
        .tree(place)
        .and_then(|tree| tree.open_file(&place.below))
        .map_err(|error| read_refusal(location, error))?;
    let meta = object_meta(location, &meta);
    // On the metadata of the open file: by path it could be replaced in between.
    options.check_preconditions(&meta)?;
    let range = match &options.range {
        Some(range) => range
            .as_range(meta.size)
            .map_err(|error| general(Box::new(error)))?,
        None => 0..meta.size,
    };
    let whole = if options.head {
        Some(Bytes::new())
    } else {
        let seek = file.seek(SeekFrom::Start(range.start));
        seek.map_err(|error| general(Box::new(error)))?;
        let length = range.end - range.start;
        // Small blobs are read in the job that opened them, which saves a second trip to a thread.
        let small = length <= CHUNK;
        small.then(|| read_exactly(&mut file, length)).transpose()?
    };
    Ok(Opened {
        file,
        meta,
        range,
        whole,
    })
}

fn read_exactly(file: &mut std::fs::File, length: u64) -> Result<Bytes> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact(&mut bytes)
        .map_err(|error| general(Box::new(error)))?;
    Ok(bytes.into())
}

impl Disk {
    fn read_chunks(&self, file: std::fs::File, left: u64) -> BoxStream<'static, Result<Bytes>> {
        let state = (self.clone(), file, left);
        stream::try_unfold(state, |(disk, mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let job = move || {
                let bytes = read_exactly(&mut file, left.min(CHUNK))?;
                Ok((bytes, file))
            };
            let (bytes, file) = disk.job(job).await?;
            let left = left - bytes.len() as u64;
            Ok(Some((bytes, (disk, file, left))))
        })
        .boxed()
    }

    async fn delete_one(&self, location: Path) -> Result<Path> {
        let (disk, place) = (self.clone(), self.place(&location)?);
        self.job(move || {
            let remove = || {
                let tree = disk.tree(&place)?;
                if !tree.remove_file(&place.below)? {
                    return Err(JailError::NotFound);
                }
                // Object stores have no folders; an empty one must not stay visible in listings.
                tree.remove_empty_parents(&place.below)?;
                disk.root.remove_empty_dirs(&place.tree);
                Ok(())
            };
            match remove() {
                Ok(()) => Ok(location),
                Err(error) => Err(read_refusal(&location, error)),
            }
        })
        .await
    }
}

impl BlobStore for Disk {
    fn scoped(&self, prefix: &Path) -> Result<Blobs> {
        let folder = self.folder(prefix)?;
        Ok(Arc::new(Self {
            scope: folder.whole(),
            ..self.clone()
        }))
    }
}

#[async_trait]
impl ObjectStore for Disk {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let mode = write_mode(options.mode)?;
        let (disk, place, location) = (self.clone(), self.place(location)?, location.clone());
        self.job(move || {
            let attempt = || {
                // Written beside its name, synced and renamed by `commit`: readers see the old content or the new
                // one, and never a part.
                let mut pending = disk.begin(&place)?;
                for bytes in &payload {
                    pending.write_all(bytes)?;
                }
                pending.commit(mode)
            };
            let meta = attempt().map_err(|error| refusal(&location, error))?;
            Ok(put_result(&meta))
        })
        .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = DiskUpload::start(self.clone(), location.clone()).await?;
        Ok(Box::new(upload))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let place = self.place(location)?;
        let content_type = content_type(&place.below);
        let (disk, location) = (self.clone(), location.clone());
        let opened = self
            .job(move || open(&disk, &place, &location, &options))
            .await?;
        let length = opened.range.end - opened.range.start;
        let stream = match opened.whole {
            Some(bytes) if bytes.is_empty() => stream::empty().boxed(),
            Some(bytes) => stream::once(async { Ok(bytes) }).boxed(),
            None => self.read_chunks(opened.file, length),
        };
        let attributes = Attributes::from_iter([(Attribute::ContentType, content_type)]);
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream),
            meta: opened.meta,
            range: opened.range,
            attributes,
            extensions: Default::default(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let disk = self.clone();
        locations
            .map_ok(move |location| {
                let disk = disk.clone();
                async move { disk.delete_one(location).await }
            })
            .try_buffered(DELETIONS)
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        list(self.clone(), prefix.cloned())
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = match prefix {
            Some(prefix) => prefix.clone(),
            None => self.top()?,
        };
        list_one(self, prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let mode = match options.mode {
            CopyMode::Overwrite => WriteMode::Overwrite,
            CopyMode::Create => WriteMode::CreateNew,
        };
        let (source, target) = (self.place(from)?, self.place(to)?);
        let (disk, from, to) = (self.clone(), from.clone(), to.clone());
        self.job(move || {
            let opened = disk
                .tree(&source)
                .and_then(|tree| tree.open_file(&source.below));
            // Copied from the open handle: a source that is replaced meanwhile is still copied consistently.
            let (file, _) = opened.map_err(|error| read_refusal(&from, error))?;
            let attempt = || {
                let mut pending = disk.begin(&target)?;
                pending.copy_from(file)?;
                pending.commit(mode)
            };
            attempt().map(drop).map_err(|error| refusal(&to, error))
        })
        .await
    }

    /// The copy is on disk before the original goes. A blob renamed to itself stays.
    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        if from == to {
            let head = GetOptions {
                head: true,
                ..GetOptions::default()
            };
            self.get_opts(from, head).await?;
            return match options.target_mode {
                RenameTargetMode::Overwrite => Ok(()),
                RenameTargetMode::Create => Err(refusal(to, JailError::Exists)),
            };
        }
        let mode = match options.target_mode {
            RenameTargetMode::Overwrite => CopyMode::Overwrite,
            RenameTargetMode::Create => CopyMode::Create,
        };
        let copy = CopyOptions {
            mode,
            extensions: options.extensions,
        };
        // Copy and delete instead of a rename: source and target can be in different trees, each opened by its own
        // handle.
        self.copy_opts(from, to, copy).await?;
        self.delete_one(from.clone()).await.map(drop)
    }
}
