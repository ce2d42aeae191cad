//! Renders Markdown as Telegram's HTML.
//!
//! Telegram supports a few tags, requires them to be closed in order, and allows no other mark around
//! code: open marks are closed before code and reopened after it. Length limits apply to the visible
//! text, so it is tracked beside the tags.

use url::Url;

use crate::markdown::{self, Mark, MarkdownEvent, MarkdownSink};

/// Maximum length of the visible text, in UTF-16 units.
pub(super) const TEXT: usize = 4_096;
/// Maximum length of a caption.
pub(super) const CAPTION: usize = 1_024;
/// Maximum length with tags, in bytes.
pub(super) const RAW: usize = 32_768;

/// A rendered text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Html {
    /// The HTML.
    pub html: String,
    /// The visible text.
    pub seen: String,
}

/// Renders Markdown.
pub(crate) fn render(text: &str) -> Html {
    let mut writer = HtmlWriter::default();
    markdown::render(text, &mut writer);
    writer.out
}

/// The size of a chunk of Markdown for Telegram, relative to [`TEXT`].
pub(crate) fn size(text: &str) -> usize {
    let out = render(text);
    // With many tags, the byte limit is reached before the character limit.
    units(&out.seen).max(out.html.len().div_ceil(RAW / TEXT))
}

/// The length of a text for Telegram.
pub(super) fn units(text: &str) -> usize {
    crate::shorten::units(text)
}

#[derive(Default)]
struct HtmlWriter {
    out: Html,
    /// The open tags, each as written.
    open: Vec<(&'static str, String)>,
    /// Whether each open link is a tag; otherwise its URL is written after its text.
    tagged: Vec<bool>,
    quotes: usize,
}

impl HtmlWriter {
    fn text(&mut self, text: &str) {
        escape(text, &mut self.out.html);
        self.out.seen.push_str(text);
    }

    fn begin(&mut self, tag: &'static str, written: String) {
        self.out.html.push_str(&written);
        self.open.push((tag, written));
    }

    fn end(&mut self) {
        if let Some((tag, _)) = self.open.pop() {
            self.out.html.push_str(&format!("</{tag}>"));
        }
    }

    /// Writes content that allows no marks around it.
    fn alone(&mut self, before: &str, text: &str, after: &str) {
        if text.trim().is_empty() {
            return self.text(text);
        }
        for (tag, _) in self.open.iter().rev() {
            self.out.html.push_str(&format!("</{tag}>"));
        }
        self.out.html.push_str(before);
        self.text(text);
        self.out.html.push_str(after);
        for (_, written) in &self.open {
            self.out.html.push_str(written);
        }
    }

    fn open_mark(&mut self, mark: Mark<'_>) {
        match mark {
            Mark::Bold | Mark::Heading(_) => self.begin("b", "<b>".to_owned()),
            Mark::Italic => self.begin("i", "<i>".to_owned()),
            Mark::Strike => self.begin("s", "<s>".to_owned()),
            Mark::Quote => {
                self.quotes += 1;
                // Quotes do not nest.
                match self.quotes {
                    1 => self.begin("blockquote", "<blockquote>".to_owned()),
                    _ => self.text("> "),
                }
            }
            Mark::Link(address) => {
                let address = linkable(address);
                self.tagged.push(address.is_some());
                if let Some(address) = address {
                    let mut written = "<a href=\"".to_owned();
                    escape(&address, &mut written);
                    written.push_str("\">");
                    self.begin("a", written);
                }
            }
        }
    }

    fn close_mark(&mut self, mark: Mark<'_>) {
        match mark {
            Mark::Bold | Mark::Heading(_) | Mark::Italic | Mark::Strike => self.end(),
            Mark::Quote => {
                self.quotes = self.quotes.saturating_sub(1);
                if self.quotes == 0 {
                    self.end();
                }
            }
            Mark::Link(address) => match self.tagged.pop() {
                Some(true) => self.end(),
                _ => self.text(&format!(" ({address})")),
            },
        }
    }
}

impl MarkdownSink for HtmlWriter {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        match event {
            MarkdownEvent::Text(text) => self.text(text),
            MarkdownEvent::Code(code) => self.alone("<code>", code, "</code>"),
            MarkdownEvent::Line => {
                self.text("\n");
                for _ in 1..self.quotes {
                    self.text("> ");
                }
            }
            MarkdownEvent::Open(mark) => self.open_mark(mark),
            MarkdownEvent::Close(mark) => self.close_mark(mark),
            MarkdownEvent::Item { depth, number } => {
                self.text(&"  ".repeat(depth));
                match number {
                    Some(number) => self.text(&format!("{number}. ")),
                    None => self.text("• "),
                }
            }
            MarkdownEvent::Fence { language, code } => {
                let language: String = language
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || "+-_#.".contains(*c))
                    .take(40)
                    .collect();
                if language.is_empty() {
                    return self.alone("<pre>", code, "</pre>");
                }
                let before = format!("<pre><code class=\"language-{language}\">");
                self.alone(&before, code, "</code></pre>");
            }
            MarkdownEvent::Table(table) => self.alone("<pre>", table, "</pre>"),
            MarkdownEvent::Rule => self.text("———"),
        }
    }
}

/// A URL that Telegram accepts for a link.
fn linkable(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    let known = ["http", "https", "tg", "mailto", "tel", "ton"];
    (known.contains(&url.scheme()) && url.as_str().len() <= 2_048).then(|| url.to_string())
}

fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            // Characters that Telegram rejects.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' => into.push(' '),
            other => into.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use manyhands_platforms::telegram::visible;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_becomes_tags_that_telegram_knows() {
        for (text, html) in [
            (
                "**bold** *it* ~~gone~~ `x<y`",
                "<b>bold</b> <i>it</i> <s>gone</s> <code>x&lt;y</code>",
            ),
            ("# Head\n\nwords", "<b>Head</b>\n\nwords"),
            (
                "[docs](https://a.b/?x=1&y=\"2\")",
                "<a href=\"https://a.b/?x=1&amp;y=%222%22\">docs</a>",
            ),
            ("[main](src/main.rs)", "main (src/main.rs)"),
            ("[x](javascript:alert)", "x (javascript:alert)"),
            (
                "```rust\nlet a = 1 < 2;\n```",
                "<pre><code class=\"language-rust\">let a = 1 &lt; 2;</code></pre>",
            ),
            (
                "```\"><b>\nx\n```",
                "<pre><code class=\"language-b\">x</code></pre>",
            ),
            ("**a `b` c**", "<b>a </b><code>b</code><b> c</b>"),
            (
                "> one\n> two\n\nthree",
                "<blockquote>one\ntwo</blockquote>\n\nthree",
            ),
            ("> one\n> > two", "<blockquote>one\n&gt; two</blockquote>"),
            ("- a\n- b\n1. c", "• a\n• b\n1. c"),
            (
                "<script>&amp;</script>",
                "&lt;script&gt;&amp;amp;&lt;/script&gt;",
            ),
            ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
        ] {
            assert_eq!(render(text).html, html, "{text}");
        }
    }

    #[test]
    fn a_size_counts_what_is_seen_in_units_of_utf_16() {
        for (text, length) in [
            ("**abc**", 3),
            ("\u{1f600}", 2),
            ("[x](https://example.com/long)", 5),
            ("a < b", 5),
        ] {
            assert_eq!(size(text), length, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_telegram_can_read_and_sees_the_same(
            text in "([a-c<>&\"*_~`\\[\\]()#>|\\n -]|\u{1f600}|```|\\*\\*|https://x\\.y){0,60}",
        ) {
            let out = render(&text);
            let seen = visible(&out.html).map_err(TestCaseError::fail)?;
            prop_assert_eq!(seen, out.seen);
        }
    }
}
