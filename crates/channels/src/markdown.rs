//! Reading Markdown as models write it, for platforms that want something else.
//!
//! [`render`] walks a text once and tells a [`Target`] what it finds, in order. A platform's
//! renderer is one `match` over [`Event`]: it writes text (escaped as the platform wants), opens and
//! closes marks, and writes a line break for [`Event::Line`]. Marks are always closed in the reverse
//! order in which they were opened, and blank lines come as two `Line`s, so that nothing else has
//! to be remembered. Nothing fails: what is not understood is text. The work and what is told grow
//! with the text, whatever it holds.
//!
//! `tagged` in the tests is such a renderer.

use crate::fence;

mod inline;
mod table;
#[cfg(test)]
mod tests;

/// How deep quotes in quotes are read.
const DEEPEST: usize = 4;

/// Something found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// Words, as they are meant: no line break, no marks. They need the platform's own escapes.
    Text(&'a str),
    /// Inline code.
    Code(&'a str),
    /// A line ends here.
    Line,
    /// A mark begins.
    Open(Mark<'a>),
    /// It ends.
    Close(Mark<'a>),
    /// A list item begins: its words follow, up to the next `Line`.
    Item {
        /// How deep in other lists, from 0.
        depth: usize,
        /// Its number, in a numbered list.
        number: Option<&'a str>,
    },
    /// A fence of code. It ends without a line break; what follows it begins with `Line`.
    Fence {
        /// The language, or empty.
        language: &'a str,
        /// The code, without a line break at its end.
        code: &'a str,
    },
    /// A table as lines of one width for each column, for a monospaced font.
    Table(&'a str),
    /// A line across.
    Rule,
}

/// How words are shown.
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
    /// `> quote`, over several lines.
    Quote,
    /// `[words](address)`: the address is as it was written, and may be any text.
    Link(&'a str),
}

/// Who is told what is found.
pub trait Target {
    /// Takes the next thing.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Target for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// Reads a text and tells `target` what is in it.
pub fn render(text: &str, target: &mut dyn Target) {
    let lines: Vec<&str> = text.lines().collect();
    blocks(&lines, target, 0);
}

/// The words alone, for platforms without formatting: links are followed by their address, lists
/// and quotes keep their marks.
pub fn plain(text: &str) -> String {
    let mut plain = Plain::default();
    render(text, &mut plain);
    plain.all
}

#[derive(Default)]
struct Plain {
    all: String,
    /// Where the words of open links began.
    links: Vec<usize>,
    quotes: usize,
}

impl Target for Plain {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) => self.all.push_str(text),
            Event::Fence { code: text, .. } | Event::Table(text) => self.all.push_str(text),
            Event::Line => {
                self.all.push('\n');
                self.all.push_str(&"> ".repeat(self.quotes));
            }
            Event::Item { depth, number } => {
                self.all.push_str(&"  ".repeat(depth));
                match number {
                    Some(number) => self.all.extend([number, ". "]),
                    None => self.all.push_str("• "),
                }
            }
            Event::Rule => self.all.push_str("———"),
            Event::Open(Mark::Quote) => {
                self.quotes += 1;
                self.all.push_str("> ");
            }
            Event::Close(Mark::Quote) => self.quotes = self.quotes.saturating_sub(1),
            Event::Open(Mark::Link(_)) => self.links.push(self.all.len()),
            Event::Close(Mark::Link(address)) => {
                let words = self.links.pop().map_or("", |start| &self.all[start..]);
                if words != address {
                    self.all.push_str(&format!(" ({address})"));
                }
            }
            Event::Open(_) | Event::Close(_) => {}
        }
    }
}

/// Reads lines. A line break is told between blocks, never at the end.
fn blocks(lines: &[&str], target: &mut dyn Target, depth: usize) {
    let mut at = 0;
    let mut first = true;
    while at < lines.len() {
        if !first {
            target.event(Event::Line);
        }
        first = false;
        at += block(&lines[at..], target, depth);
    }
}

/// Reads the block with which `lines` begin, and says how many lines it has.
fn block(lines: &[&str], target: &mut dyn Target, depth: usize) -> usize {
    let line = lines[0];
    if line.trim().is_empty() {
        return 1;
    }
    if depth < DEEPEST && unquoted(line).is_some() {
        let inner: Vec<&str> = lines.iter().map_while(|line| unquoted(line)).collect();
        target.event(Event::Open(Mark::Quote));
        blocks(&inner, target, depth + 1);
        target.event(Event::Close(Mark::Quote));
        return inner.len();
    }
    if let Some(opening) = fence::opening(line) {
        return fenced(opening, lines, target);
    }
    if let Some((level, words)) = heading(line) {
        target.event(Event::Open(Mark::Heading(level)));
        inline::render(words, target);
        target.event(Event::Close(Mark::Heading(level)));
        return 1;
    }
    if is_rule(line) {
        target.event(Event::Rule);
        return 1;
    }
    if let Some((rows, drawn)) = table::read(lines) {
        target.event(Event::Table(&drawn));
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
        target.event(Event::Item { depth, number });
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

/// A fence, up to its end or the end of the text.
fn fenced(opening: fence::Opening<'_>, lines: &[&str], target: &mut dyn Target) -> usize {
    // What stands before the fence is a list item or a quote that is too deep to be read.
    let mark = opening.prefix.trim();
    if fence::list_mark(opening.prefix.trim_start()).is_some() && !mark.is_empty() {
        let number = mark.trim_end_matches(['.', ')']);
        let number = number
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(number);
        target.event(Event::Item { depth: 0, number });
        target.event(Event::Line);
    }
    let indent = columns(opening.prefix);
    let body: Vec<&str> = lines[1..]
        .iter()
        .take_while(|line| !fence::closes(line, opening.marker))
        .map(|line| outdented(line, indent))
        .collect();
    target.event(Event::Fence {
        language: opening.info.split_whitespace().next().unwrap_or(""),
        code: &body.join("\n"),
    });
    (body.len() + 2).min(lines.len())
}

/// A line of code without as many blanks as stood before its fence.
fn outdented(line: &str, indent: usize) -> &str {
    let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    &line[blanks.take(indent).count()..]
}

/// A line without its `>`.
fn unquoted(line: &str) -> Option<&str> {
    let inner = line.trim_start().strip_prefix('>')?;
    Some(inner.strip_prefix(' ').unwrap_or(inner))
}

/// The level and the words of a heading.
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

/// `---`, `***` or `___`, with blanks between.
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

/// How wide blanks are.
fn columns(blanks: &str) -> usize {
    blanks
        .bytes()
        .map(|byte| if byte == b'\t' { 4 } else { 1 })
        .sum()
}
