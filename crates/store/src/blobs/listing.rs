//! What blobs there are.
//!
//! Files are listed as the jail shows them. Folders that are really links are not
//! walked into: a link to its own parent would make the listing endless.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_guard::{Entry, JailError, Kind, RelPath};
use object_store::path::Path;
use object_store::{ListResult, ObjectMeta, Result};
use rustix::fs::{Mode, OFlags, openat};

use super::disk::{Disk, general, inside, modified, refusal};

/// Tells folders from links to folders.
pub(super) struct Folders {
    root: OwnedFd,
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::PATH)
    .union(OFlags::CLOEXEC);

impl Folders {
    pub(super) fn open(root: &std::path::Path) -> std::io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Self { root })
    }

    /// Whether every name on the way to `path` is a folder itself and not a link.
    pub(super) fn is_real(&self, path: &RelPath) -> bool {
        let mut here: Option<OwnedFd> = None;
        for name in path.components() {
            let opened = match &here {
                None => openat(&self.root, name, FOLDER, Mode::empty()),
                Some(above) => openat(above, name, FOLDER, Mode::empty()),
            };
            match opened {
                Ok(next) => here = Some(next),
                Err(_) => return false,
            }
        }
        true
    }
}

/// One folder: the blobs in it and the folders below it.
#[derive(Default)]
struct Level {
    blobs: Vec<ObjectMeta>,
    folders: Vec<Path>,
}

fn look(disk: &Disk, at: &Path) -> Result<Level> {
    let folder = inside(at)?;
    let entries = match disk.jail().list(&folder) {
        Ok(entries) => entries.unwrap_or_default(),
        // A blob is no folder: nothing is below it.
        Err(JailError::NotDirectory | JailError::NotFound) => Vec::new(),
        Err(error) => return Err(refusal(at, error)),
    };
    let mut level = Level::default();
    for entry in entries {
        let below = if at.is_root() {
            Path::parse(&entry.name)
        } else {
            Path::parse(format!("{at}/{}", entry.name))
        };
        let below = below.map_err(|error| general(Box::new(error)))?;
        match entry.kind {
            Kind::File => level.blobs.push(listed(below, &entry)),
            Kind::Dir => level.folders.push(below),
            Kind::Other => {}
        }
    }
    Ok(level)
}

/// A listed blob; its e_tag is left to `head`, which looks at the file itself.
fn listed(location: Path, entry: &Entry) -> ObjectMeta {
    ObjectMeta {
        location,
        last_modified: modified(entry.modified_ms).into(),
        size: entry.size,
        e_tag: None,
        version: None,
    }
}

/// Every blob below `prefix`, one folder in memory at a time.
pub(super) fn list(
    disk: Disk,
    folders: Arc<Folders>,
    prefix: Option<Path>,
) -> BoxStream<'static, Result<ObjectMeta>> {
    let waiting = vec![prefix.unwrap_or_default()];
    stream::try_unfold(
        (disk, folders, waiting),
        |(disk, folders, mut waiting)| async move {
            let Some(next) = waiting.pop() else {
                return Ok(None);
            };
            let (at, real) = (disk.clone(), folders.clone());
            let look = move || {
                let mut level = look(&at, &next)?;
                let is_real = |path: &Path| inside(path).is_ok_and(|path| real.is_real(&path));
                level.folders.retain(is_real);
                Ok(level)
            };
            let level = disk.job(look).await?;
            waiting.extend(level.folders.into_iter().rev());
            let blobs = stream::iter(level.blobs.into_iter().map(Ok));
            Ok::<_, object_store::Error>(Some((blobs, (disk, folders, waiting))))
        },
    )
    .try_flatten()
    .boxed()
}

/// The blobs and folders right below `prefix`.
pub(super) async fn list_one(disk: &Disk, prefix: Path) -> Result<ListResult> {
    let at = disk.clone();
    let level = disk.job(move || look(&at, &prefix)).await?;
    Ok(ListResult {
        common_prefixes: level.folders,
        objects: level.blobs,
        extensions: Default::default(),
    })
}
