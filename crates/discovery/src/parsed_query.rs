//! A query, split into words and steps and looked up in the index.

use std::collections::HashMap;

use crate::lexicon::Related;
use crate::segment::cut;
use crate::snapshot::Snapshot;
use crate::stem::stem;
use crate::steps::steps;
use crate::tokens::{is_number, tokenize, weight};

/// Maximum query length, in bytes and in words.
const MAX_REQUEST: usize = 8 << 10;
const MAX_WORDS: usize = 256;

/// Maximum distinct words compared with those of entries.
const MAX_DISTINCT_WORDS: usize = 48;

/// Queries with at most this many distinct words may contain typos or unfinished words.
const SHORT: usize = 6;

/// A word of a query.
pub struct Word {
    /// As written, in lower case.
    pub surface: String,
    /// Its weight: 0 for a stop word, 1 for a content word.
    pub weight: f32,
    /// Its inverse document frequency.
    pub idf: f32,
    /// Boost for repetition.
    pub times: f32,
    /// Its term in the index.
    pub term: Option<u32>,
    /// Other terms it may mean.
    pub related: Vec<Related>,
}

/// A query, ready for ranking.
pub struct ParsedQuery {
    /// Its distinct words.
    pub words: Vec<Word>,
    /// Its steps as written; empty if there is only one.
    pub steps: Vec<String>,
    /// Word indices of the whole query, followed by those of each step.
    pub parts: Vec<Vec<usize>>,
    /// Its length in words.
    pub length: usize,
}

impl ParsedQuery {
    /// Parses a query and looks its words up.
    pub fn new(text: &str, snapshot: &Snapshot) -> Self {
        let text = cut(text, MAX_REQUEST);
        let said = tokenize(text, MAX_WORDS);
        let length = said.len();
        // If all words are stop words ("find", "get"), they are all there is to match.
        let all_stop = said.iter().all(|word| weight(word, &stem(word)) == 0.0);
        let mut at: HashMap<String, usize> = HashMap::new();
        let mut different: Vec<Word> = Vec::new();
        let lexicon = snapshot
            .lexicon
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        for word in said {
            let stem = stem(&word);
            let weight = match all_stop {
                true => 1.0,
                false => weight(&word, &stem),
            };
            if weight == 0.0 {
                continue;
            }
            if let Some(&index) = at.get(&stem) {
                // Sublinear: a repeated word matters more, but not twice as much.
                different[index].times = std::f32::consts::SQRT_2;
                continue;
            }
            let term = lexicon
                .id(&stem)
                .filter(|term| !snapshot.postings(*term).is_empty());
            let related = lexicon
                .related(&stem)
                .into_iter()
                .filter(|other| !snapshot.postings(other.term).is_empty())
                .collect();
            at.insert(stem, different.len());
            different.push(Word {
                idf: term.map_or(snapshot.max_idf(), |term| snapshot.idf(term)),
                surface: word,
                weight,
                times: 1.0,
                term,
                related,
            });
        }
        // Guessing scans the whole lexicon, and in a long query the other words suffice.
        if different.len() <= SHORT {
            let occurs = |term| !snapshot.postings(term).is_empty();
            for word in &mut different {
                if word.term.is_none() && word.related.is_empty() && !is_number(&word.surface) {
                    word.related = lexicon.related_terms(&word.surface, &occurs);
                }
            }
        }
        drop(lexicon);
        // Bounds the comparison, which is quadratic in words.
        let heaviest_words = heaviest(&different);
        let steps = steps(text);
        let mut parts = vec![heaviest_words.clone()];
        for step in &steps {
            let mut part: Vec<usize> = tokenize(step, MAX_WORDS)
                .iter()
                .filter_map(|word| at.get(&stem(word)).copied())
                .filter(|index| heaviest_words.contains(index))
                .collect();
            part.sort_unstable();
            part.dedup();
            parts.push(part);
        }
        Self {
            words: different,
            steps,
            parts,
            length,
        }
    }
}

/// The indices of the words with the highest weight, in query order.
fn heaviest(words: &[Word]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    let weight_of = |index: usize| words[index].weight * words[index].idf;
    order.sort_by(|a, b| weight_of(*b).total_cmp(&weight_of(*a)));
    order.truncate(MAX_DISTINCT_WORDS);
    order.sort_unstable();
    order
}
