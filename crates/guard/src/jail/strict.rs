//! Directories reached without following any link, not even one that stays inside.
//!
//! A jail that holds the folders of several owners is divided by these: a link from one owner's
//! folder to another's stays inside the jail and would still be an escape.

use std::fs::File;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::pending::sync_dir;
use super::write::NEW_DIR;
use super::{Jail, JailError};
use crate::rel_path::RelPath;

const REAL_DIR: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How to treat a missing directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Return an error.
    Refuse,
    /// Create it, readable by its owner only.
    Create,
}

impl Jail {
    /// A jail for the directory at `path`. A link on the path is refused, wherever it leads.
    pub fn sub_without_links(&self, path: &RelPath, missing: Missing) -> Result<Self, JailError> {
        let mut here = self.root.clone();
        for name in path.components() {
            here = Arc::new(step(&here, name, missing)?);
        }
        Ok(Self { root: here })
    }

    /// Removes the directory at `path` if it is empty, then its parents likewise, up to but not
    /// including the jail's root. No link is followed.
    pub fn remove_empty_dirs(&self, path: &RelPath) {
        let mut next = Some(path.clone());
        while let Some(here) = next.filter(|here| !here.is_root()) {
            let parent = here.parent().unwrap_or_default();
            let removed = self
                .sub_without_links(&parent, Missing::Refuse)
                .and_then(|above| {
                    let name = here.file_name().unwrap_or_default();
                    Ok(unlinkat(&above.root, name, AtFlags::REMOVEDIR)?)
                });
            match removed {
                Ok(()) | Err(JailError::NotFound) => next = Some(parent),
                // Not empty, a link, or not ours to remove: keep it and everything above.
                Err(_) => break,
            }
        }
    }
}

fn step(above: &Dir, name: &str, missing: Missing) -> Result<Dir, JailError> {
    let opened = match open_real(above, name) {
        Err(JailError::NotFound) if missing == Missing::Create => {
            match mkdirat(above, name, Mode::from_raw_mode(NEW_DIR)) {
                Ok(()) => sync_dir(above)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            open_real(above, name)
        }
        opened => opened,
    };
    opened.map(Dir::from_std_file)
}

fn open_real(above: &Dir, name: &str) -> Result<File, JailError> {
    match openat(above, name, REAL_DIR, Mode::empty()) {
        Ok(handle) => Ok(handle.into()),
        // The error for a link depends on what it points to, so check explicitly.
        Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => {
            let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => Err(JailError::Escapes),
                _ => Err(errno.into()),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WriteMode;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_link_on_the_way_is_refused_wherever_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/f"), "mine").unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (link, target) in [
            ("to-a", "a"),
            ("a/to-b", "b"),
            ("out", ".."),
            ("dangling", "nowhere"),
            ("loop", "loop"),
            ("to-file", "file"),
        ] {
            symlink(target, dir.path().join(link)).unwrap();
        }
        for link in [
            "to-a", "to-a/b", "a/to-b", "out", "dangling", "loop", "to-file",
        ] {
            for missing in [Missing::Refuse, Missing::Create] {
                let refused = jail.sub_without_links(&path(link), missing);
                assert!(
                    matches!(refused, Err(JailError::Escapes)),
                    "{link}: {refused:?}"
                );
            }
        }
        assert!(!dir.path().join("nowhere").exists());
        let refused = jail.sub_without_links(&path("file"), Missing::Create);
        assert!(matches!(refused, Err(JailError::NotDirectory)));
        let sub = jail
            .sub_without_links(&path("a/b"), Missing::Refuse)
            .unwrap();
        assert_eq!(sub.read(&path("f"), 9).unwrap().0, b"mine");
    }

    #[test]
    fn missing_folders_are_created_only_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        let refused = jail.sub_without_links(&path("x/y"), Missing::Refuse);
        assert!(matches!(refused, Err(JailError::NotFound)));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let made = jail
            .sub_without_links(&path("x/y"), Missing::Create)
            .unwrap();
        made.write(&path("f"), b"1", WriteMode::CreateNew).unwrap();
        assert_eq!(fs::read(dir.path().join("x/y/f")).unwrap(), b"1");
        let mode = fs::metadata(dir.path().join("x/y")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o700);
        jail.remove_empty_dirs(&path("x/y"));
        assert!(dir.path().join("x/y/f").exists(), "it is not empty");
        fs::remove_file(dir.path().join("x/y/f")).unwrap();
        jail.remove_empty_dirs(&path("x/y"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
