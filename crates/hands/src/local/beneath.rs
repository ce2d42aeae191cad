//! Walking a jail through its handle.
//!
//! Every directory is opened beneath the handle and listed through what was opened, every file likewise. A
//! name is reported only if it was listed that way: a folder swapped for a link to somewhere else, at
//! whatever moment, is not opened, and nothing behind it is seen.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use manyhands_guard::{EntryKind, Jail, JailError, ListedEntry, RelPath};
use rustix::fs::fstat;

use super::ignored::{Ignored, Unusable};
use super::walk::{IGNORE_FILES, Rules, Tree, Visitor, WalkEntry, reason};

/// Files per task: enough that threads seldom wait for each other, few enough that a directory of many
/// files is shared.
const FILES_AT_ONCE: usize = 16;

/// A tree inside a jail.
#[derive(Debug)]
pub(super) struct Beneath {
    /// What the walk cannot leave: the base, or the whole jail if links out of the base are followed.
    fence: Jail,
    /// The path from the fence to the base.
    base: RelPath,
    /// The base itself, unless it is a file.
    folder: Option<Jail>,
    rules: Rules,
}

impl Beneath {
    pub(super) fn open(jail: &Jail, base: &RelPath, rules: Rules) -> Result<Self, JailError> {
        let found = jail.metadata(base)?.ok_or(JailError::NotFound)?;
        let folder = match found.kind {
            EntryKind::Dir => Some(jail.sub(base)?),
            EntryKind::File => None,
            EntryKind::Other => return Err(JailError::NotRegular),
        };
        // Unless links out of the base are followed, the base itself is the tightest possible fence.
        let (fence, base) = match &folder {
            Some(folder) if !rules.follow_links => (folder.clone(), RelPath::root()),
            _ => (jail.clone(), base.clone()),
        };
        // An ignore file that is a fifo or device is refused up front: reading it could block.
        if folder.is_some() && !rules.no_ignore {
            for name in IGNORE_FILES {
                let file = RelPath::parse(name).and_then(|name| base.join(&name));
                let found = file.map(|file| fence.metadata(&file));
                if matches!(found, Ok(Ok(Some(found))) if found.kind == EntryKind::Other) {
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
        admits: &(dyn Fn(WalkEntry<'_>) -> bool + Sync),
        visitor: &(dyn Fn() -> Visitor<'s> + Sync),
    ) {
        let walk = JailWalk {
            beneath: self,
            tree,
            admits,
        };
        if self.is_file() {
            let path = tree.walked("");
            visitor()(WalkEntry {
                path: &path,
                depth: 0,
                kind: EntryKind::File,
            });
            return;
        }
        let queue = Queue::default();
        queue.push([WalkTask::Folder(Folder::default())]);
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

    /// Whether what `path` leads to lies inside the base, by handle.
    fn is_inside_base(&self, path: &RelPath, kind: EntryKind) -> bool {
        let Some(base) = self.folder.as_ref().filter(|_| self.rules.follow_links) else {
            return true;
        };
        let target = match kind {
            EntryKind::Dir => self.fence.sub(path).ok().and_then(real_path),
            EntryKind::File => self
                .fence
                .open_file(path)
                .ok()
                .and_then(|(file, _)| real_path(file)),
            EntryKind::Other => None,
        };
        match (real_path(base), target) {
            (Some(base), Some(target)) => target.starts_with(base),
            // Unknown without /proc; not following is what prevents loops.
            _ => true,
        }
    }
}

fn real_path(handle: impl AsFd) -> Option<PathBuf> {
    let number = handle.as_fd().as_raw_fd();
    std::fs::read_link(format!("/proc/self/fd/{number}")).ok()
}

/// A directory to visit.
#[derive(Debug, Default)]
struct Folder {
    /// Its path from the base.
    below: RelPath,
    depth: usize,
    /// Whether its own name is a link.
    link: bool,
    above: Option<Arc<Above>>,
}

/// A visited directory, for those below it.
#[derive(Debug)]
struct Above {
    device: u64,
    inode: u64,
    /// Whether a link was followed to get here.
    through_link: bool,
    ignored: Option<Arc<Ignored>>,
    above: Option<Arc<Self>>,
}

#[derive(Debug)]
enum WalkTask {
    Folder(Folder),
    Files { depth: usize, paths: Vec<PathBuf> },
}

struct JailWalk<'w> {
    beneath: &'w Beneath,
    tree: &'w Tree,
    admits: &'w (dyn Fn(WalkEntry<'_>) -> bool + Sync),
}

impl JailWalk<'_> {
    /// Performs a task and returns follow-up tasks; `None` ends the walk.
    fn work(&self, work: &WalkTask, visit: &mut Visitor<'_>) -> Option<Vec<WalkTask>> {
        match work {
            WalkTask::Folder(folder) => {
                let path = self.tree.walked(folder.below.as_str());
                let met = WalkEntry {
                    path: &path,
                    depth: folder.depth,
                    kind: EntryKind::Dir,
                };
                visit(met).then(|| self.list_folder(folder).unwrap_or_default())
            }
            WalkTask::Files { depth, paths } => {
                let continue_walk = paths.iter().all(|path| {
                    visit(WalkEntry {
                        path,
                        depth: *depth,
                        kind: EntryKind::File,
                    })
                });
                continue_walk.then(Vec::new)
            }
        }
    }

    /// The entries of a directory as tasks; `None` if it is skipped.
    fn list_folder(&self, folder: &Folder) -> Option<Vec<WalkTask>> {
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

    fn ignored(&self, folder: &Folder, path: &RelPath, entries: &[ListedEntry]) -> Option<Ignored> {
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

    /// Directories and files to visit, first ones on top of the stack.
    fn sort_out(
        &self,
        folder: &Folder,
        here: &Arc<Above>,
        entries: Vec<ListedEntry>,
    ) -> Vec<WalkTask> {
        let depth = folder.depth + 1;
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for entry in entries {
            let Some((below, kind)) = self.admitted(folder, here, &entry) else {
                continue;
            };
            match kind {
                EntryKind::Dir => folders.push(WalkTask::Folder(Folder {
                    below,
                    depth,
                    link: entry.link,
                    above: Some(here.clone()),
                })),
                _ => files.push(self.tree.walked(below.as_str())),
            }
        }
        folders.reverse();
        let files = files
            .chunks(FILES_AT_ONCE)
            .rev()
            .map(|paths| WalkTask::Files {
                depth,
                paths: paths.to_vec(),
            });
        folders.extend(files);
        folders
    }

    fn admitted(
        &self,
        folder: &Folder,
        here: &Above,
        entry: &ListedEntry,
    ) -> Option<(RelPath, EntryKind)> {
        let rules = self.beneath.rules;
        if rules.passes_over(OsStr::new(&entry.name)) {
            return None;
        }
        let below = RelPath::parse(&entry.name).and_then(|name| folder.below.join(&name));
        // A name that is not UTF-8 is listed with replacement characters.
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
        if kind == EntryKind::Other {
            return None;
        }
        let is_dir = kind == EntryKind::Dir;
        let ignored = here.ignored.as_deref();
        if ignored.is_some_and(|ignored| ignored.ignores(&below, is_dir)) {
            return None;
        }
        let met = WalkEntry {
            path: &self.tree.walked(below.as_str()),
            depth: folder.depth + 1,
            kind,
        };
        (self.admits)(met).then_some((below, kind))
    }

    /// What a link leads to; `None` if it is not followed.
    fn behind_link(&self, here: &Above, below: &RelPath) -> Option<EntryKind> {
        let path = self.beneath.base.join(below).ok()?;
        let kind = self.beneath.fence.metadata(&path).ok()??.kind;
        let back = here.through_link && self.beneath.is_inside_base(&path, kind);
        (!back).then_some(kind)
    }

    /// Records a directory that could not be listed. One that vanished or became a link to the outside
    /// meanwhile is ignored.
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

/// Tasks shared by the threads of a walk.
#[derive(Debug, Default)]
struct Queue {
    pile: Mutex<Pile>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pile {
    waiting: Vec<WalkTask>,
    /// Tasks in progress, which may add more.
    busy: usize,
    ended: bool,
}

/// A claimed task; marks itself as done on drop, even after a panic.
struct ClaimedTask<'q> {
    work: WalkTask,
    queue: &'q Queue,
}

impl Drop for ClaimedTask<'_> {
    fn drop(&mut self) {
        self.queue.lock().busy -= 1;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, work: impl IntoIterator<Item = WalkTask>) {
        self.lock().waiting.extend(work);
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// The next task; `None` once all are done.
    fn take(&self) -> Option<ClaimedTask<'_>> {
        let mut pile = self.lock();
        loop {
            if pile.ended {
                return None;
            }
            if let Some(work) = pile.waiting.pop() {
                pile.busy += 1;
                return Some(ClaimedTask { work, queue: self });
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
