//! Words to the pieces of a byte-pair vocabulary, as `tokenizer.json` describes it.
//!
//! Only what the vocabulary of the word vectors needs: a word at a time, `\u{2581}` in front, bytes where a letter is unknown.

use std::collections::HashMap;

use serde::Deserialize;

/// The longest word in letters; merging looks at all pairs each time.
const LONGEST: usize = 64;

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Together(String),
    Apart(String, String),
}

/// The pieces and the order in which they are joined.
pub struct Pieces {
    singles: HashMap<char, u32>,
    bytes: Vec<Option<u32>>,
    merges: HashMap<(u32, u32), (u32, u32)>,
    space: Option<u32>,
}

impl Pieces {
    /// Reads a `tokenizer.json`. What it says of pieces that it does not have is passed over.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let File { model } = serde_json::from_slice(json)?;
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

    /// The pieces of one word.
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
        let pieces = Pieces::parse(TINY.as_bytes()).expect("a vocabulary");
        assert_eq!(pieces.of("ab"), [10]);
        assert_eq!(pieces.of("abc"), [10, 8], "a b comes before b c");
        assert_eq!(pieces.of("bc"), [5, 11]);
    }

    #[test]
    fn an_unknown_letter_is_its_bytes_and_what_has_none_is_passed_over() {
        let pieces = Pieces::parse(TINY.as_bytes()).expect("a vocabulary");
        assert_eq!(pieces.of("\u{e9}"), [5, 3, 4]);
        assert_eq!(pieces.of("\u{4e00}"), [5]);
    }

    #[test]
    fn a_broken_file_is_an_error() {
        assert!(Pieces::parse(b"{\"model\": 3}").is_err());
    }
}
