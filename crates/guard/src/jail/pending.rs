//! Atomic writes: a temporary file that replaces its target on commit.
//!
//! Content goes to a temporary file beside the target and is renamed over it once it
//! is on disk, so a reader, or a crash, sees the old file or the new one whole. Checks
//! that decide whether the rename may happen are made under a lock keyed by the
//! directory itself, so it holds across jails that overlap.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, fchmod, fstat, fsync, futimens,
    linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::JailError;
use super::meta::{EntryKind, Meta, kind_of, modified_ns};
use super::sweep::Temporary;
use super::write::WriteMode;

/// A file being written. Invisible before [`commit`](Self::commit); dropped before that, it
/// leaves nothing behind.
#[derive(Debug)]
pub struct PendingFile {
    dir: Dir,
    name: String,
    temporary: Temporary,
    file: File,
}

impl PendingFile {
    /// Starts a file that will become `name` in `dir`, with permissions `mode`.
    pub(super) fn create(dir: Dir, name: String, mode: u32) -> Result<Self, JailError> {
        let (temporary, file) = create_temporary(&dir)?;
        let pending = Self {
            dir,
            name,
            temporary,
            file,
        };
        // Not subject to the umask: an existing file keeps its mode.
        fchmod(&pending.file, Mode::from_raw_mode(mode))?;
        Ok(pending)
    }

    /// Appends `bytes`.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), JailError> {
        Ok(self.file.write_all(bytes)?)
    }

    /// Appends everything from `reader` and returns the number of bytes.
    pub fn copy_from(&mut self, mut reader: impl Read) -> Result<u64, JailError> {
        Ok(io::copy(&mut reader, &mut self.file)?)
    }

    /// Moves the file to its target if `mode` allows, and returns once it is on disk.
    pub fn commit(self, mode: WriteMode) -> Result<Meta, JailError> {
        fsync(&self.file)?;
        {
            let mut newest = commit_lock(&self.dir)?;
            match stat_if_there(&self.dir, &self.name)? {
                Some(there) => check_replaceable(&there, &mode)?,
                None if matches!(mode, WriteMode::IfVersion(_)) => return Err(JailError::Changed),
                None => {}
            }
            make_newer_than(&self.file, &mut newest)?;
            if mode == WriteMode::CreateNew {
                self.place_without_replacing()?;
            } else {
                renameat(&self.dir, self.temporary.name(), &self.dir, &self.name)?;
            }
        }
        self.temporary.forget();
        sync_dir(&self.dir)?;
        Ok(Meta::of(&self.file)?)
    }

    fn place_without_replacing(&self) -> Result<(), JailError> {
        let (dir, from) = (&self.dir, self.temporary.name());
        match renameat_with(dir, from, dir, &self.name, RenameFlags::NOREPLACE) {
            // Some file systems lack RENAME_NOREPLACE, but a hard link fails just as strictly if the target exists.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(dir, from, dir, &self.name, AtFlags::empty())?;
                unlinkat(dir, from, AtFlags::empty())?;
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if self.temporary.is_live() {
            let _ = unlinkat(&self.dir, self.temporary.name(), AtFlags::empty());
            self.temporary.forget();
        }
    }
}

/// File system clocks tick every few milliseconds and inode numbers are reused, so two versions
/// could look alike; each commit gets a later timestamp than the one before.
pub(super) fn make_newer_than(file: &File, newest: &mut i128) -> Result<(), JailError> {
    let modified = modified_ns(&fstat(file)?);
    if modified > *newest {
        *newest = modified;
        return Ok(());
    }
    *newest += 1;
    let second = 1_000_000_000;
    let time = Timespec {
        tv_sec: i64::try_from(newest.div_euclid(second)).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(newest.rem_euclid(second)).unwrap_or(0),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(futimens(file, &times)?)
}

fn check_replaceable(there: &Stat, mode: &WriteMode) -> Result<(), JailError> {
    if kind_of(there) == EntryKind::Dir {
        return Err(JailError::IsDirectory);
    }
    match mode {
        WriteMode::Overwrite => Ok(()),
        WriteMode::CreateNew => Err(JailError::Exists),
        WriteMode::IfVersion(seen) if Meta::from_stat(there).version == *seen => Ok(()),
        WriteMode::IfVersion(_) => Err(JailError::Changed),
    }
}

fn create_temporary(dir: &Dir) -> Result<(Temporary, File), JailError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        let temporary = Temporary::claim();
        match openat(dir, temporary.name(), flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((temporary, File::from(file))),
            // Left by an earlier process that had our process id.
            Err(Errno::EXIST) => temporary.forget(),
            Err(errno) => {
                temporary.forget();
                return Err(errno.into());
            }
        }
    }
}

pub(super) fn stat_if_there(dir: &Dir, name: &str) -> Result<Option<Stat>, JailError> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Syncs a directory's entries. An O_PATH handle cannot be synced, so it is opened again.
pub(super) fn sync_dir(dir: &Dir) -> Result<(), JailError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fsync(openat(dir, ".", flags, Mode::empty())?)?)
}

/// Held between checking a directory's entry and changing it. Guards the timestamp of the newest
/// commit made under it.
pub(super) fn commit_lock(dir: &Dir) -> Result<MutexGuard<'static, i128>, JailError> {
    static LOCKS: [Mutex<i128>; 64] = [const { Mutex::new(0) }; 64];
    let stat = fstat(dir)?;
    let mut hasher = DefaultHasher::new();
    (stat.st_dev, stat.st_ino).hash(&mut hasher);
    let lock = &LOCKS[(hasher.finish() % 64) as usize];
    Ok(lock.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jail::Jail;
    use crate::rel_path::RelPath;
    use std::fs;
    use tempfile::TempDir;

    fn jail() -> (TempDir, Jail) {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        (dir, jail)
    }

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    /// The directory holds `f` with this content and nothing else.
    #[track_caller]
    fn check_only(dir: &TempDir, content: &str) {
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), content);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn versions_never_come_back_however_fast_the_writes() {
        let (_dir, jail) = jail();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let meta = jail
                .write(&path("f"), b"same", WriteMode::Overwrite)
                .unwrap();
            assert!(seen.insert(meta.version), "a version came twice");
        }
    }

    #[test]
    fn a_full_disk_leaves_the_old_file_whole_and_nothing_behind() {
        let (dir, jail) = jail();
        jail.write(&path("f"), b"old", WriteMode::Overwrite)
            .unwrap();
        let mut pending = jail.begin_write(&path("f")).unwrap();
        pending.file = File::options().write(true).open("/dev/full").unwrap();
        assert!(matches!(pending.write_all(b"new"), Err(JailError::Full)));
        drop(pending);
        check_only(&dir, "old");
        jail.write(&path("f"), b"new", WriteMode::Overwrite)
            .unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"new");
    }

    #[test]
    fn a_source_that_fails_leaves_the_old_file_whole_and_nothing_behind() {
        struct Breaks;
        impl Read for Breaks {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the line went dead"))
            }
        }
        let (dir, jail) = jail();
        jail.write(&path("f"), b"old", WriteMode::Overwrite)
            .unwrap();
        let mut pending = jail.begin_write(&path("f")).unwrap();
        let copied = pending.copy_from((&b"half of it"[..]).chain(Breaks));
        assert!(matches!(copied, Err(JailError::Io(_))));
        drop(pending);
        check_only(&dir, "old");
    }
}
