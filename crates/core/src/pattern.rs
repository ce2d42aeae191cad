//! Patterns over names, such as `gsv__*` in a rule or a token's scope.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name pattern in which `*` stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern that `text` writes.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `name` fits the whole pattern.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            // Leftmost match, without backtracking: for patterns whose only wildcard is `*` that is
            // exact, and it keeps hostile names linear.
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, fits: bool) {
        assert_eq!(
            Pattern::new(pattern).matches(name),
            fits,
            "{pattern} ~ {name}"
        );
    }

    #[test]
    fn star_stands_for_any_run() {
        check("*", "anything", true);
        check("*", "", true);
        check("gsv__*", "gsv__ReadFile", true);
        check("gsv__*", "tool::file_read", false);
        check("*File", "gsv__ReadFile", true);
        check("*File", "gsv__ReadFiles", false);
        check("gsv__*File", "gsv__File", true);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("ab*ba", "aba", false);
    }

    #[test]
    fn a_pattern_without_star_is_the_name_itself() {
        check("gsv__ReadFile", "gsv__ReadFile", true);
        check("gsv__ReadFile", "gsv__ReadFile2", false);
        check("", "", true);
        check("", "x", false);
    }
}
