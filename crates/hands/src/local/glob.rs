//! Glob: files by name, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use globset::{GlobBuilder, GlobSet};
use manyhands_guard::EntryKind;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::walk::{MAX_THREADS, Rules, Skipped, Tree, WalkEntry};
use super::{LocalError, LocalFiles};

/// Maximum matches per call.
pub const MAX_GLOB_MATCHES: usize = 10_000;

/// A search by file name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GlobRequest {
    /// The pattern, relative to the base. `*` and `?` match within one name, `**` across directories, and
    /// `{a,b}` either. An absolute pattern has its own base.
    pub pattern: String,
    /// The directory to search; the workspace if absent.
    pub path: Option<String>,
    /// Whether ignored files are found too.
    pub no_ignore: bool,
}

/// The files found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobResult {
    /// The pattern as it was given.
    pub pattern: String,
    /// The searched directory.
    pub base_path: String,
    /// Absolute paths, newest first, equal times by path.
    pub matches: Vec<String>,
    /// Number of matches.
    pub count: usize,
    /// Whether older ones were omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Total number, if some were omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Directories that could not be searched, the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

impl LocalFiles {
    /// Finds files by pattern, at most [`MAX_GLOB_MATCHES`], keeping the newest. See
    /// [`walk`](super::walk) for ignore files and links.
    pub fn glob(
        &self,
        request: &GlobRequest,
        cancel: &CancellationToken,
    ) -> Result<GlobResult, LocalError> {
        self.glob_at_most(request, MAX_GLOB_MATCHES, cancel)
    }

    pub(super) fn glob_at_most(
        &self,
        request: &GlobRequest,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<GlobResult, LocalError> {
        let pattern = GlobPattern::parse(&request.pattern)?;
        let base = pattern.base.as_deref().or(request.path.as_deref());
        let location = self.locate(base.unwrap_or(""))?;
        let rules = Rules {
            no_ignore: request.no_ignore,
            follow_links: false,
        };
        let tree = Arc::new(Tree::open(self, &location, rules)?);
        if tree.is_file() {
            return Err(LocalError::NotDirectory(location.path));
        }
        let sieve = Arc::new(Sieve {
            pattern,
            tree: tree.clone(),
            limit,
            cancel: cancel.clone(),
            shares: std::array::from_fn(|_| Mutex::default()),
        });
        let sieving = sieve.clone();
        let admits = Arc::new(move |met: WalkEntry<'_>| sieving.admits(met));
        tree.walk(admits, || Box::new(|_| !cancel.is_cancelled()));
        if cancel.is_cancelled() {
            return Err(LocalError::Cancelled);
        }
        let newest = sieve.newest();
        let total = newest.total;
        let matches: Vec<String> = newest
            .relative
            .into_sorted_vec()
            .into_iter()
            .map(|found| tree.show(&found.path))
            .collect();
        let truncated = total > matches.len() as u64;
        Ok(GlobResult {
            pattern: request.pattern.clone(),
            base_path: tree.shown.display().to_string(),
            count: matches.len(),
            matches,
            truncated,
            total: truncated.then_some(total),
            skipped: tree.skipped(None),
        })
    }
}

/// A parsed pattern.
struct GlobPattern {
    /// The directory of an absolute pattern.
    base: Option<String>,
    /// Literal leading components; nothing beside them is walked.
    steps: Vec<String>,
    globs: GlobSet,
}

impl GlobPattern {
    fn parse(text: &str) -> Result<Self, LocalError> {
        let wrong = |message: String| LocalError::parameter("pattern", message);
        let names: Vec<&str> = text
            .split('/')
            .filter(|name| !matches!(*name, "" | "."))
            .collect();
        let Some((_, above)) = names.split_last() else {
            return Err(wrong("names no file; try **/* for all of them".to_owned()));
        };
        if names.contains(&"..") {
            return Err(wrong(
                "contains '..'; set path to search elsewhere".to_owned(),
            ));
        }
        let special = |name: &&str| name.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let plain = above.iter().position(special);
        let plain = plain.unwrap_or(above.len());
        let (base, names) = match text.starts_with('/') {
            true => (
                Some(format!("/{}", names[..plain].join("/"))),
                &names[plain..],
            ),
            false => (None, &names[..]),
        };
        let steps = match base {
            Some(_) => Vec::new(),
            None => names[..plain].iter().map(|s| (*s).to_owned()).collect(),
        };
        let glob = GlobBuilder::new(&names.join("/"))
            .literal_separator(true)
            .build()
            .map_err(|error| wrong(error.kind().to_string()))?;
        let globs = GlobSet::builder().add(glob).build();
        Ok(Self {
            base,
            steps,
            globs: globs.map_err(|error| wrong(error.kind().to_string()))?,
        })
    }

    /// Whether an entry is on or below the pattern's literal path.
    fn leads_to(&self, met: WalkEntry<'_>) -> bool {
        let step = met.depth.checked_sub(1);
        let step = step.and_then(|at| self.steps.get(at));
        step.is_none_or(|step| met.name() == step.as_str())
    }
}

/// A matching file; ordered as in the result.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GlobMatch {
    modified: Reverse<Moment>,
    path: PathBuf,
}

/// Seconds and nanoseconds since the Unix epoch.
type Moment = (i64, u64);

/// The newest matches, and their total number.
#[derive(Debug, Default)]
struct Newest {
    relative: BinaryHeap<GlobMatch>,
    total: u64,
}

impl Newest {
    fn add(&mut self, modified: Moment, path: &Path, limit: usize) {
        let modified = Reverse(modified);
        let found = || GlobMatch {
            modified,
            path: path.to_owned(),
        };
        if self.relative.len() < limit {
            self.relative.push(found());
        } else if let Some(mut oldest) = self.relative.peek_mut()
            && (modified, path) < (oldest.modified, &oldest.path)
        {
            *oldest = found();
        }
    }
}

/// Filters entries. Files are handled before the walker queues them, which costs more than the
/// decision.
struct Sieve {
    pattern: GlobPattern,
    tree: Arc<Tree>,
    limit: usize,
    cancel: CancellationToken,
    /// One part per thread, so that they do not contend.
    shares: [Mutex<Newest>; SHARES],
}

/// The maximum number of threads.
const SHARES: usize = MAX_THREADS;

impl Sieve {
    /// Records a matching file, and returns whether to descend into a directory.
    fn admits(&self, met: WalkEntry<'_>) -> bool {
        if self.cancel.is_cancelled() || !self.pattern.leads_to(met) {
            return false;
        }
        if met.kind == EntryKind::File && self.pattern.globs.is_match(self.tree.below(met.path)) {
            self.note(met.path);
        }
        met.kind == EntryKind::Dir
    }

    fn note(&self, path: &Path) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static SHARE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARES);
        // Without a date, it is gone or outside the jail.
        if let Some(modified) = self.tree.modified(path) {
            let mut share = lock(&self.shares[SHARE.with(|at| *at)]);
            share.total += 1;
            share.add(modified, path, self.limit);
        }
    }

    fn newest(&self) -> Newest {
        let mut all = Newest::default();
        for share in &self.shares {
            let newest = std::mem::take(&mut *lock(share));
            all.total += newest.total;
            for found in newest.relative {
                all.add(found.modified.0, &found.path, self.limit);
            }
        }
        all
    }
}

fn lock(share: &Mutex<Newest>) -> MutexGuard<'_, Newest> {
    share.lock().unwrap_or_else(PoisonError::into_inner)
}
