//! The `Process` tool: operations on background commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use super::session::JobSession;
use super::{
    DEFAULT_LOG_LINES, Followed, JobError, JobStatus, Jobs, LogResult, PollResult, SessionEntry,
    SessionId, WriteResult,
};

/// How long a program may take to read its input.
const READING: Duration = Duration::from_secs(5);
/// How long a killed program may take to disappear.
const DYING: Duration = Duration::from_secs(2);

/// Output that a new follower gets first.
const LATELY: u64 = 64_000;

impl Jobs {
    /// The background sessions, newest first: running ones and recently ended ones.
    pub fn process_list(&self) -> Vec<SessionEntry> {
        let mut sessions = self.background().clone();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.order()));
        sessions.iter().map(|session| session.entry()).collect()
    }

    /// The state of a session.
    pub fn poll(&self, id: SessionId) -> Result<PollResult, JobError> {
        Ok(self.find(id)?.poll())
    }

    /// Lines of a session's output. They are counted over the whole output, so a page stays the same while
    /// more is printed; an offset that is no longer kept moves to the first kept line.
    pub fn log(
        &self,
        id: SessionId,
        offset: u64,
        limit: Option<u64>,
    ) -> Result<LogResult, JobError> {
        let limit = limit.unwrap_or(DEFAULT_LOG_LINES);
        if limit == 0 {
            return Err(JobError::LogLimit);
        }
        Ok(self.find(id)?.log(offset, limit))
    }

    /// At most `limit` characters of a session's output from character `from` on, as soon as there are any;
    /// without `from`, recent output. Waits while nothing is printed, and reports when it has ended and
    /// everything was read. Nothing is retained for followers: output that is no longer in memory is
    /// skipped, as the start of the result shows.
    pub async fn follow(
        &self,
        id: SessionId,
        from: Option<u64>,
        limit: usize,
    ) -> Result<Followed, JobError> {
        let session = self.find(id)?;
        let from = from.unwrap_or_else(|| session.near_the_end(LATELY));
        Ok(session.follow(from, limit.max(1)).await)
    }

    /// Writes `data` to a session's standard input.
    pub async fn write(&self, id: SessionId, data: &str) -> Result<WriteResult, JobError> {
        let session = self.find(id)?;
        feed(&session, data.as_bytes(), READING).await
    }

    /// Writes `data` and a newline to a session's standard input.
    pub async fn submit(&self, id: SessionId, data: &str) -> Result<WriteResult, JobError> {
        let line = format!("{data}\n");
        let session = self.find(id)?;
        feed(&session, line.as_bytes(), READING).await
    }

    /// Kills a session with all its processes, and returns its state.
    pub async fn kill(&self, id: SessionId) -> Result<PollResult, JobError> {
        let session = self.find(id)?;
        if session.has_ended() {
            return Err(JobError::Exited(id));
        }
        session.kill();
        // A process stuck in the kernel is reported as running, which is what it is.
        let _ = timeout(DYING, session.ended()).await;
        Ok(session.poll())
    }

    pub(super) fn find(&self, id: SessionId) -> Result<Arc<JobSession>, JobError> {
        let background = self.background();
        let found = background.iter().find(|session| session.id() == id);
        found
            .cloned()
            .ok_or_else(|| JobError::NotFound(id.to_string()))
    }
}

/// Writes `bytes` to a session that accepts them within `foreground_wait`.
pub(super) async fn feed(
    session: &JobSession,
    bytes: &[u8],
    foreground_wait: Duration,
) -> Result<WriteResult, JobError> {
    let written = AtomicUsize::new(0);
    let fed = tokio::select! {
        biased;
        () = session.ended() => Err(JobError::Exited(session.id())),
        fed = fill(session, bytes, &written) => fed,
        () = sleep(foreground_wait) => Err(JobError::NotReading {
            session: session.id(),
            written: written.load(Ordering::Relaxed),
            total: bytes.len(),
        }),
    };
    fed.map(|()| WriteResult {
        status: JobStatus::Running,
        session_id: session.id(),
        bytes_written: bytes.len(),
    })
}

async fn fill(session: &JobSession, bytes: &[u8], written: &AtomicUsize) -> Result<(), JobError> {
    let mut stdin = session.stdin.lock().await;
    let mut rest = bytes;
    while let Some(pipe) = stdin.as_mut() {
        if rest.is_empty() {
            return Ok(());
        }
        match pipe.write(rest).await {
            Ok(count) => {
                rest = &rest[count..];
                written.fetch_add(count, Ordering::Relaxed);
            }
            Err(_) => *stdin = None,
        }
    }
    Err(JobError::StdinClosed(session.id()))
}
