//! Asking a session and waiting for its answer.

use std::sync::Arc;

use manyhands_core::{Caller, ErrorCode, Taint, ToolError};
use manyhands_llm::StopReason;
use manyhands_store::StoreError;

use crate::event::{ChatEvent, TurnEvent};
use crate::input::Input;
use crate::key::SessionKey;
use crate::listener::{ChatListener, Lagged, Subscription};
use crate::origin::Origin;
use crate::outcome::{ended, taint_of};
use crate::runtime::{Minds, MindsInner};
use crate::send::InputReceipt;
use crate::wait_graph::WaitGuard;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// With this text.
    Answered(String),
    /// Without an answer, for this reason.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAnswer {
    /// How the turn ended.
    pub end: TurnOutcome,
    /// The untrusted text that the turn read and that may be part of the answer.
    pub tainted: Taint,
}

/// A queued question whose answer is awaited.
pub struct PendingAnswer {
    /// The queued input.
    pub sent: InputReceipt,
    minds: Arc<MindsInner>,
    key: SessionKey,
    events: ChatListener,
    _waiting: WaitGuard,
}

impl Minds {
    /// Sends an input on behalf of `origin`, whose lineage waits for the answer. Refused if the asked session waits for
    /// the requester.
    pub async fn ask(
        &self,
        key: &SessionKey,
        input: Input,
        origin: &Origin,
    ) -> Result<PendingAnswer, ToolError> {
        self.ask_as(key, None, input, origin).await
    }

    /// The caller behind an origin, with their current rights.
    pub fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError> {
        self.inner.env.caller(origin)
    }

    /// Whether a session has a turn with this run id.
    pub async fn has_run(&self, key: &SessionKey, run_id: &str) -> Result<bool, ToolError> {
        let found = self.inner.sessions.turn_of_run(key.as_str(), run_id).await;
        found.map(|turn| turn.is_some()).map_err(ToolError::from)
    }

    /// Like [`ask`](Self::ask) with the requester's own run id. Asking again with the same id, even after a crash, waits
    /// for the same turn.
    pub async fn ask_as(
        &self,
        key: &SessionKey,
        run_id: Option<String>,
        input: Input,
        origin: &Origin,
    ) -> Result<PendingAnswer, ToolError> {
        let waiting = self.inner.waits.begin(&origin.lineage, key)?;
        // Before sending: a fast turn could end before we listen.
        let events = self.listen(Subscription::Session(key));
        let sent = self.send(key, run_id, input, origin).await?;
        Ok(PendingAnswer {
            sent,
            minds: self.inner.clone(),
            key: key.clone(),
            events,
            _waiting: waiting,
        })
    }
}

impl PendingAnswer {
    /// Waits for the end of the turn, or of the one it was merged into. `on` receives its events.
    pub async fn answer(
        &mut self,
        on: &mut (dyn FnMut(&TurnEvent) + Send),
    ) -> Result<TurnAnswer, ToolError> {
        // A repeated question may have ended before we subscribed.
        if self.sent.repeated
            && let Some(answer) = self.minds.answer_of(&self.sent.turn).await?
        {
            return Ok(answer);
        }
        loop {
            let event = tokio::select! {
                event = self.events.next() => event,
                () = self.minds.env.stopping().cancelled() => {
                    let message = "the gateway is stopping";
                    return Err(ToolError::new(ErrorCode::Unavailable, message));
                }
            };
            match event {
                Ok(event) if self.is_of_this(&event) => {
                    on(&event.what);
                    if event.what.is_end() {
                        // From the records, which also know the taint; the event has only the text.
                        let answer = self.minds.answer_of(&self.sent.turn).await;
                        let answer = answer?;
                        return Ok(answer.unwrap_or_else(|| from_event(&event.what)));
                    }
                }
                Ok(_) => {}
                // The end may be among the events we lost, so ask the records.
                Err(Lagged(_)) => {
                    let answer = self.minds.answer_of(&self.sent.turn).await;
                    if let Some(answer) = answer? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    fn is_of_this(&self, event: &ChatEvent) -> bool {
        event.run_id == self.sent.run_id && event.session == self.key
    }
}

impl MindsInner {
    /// The answer of a turn; `None` while it is running.
    async fn answer_of(&self, turn: &str) -> Result<Option<TurnAnswer>, StoreError> {
        let turn = self.whole_turn(turn).await?;
        Ok(turn.and_then(|turn| {
            let event = ended(&turn)?;
            Some(TurnAnswer {
                end: TurnOutcome::of(&event),
                tainted: taint_of(&turn),
            })
        }))
    }
}

impl TurnOutcome {
    fn of(what: &TurnEvent) -> Self {
        match what {
            TurnEvent::Final { text, stop, .. } => Self::Answered(match stop {
                StopReason::Length => format!("{text}\n[the answer was cut off at its longest]"),
                _ => text.clone(),
            }),
            TurnEvent::Error(failure) => Self::Failed(failure.text.clone()),
            _ => Self::Stopped,
        }
    }
}

/// The answer of a turn whose end could not be stored. What it read is unknown, so it counts as tainted.
fn from_event(what: &TurnEvent) -> TurnAnswer {
    TurnAnswer {
        end: TurnOutcome::of(what),
        tainted: Taint::by("a turn whose end is unknown"),
    }
}
