//! Files beneath one directory handle, and nothing else.
//!
//! A path is never checked as a string and then opened: every open walks from the
//! handle down and the kernel refuses to step outside, so a link swapped in
//! between cannot win. Links that stay inside work like anywhere else.

mod error;
#[cfg(test)]
mod hostile_tests;
mod meta;
mod part;
mod pending;
mod strict;
mod sweep;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, OFlags, statat, unlinkat};

use crate::rel_path::{PART_PREFIX, RelPath, TEMPORARY_PREFIX};

pub use error::JailError;
pub use meta::{EntryKind, ListedEntry, Meta, Version};
pub use part::{NewFile, PartFile};
pub use pending::PendingFile;
pub use strict::Missing;
pub use write::WriteMode;

/// Maximum entries of one listing; a larger directory is an error rather than a truncated list.
const MAX_ENTRIES: usize = 200_000;

/// One directory tree. Cheap to clone.
///
/// All calls block; asynchronous callers use `spawn_blocking`.
#[derive(Debug, Clone)]
pub struct Jail {
    root: Arc<Dir>,
}

/// The directory handle, for starting a program inside without resolving a path again.
impl AsFd for Jail {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

impl Jail {
    /// Opens the directory at `path`: the only place where a whole path is trusted.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self {
            root: Arc::new(root),
        })
    }

    /// A jail for the existing directory at `path`.
    pub fn sub(&self, path: &RelPath) -> Result<Self, JailError> {
        let root = self.root.open_dir(on_disk(path))?;
        Ok(Self {
            root: Arc::new(root),
        })
    }

    /// Metadata of `path`; `None` if nothing is there.
    pub fn metadata(&self, path: &RelPath) -> Result<Option<Meta>, JailError> {
        match self.root.metadata(on_disk(path)).map_err(JailError::from) {
            Ok(found) => Ok(Some(Meta::from_cap(&found))),
            Err(JailError::NotFound | JailError::NotDirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the regular file at `path`, for streaming and ranges.
    pub fn open_file(&self, path: &RelPath) -> Result<(File, Meta), JailError> {
        // Without O_NONBLOCK, opening a fifo would wait for a writer that never comes.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = self.root.open_with(on_disk(path), &options)?.into_std();
        let meta = Meta::of(&file)?;
        match meta.kind {
            EntryKind::File => Ok((file, meta)),
            EntryKind::Dir => Err(JailError::IsDirectory),
            EntryKind::Other => Err(JailError::NotRegular),
        }
    }

    /// Reads the whole file at `path` if it has at most `limit` bytes.
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<(Vec<u8>, Meta), JailError> {
        let (file, meta) = self.open_file(path)?;
        if meta.size > limit {
            return Err(JailError::TooLarge {
                limit,
                size: meta.size,
            });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.size).unwrap_or(0));
        // It may be growing: read one byte past the limit to notice.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        let size = bytes.len() as u64;
        if size > limit {
            return Err(JailError::TooLarge { limit, size });
        }
        Ok((bytes, meta))
    }

    /// The sorted entries of the directory at `path`; `None` if nothing is there.
    pub fn list(&self, path: &RelPath) -> Result<Option<Vec<ListedEntry>>, JailError> {
        let dir = match self.root.open_dir(on_disk(path)).map_err(JailError::from) {
            Ok(dir) => dir,
            Err(JailError::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if entries.len() == MAX_ENTRIES {
                return Err(JailError::TooLarge {
                    limit: MAX_ENTRIES as u64,
                    size: MAX_ENTRIES as u64 + 1,
                });
            }
            entries.extend(self.entry(path, &dir, &entry?));
        }
        entries.sort_by(|a: &ListedEntry, b: &ListedEntry| a.name.cmp(&b.name));
        Ok(Some(entries))
    }

    /// One listed entry; `None` for temporary and part files, and for what vanished meanwhile.
    fn entry(&self, parent: &RelPath, dir: &Dir, entry: &DirEntry) -> Option<ListedEntry> {
        let raw = entry.file_name();
        let name = raw.to_string_lossy().into_owned();
        if name.starts_with(TEMPORARY_PREFIX) || name.starts_with(PART_PREFIX) {
            return None;
        }
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let other = |modified_ms| ListedEntry {
            name: name.clone(),
            kind: EntryKind::Other,
            link: is_link,
            size: 0,
            modified_ms,
        };
        // A name that no RelPath can spell cannot be opened: list it as unusable.
        let path = RelPath::parse(&name).and_then(|name| parent.join(&name));
        let (Some(_), Ok(path)) = (raw.to_str(), path) else {
            return Some(other(0));
        };
        if is_link {
            return Some(match self.metadata(&path) {
                Ok(Some(meta)) => ListedEntry {
                    link: true,
                    ..listed(name, &meta)
                },
                _ => other(0),
            });
        }
        let stat = statat(dir, raw.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(listed(name, &Meta::from_stat(&stat)))
    }

    /// Removes the file or link at `path`; false if nothing was there.
    pub fn remove_file(&self, path: &RelPath) -> Result<bool, JailError> {
        let Some(name) = path.file_name() else {
            return Err(JailError::IsDirectory);
        };
        let dir = match self.open_parent(path) {
            Ok(dir) => dir,
            Err(JailError::NotFound | JailError::NotDirectory) => return Ok(false),
            Err(error) => return Err(error),
        };
        let removed = {
            let _commit = pending::commit_lock(&dir)?;
            match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if meta::kind_of(&stat) == EntryKind::Dir => Err(JailError::IsDirectory),
                Ok(_) => unlinkat(&dir, name, AtFlags::empty()).map_err(JailError::from),
                Err(errno) => Err(errno.into()),
            }
        };
        match removed {
            Ok(()) => {
                pending::sync_dir(&dir)?;
                Ok(true)
            }
            Err(JailError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes empty directories above `path`, up to but not including the jail's root.
    pub fn remove_empty_parents(&self, path: &RelPath) -> Result<(), JailError> {
        let mut next = path.parent();
        while let Some(here) = next.filter(|here| !here.is_root()) {
            let name = here.file_name().unwrap_or_default();
            let removed = self
                .open_parent(&here)
                .and_then(|dir| Ok(unlinkat(&dir, name, AtFlags::REMOVEDIR)?));
            match removed {
                Ok(()) | Err(JailError::NotFound) => next = here.parent(),
                // Not empty, a link, or not ours to remove: keep it and everything above.
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn open_parent(&self, path: &RelPath) -> Result<Dir, JailError> {
        let parent = path.parent().unwrap_or_default();
        Ok(self.root.open_dir(on_disk(&parent))?)
    }
}

fn listed(name: String, meta: &Meta) -> ListedEntry {
    ListedEntry {
        name,
        kind: meta.kind,
        link: false,
        size: if meta.kind == EntryKind::File {
            meta.size
        } else {
            0
        },
        modified_ms: meta.modified_ms,
    }
}

/// The path as the system spells it: the empty path becomes `.`.
fn on_disk(path: &RelPath) -> &str {
    if path.is_root() { "." } else { path.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn jail() -> (tempfile::TempDir, Jail) {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        (dir, jail)
    }

    #[test]
    fn a_file_is_read_with_its_metadata() {
        let (dir, jail) = jail();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/f"), "hello").unwrap();
        let (bytes, meta) = jail.read(&path("d/f"), 5).unwrap();
        assert_eq!(
            (bytes.as_slice(), meta.kind, meta.size),
            (&b"hello"[..], EntryKind::File, 5)
        );
        assert_eq!(jail.metadata(&path("d/f")).unwrap(), Some(meta));
        assert_eq!(jail.metadata(&path("d/g")).unwrap(), None);
        assert_eq!(jail.metadata(&path("d/f/g")).unwrap(), None);
        assert_eq!(
            jail.metadata(&RelPath::root()).unwrap().unwrap().kind,
            EntryKind::Dir
        );
        assert!(matches!(
            jail.read(&path("d/g"), 5),
            Err(JailError::NotFound)
        ));
        assert!(matches!(
            jail.read(&path("d/f/g"), 5),
            Err(JailError::NotDirectory)
        ));
        assert!(matches!(
            jail.read(&path("d"), 5),
            Err(JailError::IsDirectory)
        ));
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let (dir, jail) = jail();
        fs::write(dir.path().join("f"), "hello").unwrap();
        let refused = jail.read(&path("f"), 4);
        assert!(matches!(
            refused,
            Err(JailError::TooLarge { limit: 4, size: 5 })
        ));
        assert_eq!(jail.read(&path("f"), 5).unwrap().0, b"hello");
    }

    #[test]
    fn a_fifo_is_refused_without_waiting() {
        let (dir, jail) = jail();
        let fifo = dir.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(matches!(
            jail.read(&path("fifo"), 9),
            Err(JailError::NotRegular)
        ));
        assert_eq!(
            jail.list(&RelPath::root()).unwrap().unwrap()[0].kind,
            EntryKind::Other
        );
        assert!(matches!(
            jail.write(&path("fifo"), b"x", WriteMode::Overwrite),
            Err(JailError::NotRegular)
        ));
        assert_eq!(
            jail.metadata(&path("fifo")).unwrap().unwrap().kind,
            EntryKind::Other
        );
    }

    #[test]
    fn a_listing_is_sorted_and_links_show_what_they_lead_to() {
        let (dir, jail) = jail();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), "12345").unwrap();
        fs::write(at("b"), "12").unwrap();
        fs::write(at(".mh-tmp-9-9"), "half").unwrap();
        symlink("../b", at("sub/up-inside")).unwrap();
        symlink("sub", at("to-dir")).unwrap();
        symlink("sub/file", at("to-file")).unwrap();
        symlink("/etc/passwd", at("out-absolute")).unwrap();
        symlink("../..", at("out-climbing")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let seen: Vec<_> = jail
            .list(&RelPath::root())
            .unwrap()
            .unwrap()
            .into_iter()
            .map(|e| (e.name, e.kind, e.size))
            .collect();
        let expect = [
            ("b", EntryKind::File, 2),
            ("dangling", EntryKind::Other, 0),
            ("loop", EntryKind::Other, 0),
            ("out-absolute", EntryKind::Other, 0),
            ("out-climbing", EntryKind::Other, 0),
            ("sub", EntryKind::Dir, 0),
            ("to-dir", EntryKind::Dir, 0),
            ("to-file", EntryKind::File, 5),
        ];
        assert_eq!(seen, expect.map(|(n, k, s)| (n.to_owned(), k, s)));
        let sub = jail.list(&path("to-dir")).unwrap().unwrap();
        assert_eq!(
            (sub[1].name.as_str(), sub[1].kind),
            ("up-inside", EntryKind::File)
        );
        assert!(jail.list(&path("absent")).unwrap().is_none());
        assert!(matches!(
            jail.list(&path("b")),
            Err(JailError::NotDirectory)
        ));
    }

    #[test]
    fn removing_takes_the_file_and_then_its_empty_parents() {
        let (dir, jail) = jail();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        fs::write(dir.path().join("a/b/c/f"), "x").unwrap();
        fs::write(dir.path().join("a/stays"), "x").unwrap();
        assert!(matches!(
            jail.remove_file(&path("a/b")),
            Err(JailError::IsDirectory)
        ));
        jail.remove_empty_parents(&path("a/b/c/f")).unwrap();
        assert!(dir.path().join("a/b/c/f").exists());
        assert!(jail.remove_file(&path("a/b/c/f")).unwrap());
        assert!(!jail.remove_file(&path("a/b/c/f")).unwrap());
        assert!(!jail.remove_file(&path("x/y")).unwrap());
        jail.remove_empty_parents(&path("a/b/c/f")).unwrap();
        assert!(!dir.path().join("a/b").exists() && dir.path().join("a/stays").exists());
    }

    #[test]
    fn a_sub_jail_is_its_own_world() {
        let (dir, jail) = jail();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(dir.path().join("in/own"), "o").unwrap();
        symlink("../secret", dir.path().join("in/up")).unwrap();
        let sub = jail.sub(&path("in")).unwrap();
        assert_eq!(jail.read(&path("in/up"), 9).unwrap().0, b"s");
        assert!(matches!(sub.read(&path("up"), 9), Err(JailError::Escapes)));
        assert_eq!(sub.read(&path("own"), 9).unwrap().0, b"o");
        assert!(matches!(jail.sub(&path("gone")), Err(JailError::NotFound)));
    }
}
