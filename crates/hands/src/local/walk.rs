//! Walks a tree like ripgrep: in parallel, honouring ignore files, and without leaving it.
//!
//! `.gitignore` applies inside git repositories, `.ignore` everywhere, both also from parent directories,
//! and git's global file; `.git/info/exclude` does not. Inside a jail, nothing above the base is read.
//! Hidden files are walked; version control folders are not, unless everything is requested.
//!
//! A link is followed while its target lies inside the base, or inside the jail if links out of the base
//! are requested. A link found behind another link is not followed if it leads back inside, since its
//! target is visited under its own name: so loops end, and a tree of links to each other does not grow
//! without bound.
//!
//! Without a jail the `ignore` crate walks by path. A jail is walked by [`Beneath`], since a path that
//! was inside when checked can lead elsewhere by the time it is opened.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};
use manyhands_guard::EntryKind;
use rustix::io::Errno;
use serde::Serialize;

use super::atomic::is_temporary;
use super::beneath::Beneath;
use super::location::{LocalPath, open_regular};
use super::{LocalError, LocalFiles};

/// More threads only wait for the disk and each other.
pub(super) const MAX_THREADS: usize = 12;

/// Maximum skipped entries reported.
const MAX_SKIPPED: usize = 10;

pub(super) const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// An entry that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Where it is.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// Handling of links and ignore files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) no_ignore: bool,
    pub(super) follow_links: bool,
}

impl Rules {
    /// Whether a name is always skipped: a temporary file, or version control.
    pub(super) fn passes_over(self, name: &OsStr) -> bool {
        name.as_bytes().first() == Some(&b'.')
            && (is_temporary(name)
                || !self.no_ignore && VERSION_CONTROL.iter().any(|vcs| name == *vcs))
    }
}

/// An entry of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkEntry<'a> {
    /// Its walked path; [`Tree::show`] converts it for a caller.
    pub(super) path: &'a Path,
    /// Its depth below the base.
    pub(super) depth: usize,
    /// Its type, or that of a link's target.
    pub(super) kind: EntryKind,
}

impl<'a> WalkEntry<'a> {
    /// Its last name.
    pub(super) fn name(&self) -> &'a OsStr {
        self.path.file_name().unwrap_or_default()
    }

    fn of(entry: &'a DirEntry) -> Self {
        let kind = match entry.file_type() {
            Some(kind) if kind.is_dir() => EntryKind::Dir,
            Some(kind) if kind.is_file() => EntryKind::File,
            _ => EntryKind::Other,
        };
        Self {
            path: entry.path(),
            depth: entry.depth(),
            kind,
        }
    }
}

/// Decides whether to descend into a directory or visit a file.
pub(super) type Admits = Arc<dyn Fn(WalkEntry<'_>) -> bool + Send + Sync>;

/// Called by one thread for each entry; false ends the walk.
pub(super) type Visitor<'s> = Box<dyn FnMut(WalkEntry<'_>) -> bool + Send + 's>;

/// A tree to walk.
#[derive(Debug)]
pub(super) struct Tree {
    /// The base as shown to callers.
    pub(super) shown: PathBuf,
    /// The base as a prefix of walked paths.
    walked: PathBuf,
    /// Length of a walked path's prefix before the part below the base.
    prefix: usize,
    source: WalkSource,
    rules: Rules,
    /// Entries that could not be read.
    pub(super) skips: Skips,
}

/// How entries are opened.
#[derive(Debug)]
enum WalkSource {
    /// By path; links may lead anywhere beneath the fence, or anywhere without one.
    Paths { fence: Option<PathBuf> },
    /// By handle.
    Jail { beneath: Beneath, folder: PathBuf },
}

impl Tree {
    pub(super) fn open(
        files: &LocalFiles,
        place: &LocalPath,
        rules: Rules,
    ) -> Result<Self, LocalError> {
        let (walked, source) = match (files.root(), &place.relative) {
            (Some(root), Some(kept)) => {
                let folder = root.folder().to_owned();
                let beneath = Beneath::open(root.jail(), kept, rules)
                    .map_err(|error| LocalError::jailed(&place.path, &folder, error))?;
                (place.path.clone(), WalkSource::Jail { beneath, folder })
            }
            _ => {
                let real = by_path(place, rules)?;
                // The real path: a link inside the base must not count as leaving it.
                let fence = (!rules.follow_links).then(|| real.clone());
                (real, WalkSource::Paths { fence })
            }
        };
        Ok(Self {
            shown: place.path.clone(),
            // The root directory has no separator to skip.
            prefix: walked.as_os_str().len() + usize::from(walked.parent().is_some()),
            walked,
            source,
            rules,
            skips: Skips::default(),
        })
    }

    pub(super) fn is_file(&self) -> bool {
        match &self.source {
            WalkSource::Paths { .. } => self.walked.is_file(),
            WalkSource::Jail { beneath, .. } => beneath.is_file(),
        }
    }

    /// Passes every file and directory that the rules and `admits` allow to the visitors, one per thread.
    pub(super) fn walk<'s>(
        self: &Arc<Self>,
        admits: Admits,
        visitor: impl Fn() -> Visitor<'s> + Sync,
    ) {
        let threads =
            // At least two, so that one slow directory does not stop the walk.
            std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, MAX_THREADS));
        match &self.source {
            WalkSource::Paths { .. } => self.walk_paths(threads, admits, visitor),
            WalkSource::Jail { beneath, .. } => beneath.walk(self, threads, &*admits, &visitor),
        }
    }

    fn walk_paths<'s>(
        self: &Arc<Self>,
        threads: usize,
        admits: Admits,
        visitor: impl Fn() -> Visitor<'s>,
    ) {
        let reads = !self.rules.no_ignore;
        let tree = self.clone();
        let walker = WalkBuilder::new(&self.walked)
            .threads(threads)
            // Hidden files are listed like others; ignore files decide what is left out.
            .hidden(false)
            .ignore(reads)
            .git_ignore(reads)
            .git_exclude(false)
            .git_global(reads)
            .parents(reads)
            // The crate follows; `admits_link` decides which.
            .follow_links(true)
            .filter_entry(move |entry| tree.admits(entry) && admits(WalkEntry::of(entry)))
            .build_parallel();
        walker.run(|| {
            let mut visit = visitor();
            Box::new(move |entry| {
                let continue_walk = match &entry {
                    Ok(entry) => visit(WalkEntry::of(entry)),
                    Err(error) => {
                        self.skips.add_walk_error(error);
                        true
                    }
                };
                match continue_walk {
                    true => WalkState::Continue,
                    false => WalkState::Quit,
                }
            })
        });
    }

    /// The path below the base; empty for the base itself.
    pub(super) fn below<'p>(&self, path: &'p Path) -> &'p Path {
        let bytes = path.as_os_str().as_bytes();
        Path::new(OsStr::from_bytes(bytes.get(self.prefix..).unwrap_or(&[])))
    }

    /// The walked path of something below the base.
    pub(super) fn walked(&self, below: &str) -> PathBuf {
        match below.is_empty() {
            true => self.walked.clone(),
            false => self.walked.join(below),
        }
    }

    /// A walked path as shown to callers.
    pub(super) fn show(&self, path: &Path) -> String {
        let below = self.below(path);
        match below.as_os_str().is_empty() {
            true => self.shown.display().to_string(),
            false => self.shown.join(below).display().to_string(),
        }
    }

    /// Opens a visited file, and returns its size.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, u64), LocalError> {
        match &self.source {
            WalkSource::Paths { .. } => open_regular(path),
            WalkSource::Jail { beneath, folder } => beneath
                .open_file(self.below(path))
                .map_err(|error| LocalError::jailed(path, folder, error)),
        }
    }

    /// Modification time of a visited file, as seconds and nanoseconds; `None` if it is gone.
    pub(super) fn modified(&self, path: &Path) -> Option<(i64, u64)> {
        match &self.source {
            WalkSource::Paths { .. } => {
                let stat = rustix::fs::stat(path).ok()?;
                Some((stat.st_mtime, stat.st_mtime_nsec))
            }
            WalkSource::Jail { beneath, .. } => beneath.modified(self.below(path)),
        }
    }

    /// Skipped entries, up to `last` if given: beyond it not everything was visited.
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
        if self.rules.passes_over(entry.file_name()) {
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
        // A dangling link.
        let Ok(target) = link.canonicalize() else {
            return false;
        };
        if let WalkSource::Paths { fence: Some(fence) } = &self.source
            && !target.starts_with(fence)
        {
            return false;
        }
        let through_link = || {
            let parent = link.parent();
            parent.is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real != parent))
        };
        // Its target is visited under its own name anyway.
        !(target.starts_with(&self.walked) && through_link())
    }
}

/// The base without links, for walking by path.
fn by_path(place: &LocalPath, rules: Rules) -> Result<PathBuf, LocalError> {
    let failed = |error| LocalError::io(&place.path, error);
    let real = place.path.canonicalize().map_err(failed)?;
    let kind = fs::metadata(&real).map_err(failed)?;
    if kind.is_dir() {
        // Fails early for a directory that cannot be listed, instead of returning an empty result.
        fs::read_dir(&real).map_err(failed)?;
    } else if !kind.is_file() {
        return Err(LocalError::NotRegular(place.path.clone()));
    }
    let blocking = real.ancestors().find_map(blocking_ignore_file);
    match blocking.filter(|_| !rules.no_ignore) {
        Some(file) => Err(LocalError::NotRegular(file)),
        None => Ok(real),
    }
}

/// An ignore file that is a fifo or a device: the walker would open it and block forever.
fn blocking_ignore_file(dir: &Path) -> Option<PathBuf> {
    IGNORE_FILES
        .into_iter()
        .map(|name| dir.join(name))
        .find(|file| fs::metadata(file).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()))
}

/// Entries that could not be read: the first few by path, whichever thread found them.
#[derive(Debug, Default)]
pub(super) struct Skips(Mutex<BTreeMap<PathBuf, String>>);

impl Skips {
    pub(super) fn add(&self, path: &Path, reason: impl ToString) {
        let mut skips = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        skips.insert(path.to_owned(), reason.to_string());
        // The map is sorted, so the first entries by path are kept, independent of thread timing.
        if skips.len() > MAX_SKIPPED {
            skips.pop_last();
        }
    }

    /// Records a walker error. Dangling or circular links, and entries that vanished meanwhile, are
    /// ignored.
    fn add_walk_error(&self, error: &ignore::Error) {
        let (Some(path), Some(cause)) = (path_of(error), error.io_error()) else {
            return;
        };
        let in_circles = cause.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if cause.kind() != io::ErrorKind::NotFound && !in_circles {
            self.add(path, reason(cause));
        }
    }
}

/// The system's error message, without its number.
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
