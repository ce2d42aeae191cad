//! Walking a jail by its handle.
//!
//! Every directory is opened beneath the handle and listed through what was opened, every file
//! likewise. A name is reported only if it was listed that way: a folder that is swapped for a
//! link to somewhere else, at whatever moment, is not opened, and nothing behind it is seen.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use manyhands_guard::{Entry, Jail, JailError, Kind, RelPath};
use rustix::fs::fstat;

use super::ignored::{Ignored, Unusable};
use super::walk::{IGNORE_FILES, Met, Rules, Tree, Visitor, reason};

/// How many files a thread takes at a time: enough that threads seldom wait for each other, few
/// enough that a directory of many files is shared.
const FILES_AT_ONCE: usize = 16;

/// A tree inside a jail.
#[derive(Debug)]
pub(super) struct Beneath {
    /// What nothing leaves: the base, or the whole jail where links out of the base are followed.
    fence: Jail,
    /// The way from the fence to the base.
    base: RelPath,
    /// The base itself, unless it is a file.
    folder: Option<Jail>,
    rules: Rules,
}

impl Beneath {
    pub(super) fn open(jail: &Jail, base: &RelPath, rules: Rules) -> Result<Self, JailError> {
        let found = jail.metadata(base)?.ok_or(JailError::NotFound)?;
        let folder = match found.kind {
            Kind::Dir => Some(jail.sub(base)?),
            Kind::File => None,
            Kind::Other => return Err(JailError::NotRegular),
        };
        let (fence, base) = match &folder {
            Some(folder) if !rules.follow_links => (folder.clone(), RelPath::root()),
            _ => (jail.clone(), base.clone()),
        };
        if folder.is_some() && !rules.no_ignore {
            for name in IGNORE_FILES {
                let file = RelPath::parse(name).and_then(|name| base.join(&name));
                let found = file.map(|file| fence.metadata(&file));
                if matches!(found, Ok(Ok(Some(found))) if found.kind == Kind::Other) {
                    return Err(JailError::NotRegular);
                }
            }
        }
        Ok(Self {
            fence,
            base,
            folder,
            rules,
        })
    }

    pub(super) fn is_file(&self) -> bool {
        self.folder.is_none()
    }

    pub(super) fn open_file(&self, below: &Path) -> Result<(File, u64), JailError> {
        let path = self.named(below).ok_or(JailError::NotFound)?;
        let (file, meta) = self.fence.open_file(&path)?;
        Ok((file, meta.size))
    }

    pub(super) fn modified(&self, below: &Path) -> Option<(i64, u64)> {
        let found = self.fence.metadata(&self.named(below)?).ok()??;
        let (seconds, rest) = (
            found.modified_ms.div_euclid(1000),
            found.modified_ms.rem_euclid(1000),
        );
        Some((seconds, rest.unsigned_abs() * 1_000_000))
    }

    fn named(&self, below: &Path) -> Option<RelPath> {
        let below = RelPath::parse(below.to_str()?).ok()?;
        self.base.join(&below).ok()
    }

    /// Walks with `threads` threads. See [`Tree::walk`].
    pub(super) fn walk<'s>(
        &self,
        tree: &Tree,
        threads: usize,
        admits: &(dyn Fn(Met<'_>) -> bool + Sync),
        visitor: &(dyn Fn() -> Visitor<'s> + Sync),
    ) {
        let walk = Walk {
            beneath: self,
            tree,
            admits,
        };
        if self.is_file() {
            let path = tree.walked("");
            visitor()(Met {
                path: &path,
                depth: 0,
                kind: Kind::File,
            });
            return;
        }
        let queue = Queue::default();
        queue.push([Work::Folder(Folder::default())]);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut visit = visitor();
                    while let Some(taken) = queue.take() {
                        match walk.work(&taken.work, &mut visit) {
                            Some(more) => queue.push(more),
                            None => queue.end(),
                        }
                    }
                });
            }
        });
    }

    /// Whether what `path` leads to lies inside the base, by the handles themselves.
    fn is_inside_base(&self, path: &RelPath, kind: Kind) -> bool {
        let Some(base) = self.folder.as_ref().filter(|_| self.rules.follow_links) else {
            return true;
        };
        let target = match kind {
            Kind::Dir => self.fence.sub(path).ok().and_then(real_path),
            Kind::File => self
                .fence
                .open_file(path)
                .ok()
                .and_then(|(file, _)| real_path(file)),
            Kind::Other => None,
        };
        match (real_path(base), target) {
            (Some(base), Some(target)) => target.starts_with(base),
            // Without /proc it cannot be known, and not following is what ends loops.
            _ => true,
        }
    }
}

fn real_path(handle: impl AsFd) -> Option<PathBuf> {
    let number = handle.as_fd().as_raw_fd();
    std::fs::read_link(format!("/proc/self/fd/{number}")).ok()
}

/// A directory to be looked into.
#[derive(Debug, Default)]
struct Folder {
    /// The way from the base.
    below: RelPath,
    depth: usize,
    /// Whether its own name is a link.
    link: bool,
    above: Option<Arc<Above>>,
}

/// A directory that was looked into, for those below it.
#[derive(Debug)]
struct Above {
    device: u64,
    inode: u64,
    /// Whether a link was followed on the way here.
    through_link: bool,
    ignored: Option<Arc<Ignored>>,
    above: Option<Arc<Self>>,
}

#[derive(Debug)]
enum Work {
    Folder(Folder),
    Files { depth: usize, paths: Vec<PathBuf> },
}

struct Walk<'w> {
    beneath: &'w Beneath,
    tree: &'w Tree,
    admits: &'w (dyn Fn(Met<'_>) -> bool + Sync),
}

impl Walk<'_> {
    /// Does a piece of work, and says what follows from it; `None` ends the walk.
    fn work(&self, work: &Work, visit: &mut Visitor<'_>) -> Option<Vec<Work>> {
        match work {
            Work::Folder(folder) => {
                let path = self.tree.walked(folder.below.as_str());
                let met = Met {
                    path: &path,
                    depth: folder.depth,
                    kind: Kind::Dir,
                };
                visit(met).then(|| self.look_into(folder).unwrap_or_default())
            }
            Work::Files { depth, paths } => {
                let goes_on = paths.iter().all(|path| {
                    visit(Met {
                        path,
                        depth: *depth,
                        kind: Kind::File,
                    })
                });
                goes_on.then(Vec::new)
            }
        }
    }

    /// What is in a directory; `None` when it is passed over.
    fn look_into(&self, folder: &Folder) -> Option<Vec<Work>> {
        let fence = &self.beneath.fence;
        let path = self.beneath.base.join(&folder.below).ok()?;
        let listed = fence.sub(&path).and_then(|dir| {
            let stat = fstat(&dir)?;
            Ok((stat, dir.list(&RelPath::root())?.unwrap_or_default()))
        });
        let (stat, entries) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                self.skip_folder(&folder.below, error);
                return None;
            }
        };
        if folder.link && is_loop(folder.above.as_deref(), (stat.st_dev, stat.st_ino)) {
            return None;
        }
        let above = folder.above.as_deref();
        let ignored = match self.beneath.rules.no_ignore {
            true => None,
            false => Some(Arc::new(self.ignored(folder, &path, &entries)?)),
        };
        let here = Arc::new(Above {
            device: stat.st_dev,
            inode: stat.st_ino,
            through_link: folder.link || above.is_some_and(|above| above.through_link),
            ignored,
            above: folder.above.clone(),
        });
        Some(self.sort_out(folder, &here, entries))
    }

    fn ignored(&self, folder: &Folder, path: &RelPath, entries: &[Entry]) -> Option<Ignored> {
        let holds = |name: &str| {
            let at = entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
            at.is_ok()
        };
        let above = folder.above.as_deref();
        let above = above.and_then(|above| above.ignored.clone());
        match Ignored::read(&self.beneath.fence, path, &folder.below, holds, above) {
            Ok(ignored) => Some(ignored),
            Err(Unusable { name, why }) => {
                let file = self.tree.walked(folder.below.as_str()).join(name);
                match why {
                    JailError::NotRegular => self.tree.skips.add(&file, "is not a regular file"),
                    JailError::Io(error) => self.tree.skips.add(&file, reason(&error)),
                    other => self.tree.skips.add(&file, other),
                }
                None
            }
        }
    }

    /// Directories to look into and files to visit, those that come first on top of the pile.
    fn sort_out(&self, folder: &Folder, here: &Arc<Above>, entries: Vec<Entry>) -> Vec<Work> {
        let depth = folder.depth + 1;
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for entry in entries {
            let Some((below, kind)) = self.admitted(folder, here, &entry) else {
                continue;
            };
            match kind {
                Kind::Dir => folders.push(Work::Folder(Folder {
                    below,
                    depth,
                    link: entry.link,
                    above: Some(here.clone()),
                })),
                _ => files.push(self.tree.walked(below.as_str())),
            }
        }
        folders.reverse();
        let files = files.chunks(FILES_AT_ONCE).rev().map(|paths| Work::Files {
            depth,
            paths: paths.to_vec(),
        });
        folders.extend(files);
        folders
    }

    fn admitted(&self, folder: &Folder, here: &Above, entry: &Entry) -> Option<(RelPath, Kind)> {
        let rules = self.beneath.rules;
        if rules.passes_over(OsStr::new(&entry.name)) {
            return None;
        }
        let below = RelPath::parse(&entry.name).and_then(|name| folder.below.join(&name));
        // A name that is no UTF-8 is listed with replacement characters.
        let (Ok(below), false) = (below, entry.name.contains('\u{fffd}')) else {
            let path = self.tree.walked(folder.below.as_str()).join(&entry.name);
            self.tree
                .skips
                .add(&path, "its name cannot be opened in the jail");
            return None;
        };
        let kind = match entry.link {
            true => self.behind_link(here, &below)?,
            false => entry.kind,
        };
        if kind == Kind::Other {
            return None;
        }
        let is_dir = kind == Kind::Dir;
        let ignored = here.ignored.as_deref();
        if ignored.is_some_and(|ignored| ignored.ignores(&below, is_dir)) {
            return None;
        }
        let met = Met {
            path: &self.tree.walked(below.as_str()),
            depth: folder.depth + 1,
            kind,
        };
        (self.admits)(met).then_some((below, kind))
    }

    /// What a link leads to; `None` for one that is not followed.
    fn behind_link(&self, here: &Above, below: &RelPath) -> Option<Kind> {
        let path = self.beneath.base.join(below).ok()?;
        let kind = self.beneath.fence.metadata(&path).ok()??.kind;
        let back = here.through_link && self.beneath.is_inside_base(&path, kind);
        (!back).then_some(kind)
    }

    /// Notes a directory that could not be looked into. What went while we looked, or became a
    /// link that leads out, is no news.
    fn skip_folder(&self, below: &RelPath, error: JailError) {
        let path = self.tree.walked(below.as_str());
        match error {
            JailError::NotFound
            | JailError::NotDirectory
            | JailError::NotRegular
            | JailError::Escapes => {}
            JailError::Io(error) => self.tree.skips.add(&path, reason(&error)),
            other => self.tree.skips.add(&path, other),
        }
    }
}

fn is_loop(mut above: Option<&Above>, id: (u64, u64)) -> bool {
    while let Some(here) = above {
        if (here.device, here.inode) == id {
            return true;
        }
        above = here.above.as_deref();
    }
    false
}

/// What is to be done, shared by the threads of one walk.
#[derive(Debug, Default)]
struct Queue {
    pile: Mutex<Pile>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pile {
    waiting: Vec<Work>,
    /// Pieces that are being worked on, from which more may follow.
    busy: usize,
    ended: bool,
}

/// A piece of work; the queue knows when it is done, also when it panicked.
struct Taken<'q> {
    work: Work,
    queue: &'q Queue,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.lock().busy -= 1;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, work: impl IntoIterator<Item = Work>) {
        self.lock().waiting.extend(work);
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// The next piece; `None` once all is done.
    fn take(&self) -> Option<Taken<'_>> {
        let mut pile = self.lock();
        loop {
            if pile.ended {
                return None;
            }
            if let Some(work) = pile.waiting.pop() {
                pile.busy += 1;
                return Some(Taken { work, queue: self });
            }
            if pile.busy == 0 {
                return None;
            }
            pile = self
                .changed
                .wait(pile)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
