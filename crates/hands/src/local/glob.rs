//! Glob: files by name, newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use globset::{GlobBuilder, GlobSet};
use manyhands_guard::Kind;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::walk::{MAX_THREADS, Met, Rules, Skipped, Tree};
use super::{LocalError, LocalFiles};

/// The most matches one call gives.
pub const MAX_GLOB_MATCHES: usize = 10_000;

/// What to find.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GlobRequest {
    /// The pattern, from the base down. `*` and `?` stay within one name, `**` does not, and
    /// `{a,b}` is either. An absolute pattern brings its own base.
    pub pattern: String,
    /// The directory to look in; the workspace when absent.
    pub path: Option<String>,
    /// Whether files that ignore files name are found too.
    pub no_ignore: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobResult {
    /// The pattern as it was given.
    pub pattern: String,
    /// Where it was looked for.
    pub base_path: String,
    /// Absolute paths of files, newest first, those of one moment by path.
    pub matches: Vec<String>,
    /// How many these are.
    pub count: usize,
    /// Whether older ones were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How many there are, when some were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Directories that could not be looked into, the first ten.
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
        let pattern = Pattern::parse(&request.pattern)?;
        let base = pattern.base.as_deref().or(request.path.as_deref());
        let place = self.locate(base.unwrap_or(""))?;
        let rules = Rules {
            no_ignore: request.no_ignore,
            follow_links: false,
        };
        let tree = Arc::new(Tree::open(self, &place, rules)?);
        if tree.is_file() {
            return Err(LocalError::NotDirectory(place.path));
        }
        let sieve = Arc::new(Sieve {
            pattern,
            tree: tree.clone(),
            limit,
            cancel: cancel.clone(),
            shares: std::array::from_fn(|_| Mutex::default()),
        });
        let sieving = sieve.clone();
        let admits = Arc::new(move |met: Met<'_>| sieving.admits(met));
        tree.walk(admits, || Box::new(|_| !cancel.is_cancelled()));
        if cancel.is_cancelled() {
            return Err(LocalError::Cancelled);
        }
        let newest = sieve.newest();
        let total = newest.total;
        let matches: Vec<String> = newest
            .kept
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

/// A pattern, taken apart.
struct Pattern {
    /// The directory that an absolute pattern starts at.
    base: Option<String>,
    /// The names it begins with that stand for themselves; nothing beside them is walked.
    steps: Vec<String>,
    globs: GlobSet,
}

impl Pattern {
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

    /// Whether an entry is beyond the names the pattern begins with, or is one of them.
    fn leads_to(&self, met: Met<'_>) -> bool {
        let step = met.depth.checked_sub(1);
        let step = step.and_then(|at| self.steps.get(at));
        step.is_none_or(|step| met.name() == step.as_str())
    }
}

/// A file that matches; what comes first in a result is least.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    modified: Reverse<Moment>,
    path: PathBuf,
}

/// Seconds and nanoseconds since the Unix epoch.
type Moment = (i64, u64);

/// The newest that were found, and how many there were in all.
#[derive(Debug, Default)]
struct Newest {
    kept: BinaryHeap<Found>,
    total: u64,
}

impl Newest {
    fn add(&mut self, modified: Moment, path: &Path, limit: usize) {
        let modified = Reverse(modified);
        let found = || Found {
            modified,
            path: path.to_owned(),
        };
        if self.kept.len() < limit {
            self.kept.push(found());
        } else if let Some(mut oldest) = self.kept.peek_mut()
            && (modified, path) < (oldest.modified, &oldest.path)
        {
            *oldest = found();
        }
    }
}

/// What decides about each entry. A file is dealt with before the walker would queue it, which
/// costs more than the decision.
struct Sieve {
    pattern: Pattern,
    tree: Arc<Tree>,
    limit: usize,
    cancel: CancellationToken,
    /// A share for each thread, so that they do not wait for each other.
    shares: [Mutex<Newest>; SHARES],
}

/// As many as a walk has threads.
const SHARES: usize = MAX_THREADS;

impl Sieve {
    /// Notes a file that matches, and says whether to go on into a directory.
    fn admits(&self, met: Met<'_>) -> bool {
        if self.cancel.is_cancelled() || !self.pattern.leads_to(met) {
            return false;
        }
        if met.kind == Kind::File && self.pattern.globs.is_match(self.tree.below(met.path)) {
            self.note(met.path);
        }
        met.kind == Kind::Dir
    }

    fn note(&self, path: &Path) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static SHARE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARES);
        // Without a date it is gone, or beyond the jail.
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
            for found in newest.kept {
                all.add(found.modified.0, &found.path, self.limit);
            }
        }
        all
    }
}

fn lock(share: &Mutex<Newest>) -> MutexGuard<'_, Newest> {
    share.lock().unwrap_or_else(PoisonError::into_inner)
}
