//! Splits a document into the passages that a search finds.

/// Approximate size of a passage in bytes; at most twice as many.
const TARGET: usize = 1_200;

/// The passages of `text`; concatenated they are the text. Each ends with a paragraph, line, sentence or word if possible.
pub(super) fn passages(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while rest.len() > TARGET * 2 {
        let room = &rest[..rest.floor_char_boundary(TARGET * 2)];
        let low = room.floor_char_boundary(TARGET);
        let end = ["\n\n", "\n", ". ", " "]
            .iter()
            .find_map(|mark| room[low..].find(mark).map(|at| low + at + mark.len()))
            .unwrap_or(room.len());
        let (passage, more) = rest.split_at(end);
        found.push(passage);
        rest = more;
    }
    if !rest.is_empty() || found.is_empty() {
        found.push(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_the_text_again_and_bounded() {
        let prose = "One sentence. Another one.\n".repeat(500);
        let texts = [
            "",
            "short",
            &prose,
            &"ü".repeat(10_000),
            &"a\n\n".repeat(5_000),
        ];
        for text in texts {
            let cut = passages(text);
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|passage| passage.len() <= TARGET * 2));
        }
        assert!(
            passages(&prose)
                .iter()
                .all(|passage| passage.ends_with(".\n"))
        );
    }
}
