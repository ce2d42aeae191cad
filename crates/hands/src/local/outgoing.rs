//! A file on its way from this machine.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{LocalError, LocalFiles};

/// How much of a file tells what it is.
const HEAD: usize = 8 << 10;
/// How much is hashed at a time.
const STEP: usize = 256 << 10;

/// A regular file that is read from one end to the other and hashed on the way.
#[derive(Debug)]
pub struct Outgoing {
    file: File,
    path: PathBuf,
    size: u64,
    version: String,
    mime: Option<&'static str>,
    at: u64,
    hash: Sha256,
}

impl LocalFiles {
    /// Opens a file to be sent.
    pub fn outgoing(&self, path: &str) -> Result<Outgoing, LocalError> {
        let place = self.locate(path)?;
        let (mut file, _) = self.open_file(&place)?;
        let failed = |error| LocalError::io(&place.path, error);
        let found = file.metadata().map_err(failed)?;
        let mime = mime(&mut file, &place.path).map_err(failed)?;
        Ok(Outgoing {
            size: found.len(),
            version: version(&found),
            file,
            mime,
            at: 0,
            hash: Sha256::new(),
            path: place.path,
        })
    }
}

impl Outgoing {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What kind of file it is, where that is known.
    pub fn mime(&self) -> Option<&'static str> {
        self.mime
    }

    /// Changes when the file does.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How much of it has been read.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Passes over the first `offset` bytes, which count for the hash all the same.
    pub fn skip_to(&mut self, offset: u64, cancel: &CancellationToken) -> Result<(), LocalError> {
        if offset > self.size {
            return Err(LocalError::ChangedOnTheWay(self.path.clone()));
        }
        let mut step = vec![0; STEP];
        while self.at < offset {
            if cancel.is_cancelled() {
                return Err(LocalError::Cancelled);
            }
            let left = usize::try_from(offset - self.at).unwrap_or(usize::MAX);
            let end = left.min(STEP);
            self.read(&mut step[..end])?;
        }
        Ok(())
    }

    /// Fills `buffer`, or as much of it as is left of the file, and says how much that is.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, LocalError> {
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX);
        let end = left.min(buffer.len());
        match self.file.read_exact(&mut buffer[..end]) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(LocalError::ChangedOnTheWay(self.path.clone()));
            }
            Err(error) => return Err(LocalError::io(&self.path, error)),
        }
        self.hash.update(&buffer[..end]);
        self.at += end as u64;
        Ok(end)
    }

    /// The SHA-256 of what was read in hex, if the file is still what it was.
    pub fn finish(self) -> Result<String, LocalError> {
        let found = self.file.metadata();
        let found = found.map_err(|error| LocalError::io(&self.path, error))?;
        if self.at != self.size || version(&found) != self.version {
            return Err(LocalError::ChangedOnTheWay(self.path));
        }
        Ok(hex(&self.hash.finalize()))
    }
}

fn version(found: &Metadata) -> String {
    let nanos = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    format!("{:x}-{nanos:x}-{:x}", found.ino(), found.len())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mime(file: &mut File, path: &Path) -> io::Result<Option<&'static str>> {
    let mut head = Vec::new();
    (&*file).take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(mime_of(&head, path))
}

/// What kind of file this is, by its first bytes, or for text by its name.
pub fn mime_of(head: &[u8], path: &Path) -> Option<&'static str> {
    let head = &head[..head.len().min(HEAD)];
    if let Some(kind) = infer::get(head) {
        return Some(kind.mime_type());
    }
    let text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The last character may be cut.
        Err(error) => error.error_len().is_none() && head.len() == HEAD,
    };
    let text = text && memchr::memchr(0, head).is_none();
    let extension = path.extension().and_then(|extension| extension.to_str());
    let extension = extension.map(str::to_ascii_lowercase);
    let by_name = match extension.as_deref() {
        Some("md") => "text/markdown",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "text/yaml",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        _ => "text/plain",
    };
    text.then_some(by_name)
}
