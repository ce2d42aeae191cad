//! Lines that match a pattern, with context lines.
//!
//! The pattern is taken literally and, if it is one, as a regular expression: a line that matches
//! either way is shown. Long lines are searched in pieces, so a file without line ends needs no
//! more memory than others.

use std::collections::VecDeque;

use manyhands_core::ToolError;
use regex::{Regex, RegexBuilder};

use super::window::Window;
use super::{TextPart, TextRange, TextSource};

/// Longer lines are searched in pieces of this many bytes.
const PIECE: usize = 16 * 1024;
/// The overlap of two pieces, in bytes, so that a match across the border is found.
const OVERLAP: usize = 512;
/// Of longer lines only the part around the match is shown, in characters.
const SHOWN: usize = 1_000;

/// A search pattern.
#[derive(Debug)]
pub struct SearchPattern {
    /// The text as given.
    text: String,
    regex: Regex,
    context: usize,
}

impl SearchPattern {
    /// Searches for `text`, with `context` lines around each match.
    pub fn new(text: &str, context: usize) -> Result<Self, ToolError> {
        let build = |pattern: &str| {
            let mut builder = RegexBuilder::new(pattern);
            // The size limit bounds memory and time of hostile patterns.
            builder.case_insensitive(true).size_limit(1 << 20).build()
        };
        let literal = regex::escape(text);
        // The literal comes first, so that text with special characters is found even if it happens
        // to be a valid expression.
        let regex = build(&format!("{literal}|{text}")).or_else(|_| build(&literal));
        let regex = regex.map_err(|_| ToolError::parameter("search", "is too long"))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
            context,
        })
    }

    /// A page of the matching lines, each as `number:line`, and of context lines, each as
    /// `number-line`; `--` separates groups.
    pub async fn read(
        self,
        mut source: TextSource,
        page: TextRange,
    ) -> Result<TextPart, ToolError> {
        let mut shown = MatchWindow {
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
                // The part already searched is kept as overlap, or a match across the border would
                // be lost.
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
            // State that nothing matched: an empty result could also be a failure.
            let lines = if unended { number } else { number - 1 };
            return Ok(TextPart {
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

struct MatchWindow<'a> {
    pattern: &'a SearchPattern,
    window: Window,
    before: VecDeque<(u64, String)>,
    /// How many context lines are still to be shown.
    after: usize,
    /// The last line shown.
    last: Option<u64>,
}

impl MatchWindow<'_> {
    /// Processes a line; returns whether more is wanted.
    fn line(&mut self, number: u64, text: &str) -> bool {
        let Some(found) = self.pattern.regex.find(text) else {
            // Another piece of the same long line is not a context line.
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

/// A line, or the part of a long one around a position.
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
