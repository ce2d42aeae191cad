//! WhatsApp's markup: `*bold*`, `_italic_`, `~struck~` and code between backticks.

use crate::markdown::{self, Event, Mark, Target};

/// Markdown as WhatsApp writes it.
pub(crate) fn written(text: &str) -> String {
    let mut writer = Writer::default();
    markdown::render(text, &mut writer);
    writer.all
}

#[derive(Default)]
struct Writer {
    all: String,
    /// The signs of open marks.
    open: Vec<char>,
    /// Where the words of open links began.
    links: Vec<usize>,
    quotes: usize,
}

impl Writer {
    /// WhatsApp's marks do not reach over the end of a line.
    fn line(&mut self) {
        self.all.extend(self.open.iter().rev());
        self.all.push('\n');
        self.all.push_str(&"> ".repeat(self.quotes));
        self.all.extend(&self.open);
    }

    fn open(&mut self, sign: char) {
        // Bold within bold would end it.
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

impl Target for Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.all.push_str(text),
            Event::Code(code) => self.all.extend(["`", code, "`"]),
            Event::Fence { code, .. } | Event::Table(code) => self.block(code),
            Event::Line => self.line(),
            Event::Item { depth, number } => {
                self.all.push_str(&"  ".repeat(depth));
                match number {
                    Some(number) => self.all.extend([number, ". "]),
                    None => self.all.push_str("- "),
                }
            }
            Event::Rule => self.all.push_str("———"),
            Event::Open(Mark::Bold | Mark::Heading(_)) => self.open('*'),
            Event::Open(Mark::Italic) => self.open('_'),
            Event::Open(Mark::Strike) => self.open('~'),
            Event::Open(Mark::Quote) => {
                self.quotes += 1;
                self.all.push_str("> ");
            }
            Event::Open(Mark::Link(_)) => self.links.push(self.all.len()),
            Event::Close(Mark::Link(address)) => {
                let words = self.links.pop().map_or("", |start| &self.all[start..]);
                if words != address {
                    self.all.push_str(&format!(" ({address})"));
                }
            }
            Event::Close(Mark::Quote) => self.quotes = self.quotes.saturating_sub(1),
            Event::Close(_) => self.close(),
        }
    }
}

/// What somebody wrote on WhatsApp, as Markdown. Code stays as it is.
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

/// Doubles the signs of bold and struck words within a line; those of italic ones are the same.
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
