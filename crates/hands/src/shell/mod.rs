//! Running a program on this machine, confined, and telling honestly how it went.
//!
//! What runs sees the system's programs, the folders it was given, a folder of its own that
//! serves as home and for temporary files, and an environment that holds only what was put there. It has no network unless that
//! was granted. When its time is up the whole process group is gone.

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
use manyhands_guard::{Exit, Jail, Limits, Stdin, SuperviseError, Supervisor};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use find::{Lookup, find_program};
pub use spool::Output;
use spool::Spool;
pub use started::{Started, Terms, start};

/// How long pipes may stay open after the program is gone.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// A program to run, and within which bounds.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program, in full.
    pub program: PathBuf,
    /// Its arguments, exactly.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: Jail,
    /// The same place in words, for `PWD`.
    pub cwd_shown: PathBuf,
    /// Its environment, all of it.
    pub env: BTreeMap<String, String>,
    /// Folders it may read and change, by their handles: what a name leads to may have been swapped.
    pub writable: Vec<Jail>,
    /// Folders it may read beside the system's.
    pub readable: Vec<PathBuf>,
    /// Whether it may reach the network.
    pub network: bool,
    /// How long it may run.
    pub timeout: Duration,
    /// How much of standard output is given back.
    pub max_stdout: usize,
    /// How much of standard error is given back.
    pub max_stderr: usize,
    /// How much of each is kept beside that.
    pub max_kept: u64,
    /// Who is told what it prints.
    pub progress: Progress,
}

/// How a job went.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Whether it was stopped because its time was up.
    pub timed_out: bool,
    /// What it wrote to standard output.
    pub stdout: Output,
    /// What it wrote to standard error.
    pub stderr: Output,
}

impl Ran {
    /// The exit code as shells tell it: 124 when the time was up, 128 and the number for a signal.
    pub fn code(&self) -> i32 {
        match &self.exit {
            _ if self.timed_out => 124,
            Exit::Code(code) => *code,
            Exit::Signal(name) => 128 + signal_number(name),
        }
    }

    /// The signal that ended it, when one did.
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
    known.map_or(0, |(_, number)| *number)
}

/// A folder by its handle, in this process and in one just forked from it.
fn by_handle(folder: &Jail) -> PathBuf {
    format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()).into()
}

/// Runs `job` to its end, or until `cancel` fires. Its temporary folder is made in `scratch`
/// and removed afterwards.
pub async fn run(
    job: Job,
    supervisor: &Supervisor,
    scratch: &std::path::Path,
    cancel: &CancellationToken,
) -> Result<Ran, SuperviseError> {
    let terms = Terms {
        stdin: Stdin::None,
        home: None,
        sandbox: Some(Limits::default()),
    };
    let mut started = start(&job, terms, supervisor, scratch, cancel)?;
    let running = &mut started.running;
    let mut stdout = Spool::new(job.max_stdout, job.max_kept, scratch).telling(&job.progress);
    let mut stderr = Spool::new(job.max_stderr, job.max_kept, scratch).telling(&job.progress);
    let (out, err) = (running.stdout.take(), running.stderr.take());
    let (exit, timed_out) = {
        let drained = async { tokio::join!(stdout.fill(out), stderr.fill(err)) };
        tokio::pin!(drained);
        let ended = tokio::select! {
            ended = running.wait() => Some(ended),
            _ = &mut drained => None,
        };
        match ended {
            Some(ended) => {
                let _ = timeout(LAST_WORDS, drained).await;
                ended?
            }
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
