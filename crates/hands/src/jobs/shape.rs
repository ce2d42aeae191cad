//! What goes in and what comes out, field for field as the reference text names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use manyhands_core::{Progress, Timestamp};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::JobError;

/// One run of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionId(Uuid);

impl From<Uuid> for SessionId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SessionId {
    type Err = JobError;

    /// What is no id names no session, and that is how it is refused.
    fn from_str(text: &str) -> Result<Self, JobError> {
        let id = Uuid::parse_str(text.trim());
        id.map(Self)
            .map_err(|_| JobError::NotFound(text.trim().to_owned()))
    }
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct BashRequest {
    /// What the shell is given after `-lc`.
    pub command: String,
    /// Where it starts: an absolute path.
    pub workdir: PathBuf,
    /// How long it may run, in the background too; 300,000 ms unless told.
    pub timeout_ms: Option<u64>,
    /// Whether to answer at once and leave it running.
    pub background: bool,
    /// How long to wait before leaving it running; brought into 10 to 120,000 ms.
    pub yield_ms: Option<u64>,
    /// Who asked for it, in words of the caller's own; news of the job carry them.
    pub origin: Option<String>,
    /// Who is told what it prints while it is waited for.
    pub progress: Progress,
    /// Whether the result is to hold all of a long output beside the end of it.
    pub full_output: bool,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It has not ended.
    Running,
    /// It ended by itself with exit code 0.
    Completed,
    /// It ended in any other way.
    Failed,
}

/// What a call of `Bash` answers.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum BashResult {
    /// The command has ended.
    Completed(Box<CompletedJob>),
    /// It runs on in the background.
    Running(RunningJob),
}

/// A command that has ended.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletedJob {
    /// Completed or failed.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// Its exit code, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it, by name.
    pub signal: Option<String>,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// Both streams in the order of their arrival; the end of it when truncated.
    pub output: String,
    /// The last 4,000 characters of `output`.
    pub tail: String,
    /// Whether `output` is not all of it.
    pub truncated: bool,
    /// How many characters there were in all.
    pub total_chars: u64,
    /// Where it ran.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// Standard output alone. Given only beside `stderr`: without it `output` is all standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error alone, when there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// All of it, where `output` is only its end and the caller takes all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<String>,
}

/// A command that runs in the background.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningJob {
    /// Always running.
    pub status: JobStatus,
    /// The id `Process` takes.
    pub session_id: SessionId,
    /// The shell's process id, which is also that of its group.
    pub pid: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// The last 4,000 characters so far.
    pub tail: String,
    /// Where it runs.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// How long it may run in all; then it is stopped.
    pub timeout_ms: u64,
    /// How long its output can be read after it ended.
    pub retained_ms: u64,
    /// The same in words.
    pub lifetime: String,
}

/// One background session in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    /// Its id.
    pub session_id: SessionId,
    /// Where it stands.
    pub status: JobStatus,
    /// The shell's process id.
    pub pid: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How long it ran, or runs.
    pub runtime_ms: u64,
    /// Where it runs.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// What runs; a long command is cut and ends in `…`.
    pub command: String,
    /// The last 200 characters: a list is for choosing, `poll` tells more.
    pub tail: String,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// Its exit code, once it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
}

/// How one background session stands.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PollResult {
    /// Where it stands.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// Whether it still runs.
    pub running: bool,
    /// Its exit code, once it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The last 4,000 characters.
    pub tail: String,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// How many characters there were in all.
    pub total_chars: u64,
    /// Why its end is not known, should the system not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The next piece of what a session printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// Which character of the whole it begins with. More than was asked for when what lies between
    /// is no longer kept.
    pub at: u64,
    /// Where the next piece begins.
    pub next: u64,
    /// The piece.
    pub text: String,
    /// Whether the program has ended, and this was the last.
    pub ended: bool,
}

/// A page of a background session's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogResult {
    /// Where the session stands.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// The lines, as they were printed.
    pub log: String,
    /// The number of the first line given, counted from 0 over all that was ever printed.
    pub offset: u64,
    /// The offset of the next page, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// How many lines were printed in all.
    pub total_lines: u64,
    /// How many characters were printed in all.
    pub total_chars: u64,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// How many whole lines at the beginning were dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_lines: Option<u64>,
    /// Its exit code, once it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// What was given to a session's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteResult {
    /// Where the session stands.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// How much was written, the newline of `submit` included.
    pub bytes_written: usize,
}

/// What became of a background job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEventKind {
    /// It went to the background.
    Started,
    /// It ended by itself with exit code 0.
    Finished,
    /// It ended in another way.
    Failed,
    /// It was stopped because its time was up.
    TimedOut,
}

/// News of a background job. Every `Started` is followed by exactly one of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobEvent {
    /// Which job.
    pub session_id: SessionId,
    /// What became of it.
    pub event: JobEventKind,
    /// Who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its exit code, once it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The last 4,000 characters, if it printed any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A path that is not UTF-8 is shown as well as it can be rather than failing the whole result.
fn shown<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
