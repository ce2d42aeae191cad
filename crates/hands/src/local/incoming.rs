//! Files being received.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use manyhands_guard::{Jail, JailError, NewFile, PART_PREFIX, PartFile, RelPath};
use sha2::{Digest, Sha256};

use super::atomic::{self, is_temporary};
use super::location::{LocalPath, regular};
use super::{LocalError, LocalFiles};

/// Hashing chunk size.
const STEP: usize = 256 << 10;

/// A file being received: written sequentially, hashed, and moved to its destination only when complete.
/// Dropped before that it can be resumed if it has a key, and otherwise leaves nothing behind.
#[derive(Debug)]
pub struct IncomingFile {
    part: PartFile,
    /// The destination.
    path: PathBuf,
    /// The path of the part.
    part_path: PathBuf,
    size: u64,
    taken: u64,
    hash: Sha256,
}

impl LocalFiles {
    /// Prepares a file of `size` bytes, creating missing directories. An earlier part with the same key is
    /// resumed.
    pub fn incoming(
        &self,
        path: &str,
        size: u64,
        resume: Option<&str>,
    ) -> Result<IncomingFile, LocalError> {
        let place = self.locate(path)?;
        let name = place.path.file_name().unwrap_or_default();
        let part = resume.map(|key| part_name(name.as_encoded_bytes(), key));
        let (mut part, part_path) = self.begin(&place, part.as_deref())?;
        let failed = |error| LocalError::io(&place.path, error);
        let (taken, hash) = resume_part(&mut part, size).map_err(failed)?;
        Ok(IncomingFile {
            part,
            path: place.path,
            part_path,
            size,
            taken,
            hash,
        })
    }

    fn begin(
        &self,
        place: &LocalPath,
        part: Option<&str>,
    ) -> Result<(PartFile, PathBuf), LocalError> {
        let busy = |error: JailError, folder: &Path| match error {
            JailError::Exists => LocalError::Busy(place.path.clone()),
            other => LocalError::jailed(&place.path, folder, other),
        };
        // Inside a jail everything goes through its handle; the path is for messages only.
        if let (Some(root), Some(kept)) = (self.root(), &place.relative) {
            let part = root.jail().begin_part(kept, part, NewFile::Private);
            let part = part.map_err(|error| busy(error, root.folder()))?;
            let at = root.folder().join(part.place());
            return Ok((part, at));
        }
        let (folder, name) = unused_path(place)?;
        let failed = |error| LocalError::io(&place.path, error);
        let jail = Jail::open(&folder).map_err(failed)?;
        let part = jail.begin_part(&name, part, NewFile::Ordinary);
        let part = part.map_err(|error| busy(error, &folder))?;
        let at = folder.join(part.place());
        Ok((part, at))
    }

    /// Removes an abandoned part, and nothing else. Returns whether it is gone.
    pub fn remove_part(&self, part: &Path) -> bool {
        // Never remove anything but our own temporary files, whatever the caller asks for.
        if !part.file_name().is_some_and(is_temporary) {
            return true;
        }
        let jailed = self.root().and_then(|root| {
            let kept = root.locate(part.to_str()?).ok()?;
            Some(root.jail().remove_file(&kept).is_ok())
        });
        jailed.unwrap_or_else(|| match fs::remove_file(part) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(()) => true,
        })
    }
}

impl IncomingFile {
    /// Bytes received, from the beginning.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    #[cfg(test)]
    pub(super) fn part_file(&mut self) -> &mut fs::File {
        self.part.file()
    }

    /// The path of the partial file.
    pub fn part(&self) -> &Path {
        &self.part_path
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), LocalError> {
        // Checked before writing, so that a peer cannot fill the disk beyond what it announced.
        if self.taken + bytes.len() as u64 > self.size {
            return Err(LocalError::Surplus {
                path: self.path.clone(),
                size: self.size,
            });
        }
        let written = self.part.file().write_all(bytes);
        written.map_err(|error| LocalError::io(&self.path, error))?;
        // Hashed as it arrives: reading a large file back would double the time.
        self.hash.update(bytes);
        self.taken += bytes.len() as u64;
        Ok(())
    }

    /// Moves the file to its destination if it is complete and has this SHA-256, and returns its size once it
    /// is on disk. Otherwise the part is removed and an existing file is unchanged.
    pub fn finish(self, sha256: Option<&str>) -> Result<u64, LocalError> {
        let actual = hex::encode(self.hash.finalize());
        if self.taken != self.size
            || sha256.is_some_and(|expected| !expected.eq_ignore_ascii_case(&actual))
        {
            self.part.discard();
            return Err(LocalError::ChangedOnTheWay(self.path));
        }
        // Only for the message: `commit` itself works on the directory handle.
        let folder = self.part_path.parent().unwrap_or(Path::new("/"));
        let placed = self.part.commit();
        placed.map_err(|error| LocalError::jailed(&self.path, folder, error))?;
        Ok(self.size)
    }

    /// The error for more data than announced.
    pub fn flooded(&self) -> LocalError {
        LocalError::Flooded(self.path.clone())
    }

    /// Removes the part.
    pub fn discard(self) {
        self.part.discard();
    }
}

/// Directory and name of a destination outside any jail, following links as a write does.
fn unused_path(place: &LocalPath) -> Result<(PathBuf, RelPath), LocalError> {
    let failed = |error| LocalError::io(&place.path, error);
    let target = atomic::through_links(&place.path)?;
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(LocalError::IsDirectory(place.path.clone()));
    };
    match fs::symlink_metadata(&target) {
        Ok(there) => {
            regular(&place.path, &there)?;
            // Renaming over a file needs no rights on it, so they are checked explicitly.
            atomic::writable(&target).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Only after the checks: a refused transfer must not leave folders behind.
            fs::create_dir_all(folder).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    let name = RelPath::parse(&name.to_string_lossy());
    let name = name.map_err(|error| LocalError::parameter("path", error.to_string()))?;
    Ok((folder.to_owned(), name))
}

/// What exists of a file of `size` bytes; a longer part belongs to another file.
fn resume_part(part: &mut PartFile, size: u64) -> io::Result<(u64, Sha256)> {
    let file = part.file();
    let mut hash = Sha256::new();
    if file.metadata()?.len() > size {
        // It cannot be a beginning of this file, so nothing of it can be used.
        file.set_len(0)?;
    }
    file.rewind()?;
    // The kept part is hashed again: nobody vouches for what is on disk since then.
    let mut step = vec![0; STEP];
    loop {
        match file.read(&mut step) {
            Ok(0) => break,
            Ok(count) => hash.update(&step[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((file.stream_position()?, hash))
}

/// One word for the destination and one for the content.
fn part_name(name: &[u8], key: &str) -> String {
    let word = |bytes: &[u8]| hex::encode(&Sha256::digest(bytes)[..8]);
    // Hashed, because a name may be too long already and a key may contain any character.
    format!("{PART_PREFIX}{}-{}", word(name), word(key.as_bytes()))
}
