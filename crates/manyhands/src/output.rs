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

/// What others wrote cannot steer the terminal: control characters, and those that change the
/// direction of writing, are shown as what they are.
fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| {
        if steers(c) {
            c.escape_unicode().to_string()
        } else {
            c.to_string()
        }
    });
    Cow::Owned(shown.collect())
}

/// Prints JSON: on one line for programs, indented for a person at a terminal.
pub fn json(value: &impl Serialize) {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    say(text.unwrap_or_default());
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
    let one_line = |cell: String| harmless(&cell).replace('\n', "\\n");
    table.add_rows(
        rows.into_iter()
            .map(|row| row.into_iter().map(one_line).collect::<Vec<_>>()),
    );
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
    }
}
