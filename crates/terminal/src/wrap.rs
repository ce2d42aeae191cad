//! Widths of text on a terminal, and breaking it into rows.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

use crate::style::Style;

/// A piece of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    /// The text, without line breaks.
    pub text: String,
    /// Its style.
    pub style: Style,
}

impl StyledText {
    /// A piece of text in a style.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
        }
    }
}

/// Returns the columns of the terminal on stdout, if it is one.
pub fn terminal_columns() -> Option<usize> {
    terminal_size().map(|(columns, _)| columns)
}

/// Returns the columns and rows of the terminal on stdout, if it is one.
pub fn terminal_size() -> Option<(usize, usize)> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok();
    // Some terminals, such as those of test harnesses, report a size of 0.
    let or = |count: Option<u16>, usual| count.filter(|n| *n > 0).map_or(usual, usize::from);
    Some((
        or(size.map(|size| size.ws_col), 80),
        or(size.map(|size| size.ws_row), 24),
    ))
}

/// Number of columns of a text without styles.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Removes the styles that [`Style::paint`] added.
pub fn without_style(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain
}

/// Cuts a text to at most `room` columns, with `…` at its end if it was longer.
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += columns(c);
        if used > room {
            break;
        }
        kept.push(c);
    }
    match room {
        0 => String::new(),
        _ => format!("{kept}…"),
    }
}

/// Breaks a text into rows of at most `room` columns.
pub fn plain(text: &str, room: usize) -> Vec<String> {
    let spans = [StyledText::new(text, Style::PLAIN)];
    rows(&spans, room, false)
}

/// Breaks styled text into rows of at most `room` columns: at spaces, else beside wide characters, else anywhere.
pub fn rows(spans: &[StyledText], room: usize, styled: bool) -> Vec<String> {
    let room = room.max(1);
    let mut done = Vec::new();
    let mut row: Vec<(char, Style)> = Vec::new();
    let mut used = 0;
    // Length of the row up to which it may end.
    let mut end = 0;
    let chars = spans
        .iter()
        .flat_map(|span| span.text.chars().map(|c| (c, span.style)));
    for (c, style) in chars {
        let wide = columns(c);
        if used + wide > room {
            if c == ' ' {
                // The space becomes the break.
                end = row.len();
            }
            let at = if end == 0 { row.len() } else { end };
            let rest = row.split_off(at);
            done.push(row);
            row = rest;
            while row.first().is_some_and(|(c, _)| *c == ' ') {
                row.remove(0);
            }
            used = row.iter().map(|(c, _)| columns(*c)).sum();
            end = 0;
        }
        if c == ' ' && row.is_empty() && !done.is_empty() {
            continue;
        }
        row.push((c, style));
        used += wide;
        // Leading spaces are an indentation, not a place to break.
        let indented = row.iter().all(|(c, _)| *c == ' ');
        if (c == ' ' && !indented) || wide > 1 {
            end = row.len();
        }
    }
    done.push(row);
    done.iter().map(|row| painted(row, styled)).collect()
}

/// Puts styled text on one row, whatever its width.
pub fn one_row(spans: &[StyledText], styled: bool) -> String {
    spans
        .iter()
        .map(|span| span.style.paint(&span.text, styled))
        .collect()
}

fn painted(row: &[(char, Style)], styled: bool) -> String {
    let visible = row.iter().rposition(|(c, _)| *c != ' ');
    let row = &row[..visible.map_or(0, |last| last + 1)];
    row.chunk_by(|(_, one), (_, other)| one == other)
        .map(|run| {
            let text: String = run.iter().map(|(c, _)| *c).collect();
            run[0].1.paint(&text, styled)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_long_words_anywhere() {
        for (text, room, expect) in [
            ("one two three", 7, &["one two", "three"][..]),
            ("one two three", 8, &["one two", "three"]),
            ("one two three", 100, &["one two three"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("a bcdefghij", 4, &["a", "bcde", "fghi", "j"]),
            ("", 4, &[""]),
            ("  indented text", 10, &["  indented", "text"]),
            ("日本語の文章", 5, &["日本", "語の", "文章"]),
            ("a  b", 1, &["a", "b"]),
        ] {
            assert_eq!(plain(text, room), expect, "{text:?} {room}");
        }
    }

    #[test]
    fn no_row_is_wider_than_the_room_and_no_text_is_lost() {
        let text =
            "The quick 日本語 brown fox-jumps over https://example.com/a/very/long/address 🦀 end";
        for room in 2..90 {
            let rows = plain(text, room);
            for row in &rows {
                assert!(width(row) <= room, "{room}: {row:?}");
            }
            let squeeze = |text: &str| text.replace(' ', "");
            assert_eq!(squeeze(&rows.concat()), squeeze(text), "{room}");
        }
    }

    #[test]
    fn styles_continue_on_the_next_row() {
        let spans = [
            StyledText::new("one ", Style::PLAIN),
            StyledText::new("two three", Style::STRONG),
        ];
        assert_eq!(
            rows(&spans, 7, true),
            ["one \u{1b}[1mtwo\u{1b}[0m", "\u{1b}[1mthree\u{1b}[0m"]
        );
        assert_eq!(without_style(&one_row(&spans, true)), "one two three");
    }

    #[test]
    fn a_cut_text_fits_and_says_so() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("abc", 0), "");
    }
}
