//! Writing the file whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The largest configuration that is read. One this long is a mistake.
const LARGEST: u64 = 1024 * 1024;

/// Only the owner reads the configuration.
const MODE: u32 = 0o600;

/// The text of the file; `None` when there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        let message = "it is over 1 MiB, which no configuration needs";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(text))
}

/// The folder of a configuration, held so that only one writer at a time
/// changes what is in it. Released when dropped.
pub(crate) struct Held {
    target: PathBuf,
    folder: File,
}

impl Held {
    /// Waits for other writers and takes the folder.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        // A link is followed once, so that the file it leads to is what gets replaced.
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(e) if e.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(e) => return Err(e),
        };
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = File::open(folder)?;
        flock(&folder, FlockOperation::LockExclusive)?;
        Ok(Self { target, folder })
    }

    /// The file itself.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts `text` in the place of the file in one step, on disk before it returns.
    pub(crate) fn replace(&self, text: &str) -> io::Result<()> {
        let mode = fs::metadata(&self.target).map_or(MODE, |m| m.permissions().mode() & 0o777);
        let mut name = self.target.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let fresh = self.target.with_file_name(name);
        // What a crash left behind; nobody else is here while the folder is held.
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
        self.folder.sync_all()
    }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}
