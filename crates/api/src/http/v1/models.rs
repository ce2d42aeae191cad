//! The list of models: the agents.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::{Authenticated, Refusal};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::super::admin::agents::names;

/// When this gateway started serving, and whether leftovers from before were removed.
#[derive(Clone)]
pub struct ServingSince {
    pub(super) start: Timestamp,
    pub(super) swept: Arc<OnceCell<()>>,
}

impl ServingSince {
    /// Starting now.
    pub fn now(gateway: &Gateway) -> Self {
        Self {
            start: gateway.clock.now(),
            swept: Arc::default(),
        }
    }
}

/// Fails unless the caller may talk to agents.
pub(super) fn may_talk(admitted: &Admitted) -> Result<(), ToolError> {
    session_key(&admitted.caller, &AgentId::main(), "main").map(drop)
}

fn shown(agent: &AgentId, since: &ServingSince) -> Value {
    // Fields for OpenAI's and Anthropic's clients.
    json!({
        "id": format!("agent/{agent}"),
        "object": "model",
        "created": since.start.0 / 1_000,
        "owned_by": "manyhands",
        "type": "model",
        "display_name": agent,
        "created_at": since.start.rfc3339(),
    })
}

/// Lists the agents as models.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<ServingSince>,
    Authenticated(admitted): Authenticated,
) -> Result<Json<Value>, Refusal> {
    may_talk(&admitted)?;
    let settings = gateway.settings.current();
    let models = names(&settings);
    let models: Vec<Value> = models.iter().map(|agent| shown(agent, &since)).collect();
    let id = |model: Option<&Value>| model.map(|model| model["id"].clone());
    Ok(Json(json!({
        "object": "list",
        "first_id": id(models.first()),
        "last_id": id(models.last()),
        "has_more": false,
        "data": models,
    })))
}

/// Returns an agent as a model.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<ServingSince>,
    Authenticated(admitted): Authenticated,
    Path(model): Path<String>,
) -> Result<Json<Value>, Refusal> {
    may_talk(&admitted)?;
    let agent = super::agent(&gateway.settings.current(), &model)?;
    Ok(Json(shown(&agent, &since)))
}
