//! A run of an agent, followed to its end by whoever asked for it. The run itself depends on
//! nobody: it is on disk, and goes on when its follower goes away.

use std::sync::Arc;

use manyhands_agent::{
    ChatListener, Input, InputReceipt, Lagged, SessionKey, Subscription, TurnEvent, ended,
};
use manyhands_core::{ApprovalId, ErrorCode, Invoke, ToolError};
use manyhands_gateway::{Admitted, Gateway, origin};
use manyhands_http_common::Refusal;
use manyhands_store::{ApprovalState, TurnRecord, TurnState};
use serde::Deserialize;

/// A run on its way.
pub(super) struct Run {
    gateway: Arc<Gateway>,
    asker: Admitted,
    events: ChatListener,
    /// The session.
    pub(super) key: SessionKey,
    /// The input.
    pub(super) sent: InputReceipt,
    /// Whether something may have happened that no event will tell.
    look: bool,
    /// The question that was told last.
    told: Option<ApprovalId>,
    ended: bool,
    missed: bool,
}

impl Run {
    /// Sends an input into a session. The same `run_id` sent again is the run that is there.
    pub(super) async fn start(
        gateway: &Arc<Gateway>,
        asker: Admitted,
        key: SessionKey,
        run_id: Option<String>,
        input: Input,
    ) -> Result<Self, ToolError> {
        let minds = gateway.minds();
        let events = minds.listen(Subscription::Session(&key)); // before it is sent, so that nothing is missed
        let sent = minds.send(&key, run_id, input, &origin(&asker)).await?;
        Ok(Self {
            gateway: gateway.clone(),
            asker,
            events,
            key,
            look: sent.repeated,
            sent,
            told: None,
            ended: false,
            missed: false,
        })
    }

    /// What happens next; `None` after the end. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<TurnEvent, ToolError>> {
        if self.ended {
            return None;
        }
        let next = self.happens().await;
        self.ended = next.as_ref().map_or(true, TurnEvent::is_end);
        if let Ok(TurnEvent::Paused { approval, .. }) = &next {
            self.told = Some(*approval);
        }
        Some(next)
    }

    /// Whether events were missed before what came last; its follower was too slow for them.
    pub(super) fn missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    async fn happens(&mut self) -> Result<TurnEvent, ToolError> {
        let gateway = self.gateway.clone();
        loop {
            if self.look {
                let kept = self.kept().await?;
                self.look = false;
                if let Some(what) = kept {
                    return Ok(what);
                }
            }
            let event = tokio::select! {
                biased;
                lapsed = gateway.doorman.lapsed(&self.asker) => return Err(lapsed),
                event = self.events.next() => event,
                () = gateway.stopping().cancelled() => return Err(stopping()),
            };
            match event {
                // That it was taken is known: it was sent here.
                Ok(event) if matches!(event.what, TurnEvent::Taken { .. }) => {}
                Ok(event) if event.run_id == self.sent.run_id && event.session == self.key => {
                    return Ok(event.what.clone());
                }
                Ok(_) => {}
                Err(Lagged(_)) => (self.look, self.missed) = (true, true),
            }
        }
    }

    /// How it ended, or what it waits for, as it is on disk.
    async fn kept(&self) -> Result<Option<TurnEvent>, ToolError> {
        let turn = self.gateway.minds().turn(&self.sent.turn).await?;
        let gone = || ToolError::not_found("what came of this run is no longer kept");
        let turn = turn.ok_or_else(gone)?;
        match turn.state {
            TurnState::Waiting => self.question(&turn).await,
            _ => Ok(ended(&turn)),
        }
    }

    /// The question that a turn waits for, unless it was told.
    async fn question(&self, turn: &TurnRecord) -> Result<Option<TurnEvent>, ToolError> {
        #[derive(Deserialize)]
        struct Work {
            step: i64,
        }
        let step = serde_json::from_str(&turn.work).map_or(0, |work: Work| work.step);
        let calls = self.gateway.store.sessions().calls(&turn.id, step).await;
        let calls = calls.map_err(|e| Refusal::from(e).0)?;
        let catalogue = self.gateway.path.catalogue();
        let asked = |name: &str| {
            let named = |tool: &str| {
                catalogue
                    .resolve(tool)
                    .is_some_and(|t| t.spec().name.as_str() == name)
            };
            calls.iter().any(|call| named(&call.tool))
        };
        let pending = self.gateway.path.approvals();
        let pending = pending.list(Some(ApprovalState::Pending)).await;
        let pending = pending.map_err(|e| Refusal::from(e).0)?;
        let ours = pending.into_iter().find(|question| {
            question.agent == *self.key.agent()
                && question.caller == self.asker.caller.key()
                && asked(&question.tool)
        });
        Ok(ours
            .filter(|question| self.told != Some(question.id))
            .map(|question| TurnEvent::Paused {
                approval: question.id,
                tool: question.tool,
                arguments: question.arguments,
            }))
    }
}

fn stopping() -> ToolError {
    let message = "the gateway is stopping; the run goes on after its next start";
    ToolError::new(ErrorCode::Unavailable, message).hint("ask again with the same runId")
}
