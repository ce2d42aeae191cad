//! What helps while a line is typed: continuation, completion, hints and colours.

use std::borrow::Cow;
use std::cell::Cell;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::style::Style;

/// A possible completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// How it is listed.
    pub shown: String,
    /// What replaces the word.
    pub replacement: String,
}

/// Completes what is typed.
pub trait Assist: Send {
    /// Completions of the text before the cursor, and the byte at which they begin.
    fn complete(&self, before: &str) -> (usize, Vec<CompletionCandidate>);
    /// Text shown after a line that means something.
    fn hint(&self, line: &str) -> Option<String>;
    /// Length of the command that a line begins with, which is highlighted; 0 if there is none.
    fn command(&self, line: &str) -> usize;
}

/// Connects an [`Assist`] to rustyline, and continues lines that end with a backslash.
pub(crate) struct LineHelper {
    assist: Box<dyn Assist>,
    continuation: Continuation,
}

impl LineHelper {
    pub(crate) fn new(assist: Box<dyn Assist>) -> Self {
        Self {
            assist,
            continuation: Continuation::default(),
        }
    }

    /// The text that was typed, without the backslashes of continuations.
    pub(crate) fn text(&self, written: String) -> String {
        self.continuation.text(written)
    }
}

/// Continues a line that ends with a backslash.
#[derive(Default)]
struct Continuation {
    /// Number of continuations in the current input.
    joined: Cell<usize>,
}

impl Continuation {
    /// Removes the backslashes of continuations. If the counts differ, some came from pasted text, and all
    /// are kept.
    fn text(&self, written: String) -> String {
        match written.matches("\\\n").count() == self.joined.take() {
            // Only then every backslash was typed by the user to continue a line.
            true => written.replace("\\\n", "\n"),
            false => written,
        }
    }

    fn continues(&self, written: &str) -> bool {
        let more = written.ends_with('\\');
        if more {
            self.joined.set(self.joined.get() + 1);
        }
        more
    }
}

impl Validator for LineHelper {
    fn validate(&self, written: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match self.continuation.continues(written.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for LineHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (from, found) = self.assist.complete(&line[..at]);
        let pairs = found.into_iter().map(|one| Pair {
            display: one.shown,
            replacement: one.replacement,
        });
        Ok((from, pairs.collect()))
    }
}

impl Hinter for LineHelper {
    type Hint = String;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        // In the middle of a line a hint would stand between the words.
        (at == line.len()).then(|| self.assist.hint(line))?
    }
}

impl Highlighter for LineHelper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.assist.command(line) {
            0 => Cow::Borrowed(line),
            len => Cow::Owned(format!(
                "{}{}",
                Style::CYAN.paint(&line[..len], true),
                &line[len..]
            )),
        }
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(Style::CYAN.bold().paint(prompt, true))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(Style::DIM.paint(hint, true))
    }

    fn highlight_char(&self, line: &str, _: usize, _: CmdKind) -> bool {
        line.starts_with('/')
    }
}

impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_asks_for_another_line() {
        let lines = Continuation::default();
        assert!(lines.continues("one\\") && lines.continues("one\\\ntwo\\"));
        assert!(!lines.continues("one\\\ntwo\\\nthree"));
        assert_eq!(
            lines.text("one\\\ntwo\\\nthree".to_owned()),
            "one\ntwo\nthree"
        );
        assert_eq!(lines.text("one".to_owned()), "one");
    }

    #[test]
    fn a_pasted_text_stays_as_it_is() {
        let lines = Continuation::default();
        let pasted = "cc a.c \\\n  -o a";
        assert!(!lines.continues(pasted));
        assert_eq!(lines.text(pasted.to_owned()), pasted);
    }
}
