//! Workers that wait, and runs in them.
//!
//! A pool that nobody uses holds nothing. With its first run it begins to keep workers ready, and
//! some minutes after its last it gives them back.

mod conversation;
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
use conversation::{Conversation, End};
use worker::Worker;

/// How long workers are kept after the last run.
const REST: Duration = Duration::from_secs(5 * 60);

/// How long a run has the machine to itself before the next worker is started.
const BREATH: Duration = Duration::from_millis(3);

/// What a pool is made of.
pub struct PoolParts {
    /// Starts the workers and counts them.
    pub supervisor: Supervisor,
    /// The program that a worker is, by its absolute path.
    pub program: PathBuf,
    /// Its arguments; with them it must call [`serve`](crate::worker::serve).
    pub args: Vec<String>,
    /// What holds a worker until it shuts itself in; see [`sandbox`].
    pub sandbox: Sandbox,
    /// How many workers wait once the pool is in use.
    pub warm: usize,
    /// Tells how long a run took.
    pub clock: Arc<dyn Clock>,
}

/// The sandbox of a worker whose program is at `program`: it may load that and the system's libraries.
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
            memory_bytes: 2 << 30,
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
    /// How long it may take, waiting included.
    pub timeout: Duration,
    /// How much it may use.
    pub limits: Limits,
    /// Who answers it.
    pub host: Arc<dyn Host>,
}

/// Runs scripts. Clones share the workers.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    parts: PoolParts,
    shelf: Mutex<Shelf>,
}

/// What waits.
struct Shelf {
    ready: VecDeque<Worker>,
    /// Whether somebody is filling it up.
    filling: bool,
    /// Whether somebody will clear it away.
    tended: bool,
    used: Instant,
    running: usize,
}

impl Pool {
    /// A pool that holds nothing yet.
    pub fn new(parts: PoolParts) -> Self {
        let shelf = Shelf {
            ready: VecDeque::new(),
            filling: false,
            tended: false,
            used: Instant::now(),
            running: 0,
        };
        Self(Arc::new(Inner {
            parts,
            shelf: Mutex::new(shelf),
        }))
    }

    /// How many workers wait.
    pub fn waiting(&self) -> usize {
        self.0.shelf().ready.len()
    }

    /// Runs a script to its end, or until `cancel` fires. Dropping this ends the script too.
    pub async fn run(&self, run: Run, cancel: CancellationToken) -> Report {
        let clock = Arc::clone(&self.0.parts.clock);
        let started = clock.monotonic();
        let mut conversation = Conversation::new(&run, clock.as_ref(), started);
        let outcome = match too_long(&run) {
            Some(fault) => Err(fault),
            None => self.within_time(&run, &mut conversation, &cancel).await,
        };
        conversation.report(outcome, clock.monotonic().saturating_sub(started))
    }

    async fn within_time(
        &self,
        run: &Run,
        conversation: &mut Conversation<'_>,
        cancel: &CancellationToken,
    ) -> Result<serde_json::Value, Fault> {
        let _running = Running::begin(&self.0);
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                Err(Fault::new(FaultKind::Cancelled, "the run was cancelled"))
            }
            () = tokio::time::sleep(run.timeout) => Err(Fault::new(
                FaultKind::Timeout,
                format!(
                    "the script did not end within {:?}; ask for less at a time, or give it more time",
                    run.timeout
                ),
            )),
            outcome = self.in_a_worker(conversation) => outcome,
        }
    }

    /// Talks to a worker; one that died while it waited is replaced.
    async fn in_a_worker(
        &self,
        conversation: &mut Conversation<'_>,
    ) -> Result<serde_json::Value, Fault> {
        loop {
            let ready = self.0.shelf().ready.pop_front();
            let waited = ready.is_some();
            let worker = match ready {
                Some(worker) => worker,
                None => self.0.start().map_err(|error| unavailable(&error))?,
            };
            Inner::fill(&self.0);
            match conversation.hold(worker).await {
                End::Answer(outcome) => return outcome,
                End::NeverSpoke(_) if waited => {}
                End::NeverSpoke(fault) => return Err(fault),
            }
        }
    }
}

impl Inner {
    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(|held| held.into_inner())
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

    /// Fills the shelf up, beside everything else.
    fn fill(pool: &Arc<Self>) {
        {
            let mut shelf = pool.shelf();
            if shelf.filling || shelf.ready.len() >= pool.parts.warm {
                return;
            }
            shelf.filling = true;
        }
        let filling = Filling(Arc::clone(pool));
        tokio::spawn(async move {
            let filling = filling; // all of it, not only what is used below
            let pool = &filling.0;
            // The run that took one comes first; the next is readied while it is under way.
            tokio::time::sleep(BREATH).await;
            loop {
                let worker = pool.start();
                let mut shelf = pool.shelf();
                match worker {
                    Ok(worker) => shelf.ready.push_back(worker),
                    // The next run says why, if it is still so.
                    Err(error) => {
                        tracing::debug!(%error, "no worker could be kept ready");
                        return;
                    }
                }
                if shelf.ready.len() >= pool.parts.warm {
                    return;
                }
            }
        });
    }

    /// Clears the shelf once nothing has run for a while.
    fn tend(pool: &Arc<Self>) {
        {
            let mut shelf = pool.shelf();
            if shelf.tended {
                return;
            }
            shelf.tended = true;
        }
        let weak: Weak<Self> = Arc::downgrade(pool);
        tokio::spawn(async move {
            loop {
                let Some(until) = weak.upgrade().map(|pool| pool.shelf().used + REST) else {
                    return;
                };
                tokio::time::sleep_until(until).await;
                let Some(pool) = weak.upgrade() else { return };
                let mut shelf = pool.shelf();
                if shelf.running == 0 && Instant::now() >= shelf.used + REST {
                    shelf.tended = false;
                    let ready = std::mem::take(&mut shelf.ready);
                    drop(shelf);
                    drop(ready);
                    return;
                }
                // A run that goes on counts as use.
                if shelf.running > 0 {
                    shelf.used = Instant::now();
                }
            }
        });
    }
}

/// Somebody fills the shelf up until this is dropped, also by a panic.
struct Filling(Arc<Inner>);

impl Drop for Filling {
    fn drop(&mut self) {
        self.0.shelf().filling = false;
    }
}

/// Counts a run, however it ends.
struct Running<'a>(&'a Arc<Inner>);

impl<'a> Running<'a> {
    fn begin(pool: &'a Arc<Inner>) -> Self {
        {
            let mut shelf = pool.shelf();
            shelf.running += 1;
            shelf.used = Instant::now();
        }
        Inner::tend(pool);
        Self(pool)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut shelf = self.0.shelf();
        shelf.running -= 1;
        shelf.used = Instant::now();
    }
}

fn too_long(run: &Run) -> Option<Fault> {
    let (long, most) = (run.code.len(), run.limits.code);
    (long > most).then(|| {
        Fault::new(
            FaultKind::Syntax,
            format!("the code is {long} bytes and may be {most}; keep data out of the code"),
        )
    })
}

fn unavailable(error: &SuperviseError) -> Fault {
    Fault::new(
        FaultKind::Unavailable,
        format!("no process could be started for the script: {error}"),
    )
}
