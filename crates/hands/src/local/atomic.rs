//! Atomic file writes anywhere on this machine.
//!
//! Content goes to a temporary file beside the target and is renamed over it once it is on disk, so a
//! reader, or a crash, sees the old file or the new one completely.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use manyhands_guard::PART_PREFIX;
use rustix::fs::OFlags;

use super::LocalError;
use super::location::{open_regular, regular};

/// Prefix of temporary files, shared with guard's jail, whose sweep removes them.
pub(super) const TEMPORARY_PREFIX: &str = ".mh-tmp-";

/// Maximum links followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// Precondition of a write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Demand<'a> {
    /// None: replace the file, or create it and its directories.
    Nothing,
    /// The file still has this content.
    Holds(&'a [u8]),
}

/// Writes `bytes` to `path`. A link is written through; an existing file keeps its mode, and its owner
/// where we may set it; a new one gets the umask's mode.
pub(super) fn write(path: &Path, bytes: &[u8], demand: Demand<'_>) -> Result<(), LocalError> {
    let failed = |error| LocalError::io(path, error);
    let target = through_links(path)?;
    let (Some(parent), Some(_)) = (target.parent(), target.file_name()) else {
        return Err(LocalError::IsDirectory(path.to_owned()));
    };
    let old = match fs::symlink_metadata(&target) {
        Ok(there) => {
            // Checked before the temporary file is created, so that a refusal leaves no trace.
            regular(path, &there)?;
            Some(writable(&target).map_err(failed)?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    match (&old, demand) {
        (None, Demand::Holds(_)) => return Err(LocalError::Changed(path.to_owned())),
        (None, Demand::Nothing) => fs::create_dir_all(parent).map_err(failed)?,
        (Some(_), _) => {}
    }
    let mut temporary = Temporary::create(parent, old.as_ref()).map_err(failed)?;
    temporary.file.write_all(bytes).map_err(failed)?;
    // Before the rename: after a crash, the new name must not point to missing content.
    temporary.file.sync_all().map_err(failed)?;
    {
        // Held between comparing and renaming, so that of two edits of one text one fails.
        static COMMIT: Mutex<()> = Mutex::new(());
        let _commit = COMMIT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Demand::Holds(expect) = demand
            && !holds(&target, expect)
        {
            return Err(LocalError::Changed(path.to_owned()));
        }
        temporary.become_file(&target).map_err(failed)?;
    }
    // A directory that may be written but not read cannot be synced; the file itself is on disk.
    // The rename itself is durable only once its directory is synced.
    if let Ok(dir) = File::open(parent) {
        dir.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// The file that a path names, even if a link leads to nothing yet.
pub(super) fn through_links(path: &Path) -> Result<PathBuf, LocalError> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // Not a link, missing, or not accessible: the following operation reports which.
            Err(_) => return Ok(path),
        }
    }
    Err(LocalError::NotRegular(path))
}

/// Renaming over a file requires rights on its directory only; we require them on the file too.
pub(super) fn writable(path: &Path) -> io::Result<Metadata> {
    // NONBLOCK: opening a fifo must not wait for a reader. NOFOLLOW: the link was resolved above.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?
        .metadata()
}

/// Whether the file has exactly this content. Compared by content and not by date, since two writes
/// may fall into one tick of the file system's clock.
fn holds(path: &Path, expect: &[u8]) -> bool {
    let Ok((file, _)) = open_regular(path) else {
        return false;
    };
    let mut bytes = Vec::with_capacity(expect.len() + 1);
    // One byte more than expected, to notice a longer file without reading all of it.
    let read = file.take(expect.len() as u64 + 1).read_to_end(&mut bytes);
    read.is_ok() && bytes == expect
}

/// A file beside its target, removed on drop unless it was renamed.
struct Temporary {
    path: PathBuf,
    file: File,
    placed: bool,
}

impl Temporary {
    fn create(parent: &Path, old: Option<&Metadata>) -> io::Result<Self> {
        // A private file's new content must not be readable by others, not even for a moment.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (path, file) = loop {
            let path = parent.join(next_name());
            let created = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&path);
            match created {
                Ok(file) => break (path, file),
                // Left by an earlier process that had our process id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let temporary = Self {
            path,
            file,
            placed: false,
        };
        if let Some(old) = old {
            temporary.copy_permissions(old)?;
        }
        Ok(temporary)
    }

    fn copy_permissions(&self, old: &Metadata) -> io::Result<()> {
        let new = self.file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            // Only root may change a file's owner; a group we belong to, we may set.
            let _ = fchown(&self.file, Some(old.uid()), Some(old.gid()))
                .or_else(|_| fchown(&self.file, None, Some(old.gid())));
        }
        self.file
            .set_permissions(Permissions::from_mode(old.mode() & 0o777))
    }

    fn become_file(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn next_name() -> String {
    // Far from the numbers that guard's jail uses in this process.
    static NEXT: AtomicU64 = AtomicU64::new(1 << 48);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY_PREFIX}{}-{number}", std::process::id())
}

/// Whether a name is that of a temporary file.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY_PREFIX.as_bytes()) || name.starts_with(PART_PREFIX.as_bytes())
}
