//! Suggests known keys for mistyped ones.

use crate::path::KeyPath;
use crate::shape::{Kind, Shape, root};

/// Returns the candidate most similar to `word`, if it is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // People mix up case and separators more often than letters.
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let wanted = plain(word);
    // One typo per three characters: more would suggest unrelated keys for short words.
    let allowed = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&wanted, &plain(c)), c))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, c)| c)
}

/// Suggestion for the unknown `key` under `parent`: a sibling by name, or the full path of a key with the same name
/// elsewhere.
pub(crate) fn suggest(parent: &Shape, key: &str) -> Option<String> {
    let siblings = parent.keys().iter().map(|(name, _)| name.as_str());
    nearest(key, siblings).map(str::to_owned).or_else(|| {
        let mut found = None;
        elsewhere(root(), &KeyPath::default(), key, &mut found);
        found
    })
}

/// Path to suggest for the unknown `key` under `at`, whose value has the keys `present`.
pub(crate) fn suggest_path<'a>(
    at: &KeyPath,
    shape: &Shape,
    present: impl IntoIterator<Item = &'a str>,
    key: &str,
) -> Option<String> {
    match nearest(key, present) {
        Some(name) => Some(at.join(name).to_string()),
        None => {
            let name = suggest(shape, key)?;
            let sibling = shape.keys().iter().any(|(known, _)| *known == name);
            Some(if sibling {
                at.join(name).to_string()
            } else {
                name
            })
        }
    }
}

fn elsewhere(shape: &Shape, at: &KeyPath, key: &str, found: &mut Option<String>) {
    for (name, child) in shape.keys() {
        let path = at.join(name);
        if name == key && found.is_none() {
            *found = Some(path.to_string());
        }
        elsewhere(child, &path, key, found);
    }
    if let Kind::List { item, .. } = &shape.kind {
        elsewhere(item, &at.join("0"), key, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, expect: Option<&str>) {
        assert_eq!(suggest(root(), key).as_deref(), expect);
    }

    #[test]
    fn typos_are_recognised_and_other_words_are_not() {
        check("listen_", Some("listen"));
        check("Listen", Some("listen"));
        check("allowed-hosts", Some("allowed_hosts"));
        check("lmits", Some("limits"));
        check("zebra", None);
    }

    #[test]
    fn a_key_in_the_wrong_table_gets_a_suggestion() {
        check("request_bytes", Some("limits.request_bytes"));
        check("decision", Some("policy.rules.0.decision"));
    }
}
