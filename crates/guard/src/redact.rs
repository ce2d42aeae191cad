//! Masks known secrets in anything that is shown or stored.

use std::borrow::Cow;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use manyhands_core::Secret;
use serde_json::{Map, Value};

/// Replaces a secret.
const MASK: &str = "[redacted]";

/// Shorter secrets would mask ordinary words, so they are ignored.
const MIN_LENGTH: usize = 8;

/// Finds known secrets in plain text, base64, percent-encoding and JSON escapes. One pass, and no
/// allocation if nothing is found.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    finder: Option<AhoCorasick>,
    /// The sorted spellings to search for.
    spellings: Arc<[String]>,
}

impl Redactor {
    /// A redactor of `secrets`; those shorter than 8 characters are ignored.
    pub fn new(secrets: &[Secret]) -> Self {
        let mut spellings: Vec<String> = secrets
            .iter()
            .map(Secret::expose)
            .filter(|secret| secret.chars().count() >= MIN_LENGTH)
            .flat_map(spellings)
            .collect();
        spellings.sort_unstable();
        spellings.dedup();
        if spellings.is_empty() {
            return Self::default();
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&spellings)
            .expect("secrets fit an automaton");
        Self {
            finder: Some(finder),
            spellings: spellings.into(),
        }
    }

    /// `text` with every secret masked.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.finder {
            Some(finder) if finder.is_match(text) => {
                let masks = vec![MASK; finder.patterns_len()];
                Cow::Owned(finder.replace_all(text, &masks))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Masks every secret in the strings and keys of `value`.
    pub fn value(&self, value: &mut Value) {
        if self.finder.is_none() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks secrets in a byte stream.
    pub fn stream(&self) -> RedactStream {
        RedactStream {
            finder: self.finder.clone(),
            spellings: self.spellings.clone(),
            held: Vec::new(),
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        fields.values_mut().for_each(|value| self.value(value));
        if fields
            .keys()
            .all(|key| matches!(self.text(key), Cow::Borrowed(_)))
        {
            return;
        }
        *fields = std::mem::take(fields)
            .into_iter()
            .map(|(key, value)| (self.text(&key).into_owned(), value))
            .collect();
    }
}

/// Masks secrets in a byte stream, even across chunks. Holds back only what may be the beginning
/// of a secret.
#[derive(Debug)]
pub struct RedactStream {
    finder: Option<AhoCorasick>,
    spellings: Arc<[String]>,
    held: Vec<u8>,
}

impl RedactStream {
    /// Adds `piece` and returns the output that can be shown now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        match &self.finder {
            None => std::mem::take(&mut self.held),
            Some(finder) => {
                let longest = finder.max_pattern_len();
                self.shown(self.begun(longest))
            }
        }
    }

    /// Start of a possible secret that continues in the next chunk.
    fn begun(&self, longest: usize) -> usize {
        let first = (self.held.len() + 1).saturating_sub(longest);
        let may_begin = |at: &usize| {
            let end = &self.held[*at..];
            // The spellings are sorted, so those that start with `end` begin here.
            let from = self.spellings.partition_point(|one| one.as_bytes() < end);
            let next = self.spellings.get(from);
            next.is_some_and(|next| next.as_bytes().starts_with(end))
        };
        let begun = (first..self.held.len()).find(may_begin);
        begun.unwrap_or(self.held.len())
    }

    /// Number of characters held back, for text that was not cut inside a character.
    pub fn held_chars(&self) -> u64 {
        let begins = |byte: &&u8| (**byte as i8) >= -0x40;
        self.held.iter().filter(begins).count() as u64
    }

    /// Returns the remaining output.
    pub fn finish(mut self) -> Vec<u8> {
        let all = self.held.len();
        self.shown(all)
    }

    /// Removes and returns what begins before `safe`.
    fn shown(&mut self, safe: usize) -> Vec<u8> {
        let Some(finder) = &self.finder else {
            return std::mem::take(&mut self.held);
        };
        let (mut shown, mut taken) = (Vec::with_capacity(safe), 0);
        for found in finder.find_iter(&self.held) {
            if found.start() >= safe {
                break;
            }
            shown.extend_from_slice(&self.held[taken..found.start()]);
            shown.extend_from_slice(MASK.as_bytes());
            taken = found.end();
        }
        if taken < safe {
            shown.extend_from_slice(&self.held[taken..safe]);
            taken = safe;
        }
        self.held.drain(..taken);
        shown
    }
}

/// All spellings in which a secret is searched for.
fn spellings(secret: &str) -> Vec<String> {
    let mut all = vec![
        secret.to_owned(),
        percent(secret, |byte| format!("%{byte:02X}")),
        percent(secret, |byte| format!("%{byte:02x}")),
        json_escaped(secret),
    ];
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        all.push(engine.encode(secret));
        all.extend((0..3).map(|offset| inside_base64(&engine, secret, offset)));
    }
    all
}

/// The secret as it appears inside the base64 of a longer text, such as a basic `Authorization`
/// header, when `offset` bytes of a group precede it: the characters that depend on the secret alone.
fn inside_base64(engine: &impl Engine, secret: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = engine.encode(&bytes);
    let start = (offset * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded[start..end].to_owned()
}

fn percent(secret: &str, escape: impl Fn(u8) -> String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    secret
        .bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                escape(byte)
            }
        })
        .collect()
}

fn json_escaped(secret: &str) -> String {
    let quoted = Value::from(secret).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn redactor() -> Redactor {
        let secrets = ["sk-live/äß+42 \"x\"", "hunter2!hunter2!", "short"];
        Redactor::new(&secrets.map(Secret::new))
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(redactor().text(text), expect);
    }

    #[test]
    fn every_spelling_of_a_secret_is_masked() {
        check("key=hunter2!hunter2!;", "key=[redacted];");
        check("hunter2!hunter2!hunter2!hunter2!", "[redacted][redacted]");
        check("url?k=hunter2%21hunter2%21&b", "url?k=[redacted]&b");
        check("sk-live%2F%C3%A4%C3%9F%2B42%20%22x%22", "[redacted]");
        check("sk-live%2f%c3%a4%c3%9f%2b42%20%22x%22", "[redacted]");
        check(r#"{"k":"sk-live/äß+42 \"x\""}"#, r#"{"k":"[redacted]"}"#);
        let secret = "sk-live/äß+42 \"x\"";
        check(&STANDARD_NO_PAD.encode(secret), "[redacted]");
        check(&URL_SAFE_NO_PAD.encode(secret), "[redacted]");
    }

    #[test]
    fn text_without_secrets_is_not_even_copied() {
        for text in ["short", "nothing to see", "hunter2!", ""] {
            assert!(matches!(redactor().text(text), Cow::Borrowed(same) if same == text));
        }
        assert!(matches!(
            Redactor::default().text("hunter2!hunter2!"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn values_are_masked_in_strings_and_keys_at_any_depth() {
        let mut value = json!({
            "a": [{ "b": "is hunter2!hunter2!" }, 1, null],
            "hunter2!hunter2!": true,
            "short": "short",
        });
        redactor().value(&mut value);
        let expect = json!({
            "a": [{ "b": "is [redacted]" }, 1, null],
            "[redacted]": true,
            "short": "short",
        });
        assert_eq!(value, expect);
    }

    #[test]
    fn only_what_a_secret_may_begin_with_is_held_back() {
        let mut stream = redactor().stream();
        assert_eq!(stream.push(b"all of it\n"), b"all of it\n");
        assert_eq!(stream.push(b"pass: hunt"), b"pass: ");
        assert_eq!(stream.push(b"ing\n"), b"hunting\n");
        assert_eq!(stream.push(b"hunter2!hunter2"), b"");
        assert_eq!(stream.push(b"!!"), b"[redacted]!");
        assert_eq!(stream.push(b"hunter2!"), b"");
        assert_eq!(stream.finish(), b"hunter2!");
    }

    proptest! {
        #[test]
        fn pieces_are_masked_like_the_whole(
            text in "(hunter2!|hunter2!hunter2!|[ -~]{0,5}|ä){0,12}",
            size in 1_usize..40,
        ) {
            let mut stream = redactor().stream();
            let mut shown: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
            shown.extend(stream.finish());
            let whole = redactor().text(&text).into_owned();
            prop_assert_eq!(String::from_utf8(shown).unwrap(), whole);
        }

        #[test]
        fn secrets_within_secrets_are_masked_in_pieces_like_in_the_whole(
            secrets in proptest::collection::vec("[ab]{8,12}", 1..4),
            text in "[abc]{0,60}",
            size in 1_usize..9,
        ) {
            let secrets: Vec<Secret> = secrets.into_iter().map(Secret::new).collect();
            let redactor = Redactor::new(&secrets);
            let mut stream = redactor.stream();
            let mut shown: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
            shown.extend(stream.finish());
            prop_assert_eq!(String::from_utf8(shown).unwrap(), redactor.text(&text).into_owned());
        }

        #[test]
        fn a_secret_inside_longer_base64_is_found(before in "[ -~]{0,9}", after in "[ -~]{0,9}") {
            let whole = STANDARD_NO_PAD.encode(format!("{before}hunter2!hunter2!{after}"));
            prop_assert!(redactor().text(&whole).contains(MASK));
        }
    }
}
