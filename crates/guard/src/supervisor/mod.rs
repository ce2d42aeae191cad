//! The only way to start a program.
//!
//! Each program leads its own process group. When it ends, is cancelled, times out, or its handle is
//! dropped, the whole group is killed, along with the groups that a sandboxed program created, and
//! the leader is reaped. A separate task does this, so dropping a future leaks nothing.

mod group;
mod groups;
mod keeper;
mod output;
mod program;
mod pty;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::sandbox::{Broker, PendingListener, PreparedSandbox, SandboxError};
use group::{Group, LeaderExit};
use keeper::Keeper;
use output::Collector;

pub use group::Exit;
pub use keeper::run_keeper;
pub use output::Captured;
pub use program::{Program, Stdin};
pub use pty::{Terminal, TerminalSize};

/// How long pipes may stay open after the program is gone: a process that escaped the group may
/// hold them forever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// Why a program did not run.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The maximum number of programs is already running.
    #[error("{max} programs run already; wait for one to end, or stop one")]
    Busy {
        /// The maximum.
        max: usize,
    },
    /// The path is relative, so it would depend on a search.
    #[error("{} is not an absolute path; name the program in full", .0.display())]
    NotAbsolute(PathBuf),
    /// The required confinement is unavailable, so it was not started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The system could not start it.
    #[error("cannot start {}: {error}", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// It was started, but its exit status is unknown.
    #[error("lost track of {}: {error}", path.display())]
    Lost {
        /// The program.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// How a program ended, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Whether it was stopped by its timeout.
    pub timed_out: bool,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Its run time.
    pub duration: Duration,
}

/// Starts programs and counts them. Clones share the count.
#[derive(Debug, Clone)]
pub struct Supervisor {
    slots: Arc<Semaphore>,
    max: usize,
    keeper: Option<Keeper>,
}

/// A running program. Dropping this stops it.
#[derive(Debug)]
pub struct RunningProgram {
    /// Its standard input, with [`Stdin::Piped`].
    pub stdin: Option<ChildStdin>,
    /// Its standard output. Read it: a full pipe blocks the program.
    pub stdout: Option<ChildStdout>,
    /// Its standard error. Read it: a full pipe blocks the program.
    pub stderr: Option<ChildStderr>,
    /// Its terminal, with [`Stdin::Terminal`].
    pub terminal: Option<Terminal>,
    path: PathBuf,
    id: u32,
    keeper: JoinHandle<io::Result<LeaderExit>>,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

impl Supervisor {
    /// A supervisor of at most `max` programs at a time.
    pub fn new(max: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(max)),
            max,
            keeper: None,
        }
    }

    /// Adds a keeper: a second process, `program` with `args`, which must call [`run_keeper`] on its
    /// standard input. It kills the running programs if this process dies without warning.
    #[must_use]
    pub fn with_keeper(mut self, program: PathBuf, args: Vec<String>) -> Self {
        self.keeper = Some(Keeper::new(program, args));
        self
    }

    /// Number of programs running now.
    pub fn running(&self) -> usize {
        self.max - self.slots.available_permits()
    }

    /// Runs `program` until it ends or `cancel` fires.
    pub async fn run(
        &self,
        program: Program,
        cancel: CancellationToken,
    ) -> Result<Finished, SuperviseError> {
        let cap = program.max_output;
        let mut running = self.start(program, &cancel)?;
        // Nothing will be written: close the pipe so that a program reading its input sees the end.
        drop(running.stdin.take());
        let (out, err) = (running.stdout.take(), running.stderr.take());
        let (mut stdout, mut stderr) = (Collector::new(cap), Collector::new(cap));
        let ended = {
            // Both pipes are drained concurrently, or a program that fills one would block forever.
            let drained = async { tokio::join!(stdout.fill(out), stderr.fill(err)) };
            tokio::pin!(drained);
            let ended = tokio::select! {
                ended = running.ended() => Some(ended),
                _ = &mut drained => None,
            };
            match ended {
                Some(ended) => {
                    let _ = tokio::time::timeout(DRAIN_TIMEOUT, drained).await;
                    ended?
                }
                None => running.ended().await?,
            }
        };
        Ok(Finished {
            exit: ended.exit,
            timed_out: ended.timed_out,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            duration: ended.duration,
        })
    }

    /// Starts `program` and returns its pipes. It is stopped when `cancel` fires, when it times out,
    /// or when the handle is dropped.
    pub fn start(
        &self,
        program: Program,
        cancel: &CancellationToken,
    ) -> Result<RunningProgram, SuperviseError> {
        if !program.path.is_absolute() {
            return Err(SuperviseError::NotAbsolute(program.path));
        }
        let slot = Arc::clone(&self.slots)
            .try_acquire_owned()
            .map_err(|_| SuperviseError::Busy { max: self.max })?;
        // Prepared before the fork: the child may not allocate, and an unavailable sandbox must prevent
        // the start.
        let sandbox = program.sandbox.as_ref().map(|s| s.prepare()).transpose()?;
        let started = spawn(&program, sandbox, self.keeper.as_ref());
        let Spawned {
            mut child,
            group,
            broker,
            terminal,
        } = started.map_err(|error| SuperviseError::Start {
            path: program.path.clone(),
            error,
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdin, feeder) = match (program.stdin, child.stdin.take()) {
            (Stdin::Bytes(bytes), Some(pipe)) => (None, Some(tokio::spawn(feed(pipe, bytes)))),
            (_, pipe) => (pipe, None),
        };
        let stop = cancel.child_token();
        let id = group.id();
        if let Some(watch) = &self.keeper {
            watch.started(id);
        }
        let watch = self.keeper.clone();
        let keep = group.keep(child, program.timeout, stop.clone());
        let keeper = tokio::spawn(async move {
            let ended = keep.await;
            // The broker outlives the leader: its descendants may still be suspended in brokered calls.
            drop(broker);
            if let Some(watch) = watch {
                watch.ended(id);
            }
            if let Some(feeder) = feeder {
                feeder.abort();
            }
            // Released only when the whole group is gone, so that the limit counts processes, not handles.
            drop(slot);
            ended
        });
        Ok(RunningProgram {
            stdin,
            stdout,
            stderr,
            terminal,
            path: program.path,
            id,
            keeper,
            _stop_on_drop: stop.clone().drop_guard(),
            stop,
        })
    }
}

impl RunningProgram {
    /// Its process id, which is also its group id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Asks the whole group to stop, then kills what remains.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for it to end; returns its exit and whether it timed out.
    pub async fn wait(&mut self) -> Result<(Exit, bool), SuperviseError> {
        let ended = self.ended().await?;
        Ok((ended.exit, ended.timed_out))
    }

    async fn ended(&mut self) -> Result<LeaderExit, SuperviseError> {
        let joined = (&mut self.keeper).await;
        joined
            .unwrap_or_else(|lost| Err(io::Error::other(lost)))
            .map_err(|error| SuperviseError::Lost {
                path: self.path.clone(),
                error,
            })
    }
}

async fn feed(mut pipe: ChildStdin, bytes: Vec<u8>) {
    // A program that does not read its input is not an error.
    let _ = pipe.write_all(&bytes).await;
}

/// A program that was just started.
struct Spawned {
    child: Child,
    group: Group,
    broker: Option<Broker>,
    terminal: Option<Terminal>,
}

#[allow(clippy::disallowed_methods)] // the one place programs are started
fn spawn(
    program: &Program,
    sandbox: Option<PreparedSandbox>,
    keeper: Option<&Keeper>,
) -> io::Result<Spawned> {
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .kill_on_drop(true);
    let terminal = match program.stdin {
        // Before the keeper and the sandbox: a new session is a new group, and in the sandbox a brokered call.
        Stdin::Terminal(size) => Some(Terminal::attach(&mut command, size)?),
        Stdin::None | Stdin::Bytes(_) | Stdin::Piped => {
            let stdin = match program.stdin {
                Stdin::None => Stdio::null(),
                _ => Stdio::piped(),
            };
            command
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .process_group(0);
            None
        }
    };
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    // Before the sandbox, which marks all open descriptors close-on-exec.
    if let Some(keeper) = keeper {
        keeper.watch(&mut command)?;
    }
    let pending = sandbox.map(|sandbox| sandbox.confine(&mut command));
    let pending = pending.transpose()?;
    let child = command.spawn().inspect_err(|_| {
        if let Some(keeper) = keeper {
            keeper.failed();
        }
    })?;
    let group = Group::led_by(&child, keeper.cloned(), terminal.is_some())?;
    let listener = pending.and_then(PendingListener::receive);
    let broker =
        listener.map(|(listener, folders)| Broker::start(listener, folders, group.others()));
    Ok(Spawned {
        child,
        group,
        broker: broker.transpose()?,
        terminal,
    })
}

#[cfg(test)]
mod tests;
