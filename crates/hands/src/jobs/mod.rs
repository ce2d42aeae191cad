//! Commands in the login shell of this machine, waited for or left running: what a node's `Bash`
//! and `Process` do.
//!
//! A command leads a process group of its own, and the whole group ends with it, with its time,
//! with a caller that goes away, or, in the background, with the [`Jobs`] it belongs to. What it
//! prints is kept in memory that does not grow with it, and its end is told after the last of that.
//!
//! The two streams are two pipes, so their order is that of arrival: what is printed to both within
//! the moment between two reads may change places, never within one stream.

mod error;
mod process;
mod session;
mod shape;
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
use session::{About, Session};

pub use error::JobError;
pub use shape::{
    BashRequest, BashResult, CompletedJob, Followed, JobEvent, JobEventKind, JobStatus, LogResult,
    PollResult, RunningJob, SessionEntry, SessionId, WriteResult,
};

/// How many characters of output are kept: the last ones.
pub const MAX_CHARS: usize = 200_000;
/// How many bytes of an output are held on disk, for a caller that takes all of it.
const MAX_FULL: u64 = 8 * 1024 * 1024;
/// How long all of an output may be as JSON: a frame with it must be one that gateways take.
const MAX_FULL_JSON: usize = 12 * 1024 * 1024;
/// How many characters `tail` has at most.
pub const TAIL_CHARS: usize = 4_000;
/// How long a command may run unless told.
pub const DEFAULT_TIMEOUT_MS: u64 = 300_000;
/// How long a command may be allowed to run: 30 days.
pub const MAX_TIMEOUT_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// How many lines `log` gives unless told.
pub const DEFAULT_LOG_LINES: u64 = 200;
/// How many background jobs may run unless the owner says otherwise.
pub const DEFAULT_MAX_JOBS: usize = 64;

const YIELD_MS: std::ops::RangeInclusive<u64> = 10..=120_000;
/// How long finished background jobs can be asked about.
const RETENTION: Duration = Duration::from_secs(30 * 60);
/// How many finished background jobs can be asked about.
const MAX_FINISHED: usize = 256;
/// How much of a command and of its output a list shows.
const LIST_CHARS: usize = 200;
/// How much news may wait for a listener; one that falls further behind is told how much it missed.
const MAX_NEWS: usize = 512;
/// What Linux takes as one argument, its final NUL not counted.
const MAX_COMMAND: usize = 128 * 1024 - 1;
/// How long pipes may stay open after the group is gone: what escaped it may hold them for ever.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What login shells read of the system's; one that may not complains before every command.
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

/// How commands run here.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// The login shell, in full.
    pub shell: PathBuf,
    /// The environment commands get, all of it.
    pub env: BTreeMap<String, String>,
    /// Where commands are confined; `None` leaves them the rights of the node's user. The
    /// system's own login files may be read beside what it grants.
    pub sandbox: Option<Sandbox>,
    /// Where each command gets a folder of its own as home and for temporary files, which goes
    /// with it; `None` leaves it those of the environment.
    pub scratch: Option<PathBuf>,
    /// How many background jobs may run at a time.
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

/// The commands of one node. Clones are the same; when the last is dropped, all commands end.
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
    background: Mutex<Vec<Arc<Session>>>,
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
    /// No commands yet, and how they will run.
    pub fn new(
        supervisor: Supervisor,
        clock: Arc<dyn Clock>,
        ids: Ids,
        mut settings: JobSettings,
    ) -> Self {
        if let Some(sandbox) = &mut settings.sandbox {
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
            events: broadcast::Sender::new(MAX_NEWS),
            _end_all: all.clone().drop_guard(),
            all,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// News of background jobs from here on.
    pub fn events(&self) -> broadcast::Receiver<JobEvent> {
        self.inner.events.subscribe()
    }

    /// Runs a command to its end, or leaves it running as the request says. Until it is left
    /// running it ends when `cancel` fires or this future is dropped.
    pub async fn bash(
        &self,
        request: BashRequest,
        cancel: &CancellationToken,
    ) -> Result<BashResult, JobError> {
        let timeout = check(&request)?;
        check_workdir(&request.workdir).await?;
        if cancel.is_cancelled() {
            return Err(JobError::Cancelled);
        }
        let patience = Patience::of(&request);
        let session = self.start(request, timeout, patience)?;
        if patience == Patience::None {
            return Ok(BashResult::Running(session.running()));
        }
        let leash = session.leash();
        tokio::select! {
            biased;
            () = session.ended() => {}
            () = cancel.cancelled() => {
                session.stop();
                session.ended().await;
                return Err(JobError::Cancelled);
            }
            () = patience.runs_out() => {
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
        patience: Patience,
    ) -> Result<Arc<Session>, JobError> {
        let inner = &self.inner;
        let (slot, stdin) = if patience == Patience::Endless {
            (None, Stdin::None)
        } else {
            let slot = Arc::clone(&inner.slots).try_acquire_owned();
            let max = inner.settings.max_jobs;
            let slot = slot.map_err(|_| JobError::TooManyJobs { max })?;
            (Some(slot), Stdin::Piped)
        };
        let private = self.private_folder()?;
        let program = self
            .program(&request, private.as_ref())
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
        let stop = inner.all.child_token();
        let mut running = inner.supervisor.start(program, &stop)?;
        let (clock, events) = (Arc::clone(&inner.clock), inner.events.clone());
        let session = Arc::new(Session::new(about, &mut running, stop, clock, events));
        if patience == Patience::None {
            // Before anybody can see it end: its start is told first, however short it is.
            self.leave_running(&session);
        }
        tokio::spawn(Arc::clone(&session).keep(running, slot, private));
        Ok(session)
    }

    fn program(&self, request: &BashRequest, private: Option<&Private>) -> Program {
        let settings = &self.inner.settings;
        let mut program = Program::new(&settings.shell)
            .args(["-lc", &request.command])
            .cwd(&request.workdir);
        for (name, value) in &settings.env {
            program = program.env(name, value);
        }
        let mut sandbox = settings.sandbox.clone();
        if let Some(private) = private {
            sandbox = sandbox.map(|sandbox| sandbox.writing(private.path()));
            program = program
                .env("HOME", private.path())
                .env("TMPDIR", private.path());
        }
        program.sandbox(sandbox)
    }

    fn private_folder(&self) -> Result<Option<Private>, JobError> {
        let Some(scratch) = &self.inner.settings.scratch else {
            return Ok(None);
        };
        let made = tempfile::Builder::new()
            .prefix("mh-job-")
            .tempdir_in(scratch);
        let folder = made.map_err(|error| JobError::Scratch {
            path: scratch.clone(),
            error,
        })?;
        Ok(Some(Private::new(folder, &self.inner.supervisor)))
    }

    /// Whether it now runs in the background; not when it has ended.
    fn leave_running(&self, session: &Arc<Session>) -> bool {
        let mut background = self.background();
        let left = session.go_to_background();
        if left {
            background.push(Arc::clone(session));
        }
        left
    }

    /// The background jobs that may still be asked about.
    fn background(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        let mut background = self.inner.background.lock().expect("no panic while held");
        let now = self.inner.clock.monotonic();
        background.retain(|session| {
            let ended = session.end_moment();
            ended.is_none_or(|ended| now.saturating_sub(ended) < RETENTION)
        });
        let mut ends: Vec<_> = background.iter().filter_map(|s| s.end_moment()).collect();
        if let Some(surplus) = ends.len().checked_sub(MAX_FINISHED).filter(|n| *n > 0) {
            ends.sort_unstable();
            let mut left = surplus;
            let youngest_to_go = ends[surplus - 1];
            background.retain(|session| {
                let ended = session.end_moment();
                let goes = left > 0 && ended.is_some_and(|ended| ended <= youngest_to_go);
                left -= usize::from(goes);
                !goes
            });
        }
        background
    }
}

/// How long a caller waits for the end of its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    None,
    For(Duration),
    Endless,
}

impl Patience {
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
    let given = request.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&given) {
        return Err(JobError::Timeout {
            given,
            max: MAX_TIMEOUT_MS,
        });
    }
    Ok(Duration::from_millis(given))
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

/// Enough of a command to recognise it by.
fn beginning(command: &str) -> String {
    let cut = command.char_indices().nth(LIST_CHARS);
    match cut {
        Some((at, _)) => format!("{}…", &command[..at]),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests;
