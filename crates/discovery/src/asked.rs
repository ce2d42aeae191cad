//! A request, taken apart and looked up: its words, its steps, and what they are related to.

use std::collections::HashMap;

use crate::lexicon::Related;
use crate::shelf::cut;
use crate::snapshot::Snapshot;
use crate::stem::stem;
use crate::steps::steps;
use crate::words::{is_number, weight, words};

/// The most of a request that is read, in bytes and in words.
const LONGEST_REQUEST: usize = 8 << 10;
const MOST_WORDS: usize = 256;

/// The most different words that are compared with those of entries.
const MOST_DIFFERENT: usize = 48;

/// A request of at most so many words of matter may misspell them or leave them unfinished.
const SHORT: usize = 6;

/// One word of a request.
pub struct Word {
    /// As it was written, in lower case.
    pub surface: String,
    /// How much it says.
    pub weight: f32,
    /// How rare it is among the entries.
    pub rarity: f32,
    /// How often it was said; twice at most.
    pub times: f32,
    /// The term it is.
    pub term: Option<u32>,
    /// Terms it may mean as well.
    pub related: Vec<Related>,
}

/// A request that can be ranked by.
pub struct Asked {
    /// Its different words.
    pub words: Vec<Word>,
    /// The steps as they were said; empty when it is one.
    pub steps: Vec<String>,
    /// The words of the whole, and then those of each step.
    pub parts: Vec<Vec<usize>>,
    /// How long it is, in words.
    pub length: usize,
}

impl Asked {
    /// Takes a request apart and looks its words up.
    pub fn new(text: &str, snapshot: &Snapshot) -> Self {
        let text = cut(text, LONGEST_REQUEST);
        let said = words(text, MOST_WORDS);
        let length = said.len();
        // Where all words are stop words, they are all there is: "find", "get".
        let all_stop = said.iter().all(|word| weight(word, &stem(word)) == 0.0);
        let mut at: HashMap<String, usize> = HashMap::new();
        let mut different: Vec<Word> = Vec::new();
        let lexicon = snapshot
            .lexicon
            .read()
            .unwrap_or_else(|held| held.into_inner());
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
                rarity: term.map_or(snapshot.rarest(), |term| snapshot.rarity(term)),
                surface: word,
                weight,
                times: 1.0,
                term,
                related,
            });
        }
        if different.len() <= SHORT {
            let occurs = |term| !snapshot.postings(term).is_empty();
            for word in &mut different {
                if word.term.is_none() && word.related.is_empty() && !is_number(&word.surface) {
                    word.related = lexicon.guesses(&word.surface, &occurs);
                }
            }
        }
        drop(lexicon);
        let kept = heaviest(&different);
        let steps = steps(text);
        let mut parts = vec![kept.clone()];
        for step in &steps {
            let mut part: Vec<usize> = words(step, MOST_WORDS)
                .iter()
                .filter_map(|word| at.get(&stem(word)).copied())
                .filter(|index| kept.contains(index))
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

/// The words that say most, in the order they were said.
fn heaviest(words: &[Word]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..words.len()).collect();
    let says = |index: usize| words[index].weight * words[index].rarity;
    order.sort_by(|a, b| says(*b).total_cmp(&says(*a)));
    order.truncate(MOST_DIFFERENT);
    order.sort_unstable();
    order
}
