//! Which models there are: the agents.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use manyhands_core::{AgentId, Timestamp, ToolError};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::super::admin::agents::names;
use super::super::asker::Asker;
use super::super::refusal::Refusal;
use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::minds::session_key;

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
fn may_talk(asker: &Admitted) -> Result<(), ToolError> {
    session_key(&asker.caller, &AgentId::main(), "main").map(drop)
}

fn shown(agent: &AgentId, since: &Since) -> Value {
    json!({
        "id": format!("agent/{agent}"),
        "object": "model",
        "created": since.start.0 / 1_000,
        "owned_by": "manyhands",
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
    Ok(Json(json!({ "object": "list", "data": models })))
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
