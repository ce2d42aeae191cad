//! Full text as SQLite does it: how words are put into its index and asked for.
//!
//! PostgreSQL would be given the plain text and `websearch_to_tsquery`; whatever is said here of
//! quotes and columns is SQLite's own.

/// How many words of a question count.
const MAX_WORDS: usize = 32;
/// How many characters of a word count.
const MAX_WORD: usize = 64;
/// From how many letters on the beginning of a word finds it.
const PREFIX_FROM: usize = 3;

/// Whether all words of a question must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchWords {
    All,
    Any,
}

/// Text as it goes into the index: scripts without spaces are given some, so that each sign is a
/// word.
pub(crate) fn spread(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push(' '),
            c if is_sign(c) => out.extend([' ', c, ' ']),
            c => out.push(c),
        }
    }
    out
}

/// One word that stands for an owner of pieces.
pub(crate) fn owner(name: &str) -> String {
    let mut word = String::from("o");
    for byte in name.bytes() {
        word.push_str(&format!("{byte:02x}"));
    }
    word
}

/// The words of a question, as somebody wrote it. Signs that mean something to the index are only
/// what parts words.
pub(crate) fn words(question: &str) -> Vec<String> {
    let parts = question.split(|c: char| !c.is_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty());
    let short = |part: &str| {
        part.chars()
            .take(MAX_WORD)
            .collect::<String>()
            .to_lowercase()
    };
    parts.map(short).take(MAX_WORDS).collect()
}

/// What the index is asked: words of these owners, or of anybody. Every word is in quotes and holds
/// letters and digits only, so nothing in it is an operator.
pub(crate) fn query(words: &[String], owners: &[String], wanted: MatchWords) -> String {
    let between = match wanted {
        MatchWords::All => " AND ",
        MatchWords::Any => " OR ",
    };
    let one = |word: &String| {
        let signs = word.chars().any(is_sign);
        let long = signs || word.chars().count() >= PREFIX_FROM;
        let spread = spread(word);
        format!("\"{}\"{}", spread.trim(), if long { "*" } else { "" })
    };
    let words: Vec<String> = words.iter().map(one).collect();
    let words = format!("words : ({})", words.join(between));
    if owners.is_empty() {
        return words;
    }
    let owners: Vec<String> = owners.iter().map(|o| format!("\"{}\"", owner(o))).collect();
    format!("who : ({}) AND {words}", owners.join(" OR "))
}

/// Signs of scripts that are written without spaces between words.
fn is_sign(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff
        | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_only_words_are_asked_for() {
        for (asked, expect) in [
            ("blue tea", &["blue", "tea"][..]),
            (
                "\"blue\" OR (tea*) NEAR/3",
                &["blue", "or", "tea", "near", "3"],
            ),
            (
                "who:main'; DROP TABLE x --",
                &["who", "main", "drop", "table", "x"],
            ),
            ("a\0b", &["a", "b"]),
            ("-- \" ' ( ) * ^ :", &[]),
            ("Größe", &["größe"]),
        ] {
            assert_eq!(words(asked), expect, "{asked}");
        }
        assert_eq!(words(&"x ".repeat(1_000)).len(), MAX_WORDS);
        assert_eq!(words(&"x".repeat(1_000))[0].len(), MAX_WORD);
    }

    #[test]
    fn a_question_is_quoted_words_in_their_column() {
        let asked = query(&words("to blue"), &["a-b".to_owned()], MatchWords::All);
        assert_eq!(
            asked,
            "who : (\"o612d62\") AND words : (\"to\" AND \"blue\"*)"
        );
        let signs = query(&words("東京"), &[], MatchWords::Any);
        assert_eq!(signs, "words : (\"東  京\"*)");
    }
}
