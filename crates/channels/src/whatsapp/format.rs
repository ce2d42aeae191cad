//! WhatsApp's markup: `*bold*`, `_italic_`, `~struck~` and code between backticks.

use crate::markdown::{self, Mark, MarkdownEvent, MarkdownSink};

/// Renders Markdown for WhatsApp.
pub(crate) fn written(text: &str) -> String {
    let mut writer = WhatsAppWriter::default();
    markdown::render(text, &mut writer);
    writer.all
}

#[derive(Default)]
struct WhatsAppWriter {
    all: String,
    /// The delimiters of open marks.
    open: Vec<char>,
    /// Start offsets of open links' text.
    links: Vec<usize>,
    quotes: usize,
}

impl WhatsAppWriter {
    /// WhatsApp's marks do not span lines.
    fn line(&mut self) {
        self.all.extend(self.open.iter().rev());
        self.all.push('\n');
        self.all.push_str(&"> ".repeat(self.quotes));
        self.all.extend(&self.open);
    }

    fn open(&mut self, sign: char) {
        // A nested mark of the same kind would end it.
        if !self.open.contains(&sign) {
            self.all.push(sign);
        }
        self.open.push(sign);
    }

    fn close(&mut self) {
        if let Some(sign) = self.open.pop()
            && !self.open.contains(&sign)
        {
            self.all.push(sign);
        }
    }

    fn block(&mut self, code: &str) {
        self.all.push_str("```\n");
        self.all.push_str(code);
        self.all.push_str("\n```");
    }
}

impl MarkdownSink for WhatsAppWriter {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        match event {
            MarkdownEvent::Text(text) => self.all.push_str(text),
            MarkdownEvent::Code(code) => self.all.extend(["`", code, "`"]),
            MarkdownEvent::Fence { code, .. } | MarkdownEvent::Table(code) => self.block(code),
            MarkdownEvent::Line => self.line(),
            MarkdownEvent::Item { depth, number } => {
                self.all.push_str(&"  ".repeat(depth));
                match number {
                    Some(number) => self.all.extend([number, ". "]),
                    None => self.all.push_str("- "),
                }
            }
            MarkdownEvent::Rule => self.all.push_str("———"),
            MarkdownEvent::Open(Mark::Bold | Mark::Heading(_)) => self.open('*'),
            MarkdownEvent::Open(Mark::Italic) => self.open('_'),
            MarkdownEvent::Open(Mark::Strike) => self.open('~'),
            MarkdownEvent::Open(Mark::Quote) => {
                self.quotes += 1;
                self.all.push_str("> ");
            }
            MarkdownEvent::Open(Mark::Link(_)) => self.links.push(self.all.len()),
            MarkdownEvent::Close(Mark::Link(address)) => {
                let words = self.links.pop().map_or("", |start| &self.all[start..]);
                if words != address {
                    self.all.push_str(&format!(" ({address})"));
                }
            }
            MarkdownEvent::Close(Mark::Quote) => self.quotes = self.quotes.saturating_sub(1),
            MarkdownEvent::Close(_) => self.close(),
        }
    }
}

/// Converts WhatsApp's markup to Markdown. Code is unchanged.
pub(super) fn read(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for (index, part) in text.split("```").enumerate() {
        if index > 0 {
            all.push_str("```");
        }
        match index % 2 {
            0 => words(part, &mut all),
            _ => all.push_str(part),
        }
    }
    all
}

fn words(text: &str, all: &mut String) {
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            all.push('\n');
        }
        for (index, part) in line.split('`').enumerate() {
            if index > 0 {
                all.push('`');
            }
            match index % 2 {
                0 => marks(part, all),
                _ => all.push_str(part),
            }
        }
    }
}

/// Doubles the delimiters of bold and struck text within a line; italic is the same in both.
fn marks(text: &str, all: &mut String) {
    let chars: Vec<char> = text.chars().collect();
    let mut doubled = vec![false; chars.len()];
    for sign in ['*', '~'] {
        let mut open = None;
        for (at, c) in chars.iter().enumerate() {
            if *c != sign {
                continue;
            }
            let before = at.checked_sub(1).map(|at| chars[at]);
            let after = chars.get(at + 1).copied();
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == sign);
            let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
            match open {
                Some(start) if at > start + 1 && !blank(before) && !word(after) => {
                    doubled[start] = true;
                    doubled[at] = true;
                    open = None;
                }
                _ if !word(before) && !blank(after) => open = Some(at),
                _ => {}
            }
        }
    }
    for (c, doubled) in chars.iter().zip(doubled) {
        all.push(*c);
        if doubled {
            all.push(*c);
        }
    }
}
