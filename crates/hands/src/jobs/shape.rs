//! Requests and results, field by field as the specification names them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use manyhands_core::{Progress, Timestamp};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::JobError;

/// The id of a command's run.
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

    /// An invalid id names no session, and is refused as such.
    fn from_str(text: &str) -> Result<Self, JobError> {
        let id = Uuid::parse_str(text.trim());
        id.map(Self)
            .map_err(|_| JobError::NotFound(text.trim().to_owned()))
    }
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct BashRequest {
    /// The command given to the shell after `-lc`.
    pub command: String,
    /// Absolute path of the working directory.
    pub workdir: PathBuf,
    /// Timeout, also in the background; default 300,000 ms.
    pub timeout_ms: Option<u64>,
    /// Whether to return at once and run in the background.
    pub background: bool,
    /// Delay before moving to the background, clamped to 10 to 120,000 ms.
    pub yield_ms: Option<u64>,
    /// An opaque origin that the job's events carry.
    pub origin: Option<String>,
    /// Receives output while the caller waits.
    pub progress: Progress,
    /// Whether the result contains the full output in addition to its end.
    pub full_output: bool,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Running.
    Running,
    /// It exited with code 0.
    Completed,
    /// It ended in any other way.
    Failed,
}

/// The result of `Bash`.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum BashResult {
    /// The command has ended.
    Completed(Box<CompletedJob>),
    /// It continues in the background.
    Running(RunningJob),
}

/// An ended command.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletedJob {
    /// Completed or failed.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// Its exit code, unless killed by a signal.
    pub exit_code: Option<i32>,
    /// The name of the signal that killed it.
    pub signal: Option<String>,
    /// Whether it timed out.
    pub timed_out: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How long it ran.
    pub duration_ms: u64,
    /// Both streams in order of arrival; only the end if truncated.
    pub output: String,
    /// The last 4,000 characters of `output`.
    pub tail: String,
    /// Whether `output` is incomplete.
    pub truncated: bool,
    /// Total number of characters.
    pub total_chars: u64,
    /// Its working directory.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// Standard output alone. Only present with `stderr`: otherwise `output` is all standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error alone, if there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The full output, if `output` is only its end and the caller wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<String>,
}

/// A background command.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningJob {
    /// Always running.
    pub status: JobStatus,
    /// The id for `Process`.
    pub session_id: SessionId,
    /// The shell's process id, which is also its group id.
    pub pid: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// The last 4,000 characters so far.
    pub tail: String,
    /// Where it runs.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// Its total timeout.
    pub timeout_ms: u64,
    /// How long its output can be read after it ended.
    pub retained_ms: u64,
    /// The same in words.
    pub lifetime: String,
}

/// A background session in a list.
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
    /// Its run time so far.
    pub runtime_ms: u64,
    /// Where it runs.
    #[serde(serialize_with = "shown")]
    pub workdir: PathBuf,
    /// The command; a long one is cut and ends in `…`.
    pub command: String,
    /// The last 200 characters; `poll` shows more.
    pub tail: String,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<String>,
    /// Whether it timed out.
    pub timed_out: bool,
}

/// The state of a background session.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PollResult {
    /// Where it stands.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// Whether it still runs.
    pub running: bool,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<String>,
    /// Whether it timed out.
    pub timed_out: bool,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The last 4,000 characters.
    pub tail: String,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// Total number of characters.
    pub total_chars: u64,
    /// Why its exit status is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A chunk of a session's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// Offset of its first character in the whole output. Greater than requested if the output between is
    /// no longer kept.
    pub at: u64,
    /// Offset of the next chunk.
    pub next: u64,
    /// The text.
    pub text: String,
    /// Whether the program has ended and this is the last chunk.
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
    /// The lines, as printed.
    pub log: String,
    /// Number of the first line, counted from 0 over the whole output.
    pub offset: u64,
    /// Offset of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Total number of lines.
    pub total_lines: u64,
    /// Total number of characters.
    pub total_chars: u64,
    /// Whether early output was dropped.
    pub truncated: bool,
    /// Number of complete lines dropped at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_lines: Option<u64>,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<String>,
}

/// Result of writing to a session's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteResult {
    /// Where the session stands.
    pub status: JobStatus,
    /// Its id.
    pub session_id: SessionId,
    /// Bytes written, including the newline of `submit`.
    pub bytes_written: usize,
}

/// What happened to a background job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEventKind {
    /// It moved to the background.
    Started,
    /// It exited with code 0.
    Finished,
    /// It ended in another way.
    Failed,
    /// It timed out.
    TimedOut,
}

/// An event of a background job. Every `Started` is followed by exactly one of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobEvent {
    /// The job.
    pub session_id: SessionId,
    /// What happened.
    pub event: JobEventKind,
    /// The request's origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Its exit code, if it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed it.
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

/// A path that is not UTF-8 is shown approximately rather than failing the whole result.
fn shown<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
