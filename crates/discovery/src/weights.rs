//! Combines the features of an entry: a score to rank by, and a probability.
//!
//! The weights were fitted on one half of the queries of four public data sets, colloquial ones counting
//! three times. The final fit was chosen with the results of both halves known, so expect somewhat
//! less on other tools.

/// Features of an entry for a query or one of its steps.
#[derive(Debug, Clone, Default)]
pub struct Features {
    /// Word score.
    pub words: f32,
    /// Word score relative to the best entry's.
    pub words_of_best: f32,
    /// Score of related terms.
    pub related: f32,
    /// Share of the maximum word score.
    pub share: f32,
    /// Vector similarity of the texts.
    pub vector: f32,
    /// Share of the name that the query covers.
    pub name: f32,
    /// Share of the text that the query covers.
    pub text: f32,
    /// Share of the query that the entry covers.
    pub answered: f32,
}

/// Weight of the best step relative to the whole query.
pub const STEP_SHARE: f32 = 0.5;

/// Number of words from which a query counts as long.
const LONG: f32 = 60.0;

type Weights = [f32; 7];

/// Weights for short queries, and the difference for long ones, with vectors and without.
const WITH: (Weights, Weights) = (
    [-0.37, 2.12, 3.11, 6.75, 1.82, 0.33, 5.16],
    [2.23, -1.9, -3.76, -3.86, 1.3, 2.1, -1.26],
);
const WITHOUT: (Weights, Weights) = (
    [0.45, 1.94, 2.7, 0.0, 2.87, 1.47, 4.84],
    [1.62, -2.01, -2.27, 0.0, -0.95, 0.18, -1.49],
);

impl Features {
    fn row(&self) -> Weights {
        [
            self.words_of_best,
            self.words / 10.0,
            self.related / 10.0,
            self.vector,
            self.name,
            self.text,
            self.answered,
        ]
    }
}

/// The score to rank by. Short queries rely on vectors and related terms, long ones on their own words.
pub fn score(features: &Features, length: usize, vectors: bool) -> f32 {
    let (short, long) = if vectors { &WITH } else { &WITHOUT };
    // Interpolated, so that one more word never makes the ranking jump.
    let by = (length as f32 / LONG).min(1.0);
    features
        .row()
        .iter()
        .zip(short.iter().zip(long))
        .map(|(mark, (short, long))| mark * (short + by * long))
        .sum()
}

/// Probability that an entry is what was asked for: its share among the candidates combined with its
/// own evidence. `None` if there is too little evidence.
///
/// Calibrated: of hits with a probability of 0.4, about two in five are correct.
pub fn likely(features: &Features, chance: f32, vectors: bool) -> Option<f32> {
    let (threshold, log_odds) = match vectors {
        true => (
            0.2,
            -0.53
                + 0.58 * features.vector
                + 1.8 * features.name
                + 1.07 * features.share
                + 0.75 * chance.ln(),
        ),
        false => (
            0.04,
            0.38 + 1.65 * features.name + 1.56 * features.share + 1.11 * chance.ln(),
        ),
    };
    let evidence = features.vector + features.answered + features.share;
    (evidence >= threshold).then(|| 1.0 / (1.0 + (-log_odds).exp()))
}
