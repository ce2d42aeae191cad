//! A pool of warm workers.
//!
//! An unused pool holds nothing. With its first run it starts to keep workers ready, and some minutes after its last it stops
//! them.

mod session;
mod worker;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use manyhands_core::Clock;
use manyhands_guard::{Sandbox, SandboxLimits as ProcessLimits, SuperviseError, Supervisor};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::limits::Limits;
use crate::report::{Fault, FaultKind, Report};
use session::{WorkerOutcome, WorkerSession};
use worker::Worker;

/// How long workers are kept after the last run.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Delay before the next worker is started, so that it does not compete with the run for the CPU.
const REFILL_DELAY: Duration = Duration::from_millis(3);

/// Dependencies of a pool.
pub struct PoolParts {
    /// Starts and counts the workers.
    pub supervisor: Supervisor,
    /// Absolute path of the worker's executable.
    pub program: PathBuf,
    /// Its arguments; with them it must call [`serve`](crate::worker::serve).
    pub args: Vec<String>,
    /// Sandbox of a worker until it confines itself; see [`sandbox`].
    pub sandbox: Sandbox,
    /// Number of warm workers while the pool is in use.
    pub warm: usize,
    /// Measures the duration of runs.
    pub clock: Arc<dyn Clock>,
}

/// Sandbox of a worker with the executable `program`: it may load that and the system's libraries.
pub fn sandbox(program: &Path) -> Sandbox {
    const LIBRARIES: [&str; 6] = [
        "/usr/lib",
        "/usr/lib64",
        "/lib",
        "/lib64",
        "/nix/store",
        "/etc/ld.so.cache",
    ];
    Sandbox {
        read: LIBRARIES
            .iter()
            .map(PathBuf::from)
            .chain([program.to_owned()])
            .collect(),
        write: Vec::new(),
        network: false,
        limits: ProcessLimits {
            cpu_seconds: 30 * 60,
            // A backstop: the engine's own limit is far below, but its allocator also maps address
            // space.
            memory_bytes: 2 << 30,
            // The worker itself; it may never start another.
            processes: 1,
            file_bytes: 0,
            open_files: 64,
        },
    }
}

/// One script to run.
#[derive(Clone)]
pub struct Run {
    /// JavaScript, as the body of an async function.
    pub code: String,
    /// Timeout, including waiting.
    pub timeout: Duration,
    /// Limits.
    pub limits: Limits,
    /// Answers its requests.
    pub host: Arc<dyn Host>,
}

/// Runs scripts. Clones share the workers.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

struct PoolInner {
    parts: PoolParts,
    idle: Mutex<IdleWorkers>,
}

/// The waiting workers.
struct IdleWorkers {
    ready: VecDeque<Worker>,
    /// Whether a task is refilling it.
    filling: bool,
    /// Whether a task will stop idle workers.
    reaping: bool,
    used: Instant,
    running: usize,
}

impl Pool {
    /// Creates an empty pool.
    pub fn new(parts: PoolParts) -> Self {
        let idle = IdleWorkers {
            ready: VecDeque::new(),
            filling: false,
            reaping: false,
            used: Instant::now(),
            running: 0,
        };
        Self(Arc::new(PoolInner {
            parts,
            idle: Mutex::new(idle),
        }))
    }

    /// Number of waiting workers.
    pub fn waiting(&self) -> usize {
        self.0.idle().ready.len()
    }

    /// Runs a script until it ends or `cancel` fires. Dropping the future ends the script, too.
    pub async fn run(&self, run: Run, cancel: CancellationToken) -> Report {
        let clock = Arc::clone(&self.0.parts.clock);
        let started = clock.monotonic();
        let mut session = WorkerSession::new(&run, clock.as_ref(), started);
        let outcome = match too_long(&run) {
            Some(fault) => Err(fault),
            None => self.within_time(&run, &mut session, &cancel).await,
        };
        session.report(outcome, clock.monotonic().saturating_sub(started))
    }

    async fn within_time(
        &self,
        run: &Run,
        session: &mut WorkerSession<'_>,
        cancel: &CancellationToken,
    ) -> Result<serde_json::Value, Fault> {
        let _running = ActiveRun::start_run(&self.0);
        tokio::select! {
            // Biased: a cancelled run must not be reported as timed out.
            biased;
            () = cancel.cancelled() => {
                Err(Fault::new(FaultKind::Cancelled, "the run was cancelled"))
            }
            () = tokio::time::sleep(run.timeout) => Err(Fault::new(
                FaultKind::Timeout,
                format!(
                    "the script timed out after {:?}; process less data at a time, or raise the timeout",
                    run.timeout
                ),
            )),
            outcome = self.in_a_worker(session) => outcome,
        }
    }

    /// Runs in a worker; one that died while it was waiting is replaced.
    async fn in_a_worker(
        &self,
        session: &mut WorkerSession<'_>,
    ) -> Result<serde_json::Value, Fault> {
        loop {
            let ready = self.0.idle().ready.pop_front();
            let waited = ready.is_some();
            let worker = match ready {
                Some(worker) => worker,
                None => self.0.start().map_err(|error| unavailable(&error))?,
            };
            // Refilled as soon as one is taken, so that a burst of runs finds warm workers.
            PoolInner::fill(&self.0);
            match session.run(worker).await {
                WorkerOutcome::Finished(outcome) => return outcome,
                WorkerOutcome::NeverStarted(_) if waited => {}
                WorkerOutcome::NeverStarted(fault) => return Err(fault),
            }
        }
    }
}

impl PoolInner {
    fn idle(&self) -> std::sync::MutexGuard<'_, IdleWorkers> {
        self.idle
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn start(&self) -> Result<Worker, SuperviseError> {
        let parts = &self.parts;
        Worker::start(
            &parts.supervisor,
            &parts.program,
            &parts.args,
            &parts.sandbox,
        )
    }

    /// Refills the pool in the background.
    fn fill(pool: &Arc<Self>) {
        {
            let mut idle = pool.idle();
            if idle.filling || idle.ready.len() >= pool.parts.warm {
                return;
            }
            idle.filling = true;
        }
        let filling = RefillGuard(Arc::clone(pool));
        tokio::spawn(async move {
            let filling = filling; // moved as a whole, so that its `Drop` runs when the task ends
            let pool = &filling.0;
            // The run that took a worker comes first; the next one is started while it is waiting for tools.
            tokio::time::sleep(REFILL_DELAY).await;
            loop {
                let worker = pool.start();
                let mut idle = pool.idle();
                match worker {
                    Ok(worker) => idle.ready.push_back(worker),
                    // Only debug: the next run reports the error if it persists.
                    Err(error) => {
                        tracing::debug!(event = "script_worker_start_failed", %error, "failed to start a warm worker");
                        return;
                    }
                }
                if idle.ready.len() >= pool.parts.warm {
                    return;
                }
            }
        });
    }

    /// Stops the waiting workers after some idle time.
    fn reap_idle(pool: &Arc<Self>) {
        {
            let mut idle = pool.idle();
            if idle.reaping {
                return;
            }
            idle.reaping = true;
        }
        // Weak: the task must not keep a pool alive that nobody uses any more.
        let weak: Weak<Self> = Arc::downgrade(pool);
        tokio::spawn(async move {
            loop {
                let Some(until) = weak.upgrade().map(|pool| pool.idle().used + IDLE_TIMEOUT) else {
                    return;
                };
                tokio::time::sleep_until(until).await;
                let Some(pool) = weak.upgrade() else { return };
                let mut idle = pool.idle();
                if idle.running == 0 && Instant::now() >= idle.used + IDLE_TIMEOUT {
                    idle.reaping = false;
                    let ready = std::mem::take(&mut idle.ready);
                    // Released first: stopping the workers takes a while.
                    drop(idle);
                    drop(ready);
                    return;
                }
                // An active run counts as use.
                if idle.running > 0 {
                    idle.used = Instant::now();
                }
            }
        });
    }
}

/// Marks the pool as being refilled until dropped, even by a panic.
struct RefillGuard(Arc<PoolInner>);

impl Drop for RefillGuard {
    fn drop(&mut self) {
        self.0.idle().filling = false;
    }
}

/// Counts an active run until dropped.
struct ActiveRun<'a>(&'a Arc<PoolInner>);

impl<'a> ActiveRun<'a> {
    fn start_run(pool: &'a Arc<PoolInner>) -> Self {
        {
            let mut idle = pool.idle();
            idle.running += 1;
            idle.used = Instant::now();
        }
        PoolInner::reap_idle(pool);
        Self(pool)
    }
}

impl Drop for ActiveRun<'_> {
    fn drop(&mut self) {
        let mut idle = self.0.idle();
        idle.running -= 1;
        idle.used = Instant::now();
    }
}

fn too_long(run: &Run) -> Option<Fault> {
    let (long, limit) = (run.code.len(), run.limits.code);
    (long > limit).then(|| {
        Fault::new(
            FaultKind::Syntax,
            format!(
                "the code has {long} bytes and the limit is {limit}; keep data out of the code"
            ),
        )
    })
}

fn unavailable(error: &SuperviseError) -> Fault {
    Fault::new(
        FaultKind::Unavailable,
        format!("cannot start a process for the script: {error}"),
    )
}
