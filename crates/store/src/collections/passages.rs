//! How a document is cut into the passages that a search finds.

/// About how many bytes a passage has; never more than twice as many.
const WANTED: usize = 1_200;

/// The passages of `text`, which together are the text again. Each ends, where it can, with
/// a paragraph, a line, a sentence or a word.
pub(super) fn passages(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while rest.len() > WANTED * 2 {
        let room = &rest[..rest.floor_char_boundary(WANTED * 2)];
        let low = room.floor_char_boundary(WANTED);
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
            assert!(cut.iter().all(|passage| passage.len() <= WANTED * 2));
        }
        assert!(
            passages(&prose)
                .iter()
                .all(|passage| passage.ends_with(".\n"))
        );
    }
}
