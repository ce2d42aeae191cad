//! Jobs with a schedule: who is due, who runs, and what came of it.
//!
//! [`Cron::go_round`] looks at what is due and takes it up: the row of the instant is on disk before
//! the run begins, and the run's id is the run id of its turn. So whatever a crash cuts off goes on
//! where it was, and nothing is begun twice. A job runs with the rights of whoever made it, as they
//! are then.
//!
//! Time is the gateway's clock alone. A clock that is put forward is like time in which nobody was
//! there; one that is put far back makes the jobs look for their next instant anew.

mod deliver;
mod desk;
mod heartbeat;
mod job;
mod plan;
mod preview;
mod run;
mod scheduler;
#[cfg(test)]
mod tests;

pub(crate) use deliver::{Deliver, Delivered, Target};
pub(crate) use desk::{Asker, RunMode};
pub(crate) use job::JobInput;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;
use manyhands_agent::Minds;
use manyhands_core::{AgentId, Clock, ErrorCode, Ids, ToolError};
use manyhands_store::{Changes, Cron as Records};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::minds::Kin;
use crate::settings::LiveSettings;
use crate::workspace::Workspace;

/// What the jobs of a gateway stand on.
pub(crate) struct CronParts {
    pub(crate) records: Records,
    /// There once the gateway is put together.
    pub(crate) minds: Arc<OnceLock<Minds>>,
    pub(crate) kin: Arc<Kin>,
    pub(crate) workspace: Workspace,
    pub(crate) settings: LiveSettings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    /// Fires when the gateway is on its way down.
    pub(crate) stopping: CancellationToken,
}

/// The jobs of one gateway. Clones are the same.
#[derive(Clone)]
pub(crate) struct Cron {
    inner: Arc<Inner>,
}

struct Inner {
    records: Records,
    minds: Arc<OnceLock<Minds>>,
    kin: Arc<Kin>,
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
    pub(crate) fn new(parts: CronParts) -> Self {
        let inner = Inner {
            records: parts.records,
            minds: parts.minds,
            kin: parts.kin,
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
    pub(crate) fn delivers_by(&self, deliver: Arc<dyn Deliver>) {
        let _ = self.inner.deliver.set(deliver);
    }

    /// Has a look at what is due now: the clock moved, or the settings changed.
    pub(crate) fn look(&self) {
        self.inner.wake.notify_one();
    }

    /// Tells when jobs change, and when runs begin and end.
    pub(crate) fn changes(&self) -> &Changes {
        self.inner.records.changes()
    }

    /// Waits until no run goes on; the gateway must be stopping.
    pub(crate) async fn rest(&self) {
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
        there.unwrap_or_else(|| Arc::new(deliver::Nowhere))
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
            || self.kin.settings(agent).is_some()
    }
}
