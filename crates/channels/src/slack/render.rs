//! Renders Markdown as Slack's `mrkdwn`.

use crate::markdown::{self, Mark, MarkdownEvent, MarkdownSink};

/// Renders a text. Nothing in it can notify everyone (`<!channel>`); a user id between `<@` and `>`, or
/// a channel id between `<#` and `>`, becomes a mention.
pub(crate) fn mrkdwn(text: &str) -> String {
    let mut slack = Mrkdwn::default();
    markdown::render(text, &mut slack);
    slack.all
}

#[derive(Default)]
struct Mrkdwn {
    all: String,
    quotes: usize,
    bold: usize,
    italic: usize,
    strike: usize,
    /// Start offsets of open links' text.
    links: Vec<usize>,
}

impl MarkdownSink for Mrkdwn {
    fn event(&mut self, event: MarkdownEvent<'_>) {
        match event {
            MarkdownEvent::Text(text) => escape(text, &mut self.all),
            MarkdownEvent::Code(code) => self.code(code),
            MarkdownEvent::Line => {
                self.all.push('\n');
                self.quote();
            }
            MarkdownEvent::Item { depth, number } => {
                self.all.push_str(&"    ".repeat(depth.min(8)));
                match number {
                    Some(number) => self.all.extend([number, ". "]),
                    None => self.all.push_str("• "),
                }
            }
            MarkdownEvent::Fence { code, .. } | MarkdownEvent::Table(code) => self.fence(code),
            MarkdownEvent::Rule => self.all.push_str("———"),
            MarkdownEvent::Open(mark) => self.open(mark),
            MarkdownEvent::Close(mark) => self.close(mark),
        }
    }
}

impl Mrkdwn {
    fn open(&mut self, mark: Mark<'_>) {
        match mark {
            Mark::Quote => {
                self.quotes += 1;
                // Slack has no nested quotes.
                if self.quotes == 1 {
                    self.quote();
                }
            }
            Mark::Link(_) => self.links.push(self.all.len()),
            Mark::Bold | Mark::Heading(_) => {
                self.bold += 1;
                self.mark('*', self.bold == 1);
            }
            Mark::Italic => {
                self.italic += 1;
                self.mark('_', self.italic == 1);
            }
            Mark::Strike => {
                self.strike += 1;
                self.mark('~', self.strike == 1);
            }
        }
    }

    fn close(&mut self, mark: Mark<'_>) {
        match mark {
            Mark::Quote => self.quotes = self.quotes.saturating_sub(1),
            Mark::Link(address) => self.link(address),
            Mark::Bold | Mark::Heading(_) => {
                self.bold = self.bold.saturating_sub(1);
                self.mark('*', self.bold == 0);
            }
            Mark::Italic => {
                self.italic = self.italic.saturating_sub(1);
                self.mark('_', self.italic == 0);
            }
            Mark::Strike => {
                self.strike = self.strike.saturating_sub(1);
                self.mark('~', self.strike == 0);
            }
        }
    }

    /// A mark nested in itself would end it, and in a link's text it is shown literally.
    fn mark(&mut self, mark: char, outermost: bool) {
        if outermost && self.links.is_empty() {
            self.all.push(mark);
        }
    }

    fn quote(&mut self) {
        if self.quotes > 0 {
            self.all.push_str("> ");
        }
    }

    fn code(&mut self, code: &str) {
        // Slack cannot escape a backtick in code.
        let bare = code.contains('`') || !self.links.is_empty();
        if !bare {
            self.all.push('`');
        }
        entities(code, &mut self.all);
        if !bare {
            self.all.push('`');
        }
    }

    fn fence(&mut self, code: &str) {
        self.all.push_str("```\n");
        // A nested fence would end the block: a zero-width space keeps the backticks apart.
        entities(&code.replace("```", "``\u{200b}`"), &mut self.all);
        self.all.push_str("\n```");
    }

    fn link(&mut self, address: &str) {
        let start = self.links.pop().unwrap_or(self.all.len());
        let words = self.all.split_off(start);
        let mut shown = String::new();
        entities(address, &mut shown);
        let Some(target) = target(address) else {
            self.all.push_str(&words);
            if words != shown {
                self.all.push_str(&format!(" ({shown})"));
            }
            return;
        };
        match words.trim() {
            "" => self.all.push_str(&format!("<{target}>")),
            _ if words == shown => self.all.push_str(&format!("<{target}>")),
            _ if !self.links.is_empty() => self.all.push_str(&words),
            _ => self.all.push_str(&format!("<{target}|{words}>")),
        }
    }
}

/// A URL as it is written in a link; `None` if it could be more than a link.
fn target(address: &str) -> Option<String> {
    let known = ["https://", "http://", "mailto:", "tel:"];
    let lower = address.to_ascii_lowercase();
    if !known.iter().any(|scheme| lower.starts_with(scheme)) {
        return None;
    }
    let mut target = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '&' => target.push_str("&amp;"),
            '<' => target.push_str("%3C"),
            '>' => target.push_str("%3E"),
            '|' => target.push_str("%7C"),
            ' ' => target.push_str("%20"),
            c if c.is_control() => {}
            c => target.push(c),
        }
    }
    Some(target)
}

/// Escapes Slack's three special characters; mentions are kept.
fn escape(text: &str, to: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        entities(&rest[..at], to);
        rest = &rest[at..];
        let length = mention(rest).unwrap_or(0);
        if length == 0 {
            to.push_str("&lt;");
            rest = &rest[1..];
        } else {
            to.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    entities(rest, to);
}

/// Length of the mention at the start.
fn mention(text: &str) -> Option<usize> {
    let id = match text.as_bytes() {
        [b'<', b'@', b'U' | b'W', ..] | [b'<', b'#', b'C', ..] => &text[2..],
        _ => return None,
    };
    let end = id.find('>').filter(|end| (3..=24).contains(end))?;
    let fits = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit();
    id[..end].bytes().all(fits).then_some(end + 3)
}

fn entities(text: &str, to: &mut String) {
    for c in text.chars() {
        match c {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_becomes_slacks_marks() {
        for (markdown, slack) in [
            ("plain", "plain"),
            (
                "**bold** and *slanted* and ~~gone~~",
                "*bold* and _slanted_ and ~gone~",
            ),
            ("# Title with **bold**", "*Title with bold*"),
            ("`a<b>&c`", "`a&lt;b&gt;&amp;c`"),
            ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
            (
                "[words](https://x.test/?a=1&b=2)",
                "<https://x.test/?a=1&amp;b=2|words>",
            ),
            ("[**b** `c`](https://x.test)", "<https://x.test|b c>"),
            (
                "[a|b](https://x.test/a|b>c)",
                "<https://x.test/a%7Cb%3Ec|a|b>",
            ),
            ("- one\n- two\n  - deep", "• one\n• two\n    • deep"),
            ("1. one\n2. two", "1. one\n2. two"),
            ("> said\n> more", "> said\n> more"),
            (
                "```rust\nlet a = 1 < 2;\n```",
                "```\nlet a = 1 &lt; 2;\n```",
            ),
            ("[run](javascript:alert(1))", "run (javascript:alert(1))"),
        ] {
            assert_eq!(mrkdwn(markdown), slack, "{markdown}");
        }
    }

    #[test]
    fn nobody_is_called_who_was_not_named() {
        for hostile in [
            "<!channel>",
            "<!here|hi>",
            "<!everyone>",
            "<!subteam^S123>",
            "`<!channel>`",
            "[<!channel>](https://x.test)",
            "[x](https://x.test>\u{20}<!channel>)",
            "```\n<!channel>\n```",
            "<@u1>",
            "<@U1|<!here>>",
        ] {
            let said = mrkdwn(hostile);
            assert!(!said.contains("<!"), "{hostile}: {said}");
            assert!(!said.contains("<@"), "{hostile}: {said}");
        }
        assert_eq!(
            mrkdwn("hi <@U0AB12CD> in <#C0AB12CD>"),
            "hi <@U0AB12CD> in <#C0AB12CD>"
        );
    }

    #[test]
    fn malformed_markdown_still_arrives_as_text() {
        for (malformed, slack) in [
            ("**open", "**open"),
            ("a ` b", "a ` b"),
            ("[x](", "[x]("),
            ("```\nleft open", "```\nleft open\n```"),
            ("````\na ``` b\n````", "```\na ``\u{200b}` b\n```"),
        ] {
            assert_eq!(mrkdwn(malformed), slack);
        }
    }

    proptest! {
        #[test]
        fn no_bare_bracket_leaves_but_in_links_and_mentions(text in "[<>@!#|a-zA-Z0-9 *_`\\[\\]()&\n]{0,200}") {
            let said = mrkdwn(&text);
            prop_assert!(!said.contains("<!"));
            for (at, _) in said.match_indices('<') {
                let rest = &said[at + 1..];
                let known = ["@U", "@W", "#C", "http", "mailto:", "tel:"];
                prop_assert!(known.iter().any(|word| rest.to_ascii_lowercase().starts_with(&word.to_ascii_lowercase())), "{}", said);
            }
        }
    }
}
