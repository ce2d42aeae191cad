//! Persists the state of a call at the moment the path reaches it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{AgentId, ApprovalId, Question, ToolError, Witness};
use manyhands_store::{CallState, SessionChange, TurnState};
use serde_json::Value;

use crate::event::TurnEvent;
use crate::key::SessionKey;
use crate::origin::Origin;
use crate::runtime::MindsInner;

/// One call of one turn.
pub(super) struct CallWitness {
    pub(super) minds: Arc<MindsInner>,
    /// Key and id of the session.
    pub(super) session: (String, String),
    pub(super) turn: String,
    pub(super) run_id: String,
    /// Step, and index of the call in it.
    pub(super) place: (i64, i64),
    /// The model's id of the call.
    pub(super) call_id: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
    /// Who sent the input.
    pub(super) origin: Origin,
    /// The sessions that wait for this one; their subscribers learn of approval requests too.
    pub(super) above: Vec<String>,
    /// Set when it stops waiting for the owner to let another turn go first.
    pub(super) gave_up: AtomicBool,
    /// When it was asked for and when it began, by the monotonic clock.
    pub(super) times: Mutex<CallTimes>,
}

/// When a call came to its next step, by the monotonic clock.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CallTimes {
    asked: Option<Duration>,
    started: Option<Duration>,
}

impl fmt::Debug for CallWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallWitness({} {})", self.turn, self.tool)
    }
}

impl CallWitness {
    fn times(&self) -> MutexGuard<'_, CallTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the call ran and how long it waited for approval, in milliseconds, if it ends now. `began` is when it was
    /// handed to the path, which may refuse a call without a step.
    pub(super) fn took(&self, began: Duration) -> (u64, u64) {
        let now = self.minds.clock.monotonic();
        let CallTimes { asked, started } = *self.times();
        let millis = |from: Duration, to: Duration| {
            u64::try_from(to.saturating_sub(from).as_millis()).unwrap_or(u64::MAX)
        };
        let waited = asked.map_or(0, |asked| millis(asked, started.unwrap_or(now)));
        match (started, asked) {
            (Some(started), _) => (millis(started, now), waited),
            (None, Some(_)) => (0, waited),
            (None, None) => (millis(began, now), 0),
        }
    }

    async fn commit(&self, acts: Vec<SessionChange>) -> Result<(), ToolError> {
        let (key, id) = &self.session;
        let now = self.minds.clock.now();
        let stored = self.minds.sessions.commit(key, id, acts, now).await;
        stored.map(drop).map_err(|error| {
            ToolError::from(error).context("failed to persist the call, so it was not run")
        })
    }

    /// Publishes an event to the runs that wait for this one.
    async fn publish_above(&self, what: &TurnEvent) {
        for key in &self.above {
            let Ok(open) = self.minds.sessions.open_turns(key).await else {
                continue;
            };
            let waiting = open.iter().find(|turn| turn.state != TurnState::Queued);
            if let Some(turn) = waiting {
                self.minds.publish(key, &turn.run_id, what.clone());
            }
        }
    }

    /// Checks the caller's rights again: they may have been revoked while the call waited for approval.
    fn recheck_rights(&self) -> Result<(), ToolError> {
        let caller = self.minds.env.caller(&self.origin)?;
        let key: Result<SessionKey, _> = self.session.0.parse();
        let agent = key.map_or_else(|_| AgentId::main(), |key| key.agent().clone());
        let caller = caller.through(self.origin.actor(&agent));
        let catalogue = self.minds.path.catalogue();
        let Some(tool) = catalogue.resolve(&self.tool) else {
            return Ok(());
        };
        let question = Question::available(&caller, &agent, tool.spec());
        let question = question.in_session(Some(&self.session.0));
        let verdict = self.minds.path.authorize(question);
        verdict.refused(tool.spec()).map(drop)
    }

    fn turn(&self, state: TurnState) -> SessionChange {
        SessionChange::Turn {
            id: self.turn.clone(),
            state,
            work: None,
            outcome: None,
        }
    }
}

#[async_trait]
impl Witness for CallWitness {
    async fn approval_pending(&self, approval: ApprovalId) {
        // Not fatal: the approval request itself is on disk, and a turn that is still `running` there resumes just as well.
        if let Err(error) = self.commit(vec![self.turn(TurnState::Waiting)]).await {
            tracing::warn!(
                event = "turn_state_not_persisted",
                turn = self.turn,
                %error,
                "failed to persist turn state `waiting`"
            );
        }
        let what = TurnEvent::Paused {
            approval,
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
        };
        self.minds
            .publish_paused(&self.session.0, &self.run_id, what.clone(), &self.call_id);
        self.publish_above(&what).await;
        let now = self.minds.clock.monotonic();
        self.times().asked.get_or_insert(now);
    }

    async fn stop_waiting(&self) {
        self.other_turn_ready().await;
        self.gave_up.store(true, Ordering::SeqCst);
    }

    async fn starting(&self) -> Result<(), ToolError> {
        self.recheck_rights()?;
        let (step, place) = self.place;
        let started = SessionChange::Call {
            turn: self.turn.clone(),
            step,
            place,
            state: CallState::Started,
            outcome: None,
        };
        // On disk before the tool runs, and the tool does not run if this fails. It is what tells a restarted gateway that
        // the call may have taken effect.
        self.commit(vec![started, self.turn(TurnState::Running)])
            .await?;
        let now = self.minds.clock.monotonic();
        self.times().started.get_or_insert(now);
        if self.minds.has_question(&self.session.0) {
            self.minds
                .publish(&self.session.0, &self.run_id, TurnEvent::Resumed);
            self.publish_above(&TurnEvent::Resumed).await;
        }
        Ok(())
    }
}
