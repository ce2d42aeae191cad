//! The index: shelves that change, and a snapshot that is searched.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use arc_swap::ArcSwapOption;
use manyhands_core::Clock;

use crate::asked::Asked;
use crate::entry::{Answer, Entry, Hit, Query, Why};
use crate::lexicon::Lexicon;
use crate::meaning::Meaning;
use crate::rank::{Seen, rank};
use crate::shelf::Shelf;
use crate::snapshot::Snapshot;
use crate::weigh::likely;
use crate::words::words;

/// The most hits of an answer.
const MOST_HITS: usize = 100;

/// When the words of shelves that are gone outnumber the living by this, all shelves are read again.
const DEAD_WORDS: usize = 3;
const FEW_WORDS: usize = 50_000;

/// Everything that can be found, searched by plain words.
pub struct Index {
    clock: Arc<dyn Clock>,
    folder: Option<PathBuf>,
    shelves: Mutex<Shelves>,
    snapshot: ArcSwapOption<Snapshot>,
    meaning: Mutex<Model>,
}

#[derive(Default)]
struct Shelves {
    generation: u64,
    lexicon: Arc<RwLock<Lexicon>>,
    all: BTreeMap<String, Arc<Shelf>>,
}

/// The vectors: not read yet, in use, or not to be had.
#[derive(Default)]
enum Model {
    #[default]
    Resting,
    Awake(Arc<Meaning>),
    Broken,
}

impl Index {
    /// An empty index. `vectors` is a folder with word vectors; without one, words decide alone.
    pub fn new(clock: Arc<dyn Clock>, vectors: Option<PathBuf>) -> Self {
        Self {
            clock,
            folder: vectors,
            shelves: Mutex::default(),
            snapshot: ArcSwapOption::empty(),
            meaning: Mutex::default(),
        }
    }

    /// Puts the entries of an owner in the place of those it had.
    pub fn upsert(&self, owner: &str, entries: Vec<Entry>) {
        let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
        let lexicon = Arc::clone(&self.shelves().lexicon);
        let shelf = Shelf::new(entries, &lexicon);
        let mut shelves = self.shelves();
        // Somebody may have read everything again meanwhile, with other numbers for the same words.
        let shelf = match Arc::ptr_eq(&lexicon, &shelves.lexicon) {
            true => shelf,
            false => Shelf::new(shelf.entries.clone(), &shelves.lexicon),
        };
        shelves.all.insert(owner.to_owned(), Arc::new(shelf));
        shelves.generation += 1;
    }

    /// Takes the entries of an owner out; whether it had any.
    pub fn remove(&self, owner: &str) -> bool {
        let mut shelves = self.shelves();
        let had = shelves.all.remove(owner).is_some();
        if had {
            shelves.generation += 1;
        }
        had
    }

    /// The owners that have a shelf.
    pub fn owners(&self) -> Vec<String> {
        self.shelves().all.keys().cloned().collect()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.shelves()
            .all
            .values()
            .map(|shelf| shelf.entries.len())
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets the vectors go; the next search reads them again. For a house that has been quiet for a while.
    pub fn rest(&self) {
        *self.model() = Model::Resting;
        for shelf in self.shelves().all.values() {
            shelf.forget_rows();
        }
        self.snapshot.store(None);
    }

    /// Finds what fits a request. Reads a file on the first search, so keep it off an executor's own threads.
    pub fn search(&self, query: &Query) -> Answer {
        let started = self.clock.monotonic();
        let snapshot = self.current();
        let meaning = self.awake();
        let asked = Asked::new(query.text, &snapshot);
        let allowed = |entry: &Entry| {
            query
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&entry.kind))
                && (query.allowed)(entry)
        };
        let seen = rank(&snapshot, &asked, meaning.as_deref(), &allowed);
        let hits = hits(&snapshot, &asked, &seen, query, meaning.is_some());
        Answer {
            hits,
            steps: asked.steps,
            vectors: meaning.is_some(),
            took: self.clock.monotonic().saturating_sub(started),
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(|held| held.into_inner())
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.meaning.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// The vectors, read now when they rest.
    fn awake(&self) -> Option<Arc<Meaning>> {
        let folder = self.folder.as_ref()?;
        let mut model = self.model();
        match &*model {
            Model::Awake(meaning) => return Some(Arc::clone(meaning)),
            Model::Broken => return None,
            Model::Resting => {}
        }
        match Meaning::open(folder) {
            Ok(meaning) => {
                let meaning = Arc::new(meaning);
                *model = Model::Awake(Arc::clone(&meaning));
                Some(meaning)
            }
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "word vectors cannot be used; tools are found by words alone");
                *model = Model::Broken;
                None
            }
        }
    }

    /// The snapshot of the shelves as they are, made now when they changed.
    fn current(&self) -> Arc<Snapshot> {
        let mut shelves = self.shelves();
        if let Some(snapshot) = &*self.snapshot.load()
            && snapshot.generation == shelves.generation
        {
            return Arc::clone(snapshot);
        }
        let mut snapshot = turned_round(&shelves);
        let words = shelves
            .lexicon
            .read()
            .unwrap_or_else(|held| held.into_inner())
            .len();
        if words > FEW_WORDS && words > DEAD_WORDS * snapshot.live_terms() {
            let fresh = Arc::new(RwLock::new(Lexicon::default()));
            for shelf in shelves.all.values_mut() {
                *shelf = Arc::new(Shelf::new(shelf.entries.clone(), &fresh));
            }
            shelves.lexicon = fresh;
            snapshot = turned_round(&shelves);
        }
        let snapshot = Arc::new(snapshot);
        self.snapshot.store(Some(Arc::clone(&snapshot)));
        snapshot
    }
}

fn turned_round(shelves: &Shelves) -> Snapshot {
    Snapshot::new(
        shelves.generation,
        Arc::clone(&shelves.lexicon),
        shelves.all.values().cloned().collect(),
    )
}

/// What is told of those that were seen.
fn hits(
    snapshot: &Snapshot,
    asked: &Asked,
    seen: &[Seen],
    query: &Query,
    vectors: bool,
) -> Vec<Hit> {
    let limit = query.limit.clamp(1, MOST_HITS);
    let by_words = places(seen, |one| one.marks.words);
    let by_vectors = places(seen, |one| one.marks.vector);
    let request = words(crate::shelf::cut(query.text, 256), 32);
    let mut out: Vec<Hit> = Vec::new();
    for one in seen {
        let entry = snapshot.entry(one.number);
        let of_step = one.step.as_ref().map(|(_, marks, _)| marks);
        let sure = [Some(&one.marks), of_step]
            .into_iter()
            .flatten()
            .filter_map(|marks| likely(marks, one.chance, vectors))
            .reduce(f32::max);
        let called = named(entry, &request);
        if sure.is_none() && !called {
            continue;
        }
        let sure = sure.unwrap_or_default();
        out.push(Hit {
            confidence: match called {
                true => sure.max(0.99),
                false => sure.min(0.98),
            },
            entry: Arc::clone(entry),
            why: Why {
                lexical_rank: by_words.get(&one.number).copied(),
                lexical_score: one.marks.words,
                vector_rank: by_vectors.get(&one.number).copied(),
                vector_score: one.marks.vector,
                name_covered: one.marks.name,
                matched: one
                    .matched
                    .iter()
                    .map(|at| asked.words[*at].surface.clone())
                    .collect(),
                step: one.step.as_ref().map(|(step, _, _)| *step),
                score: one.score,
            },
        });
    }
    // Who is called by name comes first; below that nobody is surer than whoever stands above.
    out.sort_by_key(|hit| hit.confidence < 0.99);
    out.truncate(limit);
    let mut most = 1.0f32;
    for hit in &mut out {
        most = most.min(hit.confidence);
        hit.confidence = most;
    }
    out
}

/// Whether the request is nothing but the entry's name, with or without its server's.
fn named(entry: &Entry, request: &[String]) -> bool {
    let name = words(&entry.name, 32);
    !request.is_empty()
        && (name == request
            || [words(&entry.server, 16), name].concat() == request
            || words(&entry.key, 64) == request)
}

fn places(seen: &[Seen], by: impl Fn(&Seen) -> f32) -> HashMap<u32, usize> {
    let mut order: Vec<(f32, u32)> = seen
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
    use crate::entry::Kind;
    use crate::vectors::tests::folder;

    fn entry(name: &str) -> Entry {
        Entry {
            key: name.into(),
            kind: Kind::Tool,
            name: name.into(),
            server: String::new(),
            title: String::new(),
            description: String::new(),
            parameters: Vec::new(),
            tags: Vec::new(),
        }
    }

    #[test]
    fn vectors_find_what_shares_no_word_and_come_back_after_a_rest() {
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
        with.rest();
        assert_eq!(ask(&with), (vec!["aaaa".to_owned()], true));
    }
}
