//! Keeps where a call of a turn stands, at the moment it gets there.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use manyhands_core::{AgentId, ApprovalId, Question, ToolError, Witness};
use manyhands_store::{CallState, SessionChange, TurnState};
use serde_json::Value;

use crate::event::What;
use crate::key::SessionKey;
use crate::minds::Inner;
use crate::outside::Origin;

/// One call of one turn.
pub(super) struct CallWitness {
    pub(super) minds: Arc<Inner>,
    /// Key and id.
    pub(super) session: (String, String),
    pub(super) turn: String,
    pub(super) run_id: String,
    /// Which reply, and which of its calls.
    pub(super) place: (i64, i64),
    /// The model's id of the call.
    pub(super) call_id: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
    /// Who asked for it.
    pub(super) origin: Origin,
    /// The sessions that wait for this one, which are told too what it waits for.
    pub(super) above: Vec<String>,
    /// Whether it no longer waits for the owner, to let others go first.
    pub(super) gave_up: AtomicBool,
}

impl fmt::Debug for CallWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallWitness({} {})", self.turn, self.tool)
    }
}

impl CallWitness {
    async fn commit(&self, acts: Vec<SessionChange>) -> Result<(), ToolError> {
        let (key, id) = &self.session;
        let now = self.minds.clock.now();
        let kept = self.minds.sessions.commit(key, id, acts, now).await;
        kept.map(drop).map_err(|error| {
            ToolError::from(error).context("failed to persist the step, so nothing was run")
        })
    }

    /// Tells those who wait for this, in the runs in which they do.
    async fn tell_above(&self, what: &What) {
        for key in &self.above {
            let Ok(open) = self.minds.sessions.open_turns(key).await else {
                continue;
            };
            let waiting = open.iter().find(|turn| turn.state != TurnState::Queued);
            if let Some(turn) = waiting {
                self.minds.tell(key, &turn.run_id, what.clone());
            }
        }
    }

    /// The caller may have lost the right while the call waited.
    fn may_still(&self) -> Result<(), ToolError> {
        let caller = self.minds.house.caller(&self.origin)?;
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
    async fn waits(&self, approval: ApprovalId) {
        if let Err(error) = self.commit(vec![self.turn(TurnState::Waiting)]).await {
            tracing::warn!(%error, "failed to persist turn state `waiting`");
        }
        let what = What::Paused {
            approval,
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
        };
        self.minds
            .tell_asked(&self.session.0, &self.run_id, what.clone(), &self.call_id);
        self.tell_above(&what).await;
    }

    async fn gives_up(&self) {
        self.others_come().await;
        self.gave_up.store(true, Ordering::SeqCst);
    }

    async fn starts(&self) -> Result<(), ToolError> {
        self.may_still()?;
        let (step, place) = self.place;
        let started = SessionChange::Call {
            turn: self.turn.clone(),
            step,
            place,
            state: CallState::Started,
            outcome: None,
        };
        self.commit(vec![started, self.turn(TurnState::Running)])
            .await?;
        if self.minds.has_question(&self.session.0) {
            self.minds
                .tell(&self.session.0, &self.run_id, What::Resumed);
            self.tell_above(&What::Resumed).await;
        }
        Ok(())
    }
}
