//! A byte-pair tokenizer, as described by `tokenizer.json`.
//!
//! Only what static word vectors need: single words, prefixed with `\u{2581}`, with a byte fallback for unknown letters.

use std::collections::HashMap;

use serde::Deserialize;

/// Maximum word length in letters; merging is quadratic.
const LONGEST: usize = 64;

#[derive(Deserialize)]
struct TokenizerFile {
    model: BpeModel,
}

#[derive(Deserialize)]
struct BpeModel {
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Together(String),
    Apart(String, String),
}

/// The vocabulary and its merge rules.
pub struct Tokenizer {
    singles: HashMap<char, u32>,
    bytes: Vec<Option<u32>>,
    merges: HashMap<(u32, u32), (u32, u32)>,
    space: Option<u32>,
}

impl Tokenizer {
    /// Parses a `tokenizer.json`. Merges of unknown tokens are ignored.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let TokenizerFile { model } = serde_json::from_slice(json)?;
        let vocab = model.vocab;
        let mut merges = HashMap::with_capacity(model.merges.len());
        for (rank, merge) in model.merges.iter().enumerate() {
            let (left, right) = match merge {
                Merge::Together(both) => match both.split_once(' ') {
                    Some(parted) => parted,
                    None => continue,
                },
                Merge::Apart(left, right) => (left.as_str(), right.as_str()),
            };
            let joined = [left, right].concat();
            if let (Some(&a), Some(&b), Some(&c)) =
                (vocab.get(left), vocab.get(right), vocab.get(&joined))
            {
                // The first rule of a pair has the highest priority.
                merges.entry((a, b)).or_insert((rank as u32, c));
            }
        }
        let mut singles = HashMap::new();
        for (piece, &id) in &vocab {
            let mut chars = piece.chars();
            if let (Some(only), None) = (chars.next(), chars.next()) {
                singles.insert(only, id);
            }
        }
        Ok(Self {
            bytes: (0..=255u8)
                .map(|byte| vocab.get(&format!("<0x{byte:02X}>")).copied())
                .collect(),
            space: vocab.get("\u{2581}").copied(),
            singles,
            merges,
        })
    }

    /// The tokens of a word.
    pub fn of(&self, word: &str) -> Vec<u32> {
        let mut pieces: Vec<u32> = self.space.into_iter().collect();
        for c in word.chars().take(LONGEST) {
            match self.singles.get(&c) {
                Some(&id) => pieces.push(id),
                None => pieces.extend(
                    c.encode_utf8(&mut [0; 4])
                        .bytes()
                        .filter_map(|byte| self.bytes[usize::from(byte)]),
                ),
            }
        }
        loop {
            let first = pieces
                .windows(2)
                .enumerate()
                .filter_map(|(at, pair)| {
                    let (rank, joined) = self.merges.get(&(pair[0], pair[1]))?;
                    Some((*rank, at, *joined))
                })
                .min();
            let Some((_, at, joined)) = first else {
                return pieces;
            };
            pieces[at] = joined;
            pieces.remove(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = r#"{"model":{"type":"BPE","vocab":{"<0xC3>":3,"<0xA9>":4,"\u2581":5,"a":6,"b":7,"c":8,"ab":9,"\u2581ab":10,"bc":11},
        "merges":["a b","\u2581 ab","b c"]}}"#;

    #[test]
    fn pairs_are_joined_in_their_order() {
        let pieces = Tokenizer::parse(TINY.as_bytes()).expect("a vocabulary");
        assert_eq!(pieces.of("ab"), [10]);
        assert_eq!(pieces.of("abc"), [10, 8], "a b comes before b c");
        assert_eq!(pieces.of("bc"), [5, 11]);
    }

    #[test]
    fn an_unknown_letter_is_its_bytes_and_what_has_none_is_passed_over() {
        let pieces = Tokenizer::parse(TINY.as_bytes()).expect("a vocabulary");
        assert_eq!(pieces.of("\u{e9}"), [5, 3, 4]);
        assert_eq!(pieces.of("\u{4e00}"), [5]);
    }

    #[test]
    fn a_broken_file_is_an_error() {
        assert!(Tokenizer::parse(b"{\"model\": 3}").is_err());
    }
}
