//! Ignore files of a jail, read through its handle.

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use manyhands_guard::{Jail, JailError, RelPath};

use super::walk::IGNORE_FILES;

/// Maximum size of an ignore file, in bytes.
const MAX_IGNORE_FILE: u64 = 1 << 20;

/// The ignore files of a directory, and of its parents up to the base.
#[derive(Debug)]
pub(super) struct Ignored {
    gitignore: Option<Gitignore>,
    ignore: Option<Gitignore>,
    /// Whether a repository starts here: ignore files above do not apply.
    repository: bool,
    above: Option<Arc<Self>>,
}

/// Why a directory's ignore files could not be used.
#[derive(Debug)]
pub(super) struct Unusable {
    /// The file's name.
    pub(super) name: &'static str,
    /// The error.
    pub(super) why: JailError,
}

impl Ignored {
    /// Reads the ignore files of the directory at `folder` of `jail`, which is at `below` of the base.
    /// `holds` says which names exist.
    pub(super) fn read(
        jail: &Jail,
        folder: &RelPath,
        below: &RelPath,
        holds: impl Fn(&str) -> bool,
        above: Option<Arc<Self>>,
    ) -> Result<Self, Unusable> {
        let [gitignore, ignore] = IGNORE_FILES.map(|name| {
            if !holds(name) {
                return Ok(None);
            }
            match read(jail, folder, name) {
                Ok(text) => Ok(text.map(|text| parse(below, &text))),
                Err(why) => Err(Unusable { name, why }),
            }
        });
        Ok(Self {
            gitignore: gitignore?,
            ignore: ignore?,
            repository: holds(".git") || holds(".jj"),
            above,
        })
    }

    /// Whether `path`, relative to the base, is ignored. The nearest matching file decides; `.ignore` comes
    /// before `.gitignore`, which applies only inside a repository.
    pub(super) fn ignores(&self, path: &RelPath, is_dir: bool) -> bool {
        let path = rooted(path);
        let said = |file: &Option<Gitignore>| match file {
            Some(file) => file.matched(&path, is_dir).map(|_| ()),
            None => Match::None,
        };
        let mut by_ignore = Match::None;
        let mut by_git = Match::None;
        let (mut in_repository, mut left_repository) = (false, false);
        let mut next = Some(self);
        while let Some(here) = next {
            if by_ignore.is_none() {
                by_ignore = said(&here.ignore);
            }
            // The .gitignore of a repository applies up to its root and no further.
            if by_git.is_none() && !left_repository {
                by_git = said(&here.gitignore);
            }
            in_repository |= here.repository;
            left_repository |= here.repository;
            next = here.above.as_deref();
        }
        // Git ignores its files outside of repositories, and so do we.
        if !in_repository {
            by_git = Match::None;
        }
        by_ignore.or(by_git).is_ignore()
    }
}

/// The text of an ignore file; `None` if there is none inside the jail.
fn read(jail: &Jail, folder: &RelPath, name: &str) -> Result<Option<String>, JailError> {
    let Ok(path) = RelPath::parse(name).and_then(|name| folder.join(&name)) else {
        return Ok(None);
    };
    match jail.read(&path, MAX_IGNORE_FILE) {
        Ok((bytes, _)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(
            JailError::NotFound
            | JailError::NotDirectory
            | JailError::IsDirectory
            | JailError::Escapes,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(below: &RelPath, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(rooted(below));
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        // Like git, skip invalid patterns.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Matching needs a common root, which is never opened.
fn rooted(path: &RelPath) -> std::path::PathBuf {
    Path::new("/").join(path.as_str())
}
