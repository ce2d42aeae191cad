//! Branching a session, and the sessions that its calls started.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_agent::{SessionKey, SubSession};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// Longest label, in characters.
const MAX_LABEL: usize = 200;

/// Where to branch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Number of the user message before which the new session ends.
    seq: i64,
    /// Label of the new session, at most 200 characters.
    label: Option<String>,
}

/// The new session.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Branched {
    /// Its key.
    #[schemars(with = "String")]
    session_key: SessionKey,
}

/// Creates a session with the messages before a user message; the original is not changed.
pub async fn branch(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
    what: Result<Json<Branch>, JsonRejection>,
) -> Answer<Branched> {
    let Branch { seq, label } = body(what)?;
    let key = session_key(&admitted.caller, &AgentId::main(), &text)?;
    let odd = |label: &String| {
        let length = label.chars().count();
        label.trim().is_empty() || length > MAX_LABEL || label.contains(char::is_control)
    };
    if label.as_ref().is_some_and(odd) {
        let message = format!("must have 1 to {MAX_LABEL} printable characters");
        return Err(Refusal(ToolError::parameter("label", message)));
    }
    let branched = gateway.branch_session(&admitted.caller, &key, seq, label);
    answer(Branched {
        session_key: branched.await?,
    })
}

/// A session that a call of another one started.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubSessionView {
    /// Its key. `POST /api/chat/stop` and `chat.stop` stop its running turn.
    session_key: String,
    /// Its agent.
    agent_id: String,
    /// Its title: the start of its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// State of its last turn: `queued`, `running`, `waiting` (for approval), `done`, `failed` or `stopped`; absent if it
    /// has none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// The session that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_key: Option<String>,
    /// The model's id of the call that started it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_call_id: Option<String>,
    /// When it was made.
    created_at: String,
}

/// The sessions that the calls of a session started.
#[derive(Serialize, JsonSchema)]
pub struct SessionTree {
    /// Each after the one it was started by, at most 200.
    sessions: Vec<SubSessionView>,
}

/// Returns the sub-agent sessions that a session started, and those that these started, as far as the caller may see them.
pub async fn tree(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
) -> Answer<SessionTree> {
    let main = AgentId::main();
    let key = session_key(&admitted.caller, &main, &text)?;
    let found = gateway.minds().tree(&key).await?;
    let sees = |one: &SubSession| session_key(&admitted.caller, &main, &one.session.key).is_ok();
    let sessions = found.into_iter().filter(sees).map(|one| SubSessionView {
        session_key: one.session.key,
        agent_id: one.session.agent.to_string(),
        title: one.session.label.or(one.session.title),
        state: one.state.map(|state| state.as_str()),
        parent_key: one.session.parent,
        parent_call_id: one.session.parent_call,
        created_at: one.session.created.rfc3339(),
    });
    answer(SessionTree {
        sessions: sessions.collect(),
    })
}
