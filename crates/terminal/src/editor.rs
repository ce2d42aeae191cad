//! Terminal input: the line editor of `chat`, its history file, and plain prompts.

use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manyhands_guard::read_private;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{ColorMode, CompletionType, Config};

use crate::assist::{Assist, LineHelper};
use crate::output::Failure;
use crate::style;

/// Maximum number of history entries.
const MAX_HISTORY: usize = 1_000;
/// Longer lines are not written to the history file.
const MAX_LINE: usize = 16 * 1024;
/// Size at which the history file is rewritten with only the newer half.
const MAX_FILE: usize = 512 * 1024;
/// Interval, in nanoseconds, at which a pending prompt checks whether it was cancelled.
const CANCEL_POLL: i64 = 100_000_000;

type Inner = rustyline::Editor<LineHelper, MemHistory>;

/// Result of reading from the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptInput {
    /// Text of one or more lines.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    Eof,
}

/// A line editor with persistent history.
pub struct Editor {
    /// `None` while a line is being read on a blocking thread.
    inner: Option<Inner>,
    history: History,
}

impl Editor {
    /// Opens an editor whose history is stored in a private file.
    pub fn new(history: PathBuf, assist: Box<dyn Assist>) -> Result<Self, Failure> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .color_mode(match style::on_stdout() {
                true => ColorMode::Enabled,
                false => ColorMode::Disabled,
            })
            .max_history_size(MAX_HISTORY)?
            .history_ignore_dups(true)?
            // As in a shell: a line that starts with a space, such as one with a password, is not
            // remembered.
            .history_ignore_space(true)
            // Entries are added by hand, so that the file and the memory hold the same lines.
            .auto_add_history(false)
            .build();
        let remembered = MemHistory::with_config(&config);
        let mut inner = Inner::with_history(config, remembered)?;
        inner.set_helper(Some(LineHelper::new(assist)));
        let history = History(history);
        for line in history.load() {
            inner.add_history_entry(line)?;
        }
        Ok(Self {
            inner: Some(inner),
            history,
        })
    }

    /// Reads a line. A trailing backslash continues it on the next line.
    pub async fn read(&mut self, prompt: &'static str) -> Result<PromptInput, Failure> {
        // Taken only if an earlier read was cancelled: its thread still owns the terminal.
        let Some(mut inner) = self.inner.take() else {
            return Ok(PromptInput::Eof);
        };
        // rustyline blocks; on the runtime's only thread it would also stop the connection to the gateway.
        let written = tokio::task::spawn_blocking(move || {
            let line = match inner.readline(prompt) {
                Ok(written) => Ok(PromptInput::Text(match inner.helper() {
                    Some(lines) => lines.text(written),
                    None => written,
                })),
                Err(ReadlineError::Interrupted) => Ok(PromptInput::Interrupted),
                Err(ReadlineError::Eof) => Ok(PromptInput::Eof),
                Err(error) => Err(error),
            };
            (inner, line)
        });
        let (mut inner, line) = written.await?;
        let line = line?;
        if let PromptInput::Text(text) = &line
            && !text.trim().is_empty()
            && inner.add_history_entry(text.as_str())?
        {
            self.history.add(text);
        }
        self.inner = Some(inner);
        Ok(line)
    }
}

/// History file: one JSON string per line, readable by its owner only.
struct History(PathBuf);

impl History {
    /// Returns the newest entries. A file that cannot be read or that others can read is ignored.
    fn load(&self) -> Vec<String> {
        // A file that others can read is not used: it may have been planted, or already copied.
        let Ok(bytes) = read_private(&self.0) else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut lines: Vec<String> = lines.collect();
        lines.drain(..lines.len().saturating_sub(MAX_HISTORY));
        // Rewritten only here, when no other line is being appended by this process.
        if bytes.len() > MAX_FILE {
            self.rewrite(&lines);
        }
        lines
    }

    /// Appends an entry. Errors are ignored: a full disk must not end a conversation.
    fn add(&self, line: &str) {
        // A pasted document would push everything else out of the file.
        if line.len() > MAX_LINE {
            return;
        }
        let mut open = private();
        if let Ok(mut file) = open.append(true).open(&self.0) {
            let _ = writeln!(file, "{}", serde_json::json!(line));
        }
    }

    fn rewrite(&self, lines: &[String]) {
        // Written to a second file and renamed, so that a crash leaves either the old or the new history.
        let beside = beside(&self.0);
        // Half, so that the file is not rewritten again after the next few lines.
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
    // A link planted in a shared directory must not redirect what the user types into another file.
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    open.create(true).mode(0o600).custom_flags(no_link);
    open
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Returns whether there is an interactive user who can answer a prompt.
pub fn is_interactive() -> bool {
    // Prompts go to stderr: stdout may be redirected while the user is still there.
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Keeps typed keys from being shown while something else is drawn; what is typed is read at the next prompt.
/// Ends when dropped.
pub struct HiddenInput(Option<Termios>);

impl HiddenInput {
    /// Starts, if standard input is a terminal.
    pub fn start() -> Self {
        let input = std::io::stdin();
        let Ok(before) = rustix::termios::tcgetattr(&input) else {
            return Self(None);
        };
        let mut hidden = before.clone();
        // Ctrl-C stays a signal.
        hidden.local_modes &= !LocalModes::ECHO;
        let set = rustix::termios::tcsetattr(&input, OptionalActions::Now, &hidden);
        Self(set.is_ok().then_some(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let input = std::io::stdin();
            let _ = rustix::termios::tcsetattr(&input, OptionalActions::Now, before);
        }
    }
}

/// Discards what was typed and not read: it cannot be the answer to a question that was not visible yet.
pub fn discard_input() {
    let _ = rustix::termios::tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// A prompt for one line; cancelled when dropped.
pub struct Question {
    answer: tokio::task::JoinHandle<Option<String>>,
    cancelled: Arc<AtomicBool>,
}

impl Question {
    /// Starts reading an unedited line.
    pub fn start() -> Self {
        let cancelled = Arc::new(AtomicBool::new(false));
        let watched = cancelled.clone();
        let answer = tokio::task::spawn_blocking(move || read_line_unless(&watched));
        Self { answer, cancelled }
    }

    /// Returns the line, or `None` at the end of input.
    pub async fn answer(&mut self) -> Option<String> {
        (&mut self.answer).await.ok().flatten()
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Reads a line from the terminal, unless `cancelled` is set first.
fn read_line_unless(cancelled: &AtomicBool) -> Option<String> {
    let input = std::io::stdin();
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: CANCEL_POLL,
    };
    while !cancelled.load(Ordering::Relaxed) {
        // Polled rather than read: a blocking read could not be cancelled, and would swallow the line
        // that the user types at the next prompt.
        let mut looked = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut looked, Some(&wait)) {
            // A timeout or a signal such as a resize of the window: look at `cancelled` again.
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
