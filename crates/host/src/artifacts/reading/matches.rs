//! Lines that hold something, with those around them.
//!
//! What is looked for is taken literally, and as a regular expression where it is one: a line
//! that fits either way is shown. Lines of any length are looked at in pieces, so that a file
//! without line ends needs no more memory than others.

use std::collections::VecDeque;

use manyhands_core::ToolError;
use regex::{Regex, RegexBuilder};

use super::window::Window;
use super::{Page, Part, Source};

/// A longer line is looked at in pieces of this many bytes.
const PIECE: usize = 16 * 1024;
/// What the next piece of a long line sees of the one before, in bytes.
const OVERLAP: usize = 512;
/// A longer line is shown around what was found, in characters.
const SHOWN: usize = 1_000;

/// What is looked for.
#[derive(Debug)]
pub struct Pattern {
    /// As it was given.
    text: String,
    regex: Regex,
    context: usize,
}

impl Pattern {
    /// Searches for `text`, with `context` lines around each match.
    pub fn new(text: &str, context: usize) -> Result<Self, ToolError> {
        let build = |pattern: &str| {
            let mut builder = RegexBuilder::new(pattern);
            builder.case_insensitive(true).size_limit(1 << 20).build()
        };
        let literal = regex::escape(text);
        let regex = build(&format!("{literal}|{text}")).or_else(|_| build(&literal));
        let regex = regex.map_err(|_| ToolError::parameter("search", "is too long to look for"))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
            context,
        })
    }

    /// A page of the lines that fit, each as `number:line`, and of those around them, each as
    /// `number-line`; `--` stands between groups.
    pub async fn read(self, mut source: Source, page: Page) -> Result<Part, ToolError> {
        let mut shown = Shown {
            pattern: &self,
            window: Window::new(page),
            before: VecDeque::new(),
            after: 0,
            last: None,
        };
        let (mut number, mut line, mut overlap) = (1_u64, String::new(), 0);
        'pieces: while let Some(piece) = source.text().await? {
            for part in piece.split_inclusive('\n') {
                line.push_str(part);
                while line.len() > PIECE + overlap && !line.ends_with('\n') {
                    let cut = line.floor_char_boundary(PIECE + overlap);
                    let rest = line[line.floor_char_boundary(cut - OVERLAP)..].to_owned();
                    line.truncate(cut);
                    if !shown.line(number, &line) {
                        break 'pieces;
                    }
                    overlap = rest.len().min(OVERLAP + 3);
                    line = rest;
                }
                if line.ends_with('\n') {
                    if !shown.line(number, line.trim_end_matches(['\n', '\r'])) {
                        break 'pieces;
                    }
                    number += 1;
                    (overlap, line) = (0, String::new());
                }
            }
        }
        let unended = !line.is_empty();
        if unended && !shown.window.is_full() {
            shown.line(number, &line);
        }
        if shown.last.is_none() && page.offset == 0 {
            // An empty answer could also mean that something went wrong.
            let lines = if unended { number } else { number - 1 };
            return Ok(Part {
                content: format!(
                    "no line matches {:?} ({lines} {} searched)\n",
                    self.text,
                    if lines == 1 { "line" } else { "lines" }
                ),
                next: None,
            });
        }
        shown.window.finish()
    }
}

struct Shown<'a> {
    pattern: &'a Pattern,
    window: Window,
    before: VecDeque<(u64, String)>,
    /// How many lines more are shown after the last that fitted.
    after: usize,
    /// The last line that was shown.
    last: Option<u64>,
}

impl Shown<'_> {
    /// Looks at a line; whether more is wanted.
    fn line(&mut self, number: u64, text: &str) -> bool {
        let Some(found) = self.pattern.regex.find(text) else {
            // Another piece of a long line is not a line around it.
            if self.last == Some(number) || self.before.back().is_some_and(|(n, _)| *n == number) {
                return true;
            }
            if self.after > 0 {
                self.after -= 1;
                return self.show(number, '-', &around(text, 0));
            }
            if self.pattern.context > 0 {
                if self.before.len() == self.pattern.context {
                    self.before.pop_front();
                }
                self.before.push_back((number, around(text, 0)));
            }
            return true;
        };
        for (before, line) in std::mem::take(&mut self.before) {
            if before != number && !self.show(before, '-', &line) {
                return false;
            }
        }
        self.after = self.pattern.context;
        self.show(number, ':', &around(text, found.start()))
    }

    fn show(&mut self, number: u64, mark: char, line: &str) -> bool {
        let apart = self.last.is_some_and(|last| number > last + 1);
        self.last = Some(number);
        let gap = if apart { "--\n" } else { "" };
        self.window.push(&format!("{gap}{number}{mark}{line}\n"))
    }
}

/// A line, or of a long one what is around a place in it.
fn around(line: &str, at: usize) -> String {
    if line.len() <= SHOWN * 2 {
        return line.to_owned();
    }
    let from = line.floor_char_boundary(at.saturating_sub(SHOWN / 2));
    let to = line.floor_char_boundary((from + SHOWN).min(line.len()));
    let (left, right) = (
        if from > 0 { "…" } else { "" },
        if to < line.len() { "…" } else { "" },
    );
    format!("{left}{}{right}", &line[from..to])
}
