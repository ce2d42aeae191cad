//! All word forms in the index, interned.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::thesaurus;
use crate::tokens::same_word;

/// Maximum forms; further words are not indexed.
const MAX_TERMS: usize = 400_000;

/// Common prefix length of forms of one word.
const PREFIX: usize = 5;

/// Similarity of another form of the same word, a prefix match, a near spelling, and a synonym.
const SAME_WORD: f32 = 0.85;
const STARTS_WITH: f32 = 0.8;
const TYPO: f32 = 0.75;
const SYNONYM: f32 = 0.65;

/// Maximum guesses per query word.
const MAX_GUESSES: usize = 8;

/// A stem.
struct Term {
    /// The stem.
    stem: Arc<str>,
    /// The first form it occurred in.
    surface: Arc<str>,
}

/// A form of a stem, as looked up among the vectors.
#[derive(Debug, Clone)]
pub struct Form {
    /// As written.
    pub surface: Arc<str>,
    /// Its stem.
    pub term: u32,
    /// Its weight, between 0 and 1.
    pub weight: f32,
}

/// A term related to a query word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Related {
    /// The term.
    pub term: u32,
    /// Similarity, between 0 and 1.
    pub similarity: f32,
    /// Whether it is only related by topic, not another form of the word.
    pub by_topic: bool,
}

/// Interned stems and forms.
#[derive(Default)]
pub struct Lexicon {
    terms: Vec<Term>,
    ids: HashMap<Arc<str>, u32>,
    forms: Vec<Form>,
    form_ids: HashMap<Arc<str>, u32>,
    heads: HashMap<[u8; PREFIX], Vec<u32>>,
}

impl Lexicon {
    /// The ids of a stem and a form, assigned if new.
    pub fn intern(&mut self, stem: &str, surface: &str, weight: f32) -> Option<(u32, u32)> {
        if let Some(&id) = self.form_ids.get(surface) {
            return Some((self.forms[id as usize].term, id));
        }
        // Bounds memory against servers that list random words.
        if self.forms.len() >= MAX_TERMS {
            return None;
        }
        let surface: Arc<str> = surface.into();
        let term = match self.ids.get(stem) {
            Some(&term) => term,
            None => self.new_term(stem, &surface),
        };
        let id = self.forms.len() as u32;
        self.form_ids.insert(Arc::clone(&surface), id);
        self.forms.push(Form {
            surface,
            term,
            weight,
        });
        Some((term, id))
    }

    fn new_term(&mut self, stem: &str, surface: &Arc<str>) -> u32 {
        let id = self.terms.len() as u32;
        let stem: Arc<str> = match *stem == **surface {
            true => Arc::clone(surface),
            false => stem.into(),
        };
        if let Some(head) = head(&stem) {
            self.heads.entry(head).or_default().push(id);
        }
        self.ids.insert(Arc::clone(&stem), id);
        self.terms.push(Term {
            stem,
            surface: Arc::clone(surface),
        });
        id
    }

    /// The id of a stem.
    pub fn id(&self, stem: &str) -> Option<u32> {
        self.ids.get(stem).copied()
    }

    /// The form with an id.
    pub fn form(&self, id: u32) -> &Form {
        &self.forms[id as usize]
    }

    /// Number of stems.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Other terms that a query word may mean.
    pub fn related(&self, stem: &str) -> Vec<Related> {
        let mut out: Vec<Related> = Vec::new();
        let forms = head(stem).and_then(|head| self.heads.get(&head));
        // Bounded: a common prefix may have thousands of stems.
        for &term in forms.into_iter().flatten().take(256) {
            let other = &*self.terms[term as usize].stem;
            if other != stem && same_word(stem, other) {
                out.push(Related {
                    term,
                    similarity: SAME_WORD,
                    by_topic: false,
                });
            }
        }
        for other in thesaurus::also(stem) {
            if let Some(term) = self.id(other)
                && !out.iter().any(|one| one.term == term)
            {
                out.push(Related {
                    term,
                    similarity: SYNONYM,
                    by_topic: true,
                });
            }
        }
        out
    }

    /// Terms that start with an unknown word, or differ from it by a typo.
    pub fn related_terms(&self, word: &str, occurs: &dyn Fn(u32) -> bool) -> Vec<Related> {
        let letters = word.chars().count();
        if letters < 3 {
            return Vec::new();
        }
        // Longer words leave room for more typos before they become another word.
        let slips = match letters {
            0..4 => 0,
            4..8 => 1,
            _ => 2,
        };
        let first = word.chars().next();
        let mut out: Vec<Related> = Vec::new();
        for (term, one) in self.terms.iter().enumerate() {
            let term = term as u32;
            let begins = one.surface.starts_with(word) || one.stem.starts_with(word);
            let similarity = match begins {
                true => STARTS_WITH,
                false
                    // Cheap tests first: the edit distance is computed for few of up to 400,000 terms.
                    if slips == 0
                        || one.surface.len().abs_diff(word.len()) > slips
                        || (one.surface.chars().next() != first && letters < 6) =>
                {
                    continue;
                }
                false => match strsim::osa_distance(word, &one.surface) <= slips {
                    true => TYPO,
                    false => continue,
                },
            };
            if occurs(term) {
                out.push(Related {
                    term,
                    similarity,
                    by_topic: false,
                });
            }
        }
        out.sort_by(|a, b| {
            b.similarity
                .total_cmp(&a.similarity)
                .then(a.term.cmp(&b.term))
        });
        let mut seen = HashSet::new();
        out.retain(|one| seen.insert(one.term));
        out.truncate(MAX_GUESSES);
        out
    }
}

fn head(stem: &str) -> Option<[u8; PREFIX]> {
    stem.as_bytes().get(..PREFIX)?.try_into().ok()
}
