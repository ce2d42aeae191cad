//! Lines and their endings.

use std::ops::Range;

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nothing: the last line of a file without a final newline.
    Missing,
    Lf,
    CrLf,
}

impl Ending {
    pub(super) fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Missing => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }

    pub(super) fn is_newline(self) -> bool {
        self != Self::Missing
    }
}

/// A line of a file or of one side of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLine<'a> {
    pub(super) body: &'a [u8],
    pub(super) ending: Ending,
}

impl<'a> TextLine<'a> {
    pub(super) fn of(raw: &'a [u8]) -> Self {
        let (body, ending) = if let Some(body) = raw.strip_suffix(b"\r\n") {
            (body, Ending::CrLf)
        } else if let Some(body) = raw.strip_suffix(b"\n") {
            (body, Ending::Lf)
        } else {
            (raw, Ending::Missing)
        };
        Self { body, ending }
    }

    /// The body without a trailing carriage return that is not followed by a newline.
    pub(super) fn body_without_cr(self) -> &'a [u8] {
        match self.ending {
            Ending::Missing => self.body.strip_suffix(b"\r").unwrap_or(self.body),
            Ending::Lf | Ending::CrLf => self.body,
        }
    }

    /// The ending, counting a carriage return even without a newline.
    pub(super) fn ending_with_cr(self) -> Ending {
        match self.ending {
            Ending::Missing if self.body.ends_with(b"\r") => Ending::CrLf,
            ending => ending,
        }
    }

    /// The line with its ending for messages, cut if it is long.
    pub(super) fn shown(self) -> String {
        const SHOWN_BYTES: usize = 200;
        let cut = self.body.len().min(SHOWN_BYTES);
        let mut shown = String::from_utf8_lossy(&self.body[..cut]).into_owned();
        if cut < self.body.len() {
            shown.push('…');
        }
        shown.push_str(str::from_utf8(self.ending.as_bytes()).unwrap_or_default());
        shown
    }
}

/// The common line ending of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endings {
    /// No line ends with a newline.
    Unknown,
    All(Ending),
    Mixed,
}

impl Endings {
    pub(super) fn of(endings: impl Iterator<Item = Ending>) -> Self {
        let mut seen = Self::Unknown;
        for ending in endings.filter(|ending| ending.is_newline()) {
            match seen {
                Self::Unknown => seen = Self::All(ending),
                Self::All(first) if first == ending => {}
                _ => return Self::Mixed,
            }
        }
        seen
    }
}

/// A file's content with its line starts.
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// The start of each line, and the end.
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut starts = vec![0];
        let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        starts.extend(newlines.map(|(at, _)| at + 1));
        if starts.last() != Some(&bytes.len()) {
            starts.push(bytes.len());
        }
        Self { bytes, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn line(&self, at: usize) -> TextLine<'a> {
        TextLine::of(self.slice(at..at + 1))
    }

    pub(super) fn get(&self, at: usize) -> Option<TextLine<'a>> {
        (at < self.len()).then(|| self.line(at))
    }

    /// The bytes of these lines.
    pub(super) fn slice(&self, lines: Range<usize>) -> &'a [u8] {
        &self.bytes[self.starts[lines.start]..self.starts[lines.end]]
    }

    pub(super) fn endings(&self) -> Endings {
        Endings::of((0..self.len()).map(|at| self.line(at).ending))
    }

    /// Whether the last line has no newline.
    pub(super) fn lacks_final_newline(&self) -> bool {
        self.bytes.last().is_some_and(|last| *last != b'\n')
    }

    /// The line ending near line `at`, if there is one.
    pub(super) fn ending_near(&self, at: usize) -> Option<Ending> {
        [at.checked_sub(1), Some(at), Some(0)]
            .into_iter()
            .flatten()
            .filter_map(|at| self.get(at))
            .map(|line| line.ending)
            .find(|ending| ending.is_newline())
    }
}
