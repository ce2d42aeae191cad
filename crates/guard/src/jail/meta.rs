//! File metadata.

use std::fmt;
use std::io;
use std::os::fd::AsFd;

use cap_std::fs::{Metadata, MetadataExt};
use rustix::fs::{FileType, Stat, fstat};

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A fifo, socket or device; in listings also a link that leads outside or nowhere.
    Other,
}

/// A version of a file: equal only while nobody has replaced or changed it. Opaque; compare
/// it, store it, send it as an etag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

impl Version {
    /// Restores a version that was handed out earlier.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The opaque text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Its type.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
    /// Its version.
    pub version: Version,
}

/// An entry of a directory listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEntry {
    /// The name, without its directory.
    pub name: String,
    /// What it resolves to inside the jail.
    pub kind: EntryKind,
    /// Whether the entry itself is a symbolic link.
    pub link: bool,
    /// The size in bytes; zero for anything but a regular file.
    pub size: u64,
    /// When its content last changed, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
}

impl Meta {
    pub(super) fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(Self::from_stat(&fstat(file)?))
    }

    pub(super) fn from_stat(stat: &Stat) -> Self {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Self::new(kind_of(stat), size, stat.st_ino, modified_ns(stat))
    }

    pub(super) fn from_cap(found: &Metadata) -> Self {
        let kind = match found.file_type() {
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_dir() => EntryKind::Dir,
            _ => EntryKind::Other,
        };
        let nanos = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Self::new(kind, found.size(), found.ino(), nanos)
    }

    fn new(kind: EntryKind, size: u64, inode: u64, nanos: i128) -> Self {
        Self {
            kind,
            size,
            modified_ms: i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(0),
            version: Version(format!("{inode:x}-{nanos:x}-{size:x}")),
        }
    }
}

pub(super) fn kind_of(stat: &Stat) -> EntryKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Dir,
        _ => EntryKind::Other,
    }
}

pub(super) fn modified_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}
