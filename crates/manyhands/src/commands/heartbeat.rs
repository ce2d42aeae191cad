//! `heartbeat`: agents that run on their own at an interval.

use std::process::ExitCode;

use manyhands_core::{AgentId, Envelope};
use manyhands_wire::{
    CronRun, HeartbeatStartParams, HeartbeatStartResult, HeartbeatState, HeartbeatStatusParams,
    HeartbeatStatusResult, HeartbeatTriggerParams, HeartbeatTriggerResult, Params,
};
use serde::de::DeserializeOwned;

use crate::args::Heartbeat;
use crate::context::CliContext;
use crate::socket::Socket;
use manyhands_terminal::output::{self, Done, Failure};

/// Shows heartbeats, enables one, or runs one now.
pub async fn run(heartbeat: Heartbeat, ctx: &CliContext) -> Done {
    match heartbeat {
        Heartbeat::Status { agent, json } => {
            let asked = HeartbeatStatusParams {
                agent_id: named(agent),
            };
            let status: HeartbeatStatusResult = ask(ctx, &asked).await?;
            if json {
                output::json(&status);
                return Ok(ExitCode::SUCCESS);
            }
            let rows = status.agents.iter().map(row).collect();
            output::table(
                &[
                    "AGENT",
                    "INTERVAL",
                    "ACTIVE HOURS",
                    "DELIVERS TO",
                    "LAST RUN",
                ],
                rows,
            );
        }
        Heartbeat::Start { agent } => {
            let asked = HeartbeatStartParams {
                agent_id: named(agent),
            };
            let started: HeartbeatStartResult = ask(ctx, &asked).await?;
            let HeartbeatState {
                agent_id,
                every_minutes,
                ..
            } = started.heartbeat;
            output::print_line(format!(
                "heartbeat of {agent_id} enabled: {}",
                interval(every_minutes)
            ));
        }
        Heartbeat::Trigger { agent } => {
            let asked = HeartbeatTriggerParams {
                agent_id: named(agent),
            };
            let looked: HeartbeatTriggerResult = ask(ctx, &asked).await?;
            output::print_line(words(&looked.run));
            // Skipped is not a failure: there was nothing to do.
            if looked.run.status == "error" {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn interval(minutes: u32) -> String {
    match minutes {
        1 => "every minute".to_owned(),
        _ => format!("every {minutes} minutes"),
    }
}

fn named(agent: Option<AgentId>) -> Option<String> {
    agent.map(|agent| agent.to_string())
}

fn row(one: &HeartbeatState) -> Vec<String> {
    let looks = match one.enabled {
        true => interval(one.every_minutes),
        false => "disabled".to_owned(),
    };
    vec![
        one.agent_id.clone(),
        looks,
        format!("{} to {}", one.active_from, one.active_until),
        one.target.clone(),
        one.last.as_ref().map(words).unwrap_or_default(),
    ]
}

/// One-line summary of a run.
fn words(run: &CronRun) -> String {
    let about = run.error.as_deref().or(run.summary.as_deref());
    match about.filter(|about| !about.is_empty()) {
        Some(about) => format!("{}: {}", run.status, output::one_line(about)),
        None => run.status.clone(),
    }
}

async fn ask<P: Params, R: DeserializeOwned>(ctx: &CliContext, params: &P) -> Result<R, Failure> {
    let remote = ctx.remote()?;
    let refused = |answer: Envelope| Failure(answer.error.unwrap_or_default());
    let socket = Socket::open(remote.url(), remote.token()).await;
    let mut socket = socket.map_err(refused)?;
    let answer = socket.request(params, |_| {}).await.map_err(refused)?;
    serde_json::from_value(answer).map_err(|e| Failure(e.to_string()))
}
