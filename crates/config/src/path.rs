//! Dotted paths to a setting: `policy.rules.0.when."request.url".contains`.

use std::fmt;
use std::str::FromStr;

use crate::error::PathError;

/// A path of keys and list indices. A key containing a dot or space is quoted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// The keys and indices from the root.
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// Returns this path with one more segment.
    #[must_use]
    pub fn join(&self, segment: impl Into<String>) -> Self {
        let mut longer = self.clone();
        // Cloned: paths are short, and both are needed while a table is walked.
        longer.0.push(segment.into());
        longer
    }

    /// Returns whether this path is `other` or inside of it.
    pub fn is_within(&self, other: &KeyPath) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl FromStr for KeyPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = |why| PathError::Malformed {
            path: text.to_owned(),
            why,
        };
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let segment;
            if let Some(quoted) = rest.strip_prefix('"') {
                (segment, rest) = quoted
                    .split_once('"')
                    .ok_or_else(|| malformed("a quote is not closed"))?;
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                (segment, rest) = rest.split_at(end);
                if segment.is_empty() {
                    return Err(malformed("a key is empty"));
                }
            }
            segments.push(segment.to_owned());
            if rest.is_empty() {
                return Ok(Self(segments));
            }
            rest = rest
                .strip_prefix('.')
                .ok_or_else(|| malformed("a dot is missing after a quoted key"))?;
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        for (at, segment) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            if !segment.is_empty() && segment.chars().all(bare) {
                write!(f, "{dot}{segment}")?;
            } else {
                write!(f, "{dot}\"{segment}\"")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, segments: &[&str]) {
        let path: KeyPath = text.parse().unwrap();
        assert_eq!(path.segments(), segments);
        assert_eq!(path.to_string(), text, "prints as it was written");
    }

    #[test]
    fn paths_are_keys_indices_and_quoted_keys() {
        check("listen", &["listen"]);
        check(
            "policy.rules.0.decision",
            &["policy", "rules", "0", "decision"],
        );
        check("when.\"a.b\".equals", &["when", "a.b", "equals"]);
    }

    #[test]
    fn malformed_paths_say_what_is_wrong() {
        for bad in ["", ".", "a.", ".a", "a..b", "\"a", "\"a\"b"] {
            let error = bad.parse::<KeyPath>().unwrap_err().to_string();
            assert!(error.contains("is not a path"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_path_is_within_itself_and_its_ancestors() {
        let at = |text: &str| text.parse::<KeyPath>().unwrap();
        assert!(at("a.b.c").is_within(&at("a.b")));
        assert!(at("a.b").is_within(&at("a.b")));
        assert!(!at("a.bc").is_within(&at("a.b")));
    }
}
