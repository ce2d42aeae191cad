//! What a jail tells of a file.

use std::fmt;
use std::io;
use std::os::fd::AsFd;

use cap_std::fs::{Metadata, MetadataExt};
use rustix::fs::{FileType, Stat, fstat};

/// What kind of thing a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A fifo, socket or device; in listings also a link that leads out or nowhere.
    Other,
}

/// Which version of a file was seen: equal only while nobody has replaced or
/// changed it. Opaque; compare it, store it, send it as an etag.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

impl Version {
    /// Takes back a version that was handed out earlier.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to hand out.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is known of a file without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
    /// Which version of it this is.
    pub version: Version,
}

/// One name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without its directory.
    pub name: String,
    /// What it leads to inside the jail.
    pub kind: Kind,
    /// Whether the name itself is a link.
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
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Dir,
            _ => Kind::Other,
        };
        let nanos = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Self::new(kind, found.size(), found.ino(), nanos)
    }

    fn new(kind: Kind, size: u64, inode: u64, nanos: i128) -> Self {
        Self {
            kind,
            size,
            modified_ms: i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or(0),
            version: Version(format!("{inode:x}-{nanos:x}-{size:x}")),
        }
    }
}

pub(super) fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        _ => Kind::Other,
    }
}

pub(super) fn modified_ns(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}
