//! Which models there are: the agents.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::{Asker, Refusal};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::super::admin::agents::names;

/// Since when this gateway serves, and whether what was left from before is cleared away.
#[derive(Clone)]
pub struct Since {
    pub(super) start: Timestamp,
    pub(super) swept: Arc<OnceCell<()>>,
}

impl Since {
    /// From now on.
    pub fn now(gateway: &Gateway) -> Self {
        Self {
            start: gateway.clock.now(),
            swept: Arc::default(),
        }
    }
}

/// Whether whoever asks may talk to agents at all.
pub(super) fn may_talk(asker: &Admitted) -> Result<(), ToolError> {
    session_key(&asker.caller, &AgentId::main(), "main").map(drop)
}

fn shown(agent: &AgentId, since: &Since) -> Value {
    // What OpenAI's clients read, and what Anthropic's read.
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

/// Every agent as a model.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<Since>,
    Asker(asker): Asker,
) -> Result<Json<Value>, Refusal> {
    may_talk(&asker)?;
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

/// One agent as a model.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<Since>,
    Asker(asker): Asker,
    Path(model): Path<String>,
) -> Result<Json<Value>, Refusal> {
    may_talk(&asker)?;
    let agent = super::agent(&gateway.settings.current(), &model)?;
    Ok(Json(shown(&agent, &since)))
}
