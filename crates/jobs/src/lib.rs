//! Jobs with a schedule: who is due, who runs, and what came of it.
//!
//! [`Cron::go_round`] looks at what is due and takes it up: the row of the instant is on disk before
//! the run begins, and the run's id is the run id of its turn. So whatever a crash cuts off goes on
//! where it was, and nothing is begun twice. A job runs with the rights of whoever made it, as they
//! are then.
//!
//! Time is the gateway's clock alone. A clock that is put forward is like time in which nobody was
//! there; one that is put far back makes the jobs look for their next instant anew.

mod desk;
mod heartbeat;
mod job;
mod plan;
mod preview;
mod run;
mod scheduler;
#[cfg(test)]
mod tests;

pub use desk::{Asker, RunMode};
pub use job::JobInput;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;
use manyhands_agent::Minds;
use manyhands_agent_services::SpawnedAgents;
use manyhands_agent_services::job_delivery::{Deliver, Nowhere};
use manyhands_core::{AgentId, Clock, ErrorCode, Ids, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::Workspace;
use manyhands_store::{Changes, Cron as Records, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the jobs of a gateway stand on.
pub struct CronParts {
    /// The stored jobs.
    pub records: Records,
    /// There once the gateway is put together.
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
    /// Fires when the gateway is on its way down.
    pub stopping: CancellationToken,
}

/// The jobs of one gateway. Clones are the same.
#[derive(Clone)]
pub struct Cron {
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
    /// Something is due earlier than was thought, or a place is free.
    wake: Notify,
    /// How many runs of the schedule go on.
    going: AtomicUsize,
    tasks: TaskTracker,
}

impl Cron {
    /// The jobs on `parts`.
    pub fn new(parts: CronParts) -> Self {
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

    /// Who takes words to chats; said once, before anything runs.
    pub fn delivers_by(&self, deliver: Arc<dyn Deliver>) {
        let _ = self.inner.deliver.set(deliver);
    }

    /// Has a look at what is due now: the clock moved, or the settings changed.
    pub fn look(&self) {
        self.inner.wake.notify_one();
    }

    /// Tells when jobs change, and when runs begin and end.
    pub fn changes(&self) -> &Changes {
        self.inner.records.changes()
    }

    /// Waits until no run goes on; the gateway must be stopping.
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

    /// The zone of the user's clocks.
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

/// An error of the store, for whoever asked.
fn kept(error: StoreError) -> ToolError {
    match error {
        StoreError::NotFound { .. } => ToolError::not_found(error.to_string()),
        StoreError::Changed { .. } => ToolError::new(ErrorCode::Conflict, error.to_string()),
        StoreError::Corrupt { .. } => ToolError::internal(error.to_string()),
        other => ToolError::new(ErrorCode::Unavailable, other.to_string()),
    }
}
