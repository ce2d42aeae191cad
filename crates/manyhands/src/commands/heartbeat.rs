//! `heartbeat`: an agent that looks by itself whether there is something to do.

use std::process::ExitCode;

use manyhands_core::{AgentId, Envelope};
use manyhands_wire::{
    CronRun, HeartbeatStartParams, HeartbeatStartResult, HeartbeatState, HeartbeatStatusParams,
    HeartbeatStatusResult, HeartbeatTriggerParams, HeartbeatTriggerResult, Params,
};
use serde::de::DeserializeOwned;

use crate::args::Heartbeat;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};
use crate::socket::Socket;

/// Shows how heartbeats stand, switches one on, or has an agent look now.
pub async fn run(heartbeat: Heartbeat, ground: &Ground) -> Done {
    match heartbeat {
        Heartbeat::Status { agent, json } => {
            let asked = HeartbeatStatusParams {
                agent_id: named(agent),
            };
            let status: HeartbeatStatusResult = ask(ground, &asked).await?;
            if json {
                output::json(&status);
                return Ok(ExitCode::SUCCESS);
            }
            let rows = status.agents.iter().map(row).collect();
            output::table(&["AGENT", "LOOKS", "WHEN", "SPEAKS UP", "LAST"], rows);
        }
        Heartbeat::Start { agent } => {
            let asked = HeartbeatStartParams {
                agent_id: named(agent),
            };
            let started: HeartbeatStartResult = ask(ground, &asked).await?;
            let HeartbeatState {
                agent_id,
                every_minutes,
                ..
            } = started.heartbeat;
            output::say(format!("{agent_id} looks every {every_minutes} minutes"));
        }
        Heartbeat::Trigger { agent } => {
            let asked = HeartbeatTriggerParams {
                agent_id: named(agent),
            };
            let looked: HeartbeatTriggerResult = ask(ground, &asked).await?;
            output::say(words(&looked.run));
            if looked.run.status == "error" {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn named(agent: Option<AgentId>) -> Option<String> {
    agent.map(|agent| agent.to_string())
}

fn row(one: &HeartbeatState) -> Vec<String> {
    let looks = match one.enabled {
        true => format!("every {} minutes", one.every_minutes),
        false => "when it is asked".to_owned(),
    };
    vec![
        one.agent_id.clone(),
        looks,
        format!("{} to {}", one.active_from, one.active_until),
        one.target.clone(),
        one.last.as_ref().map(words).unwrap_or_default(),
    ]
}

/// What came of a look, in a line.
fn words(run: &CronRun) -> String {
    let about = run.error.as_deref().or(run.summary.as_deref());
    match about.filter(|about| !about.is_empty()) {
        Some(about) => format!("{}: {}", run.status, output::one_line(about)),
        None => run.status.clone(),
    }
}

async fn ask<P: Params, R: DeserializeOwned>(ground: &Ground, params: &P) -> Result<R, Failure> {
    let remote = ground.remote()?;
    let refused = |answer: Envelope| Failure(answer.error.unwrap_or_default());
    let socket = Socket::open(remote.url(), remote.token()).await;
    let mut socket = socket.map_err(refused)?;
    let answer = socket.ask(params, |_| {}).await.map_err(refused)?;
    serde_json::from_value(answer).map_err(|e| Failure(e.to_string()))
}
