//! Code fences, as both splitting and rendering see them.
//!
//! More is recognised as a fence than in strict Markdown (any indentation, after a list marker or `>`),
//! since models write them so and platforms show them so.

/// The opening line of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening<'a> {
    /// What precedes it: whitespace, `>` and list markers.
    pub prefix: &'a str,
    /// Three or more backticks or tildes.
    pub marker: &'a str,
    /// The info string, usually a language.
    pub info: &'a str,
}

/// Parses an opening line.
pub(crate) fn opening(line: &str) -> Option<Opening<'_>> {
    let inner = unprefixed(line);
    let marker = marker(inner)?;
    let info = inner[marker.len()..].trim();
    if marker.starts_with('`') && info.contains('`') {
        return None;
    }
    Some(Opening {
        prefix: &line[..line.len() - inner.len()],
        marker,
        info,
    })
}

/// Whether a line closes a fence opened by `marker`.
pub(crate) fn closes(line: &str, marker: &str) -> bool {
    let inner = line.trim_start_matches([' ', '\t', '>']);
    self::marker(inner).is_some_and(|found| {
        found.len() >= marker.len()
            && found.as_bytes()[0] == marker.as_bytes()[0]
            && inner[found.len()..].trim().is_empty()
    })
}

/// Whether a fragment of a line could be mistaken for a fence.
pub(crate) fn looks_like(line: &str) -> bool {
    marker(unprefixed(line)).is_some()
}

/// The run of three or more backticks or tildes at the start of a line.
fn marker(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = line.len() - line.trim_start_matches(first).len();
    (run >= 3).then(|| &line[..run])
}

/// A line without leading whitespace, quotes and list markers.
fn unprefixed(line: &str) -> &str {
    let mut rest = line;
    loop {
        let inner = rest.trim_start_matches([' ', '\t', '>']);
        let inner = list_mark(inner).map_or(inner, |mark| &inner[mark..]);
        if inner.len() == rest.len() {
            return rest;
        }
        rest = inner;
    }
}

/// Length of the list marker at the start of a line, including its space.
pub(crate) fn list_mark(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.as_bytes().get(digits..)?;
    let mark = match (digits, rest.first()?) {
        (0, b'-' | b'*' | b'+') => 1,
        (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    matches!(line.as_bytes().get(mark), Some(b' ' | b'\t')).then_some(mark + 1)
}
