//! Word vectors in use, with a cache of recent words.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

use crate::parsed_query::ParsedQuery;
use crate::segment::Rows;
use crate::snapshot::Snapshot;
use crate::tokens::is_number;
use crate::vectors::{QuantisedVector, VectorsError, WIDTH, WordVectors, dot_row};

/// Maximum cached words; the cache is cleared when it is full.
const MAX_CACHED: usize = 30_000;

/// Number of leading dimensions used to select candidates: they carry most of the information.
const HEAD: usize = 64;

/// A vector model and its cache.
pub struct WordVectorCache {
    model: WordVectors,
    cache: RwLock<HashMap<Arc<str>, Arc<QuantisedVector>>>,
}

/// The vectors of all segments of a snapshot.
pub struct SnapshotVectors {
    rows: Vec<(Arc<Rows>, u32)>,
}

impl WordVectorCache {
    /// Opens a folder of vectors.
    pub fn open(folder: &Path) -> Result<Self, VectorsError> {
        Ok(Self {
            model: WordVectors::open(folder)?,
            cache: RwLock::default(),
        })
    }

    /// The vectors of a snapshot's entries, computed where missing.
    pub fn field(&self, snapshot: &Snapshot) -> SnapshotVectors {
        let mut known = HashMap::new();
        let rows = snapshot
            .segments
            .iter()
            .map(|(segment, base)| (segment.rows(&self.model, &mut known), *base))
            .collect();
        SnapshotVectors { rows }
    }

    /// The vectors of words.
    pub fn words(&self, words: &[Arc<str>]) -> Vec<Arc<QuantisedVector>> {
        // Read lock first: after warm-up every word is cached, and searches run concurrently.
        let mut out: Vec<Option<Arc<QuantisedVector>>> = {
            let cache = self
                .cache
                .read()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            words.iter().map(|word| cache.get(word).cloned()).collect()
        };
        let mut new = Vec::new();
        for (word, slot) in words.iter().zip(&mut out) {
            if slot.is_none() {
                let computed = Arc::new(QuantisedVector::of(&self.model.word(word)));
                new.push((Arc::clone(word), Arc::clone(&computed)));
                *slot = Some(computed);
            }
        }
        if !new.is_empty() {
            let mut cache = self
                .cache
                .write()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            // Cleared as a whole: tracking the age of every word would cost more than computing the few in
            // use again.
            if cache.len() + new.len() > MAX_CACHED {
                cache.clear();
            }
            cache.extend(new.into_iter().take(MAX_CACHED));
        }
        out.into_iter().flatten().collect()
    }

    /// The vector of a part of a query.
    pub fn part(
        &self,
        parsed: &ParsedQuery,
        part: &[usize],
        vectors: &[Arc<QuantisedVector>],
    ) -> QuantisedVector {
        let mut sum = [0.0; WIDTH];
        for &index in part {
            let (word, small) = (&parsed.words[index], &vectors[index]);
            // A number says nothing about the topic, and its vector would shift the sum.
            if is_number(&word.surface) {
                continue;
            }
            let unit = word.weight * small.scale * small.length;
            for (into, byte) in sum.iter_mut().zip(&small.bytes) {
                *into += unit * f32::from(*byte);
            }
        }
        QuantisedVector::of(&sum)
    }
}

impl SnapshotVectors {
    /// Approximate similarity of every entry, by the leading dimensions.
    pub fn roughly(&self, to: &QuantisedVector, mut report: impl FnMut(u32, f32)) {
        for (rows, base) in &self.rows {
            let all = rows.bytes.chunks_exact(WIDTH).zip(&rows.scales);
            for (number, (row, scale)) in (*base..).zip(all) {
                report(
                    number,
                    dot_row(&row[..HEAD], &to.bytes[..HEAD]) as f32 * scale * to.scale,
                );
            }
        }
    }

    /// Similarity of one entry.
    pub fn similarity(&self, (segment, inside): (usize, usize), to: &QuantisedVector) -> f32 {
        let rows = &self.rows[segment].0;
        let row = &rows.bytes[inside * WIDTH..(inside + 1) * WIDTH];
        dot_row(row, &to.bytes) as f32 * rows.scales[inside] * to.scale
    }
}
