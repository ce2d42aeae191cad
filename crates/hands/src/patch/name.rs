//! File names as diffs write them.

/// Prefixes that git puts before the old and new names, by what was compared.
const PREFIXES: [(&str, &str); 8] = [
    ("a/", "b/"),
    ("b/", "a/"),
    ("i/", "w/"),
    ("w/", "i/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("o/", "w/"),
    ("1/", "2/"),
];

/// The prefixes of two names.
pub(super) type Prefixes = Option<(&'static str, &'static str)>;

/// The name after `---` or `+++`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    /// `/dev/null`.
    Nothing,
    Named {
        name: String,
        /// Whether the timestamp is the epoch, which is how `diff -N` marks a missing file.
        epoch: bool,
    },
}

/// Parses the text after `--- ` or `+++ `; `None` if its quoting is invalid.
pub(super) fn side(text: &str) -> Option<Side> {
    let (name, stamp) = if text.starts_with('"') {
        let (name, rest) = unquote(text)?;
        (name, rest.trim_start())
    } else if let Some((name, stamp)) = text.split_once('\t') {
        (name.to_owned(), stamp)
    } else {
        let (name, stamp) = split_stamp(text.trim_end());
        (name.to_owned(), stamp)
    };
    if name == "/dev/null" {
        return Some(Side::Nothing);
    }
    let epoch = ["1970-01-01 ", "1969-12-31 ", "Thu Jan  1 00:00:00 1970"]
        .iter()
        .any(|start| stamp.starts_with(start));
    (!name.is_empty()).then_some(Side::Named { name, epoch })
}

/// Splits `name 2026-11-15 10:00:00.0 +0100`, as some tools write it without a tab.
fn split_stamp(text: &str) -> (&str, &str) {
    let is_zone = |word: &str| word.len() == 5 && word.starts_with(['+', '-']);
    let shaped = |word: &str, mark: char, parts: usize| {
        word.split(mark).count() == parts
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || c == mark || c == '.')
    };
    let mut end = text;
    if let Some((rest, zone)) = text.rsplit_once(' ')
        && is_zone(zone)
    {
        end = rest;
    }
    if let Some((rest, time)) = end.rsplit_once(' ')
        && shaped(time, ':', 3)
        && let Some((name, date)) = rest.rsplit_once(' ')
        && shaped(date, '-', 3)
    {
        return (name, &text[name.len() + 1..]);
    }
    (text, "")
}

/// Parses a name in double quotes with C escapes; returns the rest.
pub(super) fn unquote(text: &str) -> Option<(String, &str)> {
    let bytes = text.as_bytes();
    let mut name = Vec::new();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => break,
            b'\\' => {
                let (byte, length) = escape(&bytes[at + 1..])?;
                name.push(byte);
                at += 1 + length;
            }
            byte => {
                name.push(*byte);
                at += 1;
            }
        }
    }
    Some((String::from_utf8(name).ok()?, &text[at + 1..]))
}

/// The byte of an escape, and its length without the backslash.
fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match bytes.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        byte @ (b'"' | b'\\') => *byte,
        b'0'..=b'3' => {
            let digits = str::from_utf8(bytes.get(..3)?).ok()?;
            return Some((u8::from_str_radix(digits, 8).ok()?, 3));
        }
        _ => return None,
    };
    Some((byte, 1))
}

/// The prefixes that both names have.
pub(super) fn prefixes(old: &str, new: &str) -> Prefixes {
    PREFIXES
        .into_iter()
        .find(|(a, b)| old.starts_with(a) && new.starts_with(b))
}

/// The prefix of a name whose other side is `/dev/null`.
pub(super) fn lone_prefix(name: &str) -> Prefixes {
    PREFIXES[..2]
        .iter()
        .copied()
        .find(|(a, _)| name.starts_with(a))
}

/// The content of a `diff --git` line: the prefixes, and the name if both sides agree on it (otherwise
/// other headers name them).
#[derive(Debug, Default)]
pub(super) struct GitLine {
    pub(super) prefixes: Prefixes,
    pub(super) name: Option<String>,
}

/// Parses the text after `diff --git `. Names with spaces are not quoted, so the line is split where both
/// halves are the same name.
pub(super) fn git_line(text: &str) -> GitLine {
    let quoted = if text.starts_with('"') {
        unquote(text).map(|(old, rest)| (old, rest.trim_start().to_owned()))
    } else {
        text.split_once(" \"")
            .map(|(old, rest)| (old.to_owned(), format!("\"{rest}")))
    };
    if let Some((old, new)) = quoted {
        let new = match unquote(&new) {
            Some((name, _)) if new.starts_with('"') => name,
            _ => new,
        };
        return pair(&old, &new);
    }
    let parted = |at: usize| pair(&text[..at], &text[at + 1..]);
    let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    spaces
        .iter()
        .map(|at| parted(*at))
        .find(|line| line.name.is_some())
        .or_else(|| {
            spaces
                .iter()
                .map(|at| parted(*at))
                .find(|line| line.prefixes.is_some())
        })
        .unwrap_or_default()
}

fn pair(old: &str, new: &str) -> GitLine {
    let prefixes = prefixes(old, new);
    let (a, b) = prefixes.unwrap_or_default();
    let (old, new) = (&old[a.len()..], &new[b.len()..]);
    GitLine {
        prefixes,
        name: (old == new && !old.is_empty()).then(|| old.to_owned()),
    }
}
