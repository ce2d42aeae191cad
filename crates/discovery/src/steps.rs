//! Splits a long query into steps, so that each finds its own tool.

use crate::stem::stem;
use crate::tokens::{tokenize, weight};

/// Maximum steps of a query.
pub const MAX_STEPS: usize = 8;

/// Words that start a step after a full stop, `and` or a comma.
const VERBS: &str = "find get fetch retrieve provide calculate check give tell show send create list generate search look make book convert update add delete remove suggest recommend translate analyze analyse summarize summarise share write learn know see what how which when where who read open post upload download save notify email message schedule move copy rename compare compute extract run deploy build draw play buy order export import cancel";

/// Words that always separate two steps.
const BRIDGES: &str =
    "then additionally also furthermore moreover finally next afterwards lastly besides";

/// The steps of a query; empty if there is only one.
pub fn steps(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for sentence in sentences(text) {
        for clause in clauses(sentence) {
            let content = content_words(clause);
            if content >= 2 && out.len() < MAX_STEPS {
                out.push(clause.to_owned());
            // A clause with a single content word ("in Paris") belongs to the step before it.
            } else if content >= 1
                && let Some(last) = out.last_mut()
            {
                last.push(' ');
                last.push_str(clause);
            }
        }
    }
    match out.len() {
        0 | 1 => Vec::new(),
        _ => out,
    }
}

/// Number of content words in a clause.
fn content_words(clause: &str) -> usize {
    tokenize(clause, 64)
        .iter()
        .filter(|word| weight(word, &stem(word)) >= 1.0)
        .count()
}

/// Splits at sentence ends, line breaks, semicolons and list bullets.
fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let space_follows = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = match c {
            '\n' | ';' | '\u{3002}' | '\u{ff1b}' | '\u{2022}' => true,
            '.' | '!' | '?' => space_follows,
            _ => false,
        };
        if ends {
            out.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    out.push(&text[start..]);
    out
}

/// Splits a sentence where another action begins.
fn clauses(sentence: &str) -> Vec<&str> {
    let mut tokens: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for piece in sentence.split_inclusive(char::is_whitespace) {
        tokens.push((at, piece));
        at += piece.len();
    }
    let bare: Vec<String> = tokens
        .iter()
        .map(|(_, piece)| {
            piece
                .trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase()
        })
        .collect();
    let verb = |index: usize| bare.get(index).is_some_and(|word| has(VERBS, word));
    let mut out = Vec::new();
    let mut start = 0;
    for (index, (from, piece)) in tokens.iter().enumerate().skip(1) {
        let bridge = has(BRIDGES, &bare[index]);
        let joined = bare[index] == "and"
            && (verb(index + 1) || has(BRIDGES, bare.get(index + 1).map_or("", String::as_str)));
        // A comma alone separates list items; only before a verb does it start a step.
        let comma = tokens[index - 1].1.trim_end().ends_with(',') && verb(index);
        if (bridge || joined || comma) && *from > start {
            out.push(&sentence[start..*from]);
            start = match bridge || joined {
                true => from + piece.len(),
                false => *from,
            };
        }
    }
    out.push(sentence.get(start..).unwrap_or_default());
    out.into_iter()
        .map(|clause| clause.trim_matches(|c: char| c.is_whitespace() || ",.:;-".contains(c)))
        .filter(|clause| !clause.is_empty())
        .collect()
}

fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_of_one_deed_has_no_steps() {
        assert!(steps("send an email to Ann with the quarterly report").is_empty());
        assert!(steps("gmail").is_empty());
        assert!(steps("").is_empty());
    }

    #[test]
    fn sentences_lists_and_bridges_part_steps() {
        for text in [
            "Download the invoice from Stripe. Mail the invoice to the accountant.",
            "download the Stripe invoice and then mail the invoice to the accountant",
            "Download the Stripe invoice; mail the invoice to accountant",
            "1. download the Stripe invoice\n2. mail the invoice to the accountant",
            "- download the Stripe invoice\n- mail the invoice to the accountant",
            "download the Stripe invoice, send the accountant the file",
        ] {
            assert_eq!(steps(text).len(), 2, "{text}: {:?}", steps(text));
        }
    }

    #[test]
    fn numbers_with_a_point_and_addresses_stay_whole() {
        assert!(steps("convert 12.50 euro at example.com rates").is_empty());
    }

    proptest! {
        #[test]
        fn steps_are_bounded_and_never_empty(text in "\\PC{0,400}") {
            let all = steps(&text);
            prop_assert!(all.len() <= MAX_STEPS);
            prop_assert!(all.len() != 1);
            prop_assert!(all.iter().all(|step| !step.trim().is_empty()));
        }
    }
}
