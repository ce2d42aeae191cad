//! Runs a confined program on this machine, and reports exactly how it went.
//!
//! The program sees the system's programs, the folders it was given, a private folder that serves as home
//! and for temporary files, and only the environment it was given. It has no network unless granted.
//! When it times out, the whole process group is killed.

mod find;
pub(crate) mod private;
mod spool;
mod started;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::Duration;

use manyhands_core::Progress;
use manyhands_guard::{Exit, Jail, SandboxLimits, Stdin, SuperviseError, Supervisor};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use find::{Lookup, find_program};
use spool::Spool;
pub use spool::StreamOutput;
pub use started::{Started, Terms, start};

/// How long pipes may stay open after the program is gone.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// A program to run, and its bounds.
#[derive(Debug, Clone)]
pub struct Job {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, exactly.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub cwd: Jail,
    /// The same as a path, for `PWD`.
    pub cwd_shown: PathBuf,
    /// Its complete environment.
    pub env: BTreeMap<String, String>,
    /// Folders it may read and change, by handle: a path may have been swapped.
    pub writable: Vec<Jail>,
    /// Folders it may read in addition to the system's.
    pub readable: Vec<PathBuf>,
    /// Whether it has network access.
    pub network: bool,
    /// Its timeout.
    pub timeout: Duration,
    /// Maximum standard output returned.
    pub max_stdout: usize,
    /// Maximum standard error returned.
    pub max_stderr: usize,
    /// Maximum of each stream stored in addition.
    pub max_kept: u64,
    /// Receives its output.
    pub progress: Progress,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Whether it timed out.
    pub timed_out: bool,
    /// Its standard output.
    pub stdout: StreamOutput,
    /// Its standard error.
    pub stderr: StreamOutput,
}

impl Ran {
    /// The exit code as shells report it: 124 after a timeout, 128 plus the number for a signal.
    pub fn code(&self) -> i32 {
        match &self.exit {
            // As `timeout(1)` reports it, which models know.
            _ if self.timed_out => 124,
            Exit::Code(code) => *code,
            Exit::Signal(name) => 128 + signal_number(name),
        }
    }

    /// The signal that killed it, if one did.
    pub fn signal(&self) -> Option<&str> {
        match &self.exit {
            Exit::Signal(name) => Some(name),
            Exit::Code(_) => None,
        }
    }
}

fn signal_number(name: &str) -> i32 {
    const NAMES: [(&str, i32); 18] = [
        ("SIGHUP", 1),
        ("SIGINT", 2),
        ("SIGQUIT", 3),
        ("SIGILL", 4),
        ("SIGTRAP", 5),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGUSR1", 10),
        ("SIGSEGV", 11),
        ("SIGUSR2", 12),
        ("SIGPIPE", 13),
        ("SIGALRM", 14),
        ("SIGTERM", 15),
        ("SIGXCPU", 24),
        ("SIGXFSZ", 25),
        ("SIGSYS", 31),
    ];
    let known = NAMES.iter().find(|(known, _)| *known == name);
    // Realtime signals have no name here; 128 still tells a signal from an exit code.
    known.map_or(0, |(_, number)| *number)
}

/// The path of a folder's handle, in this process and in a fork of it.
fn by_handle(folder: &Jail) -> PathBuf {
    // A path could be swapped for a link after the check; a descriptor cannot.
    format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()).into()
}

/// Runs `job` until it ends or `cancel` fires. Its temporary folder is created in `scratch` and removed
/// afterwards.
pub async fn run(
    job: Job,
    supervisor: &Supervisor,
    scratch: &std::path::Path,
    cancel: &CancellationToken,
) -> Result<Ran, SuperviseError> {
    let terms = Terms {
        stdin: Stdin::None,
        home: None,
        sandbox: Some(SandboxLimits::default()),
    };
    let mut started = start(&job, terms, supervisor, scratch, cancel)?;
    let running = &mut started.running;
    let mut stdout = Spool::new(job.max_stdout, job.max_kept, scratch).reporting(&job.progress);
    let mut stderr = Spool::new(job.max_stderr, job.max_kept, scratch).reporting(&job.progress);
    let (out, err) = (running.stdout.take(), running.stderr.take());
    let (exit, timed_out) = {
        // Both pipes at once: a program that fills one while we read the other would block forever.
        let drained = async { tokio::join!(stdout.fill(out), stderr.fill(err)) };
        tokio::pin!(drained);
        let ended = tokio::select! {
            ended = running.wait() => Some(ended),
            _ = &mut drained => None,
        };
        match ended {
            Some(ended) => {
                // The program is gone; only what it left in the pipes is still wanted.
                let _ = timeout(DRAIN_TIMEOUT, drained).await;
                ended?
            }
            // Both pipes are closed: the program closed them itself and still runs.
            None => running.wait().await?,
        }
    };
    Ok(Ran {
        exit,
        timed_out,
        stdout: stdout.finish(),
        stderr: stderr.finish(),
    })
}

#[cfg(test)]
mod tests;
