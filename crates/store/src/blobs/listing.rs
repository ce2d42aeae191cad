//! Lists blobs.
//!
//! Links to folders are not followed: a link to its own parent would make the listing endless.

use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_guard::{EntryKind, JailError, ListedEntry};
use object_store::path::Path;
use object_store::{ListResult, ObjectMeta, Result};

use super::disk::{Disk, general, modified, refusal};

/// One folder: the blobs in it and the folders below it.
#[derive(Default)]
struct Level {
    blobs: Vec<ObjectMeta>,
    folders: Vec<Path>,
}

/// Whether links to folders are listed as folders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Shown,
    Skipped,
}

fn read_folder(disk: &Disk, at: &Path, links: Links) -> Result<Level> {
    let place = disk.folder(at)?;
    let listed = disk.tree(&place).and_then(|tree| tree.list(&place.below));
    let entries = match listed {
        Ok(entries) => entries.unwrap_or_default(),
        // A blob is not a folder, so nothing is below it.
        Err(JailError::NotDirectory | JailError::NotFound) => Vec::new(),
        Err(error) => return Err(refusal(at, error)),
    };
    // A link in the place of a tree would lead into another tree, so it is never listed.
    let holds_trees = place.holds_trees();
    let mut level = Level::default();
    for entry in entries {
        let below = if at.is_root() {
            Path::parse(&entry.name)
        } else {
            Path::parse(format!("{at}/{}", entry.name))
        };
        let below = below.map_err(|error| general(Box::new(error)))?;
        match entry.kind {
            EntryKind::Dir if entry.link && (holds_trees || links == Links::Skipped) => {}
            EntryKind::Dir => level.folders.push(below),
            EntryKind::File => level.blobs.push(listed_blob(below, &entry)),
            EntryKind::Other => {}
        }
    }
    Ok(level)
}

/// A listed blob; only `head` returns its e_tag, because that needs to open the file.
fn listed_blob(location: Path, entry: &ListedEntry) -> ObjectMeta {
    ObjectMeta {
        location,
        last_modified: modified(entry.modified_ms).into(),
        size: entry.size,
        e_tag: None,
        version: None,
    }
}

/// Every blob below `prefix`, one folder in memory at a time.
pub(super) fn list(disk: Disk, prefix: Option<Path>) -> BoxStream<'static, Result<ObjectMeta>> {
    let first = match prefix {
        Some(prefix) => Ok(prefix),
        None => disk.top(),
    };
    let waiting = match first {
        Ok(first) => vec![first],
        Err(error) => return stream::once(async { Err(error) }).boxed(),
    };
    stream::try_unfold((disk, waiting), |(disk, mut waiting)| async move {
        let Some(next) = waiting.pop() else {
            return Ok(None);
        };
        let at = disk.clone();
        let level = disk
            .job(move || read_folder(&at, &next, Links::Skipped))
            .await?;
        waiting.extend(level.folders.into_iter().rev());
        let blobs = stream::iter(level.blobs.into_iter().map(Ok));
        Ok::<_, object_store::Error>(Some((blobs, (disk, waiting))))
    })
    .try_flatten()
    .boxed()
}

/// The blobs and folders right below `prefix`.
pub(super) async fn list_one(disk: &Disk, prefix: Path) -> Result<ListResult> {
    let at = disk.clone();
    let level = disk
        .job(move || read_folder(&at, &prefix, Links::Shown))
        .await?;
    Ok(ListResult {
        common_prefixes: level.folders,
        objects: level.blobs,
        extensions: Default::default(),
    })
}
