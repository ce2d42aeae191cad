//! Walking a tree as ripgrep does: in parallel, past what ignore files name, and not out of it.
//!
//! `.gitignore` counts inside git repositories, `.ignore` everywhere, both from the directories
//! above as well, and git's global one; `.git/info/exclude` does not count. Inside a jail, nothing above
//! the base is looked at. Hidden files are walked; the folders of version control are not, unless
//! everything is asked for.
//!
//! A link is followed while what it leads to lies inside the base, or inside the jail where links
//! out of the base were asked for. A link met on the far side of another link is not followed when
//! it leads back inside, since what is there is met under its own name: so loops end, and a tree of
//! links to each other does not grow without bound.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder};
use manyhands_guard::RelPath;
use rustix::io::Errno;
use serde::Serialize;

use super::atomic::is_temporary;
use super::place::Place;
use super::{LocalError, LocalFiles};

/// More threads than this wait for the disk and each other.
pub(super) const MAX_THREADS: usize = 12;

/// How many skipped things are named.
const MAX_SKIPPED: usize = 10;

const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Where it is.
    pub path: String,
    /// Why it was left out.
    pub reason: String,
}

/// What a walk does about links and ignore files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) no_ignore: bool,
    pub(super) follow_links: bool,
}

/// A tree to walk.
#[derive(Debug)]
pub(super) struct Tree {
    /// The base as it is shown.
    pub(super) shown: PathBuf,
    /// The base without links, which is what is walked.
    real: PathBuf,
    /// Bytes of a walked path before the part below the base.
    prefix: usize,
    /// Where links may lead; anywhere when `None`.
    fence: Option<PathBuf>,
    /// The jail's folder.
    jail: Option<PathBuf>,
    rules: Rules,
    /// What could not be looked at.
    pub(super) skips: Skips,
}

impl Tree {
    pub(super) fn open(
        files: &LocalFiles,
        place: &Place,
        rules: Rules,
    ) -> Result<Self, LocalError> {
        let failed = |error| LocalError::io(&place.path, error);
        if let (Some(root), Some(kept)) = (files.root(), &place.kept) {
            // The handle says whether the way there stays inside.
            let found = root.jail().metadata(kept);
            let found =
                found.map_err(|error| LocalError::jailed(&place.path, root.folder(), error))?;
            found.ok_or_else(|| LocalError::NotFound(place.path.clone()))?;
        }
        let real = place.path.canonicalize().map_err(failed)?;
        let jail = files.jail().map(Path::to_owned);
        if let Some(jail) = jail.as_ref().filter(|jail| !real.starts_with(jail)) {
            return Err(LocalError::Outside {
                path: place.path.clone(),
                jail: jail.clone(),
            });
        }
        let kind = fs::metadata(&real).map_err(failed)?;
        if kind.is_dir() {
            fs::read_dir(&real).map_err(failed)?;
        } else if !kind.is_file() {
            return Err(LocalError::NotRegular(place.path.clone()));
        }
        let fence = match rules.follow_links {
            true => jail.clone(),
            false => Some(real.clone()),
        };
        let tree = Self {
            shown: place.path.clone(),
            prefix: real.as_os_str().len() + usize::from(real.parent().is_some()),
            real,
            fence,
            jail,
            rules,
            skips: Skips::default(),
        };
        tree.check_ignore_files_above()?;
        Ok(tree)
    }

    pub(super) fn is_file(&self) -> bool {
        self.real.is_file()
    }

    /// A walker over what the rules and `admits` let through, with a thread for each core.
    pub(super) fn walker(
        self: &Arc<Self>,
        admits: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
    ) -> ignore::WalkParallel {
        let threads =
            std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, MAX_THREADS));
        let reads = !self.rules.no_ignore;
        let reads_above = reads && self.jail.is_none();
        let tree = self.clone();
        WalkBuilder::new(&self.real)
            .threads(threads)
            .hidden(false)
            .ignore(reads)
            .git_ignore(reads)
            .git_exclude(false)
            .git_global(reads_above)
            .parents(reads_above)
            .follow_links(true)
            .filter_entry(move |entry| tree.admits(entry) && admits(entry))
            .build_parallel()
    }

    /// The path below the base; empty for the base itself.
    pub(super) fn below<'p>(&self, path: &'p Path) -> &'p Path {
        let bytes = path.as_os_str().as_bytes();
        Path::new(OsStr::from_bytes(bytes.get(self.prefix..).unwrap_or(&[])))
    }

    /// A walked path as it is shown.
    pub(super) fn show(&self, path: &Path) -> String {
        let below = self.below(path);
        match below.as_os_str().is_empty() {
            true => self.shown.display().to_string(),
            false => self.shown.join(below).display().to_string(),
        }
    }

    /// A walked path, so that it is opened beneath the jail where there is one.
    pub(super) fn place(&self, path: &Path) -> Option<Place> {
        let kept = match &self.jail {
            None => None,
            Some(jail) => {
                let below = path.strip_prefix(jail).ok()?.to_str()?;
                Some(RelPath::parse(below).ok()?)
            }
        };
        Some(Place {
            path: path.to_owned(),
            kept,
        })
    }

    /// What was skipped, up to `last` if given: beyond it not everything was looked at.
    pub(super) fn skipped(&self, last: Option<&Path>) -> Vec<Skipped> {
        let skips = self.skips.0.lock().unwrap_or_else(PoisonError::into_inner);
        skips
            .iter()
            .filter(|(path, _)| last.is_none_or(|last| path.as_path() <= last))
            .map(|(path, reason)| Skipped {
                path: self.show(path),
                reason: reason.clone(),
            })
            .collect()
    }

    fn admits(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        if name.as_bytes().first() == Some(&b'.')
            && (is_temporary(name)
                || !self.rules.no_ignore && VERSION_CONTROL.iter().any(|vcs| name == *vcs))
        {
            return false;
        }
        if entry.path_is_symlink() && !self.admits_link(entry.path()) {
            return false;
        }
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !is_dir || self.rules.no_ignore {
            return true;
        }
        let blocking = blocking_ignore_file(entry.path());
        if let Some(file) = &blocking {
            self.skips.add(file, "is not a regular file");
        }
        blocking.is_none()
    }

    fn admits_link(&self, link: &Path) -> bool {
        let Ok(target) = link.canonicalize() else {
            return false;
        };
        if self
            .fence
            .as_ref()
            .is_some_and(|fence| !target.starts_with(fence))
        {
            return false;
        }
        let through_link = || {
            let parent = link.parent();
            parent.is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real != parent))
        };
        !(target.starts_with(&self.real) && through_link())
    }

    fn check_ignore_files_above(&self) -> Result<(), LocalError> {
        if self.rules.no_ignore {
            return Ok(());
        }
        let levels = if self.jail.is_some() { 1 } else { usize::MAX };
        for dir in self.real.ancestors().take(levels) {
            if let Some(file) = blocking_ignore_file(dir) {
                return Err(LocalError::NotRegular(file));
            }
        }
        Ok(())
    }
}

/// An ignore file that is a fifo or a device: the walker would open it and wait forever.
fn blocking_ignore_file(dir: &Path) -> Option<PathBuf> {
    [".gitignore", ".ignore"]
        .into_iter()
        .map(|name| dir.join(name))
        .find(|file| fs::metadata(file).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()))
}

/// What a walk could not look at: the first few by path, whoever met them.
#[derive(Debug, Default)]
pub(super) struct Skips(Mutex<BTreeMap<PathBuf, String>>);

impl Skips {
    pub(super) fn add(&self, path: &Path, reason: impl ToString) {
        let mut skips = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        skips.insert(path.to_owned(), reason.to_string());
        if skips.len() > MAX_SKIPPED {
            skips.pop_last();
        }
    }

    /// Notes what the walker could not read. Links that lead nowhere or in circles, and what
    /// went while we looked, are no news.
    pub(super) fn add_walk_error(&self, error: &ignore::Error) {
        let (Some(path), Some(cause)) = (path_of(error), error.io_error()) else {
            return;
        };
        let in_circles = cause.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if cause.kind() != io::ErrorKind::NotFound && !in_circles {
            self.add(path, reason(cause));
        }
    }
}

/// What the system said, without its number.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}
