//! Finds secrets in a text by their form: command-line arguments, URLs, headers, and tokens of well-known
//! services.
//!
//! This is the second line of defence, for texts that the schema does not mark as secret. It prefers masking a
//! harmless word over revealing a secret.

use super::url::mask_urls;
use super::{MASK, is_secret_key};

/// Last words of a key that make its value probably secret, unless the value is clearly something else such as a
/// path. Too common for `is_secret_key`.
const SOFT_WORDS: [&str; 13] = [
    "key",
    "pat",
    "pwd",
    "pass",
    "passwd",
    "auth",
    "bearer",
    "dsn",
    "jwt",
    "creds",
    "sig",
    "signature",
    "pin",
];

/// Prefixes of tokens of well-known services.
const PREFIXES: [&str; 26] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "hf_",
    "dop_v1_",
    "SG.",
    "-----BEGIN",
];

/// Minimum length of a token after its prefix: `sk-` alone is an example.
const MIN_TOKEN: usize = 8;

/// What a word implies for the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Plain,
    /// The value of a flag or header with a secret name.
    Secret,
    /// The same for a less certain name.
    Likely,
    /// A complete header, after `-H`.
    Header,
    /// `user:password`, after `--user`.
    Login,
}

/// Masks all secrets in a text.
pub(crate) fn mask_text(text: &str) -> String {
    if let Some(masked) = json(text) {
        return masked;
    }
    // A key spans several lines, so words are the wrong unit for it.
    if text.contains("-----BEGIN") && text.contains("PRIVATE KEY") {
        return MASK.to_owned();
    }
    if is_secret_header(text) {
        return mask_header(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut next = Next::Plain;
    // Word by word, keeping the original whitespace: the rest of the text has to stay readable.
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        if !word.is_empty() {
            let (shown, after) = mask_word(word, next);
            out.push_str(&shown);
            next = after;
        }
        out.push_str(&piece[word.len()..]);
    }
    out
}

/// Masks all secrets among program arguments.
pub(crate) fn mask_args<'a>(args: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut next = Next::Plain;
    let mut shown = Vec::new();
    for arg in args {
        let spaced = arg.contains(char::is_whitespace);
        let (text, after) = match next {
            Next::Header => (mask_header(arg), Next::Plain),
            Next::Secret if !is_flag(arg) => (hidden(arg), Next::Plain),
            _ if spaced || json(arg).is_some() => (mask_text(arg), Next::Plain),
            _ => mask_word(arg, next),
        };
        shown.push(text);
        next = after;
    }
    shown
}

/// Masks one word; also returns what it implies for the next.
fn mask_word(word: &str, next: Next) -> (String, Next) {
    if is_flag(word) {
        return mask_flag(word);
    }
    match next {
        Next::Secret => return (hidden(word), Next::Plain),
        Next::Likely if !is_harmless(word) => return (hidden(word), Next::Plain),
        Next::Header => return (mask_header(word), Next::Plain),
        Next::Login => {
            let shown = word
                .split_once(':')
                .map(|(user, _)| format!("{user}:{MASK}"));
            return (shown.unwrap_or_else(|| word.to_owned()), Next::Plain);
        }
        Next::Likely | Next::Plain => {}
    }
    // URLs first: a `=` inside of a query must not be taken for `NAME=VALUE`.
    if let Some(masked) = mask_urls(word) {
        return (masked, Next::Plain);
    }
    if let Some((name, value)) = word.split_once('=') {
        return (format!("{name}={}", mask_value(name, value)), Next::Plain);
    }
    if word.eq_ignore_ascii_case("bearer") {
        return (word.to_owned(), Next::Likely);
    }
    (by_shape(word), Next::Plain)
}

/// Masks a flag, and its value if given with `=`.
fn mask_flag(word: &str) -> (String, Next) {
    let (flag, value) = match word.split_once('=') {
        Some((flag, value)) => (flag, Some(value)),
        None => (word, None),
    };
    let name = flag.trim_start_matches('-');
    let about = match flag {
        "-H" | "--header" => Next::Header,
        "-u" | "--user" => Next::Login,
        _ if is_secret_key(name) => Next::Secret,
        _ if is_soft(name) => Next::Likely,
        _ => Next::Plain,
    };
    match value {
        None => (word.to_owned(), about),
        Some(value) => {
            let shown = match about {
                Next::Plain => mask_text(value),
                // A value that starts with a dash would be taken for the next flag.
                about => mask_word(value.trim_start_matches('-'), about).0,
            };
            (format!("{flag}={shown}"), Next::Plain)
        }
    }
}

/// Masks the value of a variable.
fn mask_value(name: &str, value: &str) -> String {
    if is_secret_key(name) || (is_soft(name) && !is_harmless(value)) {
        return hidden(value);
    }
    mask_text(value)
}

/// Masks `Name: value`.
fn mask_header(text: &str) -> String {
    let Some((name, value)) = text.split_once(':') else {
        return mask_text(text);
    };
    let secret = is_secret_key(name.trim()) || is_soft(name.trim());
    if !secret {
        return format!("{name}:{}", mask_text(value));
    }
    let value = value.trim_start();
    let gap = &text[name.len() + 1..text.len() - value.len()];
    match value
        .split_once(' ')
        .filter(|(scheme, _)| is_scheme(scheme))
    {
        Some((scheme, value)) => format!("{name}:{gap}{scheme} {}", hidden(value)),
        None => format!("{name}:{gap}{}", hidden(value)),
    }
}

/// Returns whether a text is a header with a secret name.
fn is_secret_header(text: &str) -> bool {
    let Some((name, _)) = text.split_once(':') else {
        return false;
    };
    // A single word followed by a colon may start any sentence.
    let known = name.contains('-')
        || name.eq_ignore_ascii_case("authorization")
        || name.eq_ignore_ascii_case("cookie");
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let header = known && !name.starts_with('-') && name.chars().all(legal);
    header && (is_secret_key(name) || is_soft(name))
}

/// Masks a text that is JSON; `None` if it is not.
fn json(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let shown = super::mask(&value);
    Some(if shown == value {
        text.to_owned()
    } else {
        shown.to_string()
    })
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("-----")
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "digest", "apikey"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Returns whether the last word of a name makes its value probably secret.
pub(super) fn is_soft(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
    let last = last.unwrap_or_default().to_ascii_lowercase();
    SOFT_WORDS.contains(&last.as_str())
}

/// Returns whether a value is clearly not secret: a path, number, boolean or reference.
fn is_harmless(value: &str) -> bool {
    let path = value.starts_with(['/', '~', '.']);
    let switch = matches!(value, "" | "true" | "false" | "none" | "on" | "off");
    let word = value.len() < MIN_TOKEN && !value.contains(|c: char| c.is_ascii_digit());
    path || switch || word || (value.len() < MIN_TOKEN && value.parse::<f64>().is_ok())
}

/// Masks a value, unless it only refers to a secret.
fn hidden(value: &str) -> String {
    match value.is_empty() || is_placeholder(value) {
        true => value.to_owned(),
        false => MASK.to_owned(),
    }
}

/// Returns whether a value is a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']);
    let name = |text: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        !text.is_empty() && text.chars().all(legal)
    };
    let inside = |start: &str, end: &str| {
        let inner = value
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end));
        inner.is_some_and(name)
    };
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && rest.chars().all(legal)
    });
    let vault = value.strip_prefix("vault:").is_some_and(name);
    value == "{}" || value == MASK || vault || variable || inside("${", "}") || inside("<", ">")
}

/// Masks a word that is a secret by its form.
fn by_shape(word: &str) -> String {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
    if is_token(bare) {
        return word.replacen(bare, MASK, 1);
    }
    word.to_owned()
}

/// Returns whether a word is a token of a well-known service, or a JWT.
pub(super) fn is_token(word: &str) -> bool {
    let known = PREFIXES
        .iter()
        .filter_map(|start| word.strip_prefix(start))
        .any(|rest| rest.len() >= MIN_TOKEN && rest.contains(|c: char| c.is_ascii_digit()));
    let jwt = word.starts_with("eyJ") && word.split('.').count() == 3 && word.len() > 30;
    known || jwt
}

/// Returns whether a word looks random: a long run of letters and digits that nobody would type.
pub(super) fn is_random(word: &str) -> bool {
    let hex: String = word.chars().filter(|c| *c != '-').collect();
    // 32 hex digits: a UUID or a 128-bit key.
    if hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit()) {
        return true;
    }
    let runs = word.split(|c: char| !c.is_ascii_alphanumeric());
    runs.into_iter().any(|run| {
        let count = |test: fn(&char) -> bool| run.chars().filter(test).count();
        let digits = count(char::is_ascii_digit);
        let (upper, lower) = (
            count(char::is_ascii_uppercase),
            count(char::is_ascii_lowercase),
        );
        // Thresholds chosen so that model names, versions and slugs in the test table stay readable.
        let mixed = run.len() >= 16 && digits >= 1 && upper >= 2 && lower >= 2;
        mixed || (run.len() >= 20 && digits >= 3 && upper + lower >= 3)
    })
}
