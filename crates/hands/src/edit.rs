//! Edits by exact replacement.

/// Why an edit was refused. The text is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The search text is empty.
    #[error("must not be empty")]
    EmptyOldString,
    /// The search text does not occur.
    #[error("not found")]
    NotFound,
    /// The search text occurs more than once, but one match was expected.
    #[error("found {count} times")]
    Ambiguous {
        /// Number of occurrences.
        count: usize,
    },
}

/// The text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// Number of replacements.
    pub replacements: usize,
}

/// How many matches an edit may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matches {
    /// Exactly one; anything else is an error.
    One,
    /// All of them.
    All,
}

/// Replaces `old` by `new`, both literal: `$1`, `$&` and backslashes have no special meaning.
pub fn replace_exact(
    text: &str,
    old: &str,
    new: &str,
    matches: Matches,
) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::EmptyOldString);
    }
    let count = match matches {
        Matches::All => text.matches(old).count(),
        Matches::One => overlapping(text, old),
    };
    match (matches, count) {
        (_, 0) => Err(EditError::NotFound),
        (Matches::One, 2..) => Err(EditError::Ambiguous { count }),
        _ => Ok(Edited {
            text: text.replace(old, new),
            replacements: count,
        }),
    }
}

/// Occurrences including overlapping ones: `aa` occurs twice in `aaa`, and which one was meant is
/// ambiguous.
fn overlapping(text: &str, old: &str) -> usize {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut count = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        count += 1;
        from += at + step;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        text: &str,
        old: &str,
        new: &str,
        matches: Matches,
        expect: Result<(&str, usize), EditError>,
    ) {
        let edited = replace_exact(text, old, new, matches);
        assert_eq!(
            edited
                .as_ref()
                .map(|e| (e.text.as_str(), e.replacements))
                .map_err(Clone::clone),
            expect
        );
    }

    #[test]
    fn one_match_is_replaced() {
        check("a b c", "b", "x", Matches::One, Ok(("a x c", 1)));
        check("a\r\nb", "a\r\n", "", Matches::One, Ok(("b", 1)));
        check(
            "no newline",
            "newline",
            "end",
            Matches::One,
            Ok(("no end", 1)),
        );
    }

    #[test]
    fn replacement_text_is_literal() {
        check(
            "price",
            "price",
            "$& $1 $$ \\n \\1",
            Matches::One,
            Ok(("$& $1 $$ \\n \\1", 1)),
        );
        check("a.c abc", "a.c", "x", Matches::One, Ok(("x abc", 1)));
    }

    #[test]
    fn several_matches_need_to_be_meant() {
        check(
            "a a a",
            "a",
            "b",
            Matches::One,
            Err(EditError::Ambiguous { count: 3 }),
        );
        check(
            "aaa",
            "aa",
            "b",
            Matches::One,
            Err(EditError::Ambiguous { count: 2 }),
        );
        check(
            "ééé",
            "éé",
            "b",
            Matches::One,
            Err(EditError::Ambiguous { count: 2 }),
        );
        check("a a a", "a", "b", Matches::All, Ok(("b b b", 3)));
        check("aaa", "aa", "b", Matches::All, Ok(("ba", 1)));
    }

    #[test]
    fn nothing_found_and_nothing_sought_are_refused() {
        check("a", "b", "c", Matches::One, Err(EditError::NotFound));
        check("a", "b", "c", Matches::All, Err(EditError::NotFound));
        check("a", "", "c", Matches::All, Err(EditError::EmptyOldString));
    }
}
