//! A Markdown parser for text written by models, for platforms with other formats.
//!
//! [`render`] walks a text once and passes events to a [`MarkdownSink`], in order. A platform's
//! renderer is one `match` over [`MarkdownEvent`]: it writes text (escaped as the platform requires), opens
//! and closes marks, and writes a line break for [`MarkdownEvent::Line`]. Marks are always closed in reverse
//! order, and blank lines come as two `Line`s, so renderers keep no other state. Parsing never fails:
//! what is not understood is text. Work and output grow linearly with the text.
//!
//! Not `pulldown-cmark`: models write fences after any indentation, tables and lists that
//! CommonMark rejects, and platforms need their source text; splitting and rendering must agree on
//! fences.
//!
//! ```
//! use manyhands_channels::markdown::{MarkdownEvent, Mark, render};
//!
//! let mut html = String::new();
//! render("**hi** `x<y`", &mut |event: MarkdownEvent<'_>| match event {
//!     MarkdownEvent::Text(text) | MarkdownEvent::Code(text) => html.push_str(&text.replace('<', "&lt;")),
//!     MarkdownEvent::Open(Mark::Bold) => html.push_str("<b>"),
//!     MarkdownEvent::Close(Mark::Bold) => html.push_str("</b>"),
//!     MarkdownEvent::Line => html.push('\n'),
//!     _ => {}
//! });
//! assert_eq!(html, "<b>hi</b> x&lt;y");
//! ```

use crate::fence;

mod inline;
mod table;
#[cfg(test)]
mod tests;

/// Maximum depth of nested quotes.
const DEEPEST: usize = 4;

/// An event of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkdownEvent<'a> {
    /// Text without line breaks and delimiters. It needs the platform's escaping.
    Text(&'a str),
    /// Inline code.
    Code(&'a str),
    /// The end of a line.
    Line,
    /// The start of a mark.
    Open(Mark<'a>),
    /// The end of a mark.
    Close(Mark<'a>),
    /// The start of a list item: its content follows, up to the next `Line`.
    Item {
        /// Nesting depth, from 0.
        depth: usize,
        /// Its number in an ordered list.
        number: Option<&'a str>,
    },
    /// A code block. It ends without a line break; the next block begins with `Line`.
    Fence {
        /// The language, or empty.
        language: &'a str,
        /// The code, without a final line break.
        code: &'a str,
    },
    /// A table with aligned columns, for a monospaced font.
    Table(&'a str),
    /// A horizontal rule.
    Rule,
}

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// `**bold**`
    Bold,
    /// `*italic*`
    Italic,
    /// `~~struck~~`
    Strike,
    /// `# heading`, with its level from 1 to 6.
    Heading(usize),
    /// `> quote`, spanning several lines.
    Quote,
    /// `[text](url)`: the URL is as written, and may be any text.
    Link(&'a str),
}

/// Receives parser events.
pub trait MarkdownSink {
    /// Handles the next event.
    fn event(&mut self, event: MarkdownEvent<'_>);
}

impl<F: FnMut(MarkdownEvent<'_>)> MarkdownSink for F {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        self(event);
    }
}

/// Parses a text and passes its events to `target`.
pub fn render(text: &str, target: &mut dyn MarkdownSink) {
    let lines: Vec<&str> = text.lines().collect();
    blocks(&lines, target, 0);
}

/// Plain text, for platforms without formatting: links are followed by their URL, lists and quotes
/// keep their markers.
pub fn plain(text: &str) -> String {
    let mut plain = Plain::default();
    render(text, &mut plain);
    plain.all
}

#[derive(Default)]
struct Plain {
    all: String,
    /// Start offsets of open links' text.
    links: Vec<usize>,
    quotes: usize,
}

impl MarkdownSink for Plain {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        match event {
            MarkdownEvent::Text(text) | MarkdownEvent::Code(text) => self.all.push_str(text),
            MarkdownEvent::Fence { code: text, .. } | MarkdownEvent::Table(text) => {
                self.all.push_str(text)
            }
            MarkdownEvent::Line => {
                self.all.push('\n');
                self.all.push_str(&"> ".repeat(self.quotes));
            }
            MarkdownEvent::Item { depth, number } => {
                self.all.push_str(&"  ".repeat(depth));
                match number {
                    Some(number) => self.all.extend([number, ". "]),
                    None => self.all.push_str("• "),
                }
            }
            MarkdownEvent::Rule => self.all.push_str("———"),
            MarkdownEvent::Open(Mark::Quote) => {
                self.quotes += 1;
                self.all.push_str("> ");
            }
            MarkdownEvent::Close(Mark::Quote) => self.quotes = self.quotes.saturating_sub(1),
            MarkdownEvent::Open(Mark::Link(_)) => self.links.push(self.all.len()),
            MarkdownEvent::Close(Mark::Link(address)) => {
                let words = self.links.pop().map_or("", |start| &self.all[start..]);
                if words != address {
                    self.all.push_str(&format!(" ({address})"));
                }
            }
            MarkdownEvent::Open(_) | MarkdownEvent::Close(_) => {}
        }
    }
}

/// Parses lines. A line break is emitted between blocks, never at the end.
fn blocks(lines: &[&str], target: &mut dyn MarkdownSink, depth: usize) {
    let mut at = 0;
    let mut first = true;
    while at < lines.len() {
        if !first {
            target.event(MarkdownEvent::Line);
        }
        first = false;
        at += block(&lines[at..], target, depth);
    }
}

/// Parses the block at the start of `lines`, and returns its number of lines.
fn block(lines: &[&str], target: &mut dyn MarkdownSink, depth: usize) -> usize {
    let line = lines[0];
    if line.trim().is_empty() {
        return 1;
    }
    if depth < DEEPEST && unquoted(line).is_some() {
        let inner: Vec<&str> = lines.iter().map_while(|line| unquoted(line)).collect();
        target.event(MarkdownEvent::Open(Mark::Quote));
        blocks(&inner, target, depth + 1);
        target.event(MarkdownEvent::Close(Mark::Quote));
        return inner.len();
    }
    if let Some(opening) = fence::opening(line) {
        return fenced(opening, lines, target);
    }
    if let Some((level, words)) = heading(line) {
        target.event(MarkdownEvent::Open(Mark::Heading(level)));
        inline::render(words, target);
        target.event(MarkdownEvent::Close(Mark::Heading(level)));
        return 1;
    }
    if is_rule(line) {
        target.event(MarkdownEvent::Rule);
        return 1;
    }
    if let Some((rows, drawn)) = table::read(lines) {
        target.event(MarkdownEvent::Table(&drawn));
        return rows;
    }
    let indent = line.len() - line.trim_start().len();
    let (bare, start) = (&line[indent..], indent);
    if let Some(mark) = fence::list_mark(bare) {
        let number = bare[..mark].trim_end().trim_end_matches(['.', ')']);
        let number = number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number);
        let depth = (columns(&line[..start]) / 2).min(8);
        target.event(MarkdownEvent::Item { depth, number });
        inline::render(bare[mark..].trim_start(), target);
        return 1;
    }
    let begins = |rest: &[&str]| begins_block(rest, depth);
    let count = 1
        + (1..lines.len())
            .take_while(|at| !begins(&lines[*at..]))
            .count();
    inline::render(&lines[..count].join("\n"), target);
    count
}

/// Whether a paragraph ends before these lines.
fn begins_block(lines: &[&str], depth: usize) -> bool {
    let line = lines[0];
    line.trim().is_empty()
        || (depth < DEEPEST && unquoted(line).is_some())
        || fence::opening(line).is_some()
        || heading(line).is_some()
        || is_rule(line)
        || fence::list_mark(line.trim_start()).is_some()
        || table::begins(lines)
}

/// Parses a code block, up to its end or the end of the text.
fn fenced(opening: fence::Opening<'_>, lines: &[&str], target: &mut dyn MarkdownSink) -> usize {
    // The prefix is a list item, or a quote that is nested too deeply.
    let mark = opening.prefix.trim();
    if fence::list_mark(opening.prefix.trim_start()).is_some() && !mark.is_empty() {
        let number = mark.trim_end_matches(['.', ')']);
        let number = number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number);
        target.event(MarkdownEvent::Item { depth: 0, number });
        target.event(MarkdownEvent::Line);
    }
    let indent = columns(opening.prefix);
    let body: Vec<&str> = lines[1..]
        .iter()
        .take_while(|line| !fence::closes(line, opening.marker))
        .map(|line| outdented(line, indent))
        .collect();
    target.event(MarkdownEvent::Fence {
        language: opening.info.split_whitespace().next().unwrap_or(""),
        code: &body.join("\n"),
    });
    (body.len() + 2).min(lines.len())
}

/// A line of code without its fence's indentation.
fn outdented(line: &str, indent: usize) -> &str {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    &line[blanks.take(indent).count()..]
}

/// A line without its `>`.
fn unquoted(line: &str) -> Option<&str> {
    let inner = line.trim_start().strip_prefix('>')?;
    Some(inner.strip_prefix(' ').unwrap_or(inner))
}

/// The level and text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let bare = line.trim_start();
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    let words = bare[level..].trim();
    let apart = bare[level..].starts_with([' ', '\t']);
    if !(1..=6).contains(&level) || !apart || words.is_empty() {
        return None;
    }
    let shut = words.trim_end_matches('#');
    let words = if shut.ends_with([' ', '\t']) {
        shut.trim_end()
    } else {
        words
    };
    Some((level, words))
}

/// `---`, `***` or `___`, with optional spaces.
fn is_rule(line: &str) -> bool {
    let mut marks = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(first) = marks
        .next()
        .filter(|byte| matches!(byte, b'-' | b'*' | b'_'))
    else {
        return false;
    };
    let mut more = 0;
    marks.all(|byte| {
        more += 1;
        byte == first
    }) && more >= 2
}

/// The width of whitespace in columns.
fn columns(blanks: &str) -> usize {
    blanks
        .bytes()
        .map(|byte| if byte == b'\t' { 4 } else { 1 })
        .sum()
}
