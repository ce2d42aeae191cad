//! A folder on this machine that tools may work in.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use manyhands_guard::{Jail, JailError, PathError, RelPath};

/// Why a path is not in the folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// It is not a valid path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It is absolute and outside the folder.
    #[error("'{requested}' is outside {}; give a path relative to it", .root.display())]
    Outside {
        /// The path as given.
        requested: String,
        /// The folder.
        root: PathBuf,
    },
}

/// A folder on this machine, held by a handle: whatever is linked into it, nothing opened through it
/// lies outside.
#[derive(Debug, Clone)]
pub struct Root {
    folder: PathBuf,
    jail: Jail,
}

impl Root {
    /// Opens the folder, creating it (readable by its owner only) if missing.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let folder = folder.canonicalize()?;
        Ok(Self {
            jail: Jail::open(&folder)?,
            folder,
        })
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its handle.
    pub fn jail(&self) -> &Jail {
        &self.jail
    }

    /// Resolves a path: relative to the folder, or absolute and below it. An absolute path is only another
    /// spelling: everything is opened beneath the handle either way.
    pub fn locate(&self, requested: &str) -> Result<RelPath, LocateError> {
        let path = Path::new(requested);
        if !path.is_absolute() {
            return Ok(RelPath::parse(requested)?);
        }
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let below = path.strip_prefix(&self.folder).ok().filter(|_| !climbs);
        let below = below
            .and_then(Path::to_str)
            .ok_or_else(|| LocateError::Outside {
                requested: requested.to_owned(),
                root: self.folder.clone(),
            })?;
        Ok(RelPath::parse(below)?)
    }

    /// The absolute path of a place, for display.
    pub fn absolute(&self, place: &RelPath) -> String {
        if place.is_root() {
            return self.folder.display().to_string();
        }
        self.folder.join(place.as_str()).display().to_string()
    }

    /// A handle for the folder at a place.
    pub fn sub(&self, place: &RelPath) -> Result<Jail, JailError> {
        self.jail.sub(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_or_absolute_and_below() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(&dir.path().join("work")).unwrap();
        let inside = |rest: &str| format!("{}{rest}", root.folder().display());
        for (requested, expect) in [
            ("a/b.txt".to_owned(), Some("a/b.txt")),
            (String::new(), Some("")),
            (".".to_owned(), Some("")),
            (inside(""), Some("")),
            (inside("/a/b.txt"), Some("a/b.txt")),
            (inside("-evil/a"), None),
            (inside("/../x"), None),
            (inside("/a/../b"), None),
            ("/etc/passwd".to_owned(), None),
            ("../x".to_owned(), None),
            ("/".to_owned(), None),
        ] {
            let found = root.locate(&requested).ok();
            assert_eq!(found.as_ref().map(RelPath::as_str), expect, "{requested}");
        }
    }

    #[test]
    fn a_place_is_shown_in_full() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let place = RelPath::parse("a/b").unwrap();
        assert_eq!(root.locate(&root.absolute(&place)).unwrap(), place);
    }
}
