//! Following a run of an agent. The run does not depend on its follower: it is on disk and
//! continues if the follower disconnects.

use std::sync::Arc;

use manyhands_agent::{
    ChatListener, Input, InputReceipt, Lagged, SessionKey, Subscription, TurnEvent, ended,
};
use manyhands_core::{ApprovalId, ErrorCode, Invoke, ToolError};
use manyhands_gateway::{Admitted, Gateway, origin};
use manyhands_http_common::Refusal;
use manyhands_store::{ApprovalState, TurnRecord, TurnState};
use serde::Deserialize;

/// A run being followed.
pub(super) struct AgentRun {
    gateway: Arc<Gateway>,
    admitted: Admitted,
    events: ChatListener,
    /// The session.
    pub(super) key: SessionKey,
    /// The input.
    pub(super) sent: InputReceipt,
    /// Whether events may have been missed, so that the record must be read.
    reread: bool,
    /// The approval request reported last.
    reported: Option<ApprovalId>,
    ended: bool,
    missed: bool,
}

impl AgentRun {
    /// Sends an input to a session. Sending the same `run_id` again returns the existing run.
    pub(super) async fn start(
        gateway: &Arc<Gateway>,
        admitted: Admitted,
        key: SessionKey,
        run_id: Option<String>,
        input: Input,
    ) -> Result<Self, ToolError> {
        let minds = gateway.minds();
        // Subscribed before sending, so that no event is missed.
        let events = minds.listen(Subscription::Session(&key));
        let sent = minds.send(&key, run_id, input, &origin(&admitted)).await?;
        Ok(Self {
            gateway: gateway.clone(),
            admitted,
            events,
            key,
            // A repeated run may have ended before the subscription; its record tells.
            reread: sent.repeated,
            sent,
            reported: None,
            ended: false,
            missed: false,
        })
    }

    /// The next event; `None` after the end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<TurnEvent, ToolError>> {
        if self.ended {
            return None;
        }
        let next = self.next_event().await;
        self.ended = next.as_ref().map_or(true, TurnEvent::is_end);
        // Remembered, because the record tells of the same request again after a gap.
        if let Ok(TurnEvent::Paused { approval, .. }) = &next {
            self.reported = Some(*approval);
        }
        Some(next)
    }

    /// Whether events were missed before the last one because the follower was too slow.
    pub(super) fn missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    async fn next_event(&mut self) -> Result<TurnEvent, ToolError> {
        let gateway = self.gateway.clone();
        loop {
            if self.reread {
                let recorded = self.recorded().await?;
                // Cleared only after a successful read: a cancelled one must be repeated.
                self.reread = false;
                if let Some(what) = recorded {
                    return Ok(what);
                }
            }
            let event = tokio::select! {
                // Biased: a revoked token must not receive further events.
                biased;
                lapsed = gateway.auth.lapsed(&self.admitted) => return Err(lapsed),
                event = self.events.next() => event,
                () = gateway.stopping().cancelled() => return Err(stopping()),
            };
            match event {
                // The follower sent the input, so it knows that it was accepted.
                Ok(event) if matches!(event.what, TurnEvent::Taken { .. }) => {}
                Ok(event) if event.run_id == self.sent.run_id && event.session == self.key => {
                    return Ok(event.what.clone());
                }
                Ok(_) => {}
                // After a gap the end may be among the missed events, so the record is read next.
                Err(Lagged(_)) => (self.reread, self.missed) = (true, true),
            }
        }
    }

    /// The recorded end or pending approval of the run.
    async fn recorded(&self) -> Result<Option<TurnEvent>, ToolError> {
        let turn = self.gateway.minds().turn(&self.sent.turn).await?;
        let gone = || ToolError::not_found("the result of this run is no longer stored");
        let turn = turn.ok_or_else(gone)?;
        match turn.state {
            TurnState::Waiting => self.question(&turn).await,
            _ => Ok(ended(&turn)),
        }
    }

    /// The approval a turn waits for, unless it was already reported.
    async fn question(&self, turn: &TurnRecord) -> Result<Option<TurnEvent>, ToolError> {
        #[derive(Deserialize)]
        struct Work {
            step: i64,
        }
        // Written by the agent crate; only the step is needed here.
        let step = serde_json::from_str(&turn.work).map_or(0, |work: Work| work.step);
        let calls = self.gateway.store.sessions().calls(&turn.id, step).await;
        let calls = calls.map_err(|e| Refusal::from(e).0)?;
        // The model may have called the tool by its alias, and the request names it canonically.
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
        // The request is identified by agent, caller and tool.
        let ours = pending.into_iter().find(|question| {
            question.agent == *self.key.agent()
                && question.caller == self.admitted.caller.key()
                && asked(&question.tool)
        });
        Ok(ours
            .filter(|question| self.reported != Some(question.id))
            .map(|question| TurnEvent::Paused {
                approval: question.id,
                tool: question.tool,
                arguments: question.arguments,
            }))
    }
}

fn stopping() -> ToolError {
    let message = "the gateway is stopping; the run continues after the next start";
    ToolError::new(ErrorCode::Unavailable, message).hint("retry with the same runId")
}
