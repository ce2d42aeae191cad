//! Files being sent.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{LocalError, LocalFiles};

/// Bytes that determine a file's type.
const HEAD: usize = 8 << 10;
/// Hashing chunk size.
const STEP: usize = 256 << 10;

/// A regular file, read sequentially and hashed.
#[derive(Debug)]
pub struct OutgoingFile {
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
    pub fn outgoing(&self, path: &str) -> Result<OutgoingFile, LocalError> {
        let location = self.locate(path)?;
        let (mut file, _) = self.open_file(&location)?;
        let failed = |error| LocalError::io(&location.path, error);
        let found = file.metadata().map_err(failed)?;
        let mime = mime(&mut file, &location.path).map_err(failed)?;
        Ok(OutgoingFile {
            size: found.len(),
            version: version(&found),
            file,
            mime,
            at: 0,
            hash: Sha256::new(),
            path: location.path,
        })
    }
}

impl OutgoingFile {
    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its MIME type, if known.
    pub fn mime(&self) -> Option<&'static str> {
        self.mime
    }

    /// Changes whenever the file does.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Bytes read so far.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Skips the first `offset` bytes, which are still hashed.
    pub fn skip_to(&mut self, offset: u64, cancel: &CancellationToken) -> Result<(), LocalError> {
        if offset > self.size {
            return Err(LocalError::ChangedOnTheWay(self.path.clone()));
            // Read rather than seek: the hash must cover what the receiver already has.
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

    /// Fills `buffer` as far as possible, and returns the number of bytes.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, LocalError> {
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX);
        let end = left.min(buffer.len());
        match self.file.read_exact(&mut buffer[..end]) {
            Ok(()) => {}
            // The file shrank: its announced size is wrong.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(LocalError::ChangedOnTheWay(self.path.clone()));
            }
            Err(error) => return Err(LocalError::io(&self.path, error)),
        }
        self.hash.update(&buffer[..end]);
        self.at += end as u64;
        Ok(end)
    }

    /// The SHA-256 of what was read in hex, if the file has not changed.
    pub fn finish(self) -> Result<String, LocalError> {
        let found = self.file.metadata();
        let found = found.map_err(|error| LocalError::io(&self.path, error))?;
        // A change during the transfer would deliver a mix of two versions.
        if self.at != self.size || version(&found) != self.version {
            return Err(LocalError::ChangedOnTheWay(self.path));
        }
        Ok(hex::encode(self.hash.finalize()))
    }
}

fn version(found: &Metadata) -> String {
    let nanos = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    format!("{:x}-{nanos:x}-{:x}", found.ino(), found.len())
}

fn mime(file: &mut File, path: &Path) -> io::Result<Option<&'static str>> {
    let mut head = Vec::new();
    (&*file).take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(mime_of(&head, path))
}

/// The MIME type by the first bytes or, for text, by name.
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
