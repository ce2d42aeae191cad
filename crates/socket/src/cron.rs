//! Jobs and heartbeats on the socket. Requests about jobs are calls of `gsv__Cron`, so that rights,
//! rules and the audit apply to them.

use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_wire::{
    CronAddParams, CronListParams, CronPreviewParams, CronPreviewResult, CronRemoveParams,
    CronRunParams, CronRunsParams, CronStatusParams, CronUpdateParams, ErrorShape,
    HeartbeatStartParams, HeartbeatStartResult, HeartbeatStatusParams, HeartbeatStatusResult,
    HeartbeatTriggerParams, HeartbeatTriggerResult, Method,
};
use serde_json::{Value, json};

use super::shape::{parse, shape, value};

/// Translates a `cron.*` method into arguments of `gsv__Cron`.
pub(super) fn arguments(method: Method, params: Value) -> Result<Value, ErrorShape> {
    let (action, mut arguments) = match method {
        Method::CronStatus => ("status", value(&parse::<CronStatusParams>(params)?)?),
        Method::CronList => ("list", value(&parse::<CronListParams>(params)?)?),
        Method::CronAdd => {
            let job = value(&parse::<CronAddParams>(params)?)?;
            ("add", json!({ "job": job }))
        }
        Method::CronUpdate => ("update", value(&parse::<CronUpdateParams>(params)?)?),
        Method::CronRemove => ("remove", value(&parse::<CronRemoveParams>(params)?)?),
        Method::CronRun => ("run", value(&parse::<CronRunParams>(params)?)?),
        _ => ("runs", value(&parse::<CronRunsParams>(params)?)?),
    };
    arguments["action"] = action.into();
    Ok(arguments)
}

/// Computes the next runs of a schedule. Needs no rights: the result depends only on the request.
pub(super) fn preview(
    gateway: &Gateway,
    params: CronPreviewParams,
) -> Result<CronPreviewResult, ErrorShape> {
    gateway.cron().preview(params).map_err(shape)
}

/// Answers the owner's requests about heartbeats.
pub(super) async fn heartbeat(
    gateway: &Gateway,
    admitted: &Admitted,
    method: Method,
    params: Value,
) -> Result<Value, ErrorShape> {
    let cron = gateway.cron();
    match method {
        Method::HeartbeatStatus => {
            let params: HeartbeatStatusParams = parse(params)?;
            let agent = params
                .agent_id
                .map(|named| agent(Some(named)))
                .transpose()?;
            let agents = cron.pulses(agent.as_ref()).await.map_err(shape)?;
            value(&HeartbeatStatusResult { agents })
        }
        Method::HeartbeatStart => {
            let params: HeartbeatStartParams = parse(params)?;
            let agent = agent(params.agent_id)?;
            let heartbeat = cron.start_heartbeat(&agent).await.map_err(shape)?;
            note(gateway, admitted, "heartbeat.start", &agent).await?;
            value(&HeartbeatStartResult {
                ok: true,
                heartbeat,
            })
        }
        _ => {
            let params: HeartbeatTriggerParams = parse(params)?;
            let agent = agent(params.agent_id)?;
            // Audited first: once triggered, the heartbeat may act immediately.
            note(gateway, admitted, "heartbeat.trigger", &agent).await?;
            let run = cron.trigger_heartbeat(&agent).await.map_err(shape)?;
            value(&HeartbeatTriggerResult { ok: true, run })
        }
    }
}

async fn note(
    gateway: &Gateway,
    admitted: &Admitted,
    what: &str,
    agent: &AgentId,
) -> Result<(), ErrorShape> {
    let noted = gateway.note(&admitted.caller, what, agent.as_str()).await;
    noted.map_err(|error| shape(error.into()))
}

fn agent(named: Option<String>) -> Result<AgentId, ErrorShape> {
    let named = named.as_deref().unwrap_or("main");
    let parsed = named.parse::<AgentId>();
    parsed.map_err(|error| shape(ToolError::parameter("agentId", error.to_string())))
}
