//! From a request to the entries that fit, best first.
//!
//! Words and vectors first choose who is looked at closely; then each of these is compared with the request
//! word by word, in both directions, and everything is weighed together, for the whole and for each step.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use crate::asked::Asked;
use crate::entry::Entry;
use crate::lexicon::Form;
use crate::meaning::{Field, Meaning};
use crate::snapshot::Snapshot;
use crate::vectors::Small;
use crate::weigh::{Marks, STEP_SHARE, score};

/// How many are looked at closely: by words and by vectors, for the whole and for a step.
const WHOLE: usize = 100;
const STEP: usize = 30;

/// Relatives by matter choose who is looked at, but less than the words themselves.
const MATTER: f32 = 0.3;

/// Below this two words have nothing to do with each other.
const UNRELATED: f32 = 0.2;

/// An entry that was looked at closely.
pub struct Seen {
    /// Which.
    pub number: u32,
    /// How it compares with the whole request.
    pub marks: Marks,
    /// The step it fits best, and how it compares with that.
    pub step: Option<(usize, Marks, f32)>,
    /// What everything comes to.
    pub score: f32,
    /// Its share of the chances among all that were seen.
    pub chance: f32,
    /// Which words of the request it answers.
    pub matched: Vec<usize>,
}

/// Ranks the entries that `allowed` lets through.
pub fn rank(
    snapshot: &Snapshot,
    asked: &Asked,
    meaning: Option<&Meaning>,
    allowed: &dyn Fn(&Entry) -> bool,
) -> Vec<Seen> {
    if asked.words.is_empty() || snapshot.len == 0 {
        return Vec::new();
    }
    let field = meaning.map(|meaning| (meaning, meaning.field(snapshot)));
    let field = field.as_ref().map(|(meaning, field)| (*meaning, field));
    let surfaces: Vec<Arc<str>> = asked
        .words
        .iter()
        .map(|word| word.surface.as_str().into())
        .collect();
    let vectors = meaning.map(|meaning| meaning.words(&surfaces));
    let mut stamps = vec![(u32::MAX, 0f32); snapshot.len];
    let parts: Vec<Part> = asked
        .parts
        .iter()
        .enumerate()
        .map(|(turn, part)| {
            let meaning = meaning.zip(vectors.as_deref());
            Part::new(snapshot, asked, (turn, part), meaning, &mut stamps)
        })
        .collect();
    let mut gate = Gate {
        snapshot,
        allowed,
        known: HashMap::new(),
    };
    let chosen = choose(snapshot, &parts, field.map(|(_, field)| field), &mut gate);
    let near = Nearness::new(snapshot, asked, &chosen, meaning.zip(vectors.as_deref()));
    let best: Vec<f32> = parts
        .iter()
        .map(|part| {
            chosen
                .iter()
                .map(|n| part.words[*n as usize])
                .fold(0.0, f32::max)
        })
        .collect();
    let mut seen: Vec<Seen> = chosen
        .iter()
        .enumerate()
        .map(|(place, &number)| {
            let named = snapshot.doc(number).named;
            let of = |at: usize| {
                let part = &parts[at];
                let mut marks = near.compare(place, named, &asked.parts[at]);
                let words = part.words[number as usize];
                marks.words = words;
                marks.words_of_best = words / best[at].max(1e-6);
                marks.matter = part.matter[number as usize];
                marks.share = words / part.all.max(1e-6);
                if let (Some((_, field)), Some(vector)) = (field, &part.vector) {
                    marks.vector = field.near(snapshot.place(number), vector);
                }
                marks
            };
            let marks = of(0);
            let mut total = score(&marks, asked.length, meaning.is_some());
            let step = (1..parts.len())
                .filter(|at| !asked.parts[*at].is_empty())
                .map(|at| {
                    let marks = of(at);
                    let score = score(&marks, asked.length, meaning.is_some());
                    (at - 1, marks, score)
                })
                .max_by(|a, b| a.2.total_cmp(&b.2));
            if let Some((_, _, step)) = &step {
                total += STEP_SHARE * step;
            }
            Seen {
                number,
                marks,
                step,
                score: total,
                chance: 0.0,
                matched: near.matched(place, &asked.parts[0]),
            }
        })
        .collect();
    seen.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.number.cmp(&b.number)));
    let best = seen.first().map_or(0.0, |one| one.score);
    let all: f32 = seen.iter().map(|one| (one.score - best).exp()).sum();
    for one in &mut seen {
        one.chance = ((one.score - best).exp() / all).max(1e-6);
    }
    seen
}

/// A part of a request held against all entries.
struct Part {
    words: Vec<f32>,
    matter: Vec<f32>,
    /// What all its words come to.
    all: f32,
    vector: Option<Small>,
}

impl Part {
    fn new(
        snapshot: &Snapshot,
        asked: &Asked,
        (turn, part): (usize, &[usize]),
        meaning: Option<(&Meaning, &[Arc<Small>])>,
        mark: &mut [(u32, f32)],
    ) -> Self {
        let mut words = vec![0f32; snapshot.len];
        let mut matter = vec![0f32; snapshot.len];
        let mut all = 0.0;
        // A term counts once, for the first word that means it.
        let mut taken: HashSet<u32> = part.iter().filter_map(|at| asked.words[*at].term).collect();
        for &at in part {
            let word = &asked.words[at];
            all += word.rarity * word.weight;
            if let Some(term) = word.term {
                let weight = word.rarity * word.weight * word.times;
                for (number, says) in snapshot.postings(term) {
                    words[*number as usize] += weight * says;
                }
            }
            // Of all the words that a word may mean, an entry is given the best one only.
            for by_matter in [false, true] {
                let into = match by_matter {
                    true => &mut matter,
                    false => &mut words,
                };
                let stamp = ((turn * asked.words.len() + at) * 2 + usize::from(by_matter)) as u32;
                for other in &word.related {
                    if other.by_matter != by_matter || !taken.insert(other.term) {
                        continue;
                    }
                    let near = if by_matter { 1.0 } else { other.near };
                    let weight = snapshot.rarity(other.term) * word.weight * near;
                    for (number, says) in snapshot.postings(other.term) {
                        let number = *number as usize;
                        let says = weight * says;
                        let before = match mark[number].0 == stamp {
                            true => mark[number].1,
                            false => 0.0,
                        };
                        if says > before {
                            into[number] += says - before;
                            mark[number] = (stamp, says);
                        }
                    }
                }
            }
        }
        Self {
            words,
            matter,
            all,
            vector: meaning.map(|(meaning, vectors)| meaning.part(asked, part, vectors)),
        }
    }
}

/// Asks once about each entry whether it may be seen.
struct Gate<'a> {
    snapshot: &'a Snapshot,
    allowed: &'a dyn Fn(&Entry) -> bool,
    known: HashMap<u32, bool>,
}

impl Gate<'_> {
    fn lets(&mut self, number: u32) -> bool {
        *self
            .known
            .entry(number)
            .or_insert_with(|| (self.allowed)(self.snapshot.entry(number)))
    }
}

/// Who is looked at closely.
fn choose(snapshot: &Snapshot, parts: &[Part], field: Option<&Field>, gate: &mut Gate) -> Vec<u32> {
    let mut chosen = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let most = if at == 0 { WHOLE } else { STEP };
        let mut best = Best::new(most);
        for (number, (words, matter)) in part.words.iter().zip(&part.matter).enumerate() {
            let score = words + MATTER * matter;
            if score > 0.0 {
                best.offer(score, number as u32, gate);
            }
        }
        chosen.extend(best.numbers());
        if let (Some(field), Some(vector)) = (field, &part.vector) {
            let mut best = Best::new(most);
            field.roughly(vector, |number, near| {
                if near > 0.0 {
                    best.offer(near, number, gate);
                }
            });
            chosen.extend(best.numbers());
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    debug_assert!(chosen.len() <= snapshot.len);
    chosen
}

/// The best few of many.
struct Best {
    most: usize,
    heap: BinaryHeap<Reverse<(u32, Reverse<u32>)>>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self {
            most,
            heap: BinaryHeap::with_capacity(most + 1),
        }
    }

    /// Takes one in when it is better than the worst; scores are positive, so their bits are in order.
    fn offer(&mut self, score: f32, number: u32, gate: &mut Gate) {
        let bits = score.to_bits();
        let full = self.heap.len() >= self.most;
        if full
            && self
                .heap
                .peek()
                .is_some_and(|Reverse(worst)| bits <= worst.0)
        {
            return;
        }
        if !gate.lets(number) {
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

/// How near the words of the request are to each word of those who are looked at closely.
struct Nearness {
    /// The rows of each entry's words, in the order of its words.
    rows: Vec<Vec<u32>>,
    width: usize,
    near: Vec<f32>,
    /// How much each word of the request counts.
    heavy: Vec<f32>,
    /// How much each form counts, in a name and in a text.
    terms: Vec<(f32, f32)>,
}

impl Nearness {
    fn new(
        snapshot: &Snapshot,
        asked: &Asked,
        chosen: &[u32],
        meaning: Option<(&Meaning, &[Arc<Small>])>,
    ) -> Self {
        let width = asked.words.len();
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
            .unwrap_or_else(|held| held.into_inner());
        let forms: Vec<Form> = ids.iter().map(|id| lexicon.form(*id).clone()).collect();
        drop(lexicon);
        let mut of_term: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, form) in forms.iter().enumerate() {
            of_term.entry(form.term).or_default().push(row);
        }
        let mut near = vec![0f32; width * ids.len()];
        let mut lengths = vec![1f32; ids.len()];
        let mut heavy: Vec<f32> = asked.words.iter().map(|w| w.weight * w.rarity).collect();
        if let Some((meaning, vectors)) = meaning {
            let names: Vec<Arc<str>> = forms.iter().map(|form| Arc::clone(&form.surface)).collect();
            for (at, small) in meaning.words(&names).iter().enumerate() {
                lengths[at] = small.length;
                for &word in &asked.parts[0] {
                    // Words of asking are near to everything that asks.
                    if asked.words[word].weight >= 1.0 {
                        near[at * width + word] = vectors[word].near(small).max(0.0);
                    }
                }
            }
            for (weight, vector) in heavy.iter_mut().zip(vectors) {
                *weight *= vector.length;
            }
        }
        for (word, asked) in asked.words.iter().enumerate() {
            let own = asked.term.map(|term| (term, 1.0));
            let others = asked.related.iter().map(|other| (other.term, other.near));
            for (term, nearness) in own.into_iter().chain(others) {
                for row in of_term.get(&term).into_iter().flatten() {
                    let slot = &mut near[row * width + word];
                    *slot = slot.max(nearness);
                }
            }
        }
        for slot in &mut near {
            *slot = (*slot - UNRELATED).max(0.0) / (1.0 - UNRELATED);
        }
        let terms = forms
            .iter()
            .zip(&lengths)
            .map(|(form, length)| {
                let rarity = snapshot.rarity(form.term);
                (rarity, rarity * form.weight * length)
            })
            .collect();
        Self {
            rows,
            width,
            near,
            heavy,
            terms,
        }
    }

    /// How much of an entry the words speak of, and how much of the words it answers.
    fn compare(&self, at: usize, named: usize, part: &[usize]) -> Marks {
        let mut answered = vec![0f32; self.width];
        let (mut name, mut name_all, mut text, mut text_all) = (0.0, 0.0, 0.0, 0.0);
        for (place, row) in self.rows[at].iter().enumerate() {
            let row = *row as usize;
            let nears = &self.near[row * self.width..(row + 1) * self.width];
            let mut best = 0f32;
            for &word in part {
                best = best.max(nears[word]);
                answered[word] = answered[word].max(nears[word]);
            }
            let (in_name, in_text) = self.terms[row];
            if place < named {
                name += in_name * best;
                name_all += in_name;
            }
            text += in_text * best;
            text_all += in_text;
        }
        let all: f32 = part.iter().map(|word| self.heavy[*word]).sum();
        let got: f32 = part
            .iter()
            .map(|word| self.heavy[*word] * answered[*word])
            .sum();
        Marks {
            name: name / f32::max(name_all, 1e-6),
            text: text / f32::max(text_all, 1e-6),
            answered: got / all.max(1e-6),
            ..Marks::default()
        }
    }

    /// The words of the request that an entry answers clearly.
    fn matched(&self, at: usize, part: &[usize]) -> Vec<usize> {
        let clear = |word: &&usize| {
            self.rows[at]
                .iter()
                .any(|row| self.near[*row as usize * self.width + **word] >= 0.5)
        };
        part.iter().filter(clear).copied().collect()
    }
}
