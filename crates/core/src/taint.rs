//! Taint: whether untrusted text may have shaped something.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest source that is stored.
const MAX_SOURCE: usize = 200;

/// Where untrusted text entered, if any did: `tool:web_fetch`, `person:telegram:42`.
///
/// Taint is data that travels: a turn that read untrusted text is tainted, and so is
/// everything it creates. The first source is what the owner is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taint(Option<Arc<str>>);

impl Taint {
    /// No untrusted text was read.
    pub const NONE: Self = Self(None);

    /// Tainted by `source`.
    pub fn by(source: impl AsRef<str>) -> Self {
        let source = source.as_ref();
        // Sources come from outside (a sender's name, a URL) and are stored with everything tainted.
        let end = source.floor_char_boundary(MAX_SOURCE);
        Self(Some(source[..end].into()))
    }

    /// Tainted by `source` if `tainted`.
    pub fn when(tainted: bool, source: impl AsRef<str>) -> Self {
        match tainted {
            true => Self::by(source),
            false => Self::NONE,
        }
    }

    /// Whether untrusted text was read.
    pub fn is_tainted(&self) -> bool {
        self.0.is_some()
    }

    /// What was read first.
    pub fn source(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Adds what `other` knows; the first source stays.
    pub fn absorb(&mut self, other: &Self) {
        // The first source stays, because it is where the owner should look; later ones only add more.
        if self.0.is_none() {
            self.0.clone_from(&other.0);
        }
    }

    /// Both together.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.absorb(other);
        self
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source().unwrap_or("nothing"))
    }
}

impl Serialize for Taint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(source) => serializer.serialize_str(source),
            None => serializer.serialize_bool(false),
        }
    }
}

/// Records of earlier versions store only a flag, without the source.
impl<'de> Deserialize<'de> for Taint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Flag(bool),
            Source(String),
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Flag(tainted) => Self::when(tainted, "something read earlier"),
            Stored::Source(source) => Self::by(source),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_stays_and_old_records_can_be_read() {
        let mut taint = Taint::NONE;
        assert!(!taint.is_tainted());
        taint.absorb(&Taint::by("tool:web_fetch"));
        taint.absorb(&Taint::by("person:telegram:42"));
        assert_eq!(taint.source(), Some("tool:web_fetch"));
        let stored = serde_json::to_string(&taint).unwrap();
        assert_eq!(serde_json::from_str::<Taint>(&stored).unwrap(), taint);
        assert_eq!(serde_json::to_string(&Taint::NONE).unwrap(), "false");
        assert!(serde_json::from_str::<Taint>("true").unwrap().is_tainted());
        assert!(!serde_json::from_str::<Taint>("false").unwrap().is_tainted());
        assert!(Taint::by("é".repeat(500)).source().unwrap().len() <= MAX_SOURCE);
    }
}
