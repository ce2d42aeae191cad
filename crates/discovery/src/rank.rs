//! Ranks entries for a query.
//!
//! Words and vectors first select candidates; then each candidate is compared with the query word by
//! word, in both directions, and all features are combined, for the whole query and for each step.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use crate::entry::IndexEntry;
use crate::lexicon::Form;
use crate::parsed_query::ParsedQuery;
use crate::snapshot::Snapshot;
use crate::vectors::QuantisedVector;
use crate::weights::{Features, STEP_SHARE, score};
use crate::word_cache::{SnapshotVectors, WordVectorCache};

/// Number of candidates by words and by vectors, for the whole query and for a step.
const WHOLE_CANDIDATES: usize = 100;
const STEP: usize = 30;

/// Weight of related terms when selecting candidates.
const RELATED_WEIGHT: f32 = 0.3;

/// Similarity below which two words are unrelated.
const UNRELATED: f32 = 0.2;

/// An entry that was compared closely.
pub struct Candidate {
    /// The entry's number.
    pub number: u32,
    /// Features for the whole query.
    pub features: Features,
    /// The best matching step with its features and score.
    pub step: Option<(usize, Features, f32)>,
    /// The combined score.
    pub score: f32,
    /// Softmax probability among all candidates.
    pub chance: f32,
    /// Query words that it matches.
    pub matched: Vec<usize>,
}

/// Ranks the entries that `allowed` accepts.
pub fn rank(
    snapshot: &Snapshot,
    parsed: &ParsedQuery,
    vector_cache: Option<&WordVectorCache>,
    allowed: &dyn Fn(&IndexEntry) -> bool,
) -> Vec<Candidate> {
    if parsed.words.is_empty() || snapshot.len == 0 {
        return Vec::new();
    }
    let field = vector_cache.map(|vector_cache| (vector_cache, vector_cache.field(snapshot)));
    let field = field
        .as_ref()
        .map(|(vector_cache, field)| (*vector_cache, field));
    let surfaces: Vec<Arc<str>> = parsed
        .words
        .iter()
        .map(|word| word.surface.as_str().into())
        .collect();
    let vectors = vector_cache.map(|vector_cache| vector_cache.words(&surfaces));
    // One buffer for all parts: clearing an array of all entries per word would dominate the search.
    let mut stamps = vec![(u32::MAX, 0f32); snapshot.len];
    let parts: Vec<QueryPart> = parsed
        .parts
        .iter()
        .enumerate()
        .map(|(turn, part)| {
            let vector_cache = vector_cache.zip(vectors.as_deref());
            QueryPart::new(snapshot, parsed, (turn, part), vector_cache, &mut stamps)
        })
        .collect();
    // Access checks are cached: an entry may be offered once per part, by words and by vectors.
    let mut gate = Gate {
        snapshot,
        allowed,
        known: HashMap::new(),
    };
    let chosen = choose(snapshot, &parts, field.map(|(_, field)| field), &mut gate);
    let similarity = Similarity::new(
        snapshot,
        parsed,
        &chosen,
        vector_cache.zip(vectors.as_deref()),
    );
    let best: Vec<f32> = parts
        .iter()
        .map(|part| {
            chosen
                .iter()
                .map(|n| part.words[*n as usize])
                .fold(0.0, f32::max)
        })
        .collect();
    let mut candidates: Vec<Candidate> = chosen
        .iter()
        .enumerate()
        .map(|(place, &number)| {
            let named = snapshot.doc(number).named;
            let of = |at: usize| {
                let part = &parts[at];
                let mut features = similarity.compare(place, named, &parsed.parts[at]);
                let words = part.words[number as usize];
                features.words = words;
                features.words_of_best = words / best[at].max(1e-6);
                features.related = part.related[number as usize];
                features.share = words / part.all.max(1e-6);
                if let (Some((_, field)), Some(vector)) = (field, &part.vector) {
                    features.vector = field.similarity(snapshot.location(number), vector);
                }
                features
            };
            let features = of(0);
            let mut total = score(&features, parsed.length, vector_cache.is_some());
            let step = (1..parts.len())
                .filter(|at| !parsed.parts[*at].is_empty())
                .map(|at| {
                    let features = of(at);
                    let score = score(&features, parsed.length, vector_cache.is_some());
                    (at - 1, features, score)
                })
                .max_by(|a, b| a.2.total_cmp(&b.2));
            if let Some((_, _, step)) = &step {
                total += STEP_SHARE * step;
            }
            Candidate {
                number,
                features,
                step,
                score: total,
                chance: 0.0,
                matched: similarity.matched(place, &parsed.parts[0]),
            }
        })
        .collect();
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.number.cmp(&b.number)));
    let best = candidates.first().map_or(0.0, |one| one.score);
    // Relative to the best score, so that `exp` cannot overflow.
    let all: f32 = candidates.iter().map(|one| (one.score - best).exp()).sum();
    for one in &mut candidates {
        one.chance = ((one.score - best).exp() / all).max(1e-6);
    }
    candidates
}

/// Scores of one part of a query for all entries.
struct QueryPart {
    words: Vec<f32>,
    related: Vec<f32>,
    /// The maximum possible word score.
    all: f32,
    vector: Option<QuantisedVector>,
}

impl QueryPart {
    fn new(
        snapshot: &Snapshot,
        parsed: &ParsedQuery,
        (turn, part): (usize, &[usize]),
        vector_cache: Option<(&WordVectorCache, &[Arc<QuantisedVector>])>,
        mark: &mut [(u32, f32)],
    ) -> Self {
        let mut words = vec![0f32; snapshot.len];
        let mut related = vec![0f32; snapshot.len];
        let mut all = 0.0;
        // A term counts once, for the first word that means it.
        let mut used: HashSet<u32> = part
            .iter()
            .filter_map(|at| parsed.words[*at].term)
            .collect();
        for &at in part {
            let word = &parsed.words[at];
            all += word.idf * word.weight;
            if let Some(term) = word.term {
                let weight = word.idf * word.weight * word.times;
                for (number, evidence) in snapshot.postings(term) {
                    words[*number as usize] += weight * evidence;
                }
            }
            // Among the terms a word may mean, an entry gets credit for the best one only.
            for by_topic in [false, true] {
                let into = match by_topic {
                    true => &mut related,
                    false => &mut words,
                };
                // A unique stamp per part, word and kind marks which values of `mark` are current.
                let stamp = ((turn * parsed.words.len() + at) * 2 + usize::from(by_topic)) as u32;
                for other in &word.related {
                    if other.by_topic != by_topic || !used.insert(other.term) {
                        continue;
                    }
                    let similarity = if by_topic { 1.0 } else { other.similarity };
                    let weight = snapshot.idf(other.term) * word.weight * similarity;
                    for (number, evidence) in snapshot.postings(other.term) {
                        let number = *number as usize;
                        let evidence = weight * evidence;
                        let before = match mark[number].0 == stamp {
                            true => mark[number].1,
                            false => 0.0,
                        };
                        if evidence > before {
                            into[number] += evidence - before;
                            mark[number] = (stamp, evidence);
                        }
                    }
                }
            }
        }
        Self {
            words,
            related,
            all,
            vector: vector_cache
                .map(|(vector_cache, vectors)| vector_cache.part(parsed, part, vectors)),
        }
    }
}

/// Caches the visibility check of each entry.
struct Gate<'a> {
    snapshot: &'a Snapshot,
    allowed: &'a dyn Fn(&IndexEntry) -> bool,
    known: HashMap<u32, bool>,
}

impl Gate<'_> {
    fn allows(&mut self, number: u32) -> bool {
        *self
            .known
            .entry(number)
            .or_insert_with(|| (self.allowed)(self.snapshot.entry(number)))
    }
}

/// Selects the candidates.
fn choose(
    snapshot: &Snapshot,
    parts: &[QueryPart],
    field: Option<&SnapshotVectors>,
    gate: &mut Gate,
) -> Vec<u32> {
    let mut chosen = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let limit = if at == 0 { WHOLE_CANDIDATES } else { STEP };
        let mut best = Best::new(limit);
        for (number, (words, related)) in part.words.iter().zip(&part.related).enumerate() {
            let score = words + RELATED_WEIGHT * related;
            if score > 0.0 {
                best.offer(score, number as u32, gate);
            }
        }
        chosen.extend(best.numbers());
        if let (Some(field), Some(vector)) = (field, &part.vector) {
            let mut best = Best::new(limit);
            field.roughly(vector, |number, similarity| {
                if similarity > 0.0 {
                    best.offer(similarity, number, gate);
                }
            });
            chosen.extend(best.numbers());
        }
    }
    // Sorted, so that equal scores rank in the same order in every search.
    chosen.sort_unstable();
    chosen.dedup();
    debug_assert!(chosen.len() <= snapshot.len);
    chosen
}

/// The best few of many.
struct Best {
    limit: usize,
    heap: BinaryHeap<Reverse<(u32, Reverse<u32>)>>,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            heap: BinaryHeap::with_capacity(limit + 1),
        }
    }

    /// Adds an entry if it beats the worst; scores are positive, so their bits compare like the numbers.
    fn offer(&mut self, score: f32, number: u32, gate: &mut Gate) {
        let bits = score.to_bits();
        let full = self.heap.len() >= self.limit;
        if full
            && self
                .heap
                .peek()
                .is_some_and(|Reverse(worst)| bits <= worst.0)
        {
            return;
        }
        // Last, because the check may be expensive and few entries get here.
        if !gate.allows(number) {
            return;
        }
        self.heap.push(Reverse((bits, Reverse(number))));
        if full {
            self.heap.pop();
        }
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        self.heap
            .into_iter()
            .map(|Reverse((_, Reverse(number)))| number)
    }
}

/// Similarity of the query's words to each word of the candidates.
struct Similarity {
    /// For each candidate, the rows of its words.
    rows: Vec<Vec<u32>>,
    width: usize,
    similarity: Vec<f32>,
    /// The weight of each query word.
    token_weights: Vec<f32>,
    /// The weight of each form, in a name and in a text.
    terms: Vec<(f32, f32)>,
}

impl Similarity {
    fn new(
        snapshot: &Snapshot,
        parsed: &ParsedQuery,
        chosen: &[u32],
        vector_cache: Option<(&WordVectorCache, &[Arc<QuantisedVector>])>,
    ) -> Self {
        let width = parsed.words.len();
        let mut row_of: HashMap<u32, u32> = HashMap::new();
        let mut ids = Vec::new();
        let rows: Vec<Vec<u32>> = chosen
            .iter()
            .map(|number| {
                let forms = snapshot.doc(*number).forms.iter();
                let row = forms.map(|form| {
                    *row_of.entry(*form).or_insert_with(|| {
                        ids.push(*form);
                        ids.len() as u32 - 1
                    })
                });
                row.collect()
            })
            .collect();
        let lexicon = snapshot
            .lexicon
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let forms: Vec<Form> = ids.iter().map(|id| lexicon.form(*id).clone()).collect();
        drop(lexicon);
        let mut of_term: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, form) in forms.iter().enumerate() {
            of_term.entry(form.term).or_default().push(row);
        }
        let mut similarity = vec![0f32; width * ids.len()];
        let mut lengths = vec![1f32; ids.len()];
        let mut token_weights: Vec<f32> = parsed.words.iter().map(|w| w.weight * w.idf).collect();
        if let Some((vector_cache, vectors)) = vector_cache {
            let names: Vec<Arc<str>> = forms.iter().map(|form| Arc::clone(&form.surface)).collect();
            for (at, small) in vector_cache.words(&names).iter().enumerate() {
                lengths[at] = small.length;
                for &word in &parsed.parts[0] {
                    // Weak words ("please", "help") are similar to everything.
                    if parsed.words[word].weight >= 1.0 {
                        similarity[at * width + word] = vectors[word].similarity(small).max(0.0);
                    }
                }
            }
            // The vector's length reflects how specific a word is.
            for (weight, vector) in token_weights.iter_mut().zip(vectors) {
                *weight *= vector.length;
            }
        }
        for (word, parsed) in parsed.words.iter().enumerate() {
            let own = parsed.term.map(|term| (term, 1.0));
            let others = parsed
                .related
                .iter()
                .map(|other| (other.term, other.similarity));
            for (term, similarity_of_term) in own.into_iter().chain(others) {
                for row in of_term.get(&term).into_iter().flatten() {
                    let slot = &mut similarity[row * width + word];
                    *slot = slot.max(similarity_of_term);
                }
            }
        }
        for slot in &mut similarity {
            // Rescaled so that unrelated words contribute nothing, however many there are.
            *slot = (*slot - UNRELATED).max(0.0) / (1.0 - UNRELATED);
        }
        let terms = forms
            .iter()
            .zip(&lengths)
            .map(|(form, length)| {
                let idf = snapshot.idf(form.term);
                (idf, idf * form.weight * length)
            })
            .collect();
        Self {
            rows,
            width,
            similarity,
            token_weights,
            terms,
        }
    }

    /// Share of an entry that the query covers, and share of the query that the entry covers.
    fn compare(&self, at: usize, named: usize, part: &[usize]) -> Features {
        let mut answered = vec![0f32; self.width];
        let (mut name, mut name_all, mut text, mut text_all) = (0.0, 0.0, 0.0, 0.0);
        for (place, row) in self.rows[at].iter().enumerate() {
            let row = *row as usize;
            let row_similarities = &self.similarity[row * self.width..(row + 1) * self.width];
            let mut best = 0f32;
            for &word in part {
                best = best.max(row_similarities[word]);
                answered[word] = answered[word].max(row_similarities[word]);
            }
            let (in_name, in_text) = self.terms[row];
            if place < named {
                name += in_name * best;
                name_all += in_name;
            }
            text += in_text * best;
            text_all += in_text;
        }
        let all: f32 = part.iter().map(|word| self.token_weights[*word]).sum();
        let covered: f32 = part
            .iter()
            .map(|word| self.token_weights[*word] * answered[*word])
            .sum();
        Features {
            name: name / f32::max(name_all, 1e-6),
            text: text / f32::max(text_all, 1e-6),
            answered: covered / all.max(1e-6),
            ..Features::default()
        }
    }

    /// The query words that an entry clearly matches.
    fn matched(&self, at: usize, part: &[usize]) -> Vec<usize> {
        let clear = |word: &&usize| {
            self.rows[at]
                .iter()
                .any(|row| self.similarity[*row as usize * self.width + **word] >= 0.5)
        };
        part.iter().filter(clear).copied().collect()
    }
}
