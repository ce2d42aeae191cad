//! `gsv__SessionSend`

use std::time::Duration;

use manyhands_agent::{Input, TurnOutcome};
use manyhands_agent_services::session_key;
use manyhands_core::{CallContext, Effects, ErrorCode, Outcome, ToolError, ToolSpec, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agent_deps::{AgentToolDeps, caller_origin};
use crate::registration::{Registration, always, typed};

const DEFAULT_WAIT: u32 = 30;

/// Send a message into another session, which starts a turn there, and wait for the reply to it. A message that
/// could only be answered after your own answer (to your own session, or to one that waits for it) is refused, and so is one past five
/// sessions that wait for one another.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Target session key (e.g. "main", "agent:helper:main").
    #[schemars(length(min = 1))]
    session_key: String,
    /// Message text to send.
    #[schemars(length(min = 1))]
    message: String,
    /// Seconds to wait for a reply. 0 is fire-and-forget. Default 30, maximum 120.
    #[schemars(range(max = 120))]
    wait_seconds: Option<u32>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// `replied`, `pending` if no reply came in time, or `sent` if none was awaited.
    status: &'static str,
    /// Full session key.
    session_key: String,
    /// The turn the message started.
    turn_id: String,
    /// Its run id in events.
    run_id: String,
    /// The reply to this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__SessionSend",
    enabled: always,
    build: |deps| typed(SessionSend(deps.agents())),
};

struct SessionSend(AgentToolDeps);

impl TypedTool for SessionSend {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::SENDS.and(Effects::READS))
            .deadline(Duration::from_secs(150))
            .waits_for_turns()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let key = session_key(&context.caller, &context.agent, &params.session_key)?;
        let minds = self.0.minds()?;
        let input = Input::text(params.message);
        let mut pending = minds.ask(&key, input, &caller_origin(context)).await?;
        let mut output = Output {
            status: "sent",
            session_key: key.to_string(),
            turn_id: pending.sent.turn.clone(),
            run_id: pending.sent.run_id.clone(),
            reply: None,
        };
        let wait = params.wait_seconds.unwrap_or(DEFAULT_WAIT);
        if wait == 0 {
            return Ok(Outcome::of(&output)?.clean(true));
        }
        let mut ignore = |_: &_| {};
        let answer = tokio::select! {
            answer = pending.answer(&mut ignore) => answer?,
            () = tokio::time::sleep(Duration::from_secs(wait.into())) => {
                output.status = "pending";
                return Ok(Outcome::of(&output)?.clean(true));
            }
            () = context.cancel.cancelled() => {
                // The message was stored before the wait began, so it stays.
                let message = "cancelled while waiting for a reply; the message was sent";
                return Err(ToolError::new(ErrorCode::Cancelled, message));
            }
        };
        let failed = match answer.end {
            TurnOutcome::Answered(text) => {
                output.status = "replied";
                output.reply = Some(text);
                return Ok(Outcome::of(&output)?.tainted_by(answer.tainted));
            }
            TurnOutcome::Failed(error) => format!("{key} did not reply: {error}"),
            TurnOutcome::Stopped => format!("{key} did not reply: its turn was stopped"),
        };
        Err(ToolError {
            details: Some(json!({ "turnId": output.turn_id, "runId": output.run_id })),
            ..ToolError::new(ErrorCode::Failed, failed)
        })
    }
}
