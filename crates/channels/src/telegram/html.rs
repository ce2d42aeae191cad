//! Markdown as Telegram's HTML.
//!
//! Telegram knows a handful of tags, wants them closed in order, and lets code hold no other mark:
//! marks that are open where code begins are closed before it and opened again behind it. Lengths
//! count what is seen, so that is kept beside the tags.

use url::Url;

use crate::markdown::{self, Event, Mark, Target};

/// The longest text, in UTF-16 units of what is seen.
pub(super) const TEXT: usize = 4_096;
/// The longest line below a file.
pub(super) const CAPTION: usize = 1_024;
/// The longest text with its tags, in bytes.
pub(super) const RAW: usize = 32_768;

/// A text as it is sent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Html {
    /// With tags.
    pub html: String,
    /// What is seen.
    pub seen: String,
}

/// Renders Markdown.
pub(crate) fn render(text: &str) -> Html {
    let mut writer = Writer::default();
    markdown::render(text, &mut writer);
    writer.out
}

/// How large a piece of Markdown is to Telegram, of at most [`TEXT`].
pub(crate) fn size(text: &str) -> usize {
    let out = render(text);
    // Of a text with many tags the bytes run out before the letters do.
    units(&out.seen).max(out.html.len().div_ceil(RAW / TEXT))
}

/// How long a text is to Telegram.
pub(super) fn units(text: &str) -> usize {
    crate::short::units(text)
}

#[derive(Default)]
struct Writer {
    out: Html,
    /// The tags that are open, each with how it is written.
    open: Vec<(&'static str, String)>,
    /// Links whose address cannot be one are written behind their words; those that can are tags.
    tagged: Vec<bool>,
    quotes: usize,
}

impl Writer {
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

    /// Writes something that no other mark may hold.
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
                // A quote holds no other.
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

impl Target for Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.text(text),
            Event::Code(code) => self.alone("<code>", code, "</code>"),
            Event::Line => {
                self.text("\n");
                for _ in 1..self.quotes {
                    self.text("> ");
                }
            }
            Event::Open(mark) => self.open_mark(mark),
            Event::Close(mark) => self.close_mark(mark),
            Event::Item { depth, number } => {
                self.text(&"  ".repeat(depth));
                match number {
                    Some(number) => self.text(&format!("{number}. ")),
                    None => self.text("• "),
                }
            }
            Event::Fence { language, code } => {
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
            Event::Table(table) => self.alone("<pre>", table, "</pre>"),
            Event::Rule => self.text("———"),
        }
    }
}

/// An address that Telegram makes a link of.
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
            // Characters that no text may hold.
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
