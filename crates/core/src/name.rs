//! Tool names and the one rule that makes them fit model APIs and MCP.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} {why}")]
pub struct InvalidName {
    name: String,
    why: &'static str,
}

impl InvalidName {
    pub(crate) fn new(name: &str, why: &'static str) -> Self {
        let name = name.chars().take(80).collect();
        Self { name, why }
    }
}

/// A tool's canonical name, exactly as its spec text writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// The longest name that every model API and MCP client carries.
const WIRE_LIMIT: usize = 64;

impl ToolName {
    /// The canonical name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as model APIs and MCP can carry it: `::` becomes `__`, any other
    /// character outside `A-Za-z0-9_-` becomes `_`, and a name over 64 characters
    /// is cut and ends in a hash of the whole.
    pub fn wire(&self) -> String {
        let plain: String = self
            .0
            .replace("::", "__")
            .chars()
            .map(|c| if is_wire_char(c) { c } else { '_' })
            .collect();
        if plain.len() <= WIRE_LIMIT {
            return plain;
        }
        // A hash instead of a plain cut: long names often differ only at their end.
        let suffix = format!("_{:016x}", fnv1a(self.0.as_bytes()));
        // All characters are ASCII by now, so any position is a character boundary.
        format!("{}{suffix}", &plain[..WIRE_LIMIT - suffix.len()])
    }
}

fn is_wire_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// FNV-1a: short, stable across releases, and not a security boundary (the
/// catalogue refuses two tools whose wire names collide).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl FromStr for ToolName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let legal = |c: char| is_wire_char(c) || matches!(c, ':' | '.' | '/');
        if !text.is_empty() && text.len() <= 256 && text.chars().all(legal) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName::new(
                text,
                "is not a tool name: use 1-256 of A-Z, a-z, 0-9, _ - : . /",
            ))
        }
    }
}

impl TryFrom<String> for ToolName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, wire: &str) {
        assert_eq!(name.parse::<ToolName>().unwrap().wire(), wire);
    }

    #[test]
    fn wire_names_follow_one_rule() {
        check("gsv__ReadFile", "gsv__ReadFile");
        check("tool::file_read", "tool__file_read");
        check("dynamic/pets.list", "dynamic_pets_list");
    }

    #[test]
    fn long_names_are_cut_stably_and_stay_distinct() {
        let a: ToolName = format!("server__{}a", "x".repeat(80)).parse().unwrap();
        let b: ToolName = format!("server__{}b", "x".repeat(80)).parse().unwrap();
        assert_eq!(a.wire().len(), 64);
        assert_eq!(a.wire(), a.wire());
        assert_ne!(a.wire(), b.wire());
    }

    #[test]
    fn names_that_no_interface_could_carry_are_refused() {
        for bad in ["", "a b", "a\0b", "é", &"a".repeat(257)] {
            assert!(bad.parse::<ToolName>().is_err(), "{bad:?}");
        }
    }
}
