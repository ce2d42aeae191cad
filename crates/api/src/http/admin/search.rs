//! Full-text search in the messages of sessions.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use manyhands_agent::MessageMatches;
use manyhands_agent_services::{own_part, session_key};
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, Refusal, answer};
use manyhands_store::MessageScope;
use schemars::JsonSchema;
use serde::Deserialize;

use super::query;
use crate::http::patterns;

const LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// A search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Words that a message must contain, at most 1,000 characters; the last one may be the beginning of a word.
    query: String,
    /// Only sessions of this agent; all by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Maximum number; 20 by default.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
}

/// Searches the messages of sessions, best match first. A client finds only messages of its own sessions.
pub async fn search(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    which: Result<Query<SearchQuery>, QueryRejection>,
) -> Answer<MessageMatches> {
    let which = query(which)?;
    let caller = &admitted.caller;
    let main = AgentId::main();
    // Refuses callers that have no sessions at all, such as nodes.
    session_key(caller, &main, "main")?;
    let wrong = |name: &str, text: String| Refusal(ToolError::parameter(name, text));
    let agent = which.agent.as_deref().map(str::parse::<AgentId>);
    let agent = agent
        .transpose()
        .map_err(|e| wrong("agent", e.to_string()))?;
    let limit = which.limit.unwrap_or(LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(wrong("limit", format!("must be between 1 and {MAX_LIMIT}")));
    }
    let scope = MessageScope {
        agent,
        rest: own_part(caller),
    };
    // Each session is checked as if it were opened, because a token may be limited to some agents.
    let sees = |key: &str| session_key(caller, &main, key).is_ok();
    let minds = gateway.minds();
    let found = minds.search_messages(&which.query, &scope, limit, sees);
    answer(found.await?)
}
