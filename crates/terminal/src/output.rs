//! Output: results on stdout, notes and prompts on stderr, and how a failure is reported.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the one place that prints

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::style::{self, Style};
use crate::{table, wrap};

/// Why a command failed, as a message for the user.
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Result of a command.
pub type Done = Result<ExitCode, Failure>;

/// Prints a line of the result.
pub fn print_line(text: impl AsRef<str>) {
    // A closed pipe (`| head`) is not a failure.
    let _ = writeln!(std::io::stdout(), "{}", sanitize(text.as_ref()));
}

/// Prints text unchanged.
pub fn print_text(text: &str) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Prints a note on stderr; the labels of errors and hints are highlighted.
pub fn print_note(text: impl AsRef<str>) {
    let note = labelled(&sanitize(text.as_ref()), style::on_stderr());
    let _ = writeln!(std::io::stderr(), "{note}");
}

/// Prints rows that are safe for a terminal, as they are.
pub fn print_rows(rows: &[String]) {
    let mut out = std::io::stdout().lock();
    // A closed pipe is not a failure.
    let _ = rows.iter().try_for_each(|row| writeln!(out, "{row}"));
}

/// Prints a line with styled parts. The texts are made safe here.
pub fn print_styled(parts: &[(&str, Style)]) {
    let on = style::on_stdout();
    let line = parts
        .iter()
        .map(|(text, style)| style.paint(&sanitize(text), on));
    let _ = writeln!(std::io::stdout(), "{}", line.collect::<String>());
}

/// Highlights `error:`, `hint:` and the like at the beginning of lines.
fn labelled(text: &str, on: bool) -> String {
    let labels = [
        ("error:", Style::RED.bold()),
        ("warning:", Style::YELLOW.bold()),
        ("WARN", Style::YELLOW.bold()),
        ("hint:", Style::CYAN.bold()),
        ("fix:", Style::CYAN.bold()),
    ];
    let line = |line: &str| {
        let known = labels.iter().find(|(label, _)| line.starts_with(label));
        match known {
            Some((label, style)) => {
                format!("{}{}", style.paint(label, on), &line[label.len()..])
            }
            None => line.to_owned(),
        }
    };
    match on {
        true => text.split('\n').map(line).collect::<Vec<_>>().join("\n"),
        false => text.to_owned(),
    }
}

/// Returns the width of the terminal on stderr, if it is one on which lines can be redrawn.
pub fn terminal_width() -> Option<usize> {
    let error = std::io::stderr();
    if !error.is_terminal() || style::is_dumb() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&error).map(|size| usize::from(size.ws_col));
    // Some terminals, such as those of test harnesses, report a width of 0.
    Some(size.ok().filter(|columns| *columns > 0).unwrap_or(80))
}

/// Redraws the last line of the terminal; an empty line clears it.
pub fn redraw(line: &str) {
    let mut error = std::io::stderr();
    let _ = write!(error, "\r{}\u{1b}[K", sanitize(line));
    let _ = error.flush();
}

/// Prints a chunk of a streamed text.
pub fn print_chunk(text: &str) {
    let mut out = std::io::stdout();
    let _ = write!(out, "{}", sanitize(text));
    let _ = out.flush();
}

/// Prints a dimmed note on stderr.
pub fn print_dimmed(text: &str) {
    let text = Style::DIM.paint(&one_line(text), style::on_stderr());
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a question on stderr, with its lines as they are, and leaves the last line open.
pub fn print_question(text: &str) {
    let mut error = std::io::stderr();
    let _ = write!(error, "{text}");
    let _ = error.flush();
}

/// Prints a prompt on stderr and leaves the line open for the answer.
pub fn print_prompt(text: &str) {
    let mut error = std::io::stderr();
    let _ = write!(error, "{}", sanitize(text));
    let _ = error.flush();
}

/// Makes untrusted text safe for the terminal: removes colours, and escapes all other control characters,
/// bidirectional overrides and invisible characters. Newlines and tabs are kept.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Line breaks of Windows are common in tool output and harmless.
        if let Some(after) = rest.strip_prefix("\r\n") {
            shown.push('\n');
            rest = after;
        } else if let Some(after) = without_colour(rest) {
            rest = after;
        } else {
            match is_unsafe(c) {
                true => shown.extend(c.escape_unicode()),
                false => shown.push(c),
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(shown)
}

/// Sanitizes text and joins it into one line.
pub fn one_line(text: &str) -> String {
    sanitize(text).replace('\n', "\\n").replace('\t', " ")
}

fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Skips a complete colour sequence; `None` if there is none.
fn without_colour(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let end = inside.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    inside[end..].strip_prefix('m')
}

/// Prints JSON: compact for programs, indented on a terminal.
pub fn json(value: &impl Serialize) {
    // One line per value, so that scripts can process a stream of results with `while read`.
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    print_line(escaped(&text.unwrap_or_default()));
}

/// Escapes unsafe characters inside JSON strings, without changing the value.
fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match is_unsafe(c) {
            // Such characters can only occur inside strings, where this escape is valid.
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => shown.push(c),
        }
    }
    shown
}

/// Writes raw bytes to stdout.
pub fn bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // A closed pipe is not a failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Prints a table. On a terminal it fits the width; elsewhere every row is one line.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) {
    let header: Vec<String> = header.iter().map(|title| title.to_uppercase()).collect();
    // Cells contain untrusted text, and a line break in one would tear the table apart.
    let width = wrap::terminal_columns();
    let cell = |cell: &String| match table::short_time(cell) {
        // Programs get the exact time.
        Some(time) if width.is_some() => time,
        _ => one_line(cell),
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect();
    let text = table::plain(&header, &rows, width, style::on_stdout());
    // Safe already, and sanitizing it again would remove the styles.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints an error and returns exit code 1.
pub fn fail(failure: &Failure) -> ExitCode {
    print_note(format!("error: {}", failure.0));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        assert_eq!(sanitize("a\tb\nc ü"), "a\tb\nc ü");
        assert_eq!(sanitize("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(sanitize("x\u{202e}y"), "x\\u{202e}y");
        for (hostile, shown) in [
            ("\u{1b}]52;c;cm0gLXJm\u{7}", "\\u{1b}]52;c;cm0gLXJm\\u{7}"),
            ("\u{1b}]0;title\u{1b}\\", "\\u{1b}]0;title\\u{1b}\\"),
            ("a\u{9b}2Jb\u{9d}0;x\u{9c}", "a\\u{9b}2Jb\\u{9d}0;x\\u{9c}"),
            ("safe\rrm -rf", "safe\\u{d}rm -rf"),
            ("a\u{8}\u{8}b\u{7f}\0", "a\\u{8}\\u{8}b\\u{7f}\\u{0}"),
            ("\u{1b}[8mhidden", "hidden"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[?25l\u{1b}[1", "\\u{1b}[?25l\\u{1b}[1"),
            ("\u{1b}\u{1b}[0m[2J", "\\u{1b}[2J"),
            ("\u{2066}a\u{2069}\u{61c}", "\\u{2066}a\\u{2069}\\u{61c}"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("a\r\nb", "a\nb"),
        ] {
            assert_eq!(sanitize(hostile), shown);
        }
    }

    #[test]
    fn control_characters_are_always_escaped() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_control()) {
            for text in [format!("a{c}b"), format!("\u{1b}{c}["), format!("{c}[31m")] {
                let shown = sanitize(&text);
                let left = shown.chars().filter(|c| c.is_control()).count();
                let may_stay = matches!(c, '\n' | '\t');
                assert!(
                    left == 0 || (may_stay && left == 1),
                    "{text:?} gave {shown:?}"
                );
            }
        }
    }

    #[test]
    fn json_stays_the_same_json() {
        let hostile = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{9b}\u{7f}\u{e0041}\r\n" });
        let text = escaped(&hostile.to_string());
        assert_eq!(sanitize(&text), text);
        assert_eq!(
            text,
            r#"{"a\u202e":"\u001b[2J\u009b\u007f\udb40\udc41\r\n"}"#
        );
        let back: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(back, hostile);
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a\nb\tc\u{1b}[2J"), "a\\nb c\\u{1b}[2J");
    }
}
