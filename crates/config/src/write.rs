//! Writes the file atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Maximum size of a configuration. A larger one is a mistake.
const MAX_BYTES: u64 = 1024 * 1024;

/// Only the owner may read the configuration.
const MODE: u32 = 0o600;

/// Reads the file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut text = String::new();
    // Bounded: the path may lead to a device that never ends.
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        let message = "it is larger than 1 MiB";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(text))
}

/// An exclusive lock on the directory of a configuration, so that only one writer changes it at a time. Released when
/// dropped.
pub(crate) struct Held {
    target: PathBuf,
    folder: File,
}

impl Held {
    /// Waits for other writers and locks the directory.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        // Links are resolved, so that the target is replaced and not the link.
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(e) if e.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(e) => return Err(e),
        };
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // The directory is locked rather than the file, which is replaced by every write.
        let folder = File::open(folder)?;
        flock(&folder, FlockOperation::LockExclusive)?;
        Ok(Self { target, folder })
    }

    /// The file itself.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Replaces the file atomically; it is on disk when this returns.
    pub(crate) fn replace(&self, text: &str) -> io::Result<()> {
        // An owner who shares the file with a group should not have to do so again.
        let mode = fs::metadata(&self.target).map_or(MODE, |m| m.permissions().mode() & 0o777);
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = self.target.with_file_name(name);
        // A leftover of a crash: no other writer can be active while the directory is locked.
        match fs::remove_file(&fresh) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let written = write(&fresh, text, mode).and_then(|()| fs::rename(&fresh, &self.target));
        if written.is_err() {
            // Best effort: the error that matters is the one being returned.
            let _ = fs::remove_file(&fresh);
        }
        written?;
        // The rename itself has to be on disk, too.
        self.folder.sync_all()
    }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        // Created private; widened below only once its contents are complete.
        .mode(MODE)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}
