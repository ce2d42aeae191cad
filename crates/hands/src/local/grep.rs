//! Grep: lines by regular expression.
//!
//! Files are searched in parallel in no particular order, yet the same tree always gives the same result:
//! the first matches by path, then line. Threads offer their matches to one list that keeps only the
//! first `limit + 1`. Matches after its last entry are only counted, and not even searched for once
//! there are [`MAX_COUNTED`].

use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use globset::{Glob, GlobMatcher};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use manyhands_guard::EntryKind;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::text_only::TextOnly;
use super::walk::{Rules, Skipped, Tree, Visitor, WalkEntry, reason};
use super::{LocalError, LocalFiles};

/// Default maximum matches.
pub const DEFAULT_GREP_LIMIT: usize = 100;

/// The most matches one call gives.
pub const MAX_GREP_LIMIT: usize = 1000;

/// Maximum context lines.
pub const MAX_GREP_CONTEXT: usize = 20;

/// How far matches are counted if not all are returned.
const MAX_COUNTED: u64 = 10_000;

/// Maximum characters shown of a line.
const MAX_CONTENT: usize = 200;

/// Maximum line length searched, which bounds a thread's memory.
const MAX_LINE: usize = 16 << 20;

/// How far a file is checked for binary content after its last match.
const MAX_EXAMINED: u64 = 16 << 20;

/// Maximum size of a compiled pattern.
const MAX_REGEX: usize = 10 << 20;

/// A search by content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepRequest {
    /// A regular expression in the syntax of the `regex` crate, matched line by line.
    pub pattern: String,
    /// The directory or file to search; the workspace if absent.
    pub path: Option<String>,
    /// A glob for file names; a file that `path` itself names need not match.
    pub include: Option<String>,
    /// Maximum matches; [`DEFAULT_GREP_LIMIT`] if absent.
    pub limit: Option<usize>,
    /// Context lines before and after each match.
    pub context: usize,
    /// Whether ignored files are searched too.
    pub no_ignore: bool,
    /// Whether links out of the directory are followed.
    pub follow_links: bool,
}

/// The matches found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrepResult {
    /// The pattern as it was given.
    pub pattern: String,
    /// The searched directory or file.
    pub base_path: String,
    /// Matching lines by path, then line.
    pub matches: Vec<GrepMatch>,
    /// Number of matches; absent if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// Whether there are more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Total number of matches, if not all are returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than `total`: counting stops at 10,000.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub total_is_minimum: bool,
    /// What could not be searched, up to the last match returned; the first ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepMatch {
    /// The absolute path of the file.
    pub path: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The line without its end, at most 200 characters.
    pub content: String,
    /// The lines before it, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The lines after it, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl LocalFiles {
    /// Searches files line by line. Files that are not UTF-8 text are skipped; in a file with more matches
    /// than are counted, the 16 MiB after the last match decide.
    /// See [`walk`](super::walk) for ignore files and links.
    pub fn grep(
        &self,
        request: &GrepRequest,
        cancel: &CancellationToken,
    ) -> Result<GrepResult, LocalError> {
        let limit = checked(
            "limit",
            request.limit.unwrap_or(DEFAULT_GREP_LIMIT),
            1,
            MAX_GREP_LIMIT,
        )?;
        let context = checked("context", request.context, 0, MAX_GREP_CONTEXT)?;
        let matcher = matcher(&request.pattern)?;
        let include = request.include.as_deref().map(name_filter).transpose()?;
        let location = self.locate(request.path.as_deref().unwrap_or(""))?;
        let rules = Rules {
            no_ignore: request.no_ignore,
            follow_links: request.follow_links,
        };
        // One more than the limit, to know whether there are more.
        let tree = Arc::new(Tree::open(self, &location, rules)?);
        let first = Arc::new(First::new(limit + 1));
        let search = Search {
            tree: &tree,
            matcher,
            limit,
            context,
            cancel,
            first: &first,
        };
        let still_wanted = first.clone();
        let admits = Arc::new(move |met: WalkEntry<'_>| {
            let included = |include: &GlobMatcher| include.is_match(met.name());
            (met.kind == EntryKind::Dir || include.as_ref().is_none_or(included))
                && still_wanted.wants(met.path)
        });
        tree.walk(admits, || search.visitor());
        if cancel.is_cancelled() {
            return Err(LocalError::Cancelled);
        }
        let mut hits = std::mem::take(&mut *first.hits()).into_sorted_vec();
        let truncated = hits.len() > limit;
        hits.truncate(limit);
        let counted = first.counted.load(Ordering::Relaxed);
        // Beyond the last match shown, not every file was searched, so its skips are incomplete.
        let last = hits.last().filter(|_| truncated);
        let skipped = tree.skipped(last.map(|hit| hit.path.as_path()));
        Ok(GrepResult {
            pattern: request.pattern.clone(),
            base_path: tree.shown.display().to_string(),
            count: (!truncated).then_some(hits.len()),
            truncated,
            total: truncated.then_some(counted.min(MAX_COUNTED)),
            total_is_minimum: truncated && counted > MAX_COUNTED,
            matches: hits.into_iter().map(|hit| hit.shown(&tree)).collect(),
            skipped,
        })
    }
}

fn checked(
    name: &'static str,
    value: usize,
    least: usize,
    most: usize,
) -> Result<usize, LocalError> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let message = format!("is {value}; give a number from {least} to {most}");
    Err(LocalError::parameter(name, message))
}

// Both limits: a small pattern can compile to gigabytes.
fn matcher(pattern: &str) -> Result<RegexMatcher, LocalError> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        // So that `$` matches before a carriage return as well.
        .crlf(true)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_REGEX)
        .build(pattern)
        .map_err(|error| LocalError::parameter("pattern", error.to_string()))
}

fn name_filter(include: &str) -> Result<GlobMatcher, LocalError> {
    let wrong = |message: &str| LocalError::parameter("include", message);
    if include.is_empty() {
        return Err(wrong("must not be empty; leave it out to search all files"));
    }
    if include.contains('/') {
        return Err(wrong(
            "is matched against file names only; set path to search one directory",
        ));
    }
    match Glob::new(include) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(wrong(&error.kind().to_string())),
    }
}

/// A match before formatting; ordered by path, then line.
#[derive(Debug)]
struct Hit {
    path: Arc<PathBuf>,
    line: u64,
    content: String,
    before: Vec<String>,
    after: Vec<String>,
}

impl Hit {
    fn key(&self) -> (&Path, u64) {
        (&self.path, self.line)
    }

    fn shown(self, tree: &Tree) -> GrepMatch {
        GrepMatch {
            path: tree.show(&self.path),
            line: self.line,
            content: self.content,
            before: self.before,
            after: self.after,
        }
    }
}

impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Hit {}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The first matches so far, at most `most`.
#[derive(Debug)]
struct First {
    most: usize,
    full: AtomicBool,
    hits: Mutex<BinaryHeap<Hit>>,
    counted: AtomicU64,
}

impl First {
    fn new(most: usize) -> Self {
        Self {
            most,
            full: AtomicBool::new(false),
            hits: Mutex::default(),
            counted: AtomicU64::new(0),
        }
    }

    fn hits(&self) -> MutexGuard<'_, BinaryHeap<Hit>> {
        self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a match in this file, or below this directory, could still count. Everything below a
    /// directory sorts after the files that sort before it.
    fn wants(&self, path: &Path) -> bool {
        // Relaxed: a stale value only searches a file more than necessary.
        let full = self.full.load(Ordering::Relaxed);
        if !full || self.counted.load(Ordering::Relaxed) <= MAX_COUNTED {
            return true;
        }
        self.hits()
            .peek()
            .is_none_or(|last| path <= last.path.as_path())
    }

    /// Adds a file's matches, ordered by line, and their total number.
    fn offer(&self, new: Vec<Hit>, counted: u64) {
        self.counted.fetch_add(counted, Ordering::Relaxed);
        let mut hits = self.hits();
        for hit in new {
            // The heap keeps the first matches by path, whichever thread finds them.
            if hits.len() < self.most {
                hits.push(hit);
                continue;
            }
            match hits.peek_mut() {
                Some(mut last) if hit < *last => *last = hit,
                // Matches come in order, so the first that does not fit ends the file.
                _ => break,
            }
        }
        self.full.store(hits.len() >= self.most, Ordering::Relaxed);
    }
}

struct Search<'a> {
    tree: &'a Tree,
    matcher: RegexMatcher,
    limit: usize,
    context: usize,
    cancel: &'a CancellationToken,
    first: &'a First,
}

impl Search<'_> {
    fn visitor(&self) -> Visitor<'_> {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .before_context(self.context)
            .after_context(self.context)
            // A file without line breaks would otherwise be read into memory as one line.
            .heap_limit(Some(MAX_LINE))
            .build();
        // One per thread: a searcher has buffers that cannot be shared.
        let mut worker = Worker {
            search: self,
            matcher: self.matcher.clone(),
            searcher,
        };
        Box::new(move |met| {
            if self.cancel.is_cancelled() {
                return false;
            }
            if met.kind == EntryKind::File && self.first.wants(met.path) {
                worker.search_file(met.path);
            }
            true
        })
    }
}

struct Worker<'s> {
    search: &'s Search<'s>,
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl Worker<'_> {
    fn search_file(&mut self, path: &Path) {
        let search = self.search;
        let opened = search.tree.open_file(path);
        let (file, size) = match opened {
            Ok(opened) => opened,
            // Gone, or swapped for a link to the outside, which is never followed.
            Err(
                LocalError::NotFound(_) | LocalError::NotRegular(_) | LocalError::Outside { .. },
            ) => return,
            Err(LocalError::Denied(_)) => return search.tree.skips.add(path, "permission denied"),
            Err(error) => return search.tree.skips.add(path, error),
        };
        let mut reader = TextOnly::new(file, size, search.cancel);
        let mut lines = LineCollector::new(search.limit, search.context);
        // A file that ends early may turn binary later; only then is the rest examined.
        let searched = self
            .searcher
            .search_reader(&self.matcher, &mut reader, &mut lines)
            .and_then(|()| match lines.ended_early {
                true => reader.examine(MAX_EXAMINED),
                false => Ok(()),
            });
        if reader.is_binary() {
            return;
        }
        match searched {
            Ok(()) if lines.hits > 0 => {
                let counted = lines.counted;
                let hits = lines.into_hits(path.to_owned());
                search.first.offer(hits, counted);
            }
            Ok(()) => {}
            // The searcher reports an exceeded heap limit as `Other`.
            Err(error) if error.kind() == io::ErrorKind::Other => {
                let reason = format!("has a line of more than {} MiB", MAX_LINE >> 20);
                search.tree.skips.add(path, reason);
            }
            Err(error) => search.tree.skips.add(path, reason(&error)),
        }
    }
}

/// The relevant lines of one file, in order.
#[derive(Debug)]
struct LineCollector {
    limit: usize,
    context: usize,
    relative: Vec<MatchedLine>,
    hits: usize,
    /// Number of matching lines, including those not kept.
    counted: u64,
    /// The last line shown as context of a match within the limit.
    shown_to: u64,
    ended_early: bool,
}

#[derive(Debug)]
struct MatchedLine {
    number: u64,
    text: String,
    hit: bool,
}

impl LineCollector {
    fn new(limit: usize, context: usize) -> Self {
        Self {
            limit,
            context,
            relative: Vec::new(),
            hits: 0,
            counted: 0,
            shown_to: 0,
            ended_early: false,
        }
    }

    /// Keeps a line, or only counts it; false if no later one matters. One match more than the limit is
    /// kept, to know that there are more.
    fn keep(&mut self, number: u64, bytes: &[u8], matches: bool) -> bool {
        self.counted += u64::from(matches);
        if self.hits > self.limit && number > self.shown_to {
            self.ended_early = self.counted > MAX_COUNTED;
            return !self.ended_early;
        }
        let hit = matches && self.hits <= self.limit;
        if hit {
            self.hits += 1;
            if self.hits <= self.limit {
                self.shown_to = number + self.context as u64;
            }
        }
        let text = cut(bytes);
        self.relative.push(MatchedLine { number, text, hit });
        true
    }

    fn into_hits(self, path: PathBuf) -> Vec<Hit> {
        let path = Arc::new(path);
        let context = self.context as u64;
        let texts = |lines: &[MatchedLine]| lines.iter().map(|line| line.text.clone()).collect();
        let hits = self
            .relative
            .iter()
            .enumerate()
            .filter(|(_, line)| line.hit);
        hits.map(|(at, line)| {
            let near = |other: &MatchedLine| other.number.abs_diff(line.number) <= context;
            let from = self.relative[..at].partition_point(|other| !near(other));
            let to = at + 1 + self.relative[at + 1..].partition_point(near);
            Hit {
                path: path.clone(),
                line: line.number,
                content: line.text.clone(),
                before: texts(&self.relative[from..at]),
                after: texts(&self.relative[at + 1..to]),
            }
        })
        .collect()
    }
}

impl Sink for &mut LineCollector {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        Ok(self.keep(found.line_number().unwrap_or(0), found.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.keep(found.line_number().unwrap_or(0), found.bytes(), false))
    }
}

/// A line without its end, cut at a character boundary.
fn cut(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A character has at most four bytes.
    let enough = &line[..line.len().min(MAX_CONTENT * 4)];
    String::from_utf8_lossy(enough)
        .chars()
        .take(MAX_CONTENT)
        .collect()
}
