//! The index: mutable segments, and an immutable snapshot that is searched.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use arc_swap::ArcSwapOption;
use manyhands_core::Clock;

use crate::entry::{Hit, IndexEntry, Query, SearchOutcome, Why};
use crate::lexicon::Lexicon;
use crate::parsed_query::ParsedQuery;
use crate::rank::{Candidate, rank};
use crate::segment::Segment;
use crate::snapshot::Snapshot;
use crate::tokens::tokenize;
use crate::weights::likely;
use crate::word_cache::WordVectorCache;

/// Maximum hits per search.
const MAX_HITS: usize = 100;

/// The lexicon is rebuilt when it has this many times more terms than are in use.
const STALE_FACTOR: usize = 3;
const MIN_TERMS: usize = 50_000;

/// A searchable index of entries.
pub struct Index {
    clock: Arc<dyn Clock>,
    folder: Option<PathBuf>,
    segments: Mutex<Segments>,
    snapshot: ArcSwapOption<Snapshot>,
    vector_cache: Mutex<VectorState>,
}

#[derive(Default)]
struct Segments {
    generation: u64,
    lexicon: Arc<RwLock<Lexicon>>,
    all: BTreeMap<String, Arc<Segment>>,
}

/// The word vectors: not loaded, loaded, or unusable.
#[derive(Default)]
enum VectorState {
    #[default]
    Unloaded,
    Loaded(Arc<WordVectorCache>),
    Broken,
}

impl Index {
    /// An empty index. `vectors` is a folder with word vectors; without one, only words are matched.
    pub fn new(clock: Arc<dyn Clock>, vectors: Option<PathBuf>) -> Self {
        Self {
            clock,
            folder: vectors,
            segments: Mutex::default(),
            snapshot: ArcSwapOption::empty(),
            vector_cache: Mutex::default(),
        }
    }

    /// Replaces the entries of an owner.
    pub fn upsert(&self, owner: &str, entries: Vec<IndexEntry>) {
        let entries: Vec<Arc<IndexEntry>> = entries.into_iter().map(Arc::new).collect();
        // The lock is released while the entries are parsed, so that searches do not wait for it.
        let lexicon = Arc::clone(&self.segments().lexicon);
        let segment = Segment::new(entries, &lexicon);
        let mut segments = self.segments();
        // The lexicon may have been rebuilt meanwhile, with other ids for the same words.
        let segment = match Arc::ptr_eq(&lexicon, &segments.lexicon) {
            true => segment,
            false => Segment::new(segment.entries.clone(), &segments.lexicon),
        };
        segments.all.insert(owner.to_owned(), Arc::new(segment));
        segments.generation += 1;
    }

    /// Removes an owner's entries; returns whether it had any.
    pub fn remove(&self, owner: &str) -> bool {
        let mut segments = self.segments();
        let had = segments.all.remove(owner).is_some();
        if had {
            segments.generation += 1;
        }
        had
    }

    /// The owners with entries.
    pub fn owners(&self) -> Vec<String> {
        self.segments().all.keys().cloned().collect()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.segments()
            .all
            .values()
            .map(|segment| segment.entries.len())
            .sum()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unloads the vectors to save memory; the next search loads them again.
    pub fn unload_vectors(&self) {
        *self.model() = VectorState::Unloaded;
        // Cached rows belong to the unloaded model.
        for segment in self.segments().all.values() {
            segment.forget_rows();
        }
        // The snapshot holds segments with their rows.
        self.snapshot.store(None);
    }

    /// Searches the index. Reads files on the first search, so call it on a blocking thread.
    pub fn search(&self, query: &Query) -> SearchOutcome {
        // Monotonic: the wall clock may be set during a search.
        let started = self.clock.monotonic();
        let snapshot = self.current();
        let vector_cache = self.load_vectors();
        let parsed = ParsedQuery::new(query.text, &snapshot);
        let allowed = |entry: &IndexEntry| {
            query
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&entry.kind))
                && (query.allowed)(entry)
        };
        let candidates = rank(&snapshot, &parsed, vector_cache.as_deref(), &allowed);
        let hits = hits(
            &snapshot,
            &parsed,
            &candidates,
            query,
            vector_cache.is_some(),
        );
        SearchOutcome {
            hits,
            steps: parsed.steps,
            vectors: vector_cache.is_some(),
            took: self.clock.monotonic().saturating_sub(started),
        }
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.segments
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn model(&self) -> MutexGuard<'_, VectorState> {
        self.vector_cache
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The vectors, loaded if necessary.
    fn load_vectors(&self) -> Option<Arc<WordVectorCache>> {
        let folder = self.folder.as_ref()?;
        let mut model = self.model();
        match &*model {
            VectorState::Loaded(vector_cache) => return Some(Arc::clone(vector_cache)),
            VectorState::Broken => return None,
            VectorState::Unloaded => {}
        }
        match WordVectorCache::open(folder) {
            Ok(vector_cache) => {
                let vector_cache = Arc::new(vector_cache);
                *model = VectorState::Loaded(Arc::clone(&vector_cache));
                Some(vector_cache)
            }
            Err(error) => {
                tracing::warn!(event = "word_vectors_unusable", %error, folder = %folder.display(), "cannot load word vectors; searching by words only");
                // Not retried: every search would pay for the failure and log it again.
                *model = VectorState::Broken;
                None
            }
        }
    }

    /// A snapshot of the current segments, rebuilt if they changed.
    fn current(&self) -> Arc<Snapshot> {
        // Held while building, so that concurrent searches build a snapshot once.
        let mut segments = self.segments();
        if let Some(snapshot) = &*self.snapshot.load()
            && snapshot.generation == segments.generation
        {
            return Arc::clone(snapshot);
        }
        let mut snapshot = inverted(&segments);
        let words = segments
            .lexicon
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .len();
        // Terms are never removed one by one; a rebuild bounds the memory of owners that come and go.
        if words > MIN_TERMS && words > STALE_FACTOR * snapshot.live_terms() {
            let refreshed = Arc::new(RwLock::new(Lexicon::default()));
            for segment in segments.all.values_mut() {
                *segment = Arc::new(Segment::new(segment.entries.clone(), &refreshed));
            }
            segments.lexicon = refreshed;
            snapshot = inverted(&segments);
        }
        let snapshot = Arc::new(snapshot);
        self.snapshot.store(Some(Arc::clone(&snapshot)));
        snapshot
    }
}

fn inverted(segments: &Segments) -> Snapshot {
    Snapshot::new(
        segments.generation,
        Arc::clone(&segments.lexicon),
        segments.all.values().cloned().collect(),
    )
}

/// Converts candidates to hits.
fn hits(
    snapshot: &Snapshot,
    parsed: &ParsedQuery,
    candidates: &[Candidate],
    query: &Query,
    vectors: bool,
) -> Vec<Hit> {
    let limit = query.limit.clamp(1, MAX_HITS);
    let by_words = places(candidates, |one| one.features.words);
    let by_vectors = places(candidates, |one| one.features.vector);
    let request = tokenize(crate::segment::cut(query.text, 256), 32);
    let mut out: Vec<Hit> = Vec::new();
    for one in candidates {
        let entry = snapshot.entry(one.number);
        let of_step = one.step.as_ref().map(|(_, features, _)| features);
        let sure = [Some(&one.features), of_step]
            .into_iter()
            .flatten()
            .filter_map(|features| likely(features, one.chance, vectors))
            .reduce(f32::max);
        let called = named(entry, &request);
        if sure.is_none() && !called {
            continue;
        }
        let sure = sure.unwrap_or_default();
        out.push(Hit {
            confidence: match called {
                // An exact name is as certain as it gets, whatever the features say.
                true => sure.max(0.99),
                false => sure.min(0.98),
            },
            entry: Arc::clone(entry),
            why: Why {
                lexical_rank: by_words.get(&one.number).copied(),
                lexical_score: one.features.words,
                vector_rank: by_vectors.get(&one.number).copied(),
                vector_score: one.features.vector,
                name_covered: one.features.name,
                matched: one
                    .matched
                    .iter()
                    .map(|at| parsed.words[*at].surface.clone())
                    .collect(),
                step: one.step.as_ref().map(|(step, _, _)| *step),
                score: one.score,
            },
        });
    }
    // Exact names first; below, confidence never increases down the list.
    out.sort_by_key(|hit| hit.confidence < 0.99);
    out.truncate(limit);
    let mut highest = 1.0f32;
    for hit in &mut out {
        highest = highest.min(hit.confidence);
        hit.confidence = highest;
    }
    out
}

/// Whether the query is exactly the entry's name, with or without its server.
fn named(entry: &IndexEntry, request: &[String]) -> bool {
    let name = tokenize(&entry.name, 32);
    !request.is_empty()
        && (name == request
            || [tokenize(&entry.server, 16), name].concat() == request
            || tokenize(&entry.key, 64) == request)
}

fn places(candidates: &[Candidate], by: impl Fn(&Candidate) -> f32) -> HashMap<u32, usize> {
    let mut order: Vec<(f32, u32)> = candidates
        .iter()
        .map(|one| (by(one), one.number))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order
        .into_iter()
        .enumerate()
        .map(|(place, (_, number))| (number, place + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use manyhands_core::SystemClock;

    use super::*;
    use crate::entry::ItemKind;
    use crate::vectors::tests::folder;

    fn entry(name: &str) -> IndexEntry {
        IndexEntry {
            key: name.into(),
            kind: ItemKind::Tool,
            name: name.into(),
            server: String::new(),
            title: String::new(),
            description: String::new(),
            parameters: Vec::new(),
            tags: Vec::new(),
        }
    }

    #[test]
    fn vectors_find_entries_without_common_words_and_reload_when_needed() {
        let (_dir, path) = folder(&[('a', [1.0, 0.0]), ('b', [1.0, 0.1]), ('z', [0.0, 1.0])]);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let with = Index::new(Arc::clone(&clock), Some(path));
        let without = Index::new(clock, None);
        for index in [&with, &without] {
            index.upsert("letters", vec![entry("zzzz"), entry("aaaa")]);
        }
        let ask = |index: &Index| {
            let answer = index.search(&Query {
                text: "bbbb",
                kinds: None,
                limit: 5,
                allowed: &|_| true,
            });
            let names: Vec<_> = answer
                .hits
                .iter()
                .map(|hit| hit.entry.name.clone())
                .collect();
            (names, answer.vectors)
        };
        assert_eq!(ask(&with), (vec!["aaaa".to_owned()], true));
        assert_eq!(ask(&without), (vec![], false));
        with.unload_vectors();
        assert_eq!(ask(&with), (vec!["aaaa".to_owned()], true));
    }
}
