//! Renders Markdown for Discord.
//!
//! Discord supports most of Markdown, but no tables, no rules and only three heading levels, and
//! uses `__` for underline. Plain text stays plain.

use crate::markdown::{self, Mark, MarkdownEvent, MarkdownSink};

/// Renders a text for Discord.
pub(crate) fn discord(text: &str) -> String {
    let mut writer = DiscordWriter::default();
    markdown::render(text, &mut writer);
    writer.all
}

#[derive(Default)]
struct DiscordWriter {
    all: String,
    quotes: usize,
}

impl DiscordWriter {
    /// Starts a line, with a quote mark inside a quote.
    fn line(&mut self) {
        self.all.push('\n');
        if self.quotes > 0 {
            self.all.push_str("> ");
        }
    }

    fn at_line_start(&self) -> bool {
        let line = self.all.rsplit('\n').next().unwrap_or("");
        line.is_empty() || line == "> "
    }

    /// Writes a code block whose content cannot close its fence.
    fn fence(&mut self, language: &str, code: &str) {
        if !self.at_line_start() {
            self.line();
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-#_.".contains(c);
        let language = if language.chars().all(plain) {
            language
        } else {
            ""
        };
        self.all.push_str("```");
        self.all.push_str(language);
        for line in code.replace("```", "`\u{200b}``").split('\n') {
            self.line();
            self.all.push_str(line);
        }
        self.line();
        self.all.push_str("```");
    }

    fn text(&mut self, text: &str) {
        let mut text = text;
        if self.at_line_start() {
            // Text that is not a heading, list or quote must not become one.
            let first = text.trim_start();
            let hashes = first.trim_start_matches('#');
            let heading = hashes.len() < first.len() && hashes.starts_with(' ');
            if heading || first.starts_with(['>', '-']) {
                let blanks = text.len() - first.len();
                self.all.push_str(&text[..blanks]);
                self.all.push('\\');
                self.all.push_str(&first[..1]);
                text = &first[1..];
            }
        }
        for word in text.split_inclusive([' ', '\t']) {
            if word.contains("://") {
                self.all.push_str(word);
            } else {
                self.word(word);
            }
        }
    }

    /// Writes a word with its delimiters escaped.
    fn word(&mut self, word: &str) {
        let mut before = self.all.chars().next_back();
        let mut rest = word.chars().peekable();
        while let Some(c) = rest.next() {
            let next = rest.peek().copied();
            let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let escaped = match c {
                '*' | '`' => true,
                '\\' => next.is_some_and(|next| next.is_ascii_punctuation()),
                '_' => !(word(before) && word(next)),
                '~' | '|' => before == Some(c) || next == Some(c),
                _ => false,
            };
            if escaped {
                self.all.push('\\');
            }
            self.all.push(c);
            before = Some(c);
        }
    }
}

impl MarkdownSink for DiscordWriter {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        match event {
            MarkdownEvent::Text(text) => self.text(text),
            MarkdownEvent::Code(code) if code.contains('`') => {
                let run = if code.contains("``") { "`" } else { "``" };
                let code = code.replace("``", "`\u{200b}`");
                self.all.push_str(&format!("{run} {code} {run}"));
            }
            MarkdownEvent::Code(code) => self.all.push_str(&format!("`{code}`")),
            MarkdownEvent::Line => self.line(),
            MarkdownEvent::Item { depth, number } => {
                self.all.push_str(&"  ".repeat(depth));
                match number {
                    Some(number) => self.all.push_str(&format!("{number}. ")),
                    None => self.all.push_str("- "),
                }
            }
            MarkdownEvent::Fence { language, code } => self.fence(language, code),
            MarkdownEvent::Table(table) => self.fence("", table),
            MarkdownEvent::Rule => self.all.push_str("──────────"),
            MarkdownEvent::Open(Mark::Bold) | MarkdownEvent::Close(Mark::Bold) => {
                self.all.push_str("**")
            }
            MarkdownEvent::Open(Mark::Italic) | MarkdownEvent::Close(Mark::Italic) => {
                self.all.push('*')
            }
            MarkdownEvent::Open(Mark::Strike) | MarkdownEvent::Close(Mark::Strike) => {
                self.all.push_str("~~")
            }
            MarkdownEvent::Open(Mark::Heading(level @ 1..=3)) => {
                self.all.push_str(&"#".repeat(level));
                self.all.push(' ');
            }
            MarkdownEvent::Close(Mark::Heading(1..=3)) => {}
            MarkdownEvent::Open(Mark::Heading(_)) | MarkdownEvent::Close(Mark::Heading(_)) => {
                self.all.push_str("**");
            }
            MarkdownEvent::Open(Mark::Quote) => {
                self.quotes += 1;
                // Discord shows nested quotes as one level.
                if self.quotes == 1 {
                    self.all.push_str("> ");
                }
            }
            MarkdownEvent::Close(Mark::Quote) => self.quotes = self.quotes.saturating_sub(1),
            MarkdownEvent::Open(Mark::Link(address)) if is_web(address) => self.all.push('['),
            MarkdownEvent::Close(Mark::Link(address)) if is_web(address) => {
                self.all.push_str(&format!("]({address})"));
            }
            MarkdownEvent::Open(Mark::Link(_)) => {}
            MarkdownEvent::Close(Mark::Link(address)) => {
                self.text(&format!(" ({address})"));
            }
        }
    }
}

/// Whether Discord makes it a link.
fn is_web(address: &str) -> bool {
    let web = address.starts_with("https://") || address.starts_with("http://");
    web && !address.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chunk;
    use crate::shorten::units;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn every_piece_fits_as_it_is_shown_and_leaves_no_fence_open(
            text in "([*_~`|>#\\[\\]()\\\\ -]|\n|\n```rs\n|\n```\n|\n~~~\n|words |\\* |漢字|👨‍👩‍👧‍👦|https://e\\.org/a_b ){0,60}"
        ) {
            let pieces = chunk::pieces(&text, 100, &|piece| units(&discord(piece)));
            for piece in pieces {
                let shown = discord(&piece);
                prop_assert!(units(&shown) <= 100, "{shown:?} of {text:?}");
                prop_assert_eq!(shown.matches("```").count() % 2, 0, "{:?} of {:?}", shown, text);
            }
        }
    }

    #[test]
    fn markdown_is_shown_as_it_is_meant() {
        for (text, expect) in [
            ("**bold** *it* ~~no~~ `x`", "**bold** *it* ~~no~~ `x`"),
            ("__bold__ and _it_", "**bold** and *it*"),
            ("# A\n#### B", "# A\n**B**"),
            ("- a\n  - b\n2. c", "- a\n  - b\n2. c"),
            ("> a\n> > b\nc", "> a\n> b\nc"),
            ("[docs](https://e.org/a_b)", "[docs](https://e.org/a_b)"),
            ("[x](javascript:1)", "x (javascript:1)"),
            (
                "see https://e.org/a_b_c *now*",
                "see https://e.org/a_b_c *now*",
            ),
            ("2 * 3 and snake_case", "2 \\* 3 and snake_case"),
            ("\\# no heading", "\\# no heading"),
            ("||not hidden||", "\\|\\|not hidden\\|\\|"),
            ("``a`b``", "`` a`b ``"),
            ("````\n```\n````", "```\n`\u{200b}``\n```"),
            ("```rust\nfn\n```", "```rust\nfn\n```"),
            ("|a|b|\n|-|-|\n|1|2|", "```\na | b\n--+--\n1 | 2\n```"),
            ("> ```\n> x\n> ```", "> ```\n> x\n> ```"),
            ("**open", "\\*\\*open"),
            ("---", "──────────"),
        ] {
            assert_eq!(discord(text), expect, "{text:?}");
        }
    }
}
