//! A line from the person at the terminal: edited, remembered, or a plain yes or no.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manyhands_guard::read_private;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Helper};

use crate::output::Failure;

/// How many lines are remembered.
const REMEMBERED: usize = 1_000;
/// The longest line that is remembered beyond this conversation.
const MAX_LINE: usize = 16 * 1024;
/// How large the file of remembered lines may become before it is written anew.
const MAX_FILE: usize = 512 * 1024;
/// How often a question looks whether it still stands, in nanoseconds.
const LOOK: i64 = 100_000_000;

type Inner = rustyline::Editor<Lines, MemHistory>;

/// What a person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Wrote this, of one line or more.
    Text(String),
    /// Pressed Ctrl-C.
    Interrupted,
    /// Pressed Ctrl-D, or went away.
    End,
}

/// A line editor that remembers what was written.
pub struct Editor {
    /// Away while a line is being written.
    inner: Option<Inner>,
    history: History,
}

impl Editor {
    /// An editor that keeps its history in a private file.
    pub fn new(history: PathBuf) -> Result<Self, Failure> {
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .auto_add_history(false)
            .build();
        let remembered = MemHistory::with_config(&config);
        let mut inner = Inner::with_history(config, remembered)?;
        inner.set_helper(Some(Lines::default()));
        let history = History(history);
        for line in history.load() {
            inner.add_history_entry(line)?;
        }
        Ok(Self {
            inner: Some(inner),
            history,
        })
    }

    /// Waits for what the person writes. A backslash at the end of a line asks for another line.
    pub async fn read(&mut self, prompt: &'static str) -> Result<Line, Failure> {
        let Some(mut inner) = self.inner.take() else {
            return Ok(Line::End);
        };
        let written = tokio::task::spawn_blocking(move || {
            let line = match inner.readline(prompt) {
                Ok(written) => Ok(Line::Text(match inner.helper() {
                    Some(lines) => lines.text(written),
                    None => written,
                })),
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(error),
            };
            (inner, line)
        });
        let (mut inner, line) = written.await?;
        let line = line?;
        if let Line::Text(text) = &line
            && !text.trim().is_empty()
            && inner.add_history_entry(text.as_str())?
        {
            self.history.add(text);
        }
        self.inner = Some(inner);
        Ok(line)
    }
}

/// Lets a backslash at the end of a line ask for another one.
#[derive(Default)]
struct Lines {
    /// How often it did.
    joined: Cell<usize>,
}

impl Lines {
    /// The text without the backslashes that asked for another line. Those that came with a
    /// pasted text are part of it.
    fn text(&self, written: String) -> String {
        match written.matches("\\\n").count() == self.joined.take() {
            true => written.replace("\\\n", "\n"),
            false => written,
        }
    }

    fn goes_on(&self, written: &str) -> bool {
        let more = written.ends_with('\\');
        if more {
            self.joined.set(self.joined.get() + 1);
        }
        more
    }
}

impl Validator for Lines {
    fn validate(&self, written: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match self.goes_on(written.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for Lines {
    type Candidate = String;
}

impl Hinter for Lines {
    type Hint = String;
}

impl Highlighter for Lines {}

impl Helper for Lines {}

/// What was written before: one JSON text on each line, readable by its owner only.
struct History(PathBuf);

impl History {
    /// The last lines. A file that cannot be read, or that others can, is left alone.
    fn load(&self) -> Vec<String> {
        let Ok(bytes) = read_private(&self.0) else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut lines: Vec<String> = lines.collect();
        lines.drain(..lines.len().saturating_sub(REMEMBERED));
        if bytes.len() > MAX_FILE {
            self.rewrite(&lines);
        }
        lines
    }

    /// Remembers one more; that it cannot is no reason to stop a conversation.
    fn add(&self, line: &str) {
        if line.len() > MAX_LINE {
            return;
        }
        let mut open = private();
        if let Ok(mut file) = open.append(true).open(&self.0) {
            let _ = writeln!(file, "{}", serde_json::json!(line));
        }
    }

    fn rewrite(&self, lines: &[String]) {
        let beside = beside(&self.0);
        let half = &lines[lines.len() / 2..];
        let text: String = half
            .iter()
            .map(|line| format!("{}\n", serde_json::json!(line)))
            .collect();
        let mut open = private();
        let written = open
            .write(true)
            .truncate(true)
            .open(&beside)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        if written.is_ok() {
            let _ = std::fs::rename(&beside, &self.0);
        }
    }
}

fn private() -> OpenOptions {
    let mut open = OpenOptions::new();
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    open.create(true).mode(0o600).custom_flags(no_link);
    open
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Whether there is a person who can be asked.
pub fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A question to the person at the terminal; it is taken back when this is dropped.
pub struct Question {
    answer: tokio::task::JoinHandle<Option<String>>,
    over: Arc<AtomicBool>,
}

impl Question {
    /// Waits for a line, unedited.
    pub fn new() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let watched = over.clone();
        let answer = tokio::task::spawn_blocking(move || line_unless(&watched));
        Self { answer, over }
    }

    /// The line; `None` when nobody is there any more.
    pub async fn answer(&mut self) -> Option<String> {
        (&mut self.answer).await.ok().flatten()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// A line of the terminal, unless it is `over` before one comes.
fn line_unless(over: &AtomicBool) -> Option<String> {
    let input = std::io::stdin();
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK,
    };
    while !over.load(Ordering::Relaxed) {
        let mut looked = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut looked, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {
                let mut line = String::new();
                let read = input.lock().read_line(&mut line).ok()?;
                return (read > 0).then_some(line);
            }
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_backslash_asks_for_another_line() {
        let lines = Lines::default();
        assert!(lines.goes_on("one\\") && lines.goes_on("one\\\ntwo\\"));
        assert!(!lines.goes_on("one\\\ntwo\\\nthree"));
        assert_eq!(
            lines.text("one\\\ntwo\\\nthree".to_owned()),
            "one\ntwo\nthree"
        );
        assert_eq!(lines.text("one".to_owned()), "one");
    }

    #[test]
    fn a_pasted_text_stays_as_it_is() {
        let lines = Lines::default();
        let pasted = "cc a.c \\\n  -o a";
        assert!(!lines.goes_on(pasted));
        assert_eq!(lines.text(pasted.to_owned()), pasted);
    }

    #[test]
    fn the_history_is_private_bounded_and_keeps_lines_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = History(folder.path().join("chat-history"));
        assert!(history.load().is_empty());
        history.add("one\ntwo");
        history.add("three");
        assert_eq!(history.load(), ["one\ntwo", "three"]);
        let mode = std::fs::metadata(&history.0)
            .expect("the file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        for _ in 0..600 {
            history.add(&"x".repeat(1_000));
        }
        history.load();
        let size = std::fs::metadata(&history.0).expect("the file").len();
        assert!(size < MAX_FILE as u64, "{size}");
        assert!(!history.load().is_empty());
    }

    #[test]
    fn a_history_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = History(folder.path().join("chat-history"));
        history.add("one");
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&history.0, open).expect("its mode");
        assert!(history.load().is_empty());
    }
}
