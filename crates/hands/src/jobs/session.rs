//! One command from start to end.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manyhands_core::{Clock, Progress, Timestamp};
use manyhands_guard::{Exit, RunningProgram, SuperviseError};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::process::ChildStdin;
use tokio::sync::{Notify, OwnedSemaphorePermit, broadcast};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFuture};

use crate::shell::private::Private;

use super::transcript::{Transcript, pump};
use super::{
    CompletedJob, DRAIN_TIMEOUT, Followed, JobError, JobEvent, JobEventKind, JobStatus, LIST_CHARS,
    LogResult, PollResult, RETENTION, RunningJob, SessionEntry, SessionId, TAIL_CHARS,
};

/// A running or ended command.
pub(super) struct JobSession {
    about: About,
    pid: u32,
    /// A handle of the leader, immune to reuse of its id.
    leader: Option<OwnedFd>,
    stop: CancellationToken,
    ended: CancellationToken,
    pub(super) stdin: tokio::sync::Mutex<Option<ChildStdin>>,
    transcript: Mutex<Transcript>,
    /// Notified when it prints.
    printed: Arc<Notify>,
    state: Mutex<SessionState>,
    clock: Arc<dyn Clock>,
    events: broadcast::Sender<JobEvent>,
}

/// What is known of a command before it starts.
pub(super) struct About {
    pub(super) id: SessionId,
    /// Distinguishes commands started in the same millisecond.
    pub(super) number: u64,
    /// The beginning of the command, for display.
    pub(super) command: String,
    pub(super) workdir: PathBuf,
    pub(super) origin: Option<String>,
    /// Its timeout.
    pub(super) timeout: Duration,
    pub(super) started_at: Timestamp,
    pub(super) started: Duration,
    /// Receives its output.
    pub(super) progress: Progress,
    /// Whether the full output is wanted.
    pub(super) full_output: bool,
}

#[derive(Debug, Default)]
struct SessionState {
    backgrounded: bool,
    ending: Option<Ending>,
}

#[derive(Debug, Clone)]
struct Ending {
    at: Timestamp,
    moment: Duration,
    exit_code: Option<i32>,
    signal: Option<String>,
    timed_out: bool,
    lost: Option<String>,
}

impl Ending {
    fn succeeded(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    fn kind(&self) -> JobEventKind {
        match self {
            _ if self.timed_out => JobEventKind::TimedOut,
            _ if self.succeeded() => JobEventKind::Finished,
            _ => JobEventKind::Failed,
        }
    }
}

impl JobSession {
    /// Takes over a program that was just started; `stop` stops it.
    pub(super) fn new(
        about: About,
        running: &mut RunningProgram,
        stop: CancellationToken,
        clock: Arc<dyn Clock>,
        events: broadcast::Sender<JobEvent>,
    ) -> Self {
        let pid = running.id();
        let transcript = Mutex::new(Transcript::new(about.full_output));
        let leader = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self {
            about,
            pid,
            // Best effort: on kernels without pidfds `kill` falls back to the supervisor.
            leader: leader.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()),
            stop,
            ended: CancellationToken::new(),
            stdin: tokio::sync::Mutex::new(running.stdin.take()),
            transcript,
            printed: Arc::default(),
            state: Mutex::default(),
            clock,
            events,
        }
    }

    pub(super) fn id(&self) -> SessionId {
        self.about.id
    }

    /// Runs until the program ends. `slot` is released before the end is reported, and the private folder
    /// is removed or being removed.
    pub(super) async fn watch_output(
        self: Arc<Self>,
        mut running: RunningProgram,
        slot: Option<OwnedSemaphorePermit>,
        private: Option<Private>,
    ) {
        let (progress, printed) = (self.about.progress.clone(), self.printed.clone());
        let progress = Progress::default().with_output(move |text| {
            progress.print(text);
            // Output is in the transcript before this wakes a follower, because `pump` prints after it stores.
            printed.notify_waiters();
        });
        let pumped = pump(
            &self.transcript,
            &progress,
            running.stdout.take(),
            running.stderr.take(),
        );
        let ended = {
            let mut pumped = pin!(pumped);
            let ended = tokio::select! {
                ended = running.wait() => Some(ended),
                () = &mut pumped => None,
            };
            match ended {
                Some(ended) => {
                    // Output written just before the exit may still be in the pipes.
                    let _ = timeout(DRAIN_TIMEOUT, pumped).await;
                    ended
                }
                None => running.wait().await,
            }
        };
        // Before `end`: whoever learns of the end may start the next command, and its slot must be free.
        drop((slot, private));
        self.end(ended);
        // Closed last: a write that waits for the pipe fails instead of blocking forever.
        self.stdin.lock().await.take();
    }

    fn end(&self, ended: Result<(Exit, bool), SuperviseError>) {
        let mut ending = Ending {
            at: self.clock.now(),
            moment: self.clock.monotonic(),
            exit_code: None,
            signal: None,
            timed_out: false,
            lost: None,
        };
        match ended {
            Ok((exit, timed_out)) => {
                ending.timed_out = timed_out;
                match exit {
                    Exit::Code(code) => ending.exit_code = Some(code),
                    Exit::Signal(name) => ending.signal = Some(name),
                }
            }
            Err(lost) => ending.lost = Some(lost.to_string()),
        }
        let mut state = self.state();
        // Nothing is appended any more, so the tail's spare capacity can go.
        self.transcript().merged.normalise();
        state.ending = Some(ending);
        // A foreground command has no event: its caller gets the result itself.
        if state.backgrounded {
            self.publish(&state);
        }
        drop(state);
        // Outside the lock and last: waiters read the state right away.
        self.ended.cancel();
    }

    /// Detaches it from its caller; `false` if it has ended, which the caller then gets instead.
    pub(super) fn go_to_background(&self) -> bool {
        let mut state = self.state();
        if state.ending.is_some() {
            return false;
        }
        state.backgrounded = true;
        // From here on both streams are read together, in the order in which they were printed.
        self.transcript().merge();
        self.publish(&state);
        true
    }

    /// Called with the state locked, so that events are sent in order.
    fn publish(&self, state: &SessionState) {
        let ending = state.ending.as_ref();
        let tail = self.tail(TAIL_CHARS);
        // There may be no receiver.
        let _ = self.events.send(JobEvent {
            session_id: self.id(),
            event: ending.map_or(JobEventKind::Started, Ending::kind),
            origin: self.about.origin.clone(),
            exit_code: ending.and_then(|e| e.exit_code),
            signal: ending.and_then(|e| e.signal.clone()),
            output_tail: Some(tail).filter(|tail| !tail.is_empty()),
            started_at: self.about.started_at,
            ended_at: ending.map(|e| e.at),
        });
    }

    /// Stops it on drop.
    pub(super) fn leash(&self) -> DropGuard {
        self.stop.clone().drop_guard()
    }

    /// Asks it to stop, then kills it.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Kills it at once. The supervisor kills the rest of the group when the leader is gone.
    pub(super) fn kill(&self) {
        let killed = self
            .leader
            .as_ref()
            .is_some_and(|leader| pidfd_send_signal(leader, Signal::KILL).is_ok());
        // The supervisor asks first and kills later, so this is slower but just as certain.
        if !killed {
            self.stop();
        }
    }

    pub(super) fn ended(&self) -> WaitForCancellationFuture<'_> {
        self.ended.cancelled()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// When it ended, on the monotonic clock.
    pub(super) fn end_moment(&self) -> Option<Duration> {
        self.state().ending.as_ref().map(|ending| ending.moment)
    }

    /// Sort key by start.
    pub(super) fn order(&self) -> (Timestamp, u64) {
        (self.about.started_at, self.about.number)
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().expect("no panic while held")
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().expect("no panic while held")
    }

    fn tail(&self, chars: usize) -> String {
        self.transcript().merged.last(chars).to_owned()
    }

    fn status_and_ending(&self) -> (JobStatus, Option<Ending>) {
        let ending = self.state().ending.clone();
        let status = match &ending {
            None => JobStatus::Running,
            Some(ending) if ending.succeeded() => JobStatus::Completed,
            Some(_) => JobStatus::Failed,
        };
        (status, ending)
    }

    /// The result for the caller of `Bash` once it has ended.
    pub(super) fn completed(&self) -> Result<CompletedJob, JobError> {
        let (status, ending) = self.status_and_ending();
        let lost = || JobError::Lost("the command has not ended".to_owned());
        let ending = ending.ok_or_else(lost)?;
        // The supervisor failed, so the exit code is unknown and must not look like a success.
        if let Some(lost) = ending.lost {
            return Err(JobError::Lost(lost));
        }
        let mut transcript = self.transcript();
        let (stdout, stderr) = transcript.apart().unzip();
        Ok(CompletedJob {
            status,
            session_id: self.id(),
            exit_code: ending.exit_code,
            signal: ending.signal,
            timed_out: ending.timed_out,
            started_at: self.about.started_at,
            ended_at: ending.at,
            duration_ms: millis(ending.moment.saturating_sub(self.about.started)),
            output: transcript.merged.retained().to_owned(),
            tail: transcript.merged.last(TAIL_CHARS).to_owned(),
            truncated: transcript.merged.truncated(),
            total_chars: transcript.merged.total_chars(),
            workdir: self.about.workdir.clone(),
            stdout: stdout.map(str::to_owned),
            stderr: stderr.map(str::to_owned),
            full_output: transcript.full_output(),
        })
    }

    /// The result for the caller of `Bash` while it runs.
    pub(super) fn running(&self) -> RunningJob {
        RunningJob {
            status: JobStatus::Running,
            session_id: self.id(),
            pid: self.pid,
            started_at: self.about.started_at,
            tail: self.tail(TAIL_CHARS),
            workdir: self.about.workdir.clone(),
            timeout_ms: millis(self.about.timeout),
            retained_ms: millis(RETENTION),
            lifetime: format!(
                "it is stopped {} after its start unless it ends before (timeout sets how long); once it ended, Process shows its output for {}",
                human_duration(self.about.timeout),
                human_duration(RETENTION)
            ),
        }
    }

    pub(super) fn entry(&self) -> SessionEntry {
        let (status, ending) = self.status_and_ending();
        let until = ending.as_ref().map(|e| e.moment);
        let until = until.unwrap_or_else(|| self.clock.monotonic());
        let transcript = self.transcript();
        SessionEntry {
            session_id: self.id(),
            status,
            pid: self.pid,
            started_at: self.about.started_at,
            ended_at: ending.as_ref().map(|e| e.at),
            runtime_ms: millis(until.saturating_sub(self.about.started)),
            workdir: self.about.workdir.clone(),
            command: self.about.command.clone(),
            tail: transcript.merged.last(LIST_CHARS).to_owned(),
            truncated: transcript.merged.truncated(),
            exit_code: ending.as_ref().and_then(|e| e.exit_code),
            timed_out: ending.as_ref().is_some_and(|e| e.timed_out),
            signal: ending.and_then(|e| e.signal),
        }
    }

    pub(super) fn poll(&self) -> PollResult {
        let (status, ending) = self.status_and_ending();
        let transcript = self.transcript();
        PollResult {
            status,
            session_id: self.id(),
            running: ending.is_none(),
            exit_code: ending.as_ref().and_then(|e| e.exit_code),
            signal: ending.as_ref().and_then(|e| e.signal.clone()),
            timed_out: ending.as_ref().is_some_and(|e| e.timed_out),
            started_at: self.about.started_at,
            ended_at: ending.as_ref().map(|e| e.at),
            tail: transcript.merged.last(TAIL_CHARS).to_owned(),
            truncated: transcript.merged.truncated(),
            total_chars: transcript.merged.total_chars(),
            error: ending.and_then(|e| e.lost),
        }
    }

    /// Output from character `from` on, as soon as there is any, or that it has ended.
    pub(super) async fn follow(&self, from: u64, limit: usize) -> Followed {
        loop {
            // Registered before the checks below, or output between check and wait would wake nobody.
            let printed = self.printed.notified();
            // Checked before the output: nothing is printed after the end, so nothing can be missed.
            let ended = self.has_ended();
            let followed = self.since(from, limit, ended);
            if ended || !followed.text.is_empty() {
                return followed;
            }
            tokio::select! {
                () = printed => {}
                () = self.ended() => {}
            }
        }
    }

    fn since(&self, from: u64, limit: usize, ended: bool) -> Followed {
        let transcript = self.transcript();
        let piece = transcript.merged.since(from, limit);
        Followed {
            at: piece.at,
            next: piece.next,
            text: piece.text.to_owned(),
            ended: ended && piece.next == transcript.merged.total_chars(),
        }
    }

    /// Start of a line such as that at most `chars` characters follow.
    pub(super) fn near_the_end(&self, chars: u64) -> u64 {
        let merged = &self.transcript().merged;
        let from = merged.total_chars().saturating_sub(chars);
        let line = |from: u64| {
            let rest = merged.since(from, usize::MAX).text;
            let end = rest.find('\n')?;
            Some(from + rest[..=end].chars().count() as u64)
        };
        match from {
            0 => 0,
            _ => line(from).unwrap_or(from),
        }
    }

    pub(super) fn log(&self, offset: u64, limit: u64) -> LogResult {
        let (status, ending) = self.status_and_ending();
        let transcript = self.transcript();
        let page = transcript.merged.page(offset, limit);
        LogResult {
            status,
            session_id: self.id(),
            log: page.text.to_owned(),
            offset: page.first,
            next_offset: page.next,
            total_lines: page.total,
            total_chars: transcript.merged.total_chars(),
            truncated: transcript.merged.truncated(),
            dropped_lines: Some(page.dropped).filter(|lines| *lines > 0),
            exit_code: ending.as_ref().and_then(|e| e.exit_code),
            signal: ending.and_then(|e| e.signal),
        }
    }
}

/// A duration in words.
fn human_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        0 => return format!("{} ms", time.as_millis()),
        _ if seconds.is_multiple_of(86_400) => (seconds / 86_400, "day"),
        _ if seconds.is_multiple_of(3_600) => (seconds / 3_600, "hour"),
        _ if seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{s}")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
