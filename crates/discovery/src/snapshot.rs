//! All shelves as they were at one moment, turned round: from terms to entries.

use std::sync::{Arc, RwLock};

use crate::entry::Entry;
use crate::lexicon::Lexicon;
use crate::shelf::{Doc, Shelf};

/// How fast more of the same word stops counting.
const SATURATION: f32 = 1.2;

/// What can be searched without a lock.
pub struct Snapshot {
    /// The change it was made after.
    pub generation: u64,
    /// The stems its terms are numbered by.
    pub lexicon: Arc<RwLock<Lexicon>>,
    /// The shelves, each with the number of its first entry.
    pub shelves: Vec<(Arc<Shelf>, u32)>,
    /// How many entries there are.
    pub len: usize,
    starts: Vec<u32>,
    postings: Vec<(u32, f32)>,
    places: Vec<(u32, u32)>,
}

impl Snapshot {
    /// Turns shelves round.
    pub fn new(generation: u64, lexicon: Arc<RwLock<Lexicon>>, shelves: Vec<Arc<Shelf>>) -> Self {
        let terms = lexicon
            .read()
            .unwrap_or_else(|held| held.into_inner())
            .len();
        let mut based = Vec::with_capacity(shelves.len());
        let mut places = Vec::new();
        let mut counts = vec![0u32; terms + 1];
        for (at, shelf) in shelves.into_iter().enumerate() {
            let base = places.len() as u32;
            for (inside, doc) in shelf.docs.iter().enumerate() {
                places.push((at as u32, inside as u32));
                for (term, _) in &doc.frequencies {
                    counts[*term as usize + 1] += 1;
                }
            }
            based.push((shelf, base));
        }
        for at in 1..counts.len() {
            counts[at] += counts[at - 1];
        }
        let starts = counts.clone();
        let mut next = counts;
        let mut postings = vec![(0, 0.0); starts.last().map_or(0, |end| *end as usize)];
        for (shelf, base) in &based {
            for (inside, doc) in shelf.docs.iter().enumerate() {
                for (term, frequency) in &doc.frequencies {
                    let slot = &mut next[*term as usize];
                    postings[*slot as usize] =
                        (base + inside as u32, frequency / (SATURATION + frequency));
                    *slot += 1;
                }
            }
        }
        Self {
            generation,
            lexicon,
            shelves: based,
            len: places.len(),
            starts,
            postings,
            places,
        }
    }

    /// The entries with a term, each with what the term says of it, between 0 and 1.
    pub fn postings(&self, term: u32) -> &[(u32, f32)] {
        let term = term as usize;
        match (self.starts.get(term), self.starts.get(term + 1)) {
            (Some(&from), Some(&to)) => &self.postings[from as usize..to as usize],
            _ => &[],
        }
    }

    /// How rare a term is.
    pub fn rarity(&self, term: u32) -> f32 {
        self.rarity_of(self.postings(term).len())
    }

    /// How rare a word is that nothing contains.
    pub fn rarest(&self) -> f32 {
        self.rarity_of(0)
    }

    fn rarity_of(&self, with: usize) -> f32 {
        let (all, with) = (self.len as f32, with as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// How many terms occur.
    pub fn live_terms(&self) -> usize {
        self.starts
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count()
    }

    /// An entry by number.
    pub fn entry(&self, number: u32) -> &Arc<Entry> {
        let (shelf, inside) = self.places[number as usize];
        &self.shelves[shelf as usize].0.entries[inside as usize]
    }

    /// The same, taken apart.
    pub fn doc(&self, number: u32) -> &Doc {
        let (shelf, inside) = self.places[number as usize];
        &self.shelves[shelf as usize].0.docs[inside as usize]
    }

    /// Where an entry stands: its shelf, and its place on it.
    pub fn place(&self, number: u32) -> (usize, usize) {
        let (shelf, inside) = self.places[number as usize];
        (shelf as usize, inside as usize)
    }
}
