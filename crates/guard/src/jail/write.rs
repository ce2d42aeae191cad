//! Writes inside a jail: destination and preconditions.

use cap_std::fs::Dir;
use rustix::fs::{FileType, Mode, Stat, mkdirat};
use rustix::io::Errno;

use super::meta::{EntryKind, Meta, Version, kind_of};
use super::pending::{PendingFile, stat_if_there, sync_dir};
use super::{Jail, JailError, on_disk};
use crate::rel_path::RelPath;

const NEW_FILE: u32 = 0o600;
pub(super) const NEW_DIR: u32 = 0o700;

/// Precondition of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteMode {
    /// None: replace or create the file.
    Overwrite,
    /// The file must not exist.
    CreateNew,
    /// The file must still have this version; of two edits of one version, one fails.
    IfVersion(Version),
}

/// The destination of a file.
pub(super) struct Destination {
    pub(super) dir: Dir,
    /// The path with a final link resolved.
    pub(super) path: RelPath,
    /// The regular file that is there now.
    pub(super) old: Option<Stat>,
}

impl Jail {
    /// Writes `bytes` to `path` atomically, creating missing directories.
    pub fn write(&self, path: &RelPath, bytes: &[u8], mode: WriteMode) -> Result<Meta, JailError> {
        // Checked early, so that a refusal leaves no new directories.
        if matches!(mode, WriteMode::IfVersion(_)) && self.metadata(path)?.is_none() {
            return Err(JailError::Changed);
        }
        let mut pending = self.begin_write(path)?;
        pending.write_all(bytes)?;
        pending.commit(mode)
    }

    /// Starts writing to `path`, creating missing directories. Through a link that stays inside, the
    /// link's target is written and the link is kept.
    pub fn begin_write(&self, path: &RelPath) -> Result<PendingFile, JailError> {
        // A concurrent cleanup of empty directories may remove ours before the temporary file is in it.
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_begin(path) {
                Err(JailError::NotFound) if tries < 100 => {}
                done => return done,
            }
        }
    }

    /// Creates the directory at `path` and its parents.
    pub fn create_dirs(&self, path: &RelPath) -> Result<(), JailError> {
        self.open_or_create(path).map(drop)
    }

    fn try_begin(&self, path: &RelPath) -> Result<PendingFile, JailError> {
        let Destination { dir, path, old } = self.destination(path)?;
        let mode = old.map_or(NEW_FILE, |stat| stat.st_mode & 0o777);
        let name = path.file_name().unwrap_or_default();
        PendingFile::create(dir, name.to_owned(), mode)
    }

    /// The destination of a file written to `path`, with its directories created.
    pub(super) fn destination(&self, path: &RelPath) -> Result<Destination, JailError> {
        let parent = path.parent().ok_or(JailError::IsDirectory)?;
        let mut dir = self.open_or_create(&parent)?;
        let mut path = path.clone();
        let mut old = stat_if_there(&dir, path.file_name().unwrap_or_default())?;
        if old.as_ref().is_some_and(is_link) {
            path = self.link_target(&path)?;
            dir = self.open_parent(&path)?;
            old = stat_if_there(&dir, path.file_name().unwrap_or_default())?;
        }
        match old.as_ref().map(kind_of) {
            None | Some(EntryKind::File) => Ok(Destination { dir, path, old }),
            Some(EntryKind::Dir) => Err(JailError::IsDirectory),
            Some(EntryKind::Other) => Err(JailError::NotRegular),
        }
    }

    /// The target of a link, as a path without links.
    fn link_target(&self, path: &RelPath) -> Result<RelPath, JailError> {
        let found = match self
            .root
            .canonicalize(on_disk(path))
            .map_err(JailError::from)
        {
            Err(JailError::NotFound) => return Err(JailError::NotRegular),
            found => found?,
        };
        found
            .to_str()
            .and_then(|text| RelPath::parse(text).ok())
            .ok_or(JailError::Escapes)
    }

    /// Opens the directory at `path`, creating what is missing. Each step is opened from the root, so
    /// that links which climb but stay inside keep working.
    fn open_or_create(&self, path: &RelPath) -> Result<Dir, JailError> {
        match self.root.open_dir(on_disk(path)).map_err(JailError::from) {
            Err(JailError::NotFound) => {}
            found => return found,
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(JailError::NotFound);
        };
        let parent = self.open_or_create(&above)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(NEW_DIR)) {
            Ok(()) => sync_dir(&parent)?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(self.root.open_dir(on_disk(path))?)
    }
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn jail() -> (TempDir, Jail) {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        (dir, jail)
    }

    #[track_caller]
    fn check_names(dir: &TempDir, expect: &[&str]) {
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, expect);
    }

    fn mode_of(dir: &TempDir, name: &str) -> u32 {
        fs::metadata(dir.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    }

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_mode() {
        let (dir, jail) = jail();
        let meta = jail
            .write(&path("a/b/f"), b"one", WriteMode::Overwrite)
            .unwrap();
        assert_eq!(meta, jail.metadata(&path("a/b/f")).unwrap().unwrap());
        assert_eq!(
            (mode_of(&dir, "a/b"), mode_of(&dir, "a/b/f")),
            (0o700, 0o600)
        );
        fs::set_permissions(dir.path().join("a/b/f"), PermissionsExt::from_mode(0o754)).unwrap();
        jail.write(&path("a/b/f"), b"two", WriteMode::Overwrite)
            .unwrap();
        assert_eq!(mode_of(&dir, "a/b/f"), 0o754);
        assert_eq!(jail.read(&path("a/b/f"), 9).unwrap().0, b"two");
    }

    #[test]
    fn create_new_leaves_what_is_there() {
        let (dir, jail) = jail();
        jail.write(&path("f"), b"one", WriteMode::CreateNew)
            .unwrap();
        let refused = jail.write(&path("f"), b"two", WriteMode::CreateNew);
        assert!(matches!(refused, Err(JailError::Exists)));
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"one");
        check_names(&dir, &["f"]);
    }

    #[test]
    fn an_edit_of_an_old_version_changes_nothing() {
        let (dir, jail) = jail();
        let first = jail
            .write(&path("f"), b"one", WriteMode::Overwrite)
            .unwrap();
        let edit = WriteMode::IfVersion(first.version);
        jail.write(&path("f"), b"two", edit.clone()).unwrap();
        let late = jail.write(&path("f"), b"too", edit.clone());
        assert!(matches!(late, Err(JailError::Changed)));
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"two");
        fs::remove_file(dir.path().join("f")).unwrap();
        for gone in ["f", "new/dir/f"] {
            let late = jail.write(&path(gone), b"x", edit.clone());
            assert!(matches!(late, Err(JailError::Changed)));
        }
        check_names(&dir, &[]);
    }

    #[test]
    fn a_directory_is_not_written_over() {
        let (dir, jail) = jail();
        fs::create_dir(dir.path().join("d")).unwrap();
        for target in [path("d"), RelPath::root()] {
            let refused = jail.write(&target, b"x", WriteMode::Overwrite);
            assert!(matches!(refused, Err(JailError::IsDirectory)));
        }
        let below_file = jail.write(&path("f"), b"x", WriteMode::Overwrite).is_ok()
            && matches!(
                jail.write(&path("f/g"), b"x", WriteMode::Overwrite),
                Err(JailError::NotDirectory)
            );
        assert!(below_file);
        check_names(&dir, &["d", "f"]);
    }

    #[test]
    fn a_link_inside_is_written_through_and_stays_a_link() {
        let (dir, jail) = jail();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/real"), "old").unwrap();
        symlink("d/real", dir.path().join("link")).unwrap();
        symlink("nowhere", dir.path().join("broken")).unwrap();
        jail.write(&path("link"), b"new", WriteMode::Overwrite)
            .unwrap();
        assert_eq!(fs::read(dir.path().join("d/real")).unwrap(), b"new");
        assert!(
            fs::symlink_metadata(dir.path().join("link"))
                .unwrap()
                .is_symlink()
        );
        let broken = jail.write(&path("broken"), b"x", WriteMode::Overwrite);
        assert!(matches!(broken, Err(JailError::NotRegular)));
        check_names(&dir, &["broken", "d", "link"]);
    }
}
