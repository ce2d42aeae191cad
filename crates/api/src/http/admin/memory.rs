//! Memory: what was said and written down, by words.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use manyhands_agent::MemoryHit;
use manyhands_agent_services::memory::{Library, scope};
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Asker, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query;
use crate::http::shapes;

const LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// The words.
    #[schemars(regex(pattern = shapes::WORDS))]
    query: String,
    /// Of this agent; for the owner of all when not said, for others of `main`.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent: Option<String>,
    /// How many; 20 when not said.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct MemoryFound {
    /// How many.
    count: usize,
    /// Whether everything was looked through.
    complete: bool,
    /// What was found, best first.
    results: Vec<MemoryHit>,
}

/// What was found, best first. A client finds what was said in its own sessions.
pub async fn search(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer<MemoryFound> {
    let which = query(which)?;
    let agent = which.agent.as_deref().map(str::parse::<AgentId>);
    let wrong = |name: &str, text: String| Refusal(ToolError::parameter(name, text));
    let agent = agent
        .transpose()
        .map_err(|e| wrong("agent", e.to_string()))?;
    let limit = which.limit.unwrap_or(LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(wrong("limit", format!("must be between 1 and {MAX_LIMIT}")));
    }
    let minds = gateway.minds();
    if let Some(agent) = &agent {
        minds.agent(agent)?;
    }
    let scope = scope(&asker.caller, agent.as_ref(), &gateway.settings)?;
    let library = Library {
        minds,
        memory: minds.memory(),
        blobs: gateway.store.blobs(),
        settings: &gateway.settings,
    };
    let everybody = gateway.post().everybody();
    let found = library
        .search(&which.query, &scope, &everybody, limit)
        .await?;
    answer(MemoryFound {
        count: found.found.len(),
        complete: found.complete,
        results: found.found,
    })
}
