//! Every word form that occurs in the index, once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::thesaurus;
use crate::words::kin;

/// The most forms; a word beyond that is not looked for.
const MOST_TERMS: usize = 400_000;

/// How many letters words must share to be forms of one word.
const KIN_HEAD: usize = 5;

/// How near a form of the same word is, a word that begins so, a word spelt nearly so, and a relative by the table.
const KIN: f32 = 0.85;
const BEGINS: f32 = 0.8;
const SPELT: f32 = 0.75;
const RELATIVE: f32 = 0.65;

/// The most words that one word of a request is taken to begin or to misspell.
const MOST_GUESSES: usize = 8;

/// One stem.
struct Term {
    /// The stem.
    stem: Arc<str>,
    /// The first form it was seen in.
    surface: Arc<str>,
}

/// One form of a stem, which is looked up among the vectors.
#[derive(Debug, Clone)]
pub struct Form {
    /// As it is written.
    pub surface: Arc<str>,
    /// The stem it is a form of.
    pub term: u32,
    /// How much it says, between 0 and 1.
    pub weight: f32,
}

/// How a term of the index is related to a word of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Related {
    /// The term.
    pub term: u32,
    /// How near, between 0 and 1.
    pub near: f32,
    /// Whether it belongs to the same matter only, and is not the same word in another form.
    pub by_matter: bool,
}

/// Stems by number.
#[derive(Default)]
pub struct Lexicon {
    terms: Vec<Term>,
    ids: HashMap<Arc<str>, u32>,
    forms: Vec<Form>,
    form_ids: HashMap<Arc<str>, u32>,
    heads: HashMap<[u8; KIN_HEAD], Vec<u32>>,
}

impl Lexicon {
    /// The numbers of a form and of its stem, given ones when they are new: stem first.
    pub fn intern(&mut self, stem: &str, surface: &str, weight: f32) -> Option<(u32, u32)> {
        if let Some(&id) = self.form_ids.get(surface) {
            return Some((self.forms[id as usize].term, id));
        }
        if self.forms.len() >= MOST_TERMS {
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

    /// The number of a stem.
    pub fn id(&self, stem: &str) -> Option<u32> {
        self.ids.get(stem).copied()
    }

    /// The form with a number.
    pub fn form(&self, id: u32) -> &Form {
        &self.forms[id as usize]
    }

    /// How many stems there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Other terms that a word of a request may mean.
    pub fn related(&self, stem: &str) -> Vec<Related> {
        let mut out: Vec<Related> = Vec::new();
        let forms = head(stem).and_then(|head| self.heads.get(&head));
        for &term in forms.into_iter().flatten().take(256) {
            let other = &*self.terms[term as usize].stem;
            if other != stem && kin(stem, other) {
                out.push(Related {
                    term,
                    near: KIN,
                    by_matter: false,
                });
            }
        }
        for other in thesaurus::also(stem) {
            if let Some(term) = self.id(other)
                && !out.iter().any(|one| one.term == term)
            {
                out.push(Related {
                    term,
                    near: RELATIVE,
                    by_matter: true,
                });
            }
        }
        out
    }

    /// Terms that begin with a word nobody wrote, or that differ from it by a slip of the pen.
    pub fn guesses(&self, word: &str, occurs: &dyn Fn(u32) -> bool) -> Vec<Related> {
        let letters = word.chars().count();
        if letters < 3 {
            return Vec::new();
        }
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
            let near = match begins {
                true => BEGINS,
                false
                    if slips == 0
                        || one.surface.len().abs_diff(word.len()) > slips
                        || (one.surface.chars().next() != first && letters < 6) =>
                {
                    continue;
                }
                false => match strsim::osa_distance(word, &one.surface) <= slips {
                    true => SPELT,
                    false => continue,
                },
            };
            if occurs(term) {
                out.push(Related {
                    term,
                    near,
                    by_matter: false,
                });
            }
        }
        out.sort_by(|a, b| b.near.total_cmp(&a.near).then(a.term.cmp(&b.term)));
        let mut seen = HashSet::new();
        out.retain(|one| seen.insert(one.term));
        out.truncate(MOST_GUESSES);
        out
    }
}

fn head(stem: &str) -> Option<[u8; KIN_HEAD]> {
    stem.as_bytes().get(..KIN_HEAD)?.try_into().ok()
}
