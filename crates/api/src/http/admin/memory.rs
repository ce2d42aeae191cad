//! Memory: full-text search in conversations and memory files.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use manyhands_agent::MemoryHit;
use manyhands_agent_services::memory::{Library, scope};
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query;
use crate::http::patterns;

const LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// A search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryQuery {
    /// Search words.
    #[schemars(regex(pattern = patterns::WORDS))]
    query: String,
    /// Agent to search; for the owner all by default, for others `main`.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Maximum number; 20 by default.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

/// Search results.
#[derive(Serialize, JsonSchema)]
pub struct MemoryFound {
    /// Number of results.
    count: usize,
    /// Whether everything was searched.
    complete: bool,
    /// Results, best first.
    results: Vec<MemoryHit>,
}

/// Searches memory, best first. A client finds only messages of its own sessions.
pub async fn search(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    which: Result<Query<MemoryQuery>, QueryRejection>,
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
    // An unknown agent is an error and not an empty result, which would look like a bad query.
    if let Some(agent) = &agent {
        minds.agent(agent)?;
    }
    let scope = scope(&admitted.caller, agent.as_ref(), &gateway.settings)?;
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
