//! A small synonym table of everyday and computing words, so that *buy* finds *purchase*.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::stem::stem;

const TABLE: &str = include_str!("thesaurus.txt");

/// Synonyms by stem, and all words of the table.
struct Thesaurus {
    also: HashMap<String, Vec<String>>,
    known: HashSet<&'static str>,
}

static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(|| {
    let mut also: HashMap<String, Vec<String>> = HashMap::new();
    let mut known = HashSet::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        known.extend(line.split_whitespace().filter(|word| word.len() >= 3));
        // `a b > c d` relates in one direction, a line without `>` in both.
        let (from, to) = line.split_once('>').unwrap_or((line, line));
        let to: Vec<String> = to.split_whitespace().map(stem).collect();
        for word in from.split_whitespace().map(stem) {
            let others = also.entry(word.clone()).or_default();
            for other in &to {
                if *other != word && !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    Thesaurus { also, known }
});

/// The synonyms of `stem`.
pub fn also(stem: &str) -> &'static [String] {
    THESAURUS.also.get(stem).map_or(&[], Vec::as_slice)
}

/// Whether the table contains this word.
pub fn knows(word: &str) -> bool {
    THESAURUS.known.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_brings_its_relatives() {
        assert!(also(&stem("buying")).contains(&stem("purchase")));
        assert!(also(&stem("purchase")).contains(&stem("buy")));
        assert!(also("xylophon").is_empty());
    }

    #[test]
    fn a_name_brings_its_kind_and_not_the_other_way_round() {
        assert!(also(&stem("postgres")).contains(&stem("database")));
        assert!(!also(&stem("database")).contains(&stem("postgres")));
    }
}
