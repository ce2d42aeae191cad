//! Splits text into words: handles camel, snake and kebab case, and weights stop words.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::stem::stem;

/// Maximum word length in bytes; longer runs are cut.
const MAX_WORD: usize = 40;

/// Stop words.
const STOP: &str = "a an and are as at be been but by can could did do does for from get got had has have he her here hers him his how i if in into is it its itself just like me more most my no nor not now of off on once only or our out over own please s she should so some such t than that the their them then there these they this those through to too under until up very was we were what when where which while who whom why will with would you your yours am about also any let us need want help know tell give find provide looking look using use make d ll m re ve";

/// Weak words: polite and generic words that say little about which tool is meant.
const WEAK: &str = "able additional advice answer anything appropriate ask aspect assist assistance available aware basic best better bring certain choose come complete comprehensive consider curious desire detail detailed determine different difficult discuss easy effective effectively efficient enhance ensure etc example explain explore figure focus following gain general give given go good great guidance happen having hear hello help hey hi idea important improve include including indicate individual info information insight insights instance interested issue keep kind latest learn lot main many may might moment much necessary new offer one option options overview particular perform please possible prefer preference present process provide question quick quickly receive recent recently recommend recommendation recommendations regard regarding related relevant request require requirement respond right say see several share show similar specific specifically specified start sure suggest suggestion suggestions suitable support task thank thanks thing think today together top try type understand unique useful user utilize valuable various view way well wish within wonder work yet";

static STOPS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| STOP.split(' ').collect());
static WEAKS: LazyLock<HashSet<String>> = LazyLock::new(|| WEAK.split(' ').map(stem).collect());

/// The weight of a word: 0 for a stop word, 0.5 for a weak word or a number, otherwise 1.
pub fn weight(word: &str, stemmed: &str) -> f32 {
    if STOPS.contains(word) {
        return 0.0;
    }
    let number = word.bytes().all(|byte| byte.is_ascii_digit());
    match number || WEAKS.contains(stemmed) {
        true => 0.5,
        false => 1.0,
    }
}

/// Whether a word is a number.
pub fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lower-case words of `text`, at most `limit`.
///
/// A change of case, a change between letters and digits, and punctuation end a word.
pub fn tokenize(text: &str, limit: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // Checked inside the loop: a long text must not be split completely for its first words.
        if out.len() >= limit {
            return out;
        }
        if matches!(c, '\'' | '\u{2019}') && before.is_some_and(char::is_alphabetic) {
            // "user's" is about a user; the rest of "don't" is a stop word anyway.
            if matches!(chars.peek(), Some('s' | 'S')) {
                let mut rest = chars.clone();
                rest.next();
                if !rest.peek().is_some_and(|next| next.is_alphanumeric()) {
                    chars.next();
                }
            }
            finish(&mut word, &mut out);
            before = None;
            continue;
        }
        if !c.is_alphanumeric() {
            finish(&mut word, &mut out);
            before = None;
            continue;
        }
        if let Some(last) = before {
            let camel = last.is_lowercase() && c.is_uppercase();
            let acronym = last.is_uppercase()
                && c.is_uppercase()
                && chars.peek().is_some_and(|next| next.is_lowercase());
            let digits = last.is_numeric() != c.is_numeric();
            if camel || acronym || digits {
                finish(&mut word, &mut out);
            }
        }
        // Hashes and encoded data must not fill the lexicon.
        if word.len() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    finish(&mut word, &mut out);
    out.truncate(limit);
    out
}

fn finish(word: &mut String, out: &mut Vec<String>) {
    if !word.is_empty() {
        out.push(std::mem::take(word));
    }
}

/// The parts of a compound word such as `keywordexplorer`, if all of them are `known`; otherwise empty.
pub fn parts<'a>(word: &'a str, known: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    if word.len() < 7 || !word.is_ascii() || known(word) {
        return Vec::new();
    }
    let mut best: (usize, Vec<&str>) = (0, Vec::new());
    for first in 3..word.len() - 2 {
        let (head, rest) = word.split_at(first);
        if !known(head) {
            continue;
        }
        if known(rest) {
            let shortest = first.min(rest.len());
            if shortest > best.0 {
                best = (shortest, vec![head, rest]);
            }
        }
    }
    if !best.1.is_empty() {
        return best.1;
    }
    for first in 3..word.len().saturating_sub(5) {
        let (head, rest) = word.split_at(first);
        if !known(head) {
            continue;
        }
        for second in 3..rest.len() - 2 {
            let (middle, tail) = rest.split_at(second);
            let shortest = first.min(second).min(tail.len());
            if shortest > best.0 && known(middle) && known(tail) {
                best = (shortest, vec![head, middle, tail]);
            }
        }
    }
    best.1
}

/// Whether two stems are forms of one word: `financ` and `financi`.
pub fn same_word(a: &str, b: &str) -> bool {
    let shared = a
        .bytes()
        .zip(b.bytes())
        .take_while(|(left, right)| left == right)
        .count();
    shared >= 5 && shared * 10 >= a.len().max(b.len()) * 7
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<String> {
        tokenize(text, 100)
    }

    #[test]
    fn names_are_taken_apart_however_they_are_written() {
        for name in [
            "sendEmailMessage",
            "send_email_message",
            "send-email-message",
            "SEND EMAIL message",
            "send.email/message",
            "gmail::sendEmailMessage",
        ] {
            let all = split(name);
            assert!(
                all.ends_with(&["send".into(), "email".into(), "message".into()]),
                "{name}: {all:?}"
            );
        }
        assert_eq!(
            split("parseHTTPResponse2xx"),
            ["parse", "http", "response", "2", "xx"]
        );
    }

    #[test]
    fn an_owner_s_letter_is_left_out() {
        assert_eq!(split("my friend's birthday"), ["my", "friend", "birthday"]);
        assert_eq!(split("the user\u{2019}s page"), ["the", "user", "page"]);
    }

    #[test]
    fn polite_words_weigh_less_than_content_words() {
        assert_eq!(weight("the", &stem("the")), 0.0);
        assert_eq!(weight("suggestions", &stem("suggestions")), 0.5);
        assert_eq!(weight("invoice", &stem("invoice")), 1.0);
    }

    #[test]
    fn a_name_without_seams_is_taken_apart_by_known_words() {
        let known = |word: &str| {
            [
                "keyword", "explorer", "seo", "analysis", "web", "page", "search",
            ]
            .contains(&word)
        };
        assert_eq!(parts("keywordexplorer", &known), ["keyword", "explorer"]);
        assert_eq!(parts("webpagesearch", &known), ["web", "page", "search"]);
        assert!(parts("keyword", &known).is_empty());
        assert!(parts("blockatlas", &known).is_empty());
    }

    proptest! {
        #[test]
        fn words_are_never_empty_never_too_long_and_never_too_many(text in "\\PC{0,300}", limit in 0usize..50) {
            let all = tokenize(&text, limit);
            prop_assert!(all.len() <= limit);
            for word in all {
                prop_assert!(!word.is_empty());
                prop_assert!(word.len() <= MAX_WORD + 12, "{word}");
                prop_assert!(word.chars().all(|c| !c.is_ascii_uppercase() && !c.is_ascii_punctuation()));
            }
        }

        #[test]
        fn taking_words_apart_again_changes_nothing(text in "[a-zA-Z0-9 _.-]{0,80}") {
            let once = tokenize(&text, 1000);
            prop_assert_eq!(tokenize(&once.join(" "), 1000), once);
        }

        #[test]
        fn stems_are_found_for_anything(text in "\\PC{0,60}") {
            for word in tokenize(&text, 100) {
                prop_assert!(!stem(&word).is_empty());
            }
        }
    }
}
