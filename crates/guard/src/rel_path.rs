//! A path inside a jail, parsed once at the boundary.

use std::fmt;

const MAX_BYTES: usize = 4096;
const MAX_COMPONENTS: usize = 64;
const MAX_COMPONENT_BYTES: usize = 255;

/// Prefix of temporary files; callers cannot name them.
pub(crate) const TEMPORARY_PREFIX: &str = ".mh-tmp-";

/// Prefix of resumable parts of files; listings omit them.
pub const PART_PREFIX: &str = ".mh-part-";

/// Why a text is not a path inside a jail. Shown to models as a parameter error, so each message
/// says what would be valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It is absolute.
    #[error("is absolute; give a path relative to the root, such as notes/today.md")]
    Absolute,
    /// It contains `..`.
    #[error("contains '..'; name the file from the root down, without climbing")]
    Climbs,
    /// It contains a control character.
    #[error("contains the control character U+{:04X}; use printable characters", u32::from(*.0))]
    Control(char),
    /// A component is longer than file systems allow.
    #[error("has a name of {0} bytes; keep each name within {MAX_COMPONENT_BYTES} bytes")]
    LongName(usize),
    /// The path is longer than file systems allow.
    #[error("is {0} bytes long; keep it within {MAX_BYTES} bytes")]
    Long(usize),
    /// Too many levels.
    #[error("is {0} levels deep; keep it within {MAX_COMPONENTS}")]
    Deep(usize),
    /// It uses a reserved prefix.
    #[error("uses a reserved prefix, {TEMPORARY_PREFIX} or {PART_PREFIX}; choose another name")]
    Reserved,
}

/// A path inside a jail: relative, normalised, without `..`. The empty path is the jail's root.
///
/// Parsing is not the confinement (the directory handle is); it makes the refusal early and clear.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelPath(String);

impl RelPath {
    /// The root of the jail.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses `text`, dropping `.` components and doubled or trailing slashes.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > MAX_BYTES {
            return Err(PathError::Long(text.len()));
        }
        if let Some(control) = text.chars().find(|c| c.is_control()) {
            return Err(PathError::Control(control));
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        let mut normal = String::with_capacity(text.len());
        let mut depth = 0;
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            check_name(name)?;
            depth += 1;
            if !normal.is_empty() {
                normal.push('/');
            }
            normal.push_str(name);
        }
        if depth > MAX_COMPONENTS {
            return Err(PathError::Deep(depth));
        }
        Ok(Self(normal))
    }

    /// The normalised text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root of the jail.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The components from the root down.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The parent directory; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let parent = self.0.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(Self(parent.to_owned()))
    }

    /// The last component; `None` for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.components().next_back()
    }

    /// The extension of the last component; `None` for `.profile` and `Makefile`.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.file_name()?.rsplit_once('.')?;
        (!stem.is_empty()).then_some(extension)
    }

    /// `other` appended to this path.
    pub fn join(&self, other: &Self) -> Result<Self, PathError> {
        Self::parse(&format!("./{self}/{other}"))
    }
}

fn check_name(name: &str) -> Result<(), PathError> {
    if name == ".." {
        Err(PathError::Climbs)
    } else if name.len() > MAX_COMPONENT_BYTES {
        Err(PathError::LongName(name.len()))
    } else if name.starts_with(TEMPORARY_PREFIX) || name.starts_with(PART_PREFIX) {
        Err(PathError::Reserved)
    } else {
        Ok(())
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::str::FromStr for RelPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, PathError>) {
        let parsed = RelPath::parse(text);
        assert_eq!(
            parsed.as_ref().map(RelPath::as_str),
            expect.as_ref().copied()
        );
    }

    #[test]
    fn paths_are_normalised() {
        check("notes/today.md", Ok("notes/today.md"));
        check("./notes//today.md/", Ok("notes/today.md"));
        check("notes/./today.md", Ok("notes/today.md"));
        check("", Ok(""));
        check(".", Ok(""));
        check("./", Ok(""));
        check("a b/ü.txt", Ok("a b/ü.txt"));
    }

    #[test]
    fn names_that_only_look_dangerous_are_ordinary() {
        for text in [
            "a..b",
            "...",
            "..a",
            "a..",
            "~",
            "~root",
            "C:\\x",
            "a\\..\\b",
            "%2e%2e",
            "\u{ff0e}\u{ff0e}",
            "a\u{ff0f}b",
            "\u{2024}\u{2024}",
            "-rf",
            "$HOME",
            "con",
        ] {
            check(text, Ok(text));
        }
    }

    #[test]
    fn paths_that_leave_or_confuse_are_refused() {
        check("/etc/passwd", Err(PathError::Absolute));
        check("//x", Err(PathError::Absolute));
        check("..", Err(PathError::Climbs));
        check("a/../b", Err(PathError::Climbs));
        check("./../b", Err(PathError::Climbs));
        check("a/..", Err(PathError::Climbs));
        check("a\0b", Err(PathError::Control('\0')));
        check("a\nb", Err(PathError::Control('\n')));
        check("a\u{7f}", Err(PathError::Control('\u{7f}')));
        check("a\u{85}", Err(PathError::Control('\u{85}')));
        check("d/.mh-tmp-1", Err(PathError::Reserved));
        check("d/.mh-part-1", Err(PathError::Reserved));
    }

    #[test]
    fn sizes_are_bounded() {
        let fits = "n".repeat(255);
        check(&fits, Ok(&fits));
        check(&"n".repeat(256), Err(PathError::LongName(256)));
        check(&"ü".repeat(128), Err(PathError::LongName(256)));
        let deep = vec!["d"; 64].join("/");
        check(&deep, Ok(&deep));
        check(&format!("{deep}/d"), Err(PathError::Deep(65)));
        check(&"x/".repeat(3000), Err(PathError::Long(6000)));
    }

    #[test]
    fn messages_say_what_would_be_right() {
        assert_eq!(
            PathError::Control('\0').to_string(),
            "contains the control character U+0000; use printable characters"
        );
        assert_eq!(
            PathError::LongName(300).to_string(),
            "has a name of 300 bytes; keep each name within 255 bytes"
        );
    }

    #[test]
    fn parts_of_a_path_can_be_taken() {
        let path = RelPath::parse("a/b/c.tar.gz").unwrap();
        assert_eq!(path.file_name(), Some("c.tar.gz"));
        assert_eq!(path.extension(), Some("gz"));
        assert_eq!(path.parent().unwrap().as_str(), "a/b");
        assert_eq!(
            path.components().collect::<Vec<_>>(),
            ["a", "b", "c.tar.gz"]
        );
        let top = RelPath::parse("a").unwrap();
        assert!(top.parent().unwrap().is_root());
        assert_eq!(top.join(&path).unwrap().as_str(), "a/a/b/c.tar.gz");
        assert_eq!(RelPath::root().join(&path).unwrap(), path);
        assert_eq!(path.join(&RelPath::root()).unwrap(), path);
        assert!(RelPath::root().parent().is_none());
        assert_eq!(RelPath::root().file_name(), None);
        assert_eq!(RelPath::parse(".profile").unwrap().extension(), None);
    }

    proptest! {
        #[test]
        fn an_accepted_path_never_climbs_and_parses_to_itself(text in "[a./ \\\\~\u{ff0e}\0]{0,40}") {
            if let Ok(path) = RelPath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.components().all(|name| name != ".." && name != "."));
                prop_assert_eq!(RelPath::parse(path.as_str()).unwrap(), path);
            }
        }
    }
}
