//! An inverted index of all segments at one moment.

use std::sync::{Arc, RwLock};

use crate::entry::IndexEntry;
use crate::lexicon::Lexicon;
use crate::segment::{Doc, Segment};

/// BM25's k1: how fast repetitions of a word stop counting.
const SATURATION: f32 = 1.2;

/// An immutable index that is searched without locks.
pub struct Snapshot {
    /// The generation it was built from.
    pub generation: u64,
    /// The lexicon of its terms.
    pub lexicon: Arc<RwLock<Lexicon>>,
    /// The segments, each with the number of its first entry.
    pub segments: Vec<(Arc<Segment>, u32)>,
    /// Number of entries.
    pub len: usize,
    starts: Vec<u32>,
    postings: Vec<(u32, f32)>,
    locations: Vec<(u32, u32)>,
}

impl Snapshot {
    /// Builds the inverted index.
    pub fn new(
        generation: u64,
        lexicon: Arc<RwLock<Lexicon>>,
        segments: Vec<Arc<Segment>>,
    ) -> Self {
        let terms = lexicon
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .len();
        let mut based = Vec::with_capacity(segments.len());
        let mut locations = Vec::new();
        let mut counts = vec![0u32; terms + 1];
        for (at, segment) in segments.into_iter().enumerate() {
            let base = locations.len() as u32;
            for (inside, doc) in segment.docs.iter().enumerate() {
                locations.push((at as u32, inside as u32));
                for (term, _) in &doc.frequencies {
                    counts[*term as usize + 1] += 1;
                }
            }
            based.push((segment, base));
        }
        // Counting sort: all postings in one allocation, each term's range given by `starts`.
        for at in 1..counts.len() {
            counts[at] += counts[at - 1];
        }
        let starts = counts.clone();
        // `next` is the write position of each term; `starts` keeps the beginnings.
        let mut next = counts;
        let mut postings = vec![(0, 0.0); starts.last().map_or(0, |end| *end as usize)];
        for (segment, base) in &based {
            for (inside, doc) in segment.docs.iter().enumerate() {
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
            segments: based,
            len: locations.len(),
            starts,
            postings,
            locations,
        }
    }

    /// The entries containing a term, each with its saturated frequency between 0 and 1.
    pub fn postings(&self, term: u32) -> &[(u32, f32)] {
        let term = term as usize;
        match (self.starts.get(term), self.starts.get(term + 1)) {
            (Some(&from), Some(&to)) => &self.postings[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Inverse document frequency of a term.
    pub fn idf(&self, term: u32) -> f32 {
        self.idf_of(self.postings(term).len())
    }

    /// Inverse document frequency of a word that occurs nowhere.
    pub fn max_idf(&self) -> f32 {
        self.idf_of(0)
    }

    fn idf_of(&self, with: usize) -> f32 {
        let (all, with) = (self.len as f32, with as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// Number of terms in use.
    pub fn live_terms(&self) -> usize {
        self.starts
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count()
    }

    /// The entry with a number.
    pub fn entry(&self, number: u32) -> &Arc<IndexEntry> {
        let (segment, inside) = self.locations[number as usize];
        &self.segments[segment as usize].0.entries[inside as usize]
    }

    /// The parsed entry with a number.
    pub fn doc(&self, number: u32) -> &Doc {
        let (segment, inside) = self.locations[number as usize];
        &self.segments[segment as usize].0.docs[inside as usize]
    }

    /// The segment of an entry and its position in it.
    pub fn location(&self, number: u32) -> (usize, usize) {
        let (segment, inside) = self.locations[number as usize];
        (segment as usize, inside as usize)
    }
}
