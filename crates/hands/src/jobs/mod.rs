//! Shell commands, in the foreground or background: the node's `Bash` and `Process` tools.
//!
//! A command leads its own process group, and the whole group ends when the command ends, times out,
//! loses its caller or, in the background, when its [`Jobs`] is dropped. Output is kept in bounded
//! memory, and the end is reported after the last output.
//!
//! The two streams are two pipes, so their order is that of arrival: output written to both between two
//! reads may be reordered, but never within one stream.

mod error;
mod process;
mod session;
mod shape;
mod terminal;
mod transcript;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manyhands_core::{Clock, Ids};
use manyhands_guard::{Program, Sandbox, Stdin, Supervisor};
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::shell::private::Private;
use session::{About, JobSession};

pub use error::JobError;
pub use shape::{
    BashRequest, BashResult, CompletedJob, Followed, JobEvent, JobEventKind, JobStatus, LogResult,
    PollResult, RunningJob, SessionEntry, SessionId, WriteResult,
};
pub use terminal::{OpenTerminal, ShellExit, TerminalReader, TerminalRequest};

/// Maximum characters of output kept: the last ones.
pub const MAX_CHARS: usize = 200_000;
/// Maximum bytes of output stored on disk, for a caller that wants all of it.
const MAX_FULL: u64 = 8 * 1024 * 1024;
/// Maximum length of the full output as JSON: it must fit into a frame that gateways accept.
const MAX_FULL_JSON: usize = 12 * 1024 * 1024;
/// Maximum characters of `tail`.
pub const TAIL_CHARS: usize = 4_000;
/// Default timeout.
pub const DEFAULT_TIMEOUT_MS: u64 = 300_000;
/// Maximum timeout: 30 days.
pub const MAX_TIMEOUT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Default number of lines of `log`.
pub const DEFAULT_LOG_LINES: u64 = 200;
/// Default maximum of background jobs.
pub const DEFAULT_MAX_JOBS: usize = 64;

const YIELD_MS: std::ops::RangeInclusive<u64> = 10..=120_000;
/// How long finished background jobs are kept.
const RETENTION: Duration = Duration::from_secs(30 * 60);
/// Maximum finished background jobs kept.
const MAX_FINISHED: usize = 256;
/// Maximum characters of command and output in a list.
const LIST_CHARS: usize = 200;
/// Capacity of the event channel; a receiver that falls behind learns how much it missed.
const EVENT_CAPACITY: usize = 512;
/// Maximum length of one argument on Linux, without its NUL.
const MAX_COMMAND: usize = 128 * 1024 - 1;
/// How long pipes may stay open after the group is gone: an escaped process may hold them forever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// System files that login shells read; without access a shell complains before every command.
const LOGIN_FILES: &[&str] = &[
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh",
    "/etc/zshenv",
    "/etc/zprofile",
    "/etc/zshrc",
    "/etc/fish",
];

/// How commands run.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// Absolute path of the login shell.
    pub shell: PathBuf,
    /// The complete environment of commands.
    pub env: BTreeMap<String, String>,
    /// Sandbox of commands; `None` runs them with the rights of the node's user. The system's login files
    /// are readable in addition to what it grants.
    pub sandbox: Option<Sandbox>,
    /// Parent of each command's private folder, used as home and for temporary files and removed with it;
    /// `None` uses those of the environment.
    pub scratch: Option<PathBuf>,
    /// Maximum background jobs.
    pub max_jobs: usize,
}

impl JobSettings {
    /// The settings of a node started in `env`: its own environment and login shell, unconfined.
    pub fn of_env(env: BTreeMap<String, String>) -> Self {
        let named = env.get("SHELL").map(PathBuf::from);
        let shell = named.filter(|shell| shell.is_absolute() && shell.is_file());
        Self {
            shell: shell.unwrap_or_else(|| PathBuf::from("/bin/sh")),
            env,
            sandbox: None,
            scratch: None,
            max_jobs: DEFAULT_MAX_JOBS,
        }
    }
}

/// The commands of one node. Clones share them; dropping the last one ends all commands.
#[derive(Clone)]
pub struct Jobs {
    inner: Arc<Inner>,
}

struct Inner {
    supervisor: Supervisor,
    clock: Arc<dyn Clock>,
    ids: Ids,
    settings: JobSettings,
    slots: Arc<Semaphore>,
    started: AtomicU64,
    background: Mutex<Vec<Arc<JobSession>>>,
    events: broadcast::Sender<JobEvent>,
    all: CancellationToken,
    _end_all: DropGuard,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jobs")
    }
}

impl Jobs {
    /// Creates the job manager.
    pub fn new(
        supervisor: Supervisor,
        clock: Arc<dyn Clock>,
        ids: Ids,
        mut settings: JobSettings,
    ) -> Self {
        if let Some(sandbox) = &mut settings.sandbox {
            // Without these a login shell prints an error before every command, which agents mistake for theirs.
            sandbox.read.extend(LOGIN_FILES.iter().map(PathBuf::from));
        }
        let all = CancellationToken::new();
        let inner = Inner {
            supervisor,
            clock,
            ids,
            slots: Arc::new(Semaphore::new(settings.max_jobs)),
            settings,
            started: AtomicU64::new(0),
            background: Mutex::default(),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            _end_all: all.clone().drop_guard(),
            all,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Events of background jobs from now on.
    pub fn events(&self) -> broadcast::Receiver<JobEvent> {
        self.inner.events.subscribe()
    }

    /// Runs a command until it ends or moves to the background, as the request says. While in the
    /// foreground it ends when `cancel` fires or this future is dropped.
    pub async fn bash(
        &self,
        request: BashRequest,
        cancel: &CancellationToken,
    ) -> Result<BashResult, JobError> {
        let timeout = check(&request)?;
        check_workdir(&request.workdir).await?;
        // Checked before the start: a cancelled call must not run even for a moment.
        if cancel.is_cancelled() {
            return Err(JobError::Cancelled);
        }
        let foreground_wait = ForegroundWait::of(&request);
        let session = self.start(request, timeout, foreground_wait)?;
        if foreground_wait == ForegroundWait::None {
            return Ok(BashResult::Running(session.running()));
        }
        // Dropping the caller's future must end the command, until it is handed to the background.
        let leash = session.leash();
        // `biased` with the end first: a command that ends in the same instant counts as ended, not as
        // cancelled or left running.
        tokio::select! {
            biased;
            () = session.ended() => {}
            () = cancel.cancelled() => {
                session.stop();
                session.ended().await;
                return Err(JobError::Cancelled);
            }
            () = foreground_wait.runs_out() => {
                // It may have ended just now; then its result is ready and nothing was left running.
                if self.leave_running(&session) {
                    leash.disarm();
                    return Ok(BashResult::Running(session.running()));
                }
            }
        }
        session.ended().await;
        Ok(BashResult::Completed(Box::new(session.completed()?)))
    }

    fn start(
        &self,
        request: BashRequest,
        timeout: Duration,
        foreground_wait: ForegroundWait,
    ) -> Result<Arc<JobSession>, JobError> {
        let inner = &self.inner;
        // A command that is always waited for needs no slot: the caller's own limits bound it.
        let (slot, stdin) = if foreground_wait == ForegroundWait::Endless {
            (None, Stdin::None)
        } else {
            let slot = Arc::clone(&inner.slots).try_acquire_owned();
            let max = inner.settings.max_jobs;
            let slot = slot.map_err(|_| JobError::TooManyJobs { max })?;
            (Some(slot), Stdin::Piped)
        };
        let private = self.private_folder()?;
        // A login shell, so that the command finds what the owner's profile puts on the PATH.
        let args = ["-lc", &request.command];
        let program = self
            .program(args, &request.workdir, private.as_ref())
            .stdin(stdin)
            .timeout(timeout);
        let about = About {
            id: inner.ids.next(),
            number: inner.started.fetch_add(1, Ordering::Relaxed),
            command: beginning(&request.command),
            workdir: request.workdir,
            origin: request.origin,
            timeout,
            started_at: inner.clock.now(),
            started: inner.clock.monotonic(),
            progress: request.progress,
            full_output: request.full_output,
        };
        // A child of `all`: dropping the last `Jobs` ends every command.
        let stop = inner.all.child_token();
        let mut running = inner.supervisor.start(program, &stop)?;
        let (clock, events) = (Arc::clone(&inner.clock), inner.events.clone());
        let session = Arc::new(JobSession::new(about, &mut running, stop, clock, events));
        if foreground_wait == ForegroundWait::None {
            // Before its end can be noticed: `Started` must be reported first, however short it runs.
            self.leave_running(&session);
        }
        tokio::spawn(Arc::clone(&session).watch_output(running, slot, private));
        Ok(session)
    }

    /// The shell with these arguments, confined as all that a node runs.
    fn program<'a>(
        &self,
        args: impl IntoIterator<Item = &'a str>,
        workdir: &Path,
        private: Option<&Private>,
    ) -> Program {
        let settings = &self.inner.settings;
        let mut program = Program::new(&settings.shell).args(args).cwd(workdir);
        for (name, value) in &settings.env {
            program = program.env(name, value);
        }
        let mut sandbox = settings.sandbox.clone();
        if let Some(private) = private {
            sandbox = sandbox.map(|sandbox| sandbox.writing(private.path()));
            program = program
                // The real home and the shared temporary folder are not writable inside the sandbox.
                .env("HOME", private.path())
                .env("TMPDIR", private.path());
        }
        program.sandbox(sandbox)
    }

    fn private_folder(&self) -> Result<Option<Private>, JobError> {
        let Some(scratch) = &self.inner.settings.scratch else {
            return Ok(None);
        };
        let folder = tempfile::Builder::new()
            .prefix("mh-job-")
            .tempdir_in(scratch);
        let folder = folder.map_err(|error| JobError::Scratch {
            path: scratch.clone(),
            error,
        })?;
        Ok(Some(Private::new(folder, &self.inner.supervisor)))
    }

    /// Moves it to the background; false if it has ended.
    fn leave_running(&self, session: &Arc<JobSession>) -> bool {
        // The list is locked before the state changes, so that a `Process` call right after the `Started`
        // event finds the session.
        let mut background = self.background();
        let left = session.go_to_background();
        if left {
            background.push(Arc::clone(session));
        }
        left
    }

    /// The background jobs that are still kept.
    fn background(&self) -> MutexGuard<'_, Vec<Arc<JobSession>>> {
        let mut background = self.inner.background.lock().expect("no panic while held");
        let now = self.inner.clock.monotonic();
        background.retain(|session| {
            let ended = session.end_moment();
            // Only finished jobs expire; a running one is listed for as long as it runs.
            ended.is_none_or(|ended| now.saturating_sub(ended) < RETENTION)
        });
        let mut ends: Vec<_> = background.iter().filter_map(|s| s.end_moment()).collect();
        if let Some(surplus) = ends.len().checked_sub(MAX_FINISHED).filter(|n| *n > 0) {
            ends.sort_unstable();
            let mut left = surplus;
            // Several jobs may have ended at the same moment; `left` stops after exactly the surplus.
            let newest_expired = ends[surplus - 1];
            background.retain(|session| {
                let ended = session.end_moment();
                let expired = left > 0 && ended.is_some_and(|ended| ended <= newest_expired);
                left -= usize::from(expired);
                !expired
            });
        }
        background
    }
}

/// How long a caller waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForegroundWait {
    None,
    For(Duration),
    Endless,
}

impl ForegroundWait {
    fn of(request: &BashRequest) -> Self {
        match request.yield_ms {
            _ if request.background => Self::None,
            Some(wanted) => Self::For(Duration::from_millis(
                wanted.clamp(*YIELD_MS.start(), *YIELD_MS.end()),
            )),
            None => Self::Endless,
        }
    }

    async fn runs_out(self) {
        match self {
            Self::None => {}
            Self::For(wait) => tokio::time::sleep(wait).await,
            Self::Endless => std::future::pending().await,
        }
    }
}

fn check(request: &BashRequest) -> Result<Duration, JobError> {
    let command = &request.command;
    if command.trim().is_empty() {
        return Err(JobError::EmptyCommand);
    }
    if command.contains('\0') {
        return Err(JobError::NulInCommand);
    }
    if command.len() > MAX_COMMAND {
        return Err(JobError::CommandTooLong {
            bytes: command.len(),
            max: MAX_COMMAND,
        });
    }
    let requested = request.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&requested) {
        return Err(JobError::Timeout {
            given: requested,
            max: MAX_TIMEOUT_MS,
        });
    }
    Ok(Duration::from_millis(requested))
}

async fn check_workdir(path: &Path) -> Result<(), JobError> {
    let problem = |why: &str| JobError::Workdir {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    if !path.is_absolute() {
        return Err(problem("is not an absolute path"));
    }
    match tokio::fs::metadata(path).await {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(problem("is not a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(problem("does not exist; create it first, or name another"))
        }
        Err(error) => Err(problem(&format!("cannot be used: {error}"))),
    }
}

/// The beginning of a command, for display.
fn beginning(command: &str) -> String {
    let cut = command.char_indices().nth(LIST_CHARS);
    match cut {
        Some((at, _)) => format!("{}…", &command[..at]),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests;
