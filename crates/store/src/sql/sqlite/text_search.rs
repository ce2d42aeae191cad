//! Full-text search with SQLite's FTS5: how words are indexed and queried.
//!
//! PostgreSQL would take the plain text and `websearch_to_tsquery`; quotes and columns here are specific to SQLite.

/// Maximum words of a question.
const MAX_WORDS: usize = 32;
/// Maximum characters of a word.
const MAX_WORD: usize = 64;
/// Minimum length of a word that also matches as a prefix; shorter ones would match too much.
const PREFIX_FROM: usize = 3;
/// The same for the word that is being typed.
const TYPED_FROM: usize = 2;
/// Letters by which a word may be longer than its stem.
const LONGEST_ENDING: usize = 4;

/// Whether all words of a question must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchWords {
    All,
    Any,
}

/// Text for the index. In scripts without spaces each character becomes a word.
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

/// The owner of pieces as one word. In hex, because the tokenizer would split a name at `-` and `_`.
pub(crate) fn owner(name: &str) -> String {
    let mut word = String::from("o");
    for byte in name.bytes() {
        word.push_str(&format!("{byte:02x}"));
    }
    word
}

/// The words of a question. Operators of the index only separate words.
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

/// The query for words of these owners, or of all if empty. Every word is quoted and consists of letters and digits, so
/// none is an operator.
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

/// The query for messages with all words while the last one is typed: only that one matches as a prefix too.
pub(crate) fn typed_query(words: &[String], owners: &[String]) -> String {
    let last = words.len().saturating_sub(1);
    let one = |(at, word): (usize, &String)| {
        let signs = word.chars().any(is_sign);
        let typed = at == last && word.chars().count() >= TYPED_FROM;
        quoted(word, signs || typed)
    };
    among(owners, words.iter().enumerate().map(one).collect())
}

/// The same with less of the last word, whose stem may be shorter than what is typed of it; `None` if it is short.
pub(crate) fn shorter_query(words: &[String], owners: &[String]) -> Option<String> {
    let (last, others) = words.split_last()?;
    let length = last.chars().count();
    if length <= PREFIX_FROM || last.chars().any(is_sign) {
        return None;
    }
    let kept = length.saturating_sub(LONGEST_ENDING).max(PREFIX_FROM);
    let shorter: String = last.chars().take(kept).collect();
    let mut all: Vec<String> = others
        .iter()
        .map(|word| quoted(word, word.chars().any(is_sign)))
        .collect();
    all.push(quoted(&shorter, true));
    Some(among(owners, all))
}

fn quoted(word: &str, prefix: bool) -> String {
    format!(
        "\"{}\"{}",
        spread(word).trim(),
        if prefix { "*" } else { "" }
    )
}

/// The query for all of these words, of these owners or of all.
fn among(owners: &[String], words: Vec<String>) -> String {
    let words = format!("words : ({})", words.join(" AND "));
    if owners.is_empty() {
        return words;
    }
    let owners: Vec<String> = owners.iter().map(|o| format!("\"{}\"", owner(o))).collect();
    format!("who : ({}) AND {words}", owners.join(" OR "))
}

/// Characters of scripts without spaces between words.
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
    fn any_question_becomes_words_only() {
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
    fn a_query_consists_of_quoted_words_per_column() {
        let asked = query(&words("to blue"), &["a-b".to_owned()], MatchWords::All);
        assert_eq!(
            asked,
            "who : (\"o612d62\") AND words : (\"to\" AND \"blue\"*)"
        );
        let signs = query(&words("東京"), &[], MatchWords::Any);
        assert_eq!(signs, "words : (\"東  京\"*)");
    }
}
