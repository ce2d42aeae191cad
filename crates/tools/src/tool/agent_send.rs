//! `tool::agent_send`

use manyhands_core::{
    AgentId, CallContext, Effects, ErrorCode, Outcome, RunsOn, ToolError, ToolSpec, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_deps::{AgentToolDeps, caller_origin};
use crate::registration::{Registration, typed};

/// Longest message, in bytes.
const MAX_BYTES: usize = 100 * 1024;

/// Send a message to another agent. It waits on disk until it is in the other's main session, where it stands as data from
/// you. At most 100 KB, 1000 waiting for one agent, and 10 a minute between two agents, both directions together.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Sending agent's ID: your own.
    #[schemars(length(min = 1))]
    agent_id: String,
    /// Receiving agent's ID.
    #[schemars(length(min = 1))]
    target_agent_id: String,
    /// Message content (max 100KB).
    #[schemars(length(min = 1))]
    message: String,
}

/// Confirmation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Confirmation of message queuing.
    sent: bool,
    /// The recipient agent ID.
    #[schemars(with = "String")]
    target_agent_id: AgentId,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::agent_send",
    enabled: |tools| tools.agent_send.enabled,
    build: |deps| typed(AgentSend(deps.agents())),
};

struct AgentSend(AgentToolDeps);

impl TypedTool for AgentSend {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::SENDS)
            .runs_on(RunsOn::Gateway)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let own = &context.agent;
        if params.agent_id != own.as_str() {
            let message =
                format!("agentId must be your own, {own}: you cannot send as another agent");
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        if params.message.len() > MAX_BYTES {
            let size = params.message.len();
            let message = format!("the message has {size} bytes; the limit is {MAX_BYTES}");
            return Err(ToolError::new(ErrorCode::TooLarge, message)
                .hint("write it to a file and send its path"));
        }
        let target: AgentId =
            params
                .target_agent_id
                .parse()
                .map_err(|e: manyhands_core::InvalidName| {
                    ToolError::parameter("targetAgentId", e.to_string())
                })?;
        if target == *own {
            return Err(ToolError::parameter(
                "targetAgentId",
                "must be another agent",
            ));
        }
        // Before it is stored: a message to an agent that does not exist would wait for ever.
        self.0.minds()?.agent(&target)?;
        let origin = caller_origin(context);
        let post = &self.0.post;
        post.send(&origin, own.clone(), target.clone(), params.message)
            .await?;
        let output = Output {
            sent: true,
            target_agent_id: target,
        };
        Ok(Outcome::of(&output)?.clean(true))
    }
}
