//! The vectors in use: the model, and the words it was asked for lately.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

use crate::asked::Asked;
use crate::shelf::Rows;
use crate::snapshot::Snapshot;
use crate::vectors::{Small, VectorsError, WIDTH, WordVectors, dot_row};
use crate::words::is_number;

/// The most words that are held; past it they are let go and read again.
const MOST_HELD: usize = 30_000;

/// The first numbers of a vector say most; so many choose who is looked at closely.
const HEAD: usize = 64;

/// A model, and what was read of it.
pub struct Meaning {
    model: WordVectors,
    held: RwLock<HashMap<Arc<str>, Arc<Small>>>,
}

/// The vectors of every shelf of a snapshot.
pub struct Field {
    rows: Vec<(Arc<Rows>, u32)>,
}

impl Meaning {
    /// Opens a folder of vectors.
    pub fn open(folder: &Path) -> Result<Self, VectorsError> {
        Ok(Self {
            model: WordVectors::open(folder)?,
            held: RwLock::default(),
        })
    }

    /// The vectors of a snapshot's entries, made where they are missing.
    pub fn field(&self, snapshot: &Snapshot) -> Field {
        let mut known = HashMap::new();
        let rows = snapshot
            .shelves
            .iter()
            .map(|(shelf, base)| (shelf.rows(&self.model, &mut known), *base))
            .collect();
        Field { rows }
    }

    /// The vectors of words.
    pub fn words(&self, words: &[Arc<str>]) -> Vec<Arc<Small>> {
        let mut out: Vec<Option<Arc<Small>>> = {
            let held = self.held.read().unwrap_or_else(|held| held.into_inner());
            words.iter().map(|word| held.get(word).cloned()).collect()
        };
        let mut new = Vec::new();
        for (word, slot) in words.iter().zip(&mut out) {
            if slot.is_none() {
                let made = Arc::new(Small::of(&self.model.word(word)));
                new.push((Arc::clone(word), Arc::clone(&made)));
                *slot = Some(made);
            }
        }
        if !new.is_empty() {
            let mut held = self.held.write().unwrap_or_else(|held| held.into_inner());
            if held.len() + new.len() > MOST_HELD {
                held.clear();
            }
            held.extend(new.into_iter().take(MOST_HELD));
        }
        out.into_iter().flatten().collect()
    }

    /// The vector of a part of a request.
    pub fn part(&self, asked: &Asked, part: &[usize], vectors: &[Arc<Small>]) -> Small {
        let mut sum = [0.0; WIDTH];
        for &index in part {
            let (word, small) = (&asked.words[index], &vectors[index]);
            if is_number(&word.surface) {
                continue;
            }
            let unit = word.weight * small.scale * small.length;
            for (into, byte) in sum.iter_mut().zip(&small.bytes) {
                *into += unit * f32::from(*byte);
            }
        }
        Small::of(&sum)
    }
}

impl Field {
    /// Roughly how near every entry is, by the first numbers of the vectors.
    pub fn roughly(&self, to: &Small, mut tell: impl FnMut(u32, f32)) {
        for (rows, base) in &self.rows {
            let all = rows.bytes.chunks_exact(WIDTH).zip(&rows.scales);
            for (number, (row, scale)) in (*base..).zip(all) {
                tell(
                    number,
                    dot_row(&row[..HEAD], &to.bytes[..HEAD]) as f32 * scale * to.scale,
                );
            }
        }
    }

    /// How near one entry is.
    pub fn near(&self, (shelf, inside): (usize, usize), to: &Small) -> f32 {
        let rows = &self.rows[shelf].0;
        let row = &rows.bytes[inside * WIDTH..(inside + 1) * WIDTH];
        dot_row(row, &to.bytes) as f32 * rows.scales[inside] * to.scale
    }
}
