//! What is printed, and how a failure ends.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the one place that prints

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
    let _ = writeln!(std::io::stdout(), "{}", text.as_ref());
}

/// Prints text as it is.
pub fn text(text: &str) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Prints a line beside the result.
pub fn remark(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr(), "{}", text.as_ref());
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
    out.write_all(bytes)?;
    out.flush()
}

/// A table without frills.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|title| title.to_uppercase()));
    table.add_rows(rows);
    say(table.trim_fmt());
}

/// Prints the failure and ends with 1.
pub fn fail(failure: &Failure) -> ExitCode {
    remark(format!("error: {}", failure.0));
    ExitCode::FAILURE
}
