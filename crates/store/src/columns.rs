//! How typed values become columns and back, where one spelling must be shared.

use manyhands_core::{Effect, Effects};

/// Effects as words with commas between: `reads,leaves`.
pub(crate) fn effects_text(effects: Effects) -> String {
    let words: Vec<&str> = effects.iter().map(Effect::as_str).collect();
    words.join(",")
}

/// The effects that such a text names; `None` for an unknown word.
pub(crate) fn effects_from(text: &str) -> Option<Effects> {
    let word = |word: &str| Effect::ALL.into_iter().find(|e| e.as_str() == word);
    let effects: Option<Vec<Effect>> = text
        .split(',')
        .filter(|w| !w.is_empty())
        .map(word)
        .collect();
    effects.map(Effects::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_round_trip_through_their_names() {
        for effects in [
            Effects::default(),
            Effects::READS,
            Effects::WRITES.and(Effects::LEAVES),
        ] {
            assert_eq!(effects_from(&effects_text(effects)), Some(effects));
        }
        assert_eq!(effects_from("reads,flies"), None);
    }
}
