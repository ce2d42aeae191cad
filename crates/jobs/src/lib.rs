//! Scheduled jobs: which are due, running them, and what came of it.
//!
//! `schedule` (pure arithmetic) knows when a job is due, in which time zone, across gaps and
//! repeats of daylight saving. This crate claims due jobs: [`JobScheduler::go_round`] writes one row per
//! job and due time (unique) before anything runs, and the row's id is the run id of its turn. So
//! what a crash interrupts is resumed, and nothing starts twice.
//!
//! - **Missed runs** are made up according to the job's policy, overlapping ones are skipped or
//!   wait; both are visible rows.
//! - **Rights**: a job runs with the rights of whoever created it, as they are at that time. A job
//!   that was changed after untrusted text was read needs approval to send to a named recipient.
//! - **Heartbeats** are jobs of the same scheduler, created from the settings.
//! - **Time** is the gateway's clock alone. A clock set forward looks like time in which the
//!   gateway was off; one set back by hours makes the jobs recalculate their next run.

mod heartbeat;
mod job;
mod plan;
mod preview;
mod run;
mod scheduler;
mod service;
#[cfg(test)]
mod tests;

pub use job::JobInput;
pub use service::{JobRequester, RunMode};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;
use manyhands_agent::Minds;
use manyhands_agent_services::SpawnedAgents;
use manyhands_agent_services::job_delivery::{Deliver, Nowhere};
use manyhands_core::{AgentId, Clock, ErrorCode, Ids, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::Workspace;
use manyhands_store::{Changes, Cron as Records};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Arguments of [`JobScheduler::new`].
pub struct JobSchedulerParts {
    /// The stored jobs.
    pub records: Records,
    /// Set once the gateway is assembled.
    pub minds: Arc<OnceLock<Minds>>,
    /// Spawned agents.
    pub spawned_agents: Arc<SpawnedAgents>,
    /// The agents' workspaces.
    pub workspace: Workspace,
    /// The settings in force.
    pub settings: LiveSettings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
    /// Cancelled when the gateway stops.
    pub stopping: CancellationToken,
}

/// The jobs of one gateway. Clones share state.
#[derive(Clone)]
pub struct JobScheduler {
    inner: Arc<Inner>,
}

struct Inner {
    records: Records,
    minds: Arc<OnceLock<Minds>>,
    spawned_agents: Arc<SpawnedAgents>,
    workspace: Workspace,
    settings: LiveSettings,
    clock: Arc<dyn Clock>,
    ids: Ids,
    stopping: CancellationToken,
    deliver: OnceLock<Arc<dyn Deliver>>,
    /// Signals that something is due earlier than expected, or that a slot is free.
    wake: Notify,
    /// How many scheduled runs are in progress.
    going: AtomicUsize,
    tasks: TaskTracker,
}

impl JobScheduler {
    /// Creates the scheduler; it starts with [`go_round`](Self::go_round).
    pub fn new(parts: JobSchedulerParts) -> Self {
        let inner = Inner {
            records: parts.records,
            minds: parts.minds,
            spawned_agents: parts.spawned_agents,
            workspace: parts.workspace,
            settings: parts.settings,
            clock: parts.clock,
            ids: parts.ids,
            stopping: parts.stopping,
            deliver: OnceLock::new(),
            wake: Notify::new(),
            going: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Sets the delivery to chats. Called once, before anything runs.
    pub fn delivers_by(&self, deliver: Arc<dyn Deliver>) {
        let _ = self.inner.deliver.set(deliver);
    }

    /// Checks now what is due: the clock moved, or the settings changed.
    pub fn look(&self) {
        self.inner.wake.notify_one();
    }

    /// Notifies when jobs change, and when runs start and end.
    pub fn changes(&self) -> &Changes {
        self.inner.records.changes()
    }

    /// Waits until no run is in progress; the gateway must be stopping.
    pub async fn rest(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl Inner {
    fn minds(&self) -> Result<&Minds, ToolError> {
        self.minds
            .get()
            .ok_or_else(|| ToolError::new(ErrorCode::Unavailable, "the gateway is starting"))
    }

    fn deliver(&self) -> Arc<dyn Deliver> {
        let there = self.deliver.get().cloned();
        there.unwrap_or_else(|| Arc::new(Nowhere))
    }

    /// The user's time zone.
    fn zone(&self) -> TimeZone {
        manyhands_schedule::zone(self.settings.current().timezone.as_deref())
    }

    fn going(&self) -> usize {
        self.going.load(Ordering::SeqCst)
    }

    fn knows_agent(&self, agent: &AgentId) -> bool {
        let settings = self.settings.current();
        *agent == AgentId::main()
            || settings.agents.contains_key(agent)
            || self.spawned_agents.settings(agent).is_some()
    }
}
