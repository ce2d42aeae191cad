//! What is printed, and how a failure ends.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the one place that prints

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Why a command failed, in words for a person.
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The result of a command.
pub type Done = Result<ExitCode, Failure>;

/// Prints a line for a person.
pub fn say(text: impl AsRef<str>) {
    // A reader that has seen enough (`| head`) is no failure.
    let _ = writeln!(std::io::stdout(), "{}", harmless(text.as_ref()));
}

/// Prints text as it is.
pub fn text(text: &str) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Prints a line beside the result.
pub fn remark(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(text.as_ref()));
}

/// How wide the terminal is that standard error goes to, when it is one.
pub fn terminal_width() -> Option<usize> {
    let error = std::io::stderr();
    if !error.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&error).map(|size| usize::from(size.ws_col));
    Some(size.ok().filter(|columns| *columns > 0).unwrap_or(80))
}

/// Draws over the last line of the terminal; nothing drawn leaves it empty.
pub fn redraw(line: &str) {
    let mut error = std::io::stderr();
    let _ = write!(error, "\r{}\u{1b}[K", harmless(line));
    let _ = error.flush();
}

/// Prints more of a text that comes in pieces.
pub fn piece(text: &str) {
    let mut out = std::io::stdout();
    let _ = write!(out, "{}", harmless(text));
    let _ = out.flush();
}

/// Prints a line beside the result that does not ask for attention.
pub fn aside(text: &str) {
    let mut error = std::io::stderr();
    let text = one_line(text);
    let _ = match error.is_terminal() {
        true => writeln!(error, "\u{1b}[2m{text}\u{1b}[22m"),
        false => writeln!(error, "{text}"),
    };
}

/// Asks something beside the result, on a line that is left open for the answer.
pub fn ask(text: &str) {
    let mut error = std::io::stderr();
    let _ = write!(error, "{}", harmless(text));
    let _ = error.flush();
}

/// What others wrote cannot steer the terminal. Colours are left out; every other control
/// character, those that change the direction of writing and those that hide letters are shown as
/// what they are. Newlines and tabs stay.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\r\n") {
            shown.push('\n');
            rest = after;
        } else if let Some(after) = without_colour(rest) {
            rest = after;
        } else {
            match steers(c) {
                true => shown.extend(c.escape_unicode()),
                false => shown.push(c),
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(shown)
}

/// Text on one line, harmless.
pub fn one_line(text: &str) -> String {
    harmless(text).replace('\n', "\\n").replace('\t', " ")
}

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// What follows a whole sequence that only sets how letters look.
fn without_colour(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let end = inside.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    inside[end..].strip_prefix('m')
}

/// Prints JSON: on one line for programs, indented for a person at a terminal.
pub fn json(value: &impl Serialize) {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    say(escaped(&text.unwrap_or_default()));
}

/// JSON that says the same in characters that do not steer a terminal.
fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match steers(c) {
            // Only texts can hold such characters.
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

/// Writes bytes as they are.
pub fn bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// A table without frills.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|title| title.to_uppercase()));
    table.add_rows(rows.into_iter().map(|row| {
        let cells = row.into_iter();
        cells.map(|cell| one_line(&cell)).collect::<Vec<_>>()
    }));
    say(table.trim_fmt());
}

/// Prints the failure and ends with 1.
pub fn fail(failure: &Failure) -> ExitCode {
    remark(format!("error: {}", failure.0));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\tb\nc ü"), "a\tb\nc ü");
        assert_eq!(harmless("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(harmless("x\u{202e}y"), "x\\u{202e}y");
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
            assert_eq!(harmless(hostile), shown);
        }
    }

    #[test]
    fn no_text_at_all_gets_a_control_character_through() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_control()) {
            for text in [format!("a{c}b"), format!("\u{1b}{c}["), format!("{c}[31m")] {
                let shown = harmless(&text);
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
        assert_eq!(harmless(&text), text);
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
