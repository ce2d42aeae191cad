//! Inline Markdown: emphasis, code and links.

use crate::style::Style;
use crate::wrap::StyledText;

const CODE: Style = Style::CYAN;
const LINK: Style = Style {
    underline: true,
    ..Style::BLUE
};

/// How marks are treated.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    /// Styles are shown, so the marks themselves need not be.
    pub hidden: bool,
    /// The text is still being written: a mark may be closed later.
    pub open: bool,
}

/// Parses one line.
pub fn spans(text: &str, style: Style, marks: Marks) -> Vec<StyledText> {
    let mut parser = Parser {
        marks,
        spans: Vec::new(),
    };
    parser.parse(text, style, None);
    parser.spans
}

struct Parser {
    marks: Marks,
    spans: Vec<StyledText>,
}

impl Parser {
    fn push(&mut self, text: &str, style: Style) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(StyledText::new(text, style)),
        }
    }

    /// Pushes a mark, where it is shown.
    fn mark(&mut self, text: &str) {
        if !self.marks.hidden {
            self.push(text, Style::PLAIN);
        }
    }

    fn parse(&mut self, text: &str, style: Style, mut before: Option<char>) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let used = self.element(rest, style, before);
            let used = match used {
                0 => {
                    self.push(&rest[..c.len_utf8()], style);
                    c.len_utf8()
                }
                used => used,
            };
            before = rest[..used].chars().next_back();
            rest = &rest[used..];
        }
    }

    /// Parses the element at the beginning of `text`; returns its length, or 0 if there is none.
    fn element(&mut self, text: &str, style: Style, before: Option<char>) -> usize {
        match text.as_bytes()[0] {
            b'\\' => self.escape(text, style),
            b'`' => self.code(text),
            b'*' | b'_' | b'~' => self.emphasis(text, style, before),
            b'!' if text[1..].starts_with('[') => match self.link(&text[1..], style) {
                0 => 0,
                used => used + 1,
            },
            b'[' => self.link(text, style),
            b'<' => self.bracketed(text),
            b'h' if !before.is_some_and(char::is_alphanumeric) => self.address(text),
            _ => 0,
        }
    }

    fn escape(&mut self, text: &str, style: Style) -> usize {
        match text[1..].chars().next() {
            Some(c) if c.is_ascii_punctuation() => {
                self.mark("\\");
                self.push(&text[1..2], style);
                2
            }
            _ => 0,
        }
    }

    fn code(&mut self, text: &str) -> usize {
        let ticks = text.len() - text.trim_start_matches('`').len();
        let (mark, inner) = text.split_at(ticks);
        let end = closing_ticks(inner, ticks);
        let (code, len) = match end {
            Some(end) => (&inner[..end], ticks + end + ticks),
            None if self.marks.open => (inner, text.len()),
            None => {
                self.push(mark, Style::PLAIN);
                return ticks;
            }
        };
        self.mark(mark);
        // One space on each side separates ticks from the marks.
        let trimmed = code.strip_prefix(' ').and_then(|c| c.strip_suffix(' '));
        self.push(trimmed.filter(|c| !c.is_empty()).unwrap_or(code), CODE);
        if end.is_some() {
            self.mark(mark);
        }
        len
    }

    fn emphasis(&mut self, text: &str, style: Style, before: Option<char>) -> usize {
        let mark = ["***", "**", "__", "~~", "*", "_"]
            .into_iter()
            .find(|mark| text.starts_with(mark));
        let Some(mark) = mark else { return 0 };
        let inner = &text[mark.len()..];
        // `snake_case` and `2 * 3` contain no emphasis.
        let in_word = mark.starts_with('_') && before.is_some_and(char::is_alphanumeric);
        if in_word || inner.starts_with(char::is_whitespace) {
            self.push(mark, style);
            return mark.len();
        }
        let end = closing(inner, mark);
        let (inner, len) = match end {
            Some(end) => (&inner[..end], end + 2 * mark.len()),
            None if self.marks.open => (inner.trim_end_matches(['*', '_', '~']), text.len()),
            None => {
                self.push(mark, style);
                return mark.len();
            }
        };
        let inside = match mark {
            "***" => Style {
                bold: true,
                italic: true,
                ..style
            },
            "**" | "__" => style.bold(),
            "~~" => Style {
                strike: true,
                ..style
            },
            _ => Style {
                italic: true,
                ..style
            },
        };
        self.mark(mark);
        self.parse(inner, inside, None);
        if end.is_some() {
            self.mark(mark);
        }
        len
    }

    /// `[text](address)`: the address is always visible, because a text can claim any other.
    fn link(&mut self, text: &str, style: Style) -> usize {
        let Some((name, rest)) = text[1..].split_once("](") else {
            return 0;
        };
        let Some(end) = closing_bracket(rest) else {
            return 0;
        };
        if name.contains('[') {
            return 0;
        }
        let address = rest[..end].split(" \"").next().unwrap_or_default().trim();
        let len = 1 + name.len() + 2 + end + 1;
        if name == address || name.is_empty() {
            self.push(address, LINK);
            return len;
        }
        let name_style = Style {
            underline: self.marks.hidden,
            bold: style.bold,
            ..Style::BLUE
        };
        self.parse(name, name_style, None);
        self.push(&format!(" ({address})"), Style::DIM);
        len
    }

    /// `<https://…>`
    fn bracketed(&mut self, text: &str) -> usize {
        let Some(end) = text.find('>') else { return 0 };
        let inner = &text[1..end];
        let is_address = inner.starts_with("http://") || inner.starts_with("https://");
        if !is_address || inner.contains(char::is_whitespace) {
            return 0;
        }
        self.push(inner, LINK);
        end + 1
    }

    /// An address in running text.
    fn address(&mut self, text: &str) -> usize {
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return 0;
        }
        let ends =
            |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | ')' | ']' | '*');
        let end = text.find(ends).unwrap_or(text.len());
        // The full stop of the sentence does not belong to it.
        let address = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']);
        self.push(address, LINK);
        address.len()
    }
}

fn closing_ticks(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// Position of the mark that closes an emphasis.
fn closing(text: &str, mark: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find(mark) {
        let start = at + found;
        let after = text[start + mark.len()..].chars().next();
        let before = text[..start].chars().next_back();
        let run = mark.chars().next();
        let closes = before.is_some_and(|c| !c.is_whitespace() && c != '\\')
            // The first star of `**` does not close `*`.
            && (mark.len() > 1 || (after != run && before != run))
            && !(mark.starts_with('_') && after.is_some_and(char::is_alphanumeric))
            && text[..start].matches('`').count().is_multiple_of(2);
        if closes {
            return Some(start);
        }
        at = start + 1;
        if mark.len() == 1 {
            // Past the whole run, so that its second star is not taken for one of its own.
            at = text.len() - text[start..].trim_start_matches(mark).len();
        }
    }
    None
}

/// Position of the bracket that closes an address, which may contain pairs of its own.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: Marks = Marks {
        hidden: true,
        open: false,
    };

    #[track_caller]
    fn check(text: &str, marks: Marks, expect: &[(&str, Style)]) {
        let expect: Vec<StyledText> = expect
            .iter()
            .map(|(t, s)| StyledText::new(*t, *s))
            .collect();
        assert_eq!(spans(text, Style::PLAIN, marks), expect, "{text:?}");
    }

    #[test]
    fn marks_become_styles() {
        let italic = Style {
            italic: true,
            ..Style::PLAIN
        };
        let p = Style::PLAIN;
        check(
            "a **b** c",
            HIDDEN,
            &[("a ", p), ("b", Style::STRONG), (" c", p)],
        );
        check("*a* _b_", HIDDEN, &[("a", italic), (" ", p), ("b", italic)]);
        check(
            "**a *b* c**",
            HIDDEN,
            &[
                ("a ", Style::STRONG),
                ("b", italic.bold()),
                (" c", Style::STRONG),
            ],
        );
        check(
            "*a **b** c*",
            HIDDEN,
            &[("a ", italic), ("b", italic.bold()), (" c", italic)],
        );
        check(
            "`a*b*` ``c`d``",
            HIDDEN,
            &[("a*b*", CODE), (" ", p), ("c`d", CODE)],
        );
        check("~~x~~", HIDDEN, &[("x", Style { strike: true, ..p })]);
        check("\\*a\\*", HIDDEN, &[("*a*", p)]);
    }

    #[test]
    fn marks_without_a_meaning_stay() {
        for text in [
            "2 * 3 * 4",
            "snake_case_name",
            "a ** b",
            "**open",
            "`open",
            "[x] y",
            "[x](y",
            "a < b > c",
            "~ x ~",
            "C:\\dir",
        ] {
            check(text, HIDDEN, &[(text, Style::PLAIN)]);
        }
    }

    #[test]
    fn a_mark_that_may_still_be_closed_is_taken_for_one() {
        let open = Marks {
            hidden: true,
            open: true,
        };
        check("**bol", open, &[("bol", Style::STRONG)]);
        check("**bold*", open, &[("bold", Style::STRONG)]);
        check("`cod", open, &[("cod", CODE)]);
    }

    #[test]
    fn links_show_their_address() {
        let p = Style::PLAIN;
        let name = Style {
            underline: true,
            ..Style::BLUE
        };
        check(
            "see [x](https://a.b/c_(d)).",
            HIDDEN,
            &[
                ("see ", p),
                ("x", name),
                (" (https://a.b/c_(d))", Style::DIM),
                (".", p),
            ],
        );
        check(
            "https://a.b/c_d_e, x",
            HIDDEN,
            &[("https://a.b/c_d_e", LINK), (", x", p)],
        );
        check("<https://a.b>", HIDDEN, &[("https://a.b", LINK)]);
        check(
            "![alt](p.png)",
            HIDDEN,
            &[("alt", name), (" (p.png)", Style::DIM)],
        );
    }

    #[test]
    fn without_styles_the_marks_are_visible() {
        let shown = Marks {
            hidden: false,
            open: false,
        };
        let text: String = spans("**a** `b` *c* \\*", Style::PLAIN, shown)
            .iter()
            .map(|span| span.text.clone())
            .collect();
        assert_eq!(text, "**a** `b` *c* \\*");
    }
}
