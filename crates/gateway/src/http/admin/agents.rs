//! Agents: those that the settings name, and `main`.

use std::sync::Arc;

use axum::extract::State;
use manyhands_config::Settings;
use manyhands_core::AgentId;
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, answer};

/// All agents, `main` first.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let settings = gateway.settings.current();
    let agents: Vec<Value> = names(&settings)
        .iter()
        .map(|id| shown(&settings, id))
        .collect();
    answer(json!({ "count": agents.len(), "agents": agents }))
}

/// The names of all agents, `main` first.
pub fn names(settings: &Settings) -> Vec<AgentId> {
    let main = AgentId::main();
    let others = settings.agents.keys().filter(|id| **id != main).cloned();
    std::iter::once(main.clone()).chain(others).collect()
}

fn shown(settings: &Settings, id: &AgentId) -> Value {
    let said = settings.agents.get(id).cloned().unwrap_or_default();
    json!({
        "id": id,
        "model": said.model.as_ref().or(settings.models.default.as_ref()),
        "thinking": said.thinking,
        "tools": said.tools,
        "systemPrompt": said.system_prompt,
        "reset": said.reset.unwrap_or(settings.sessions.reset),
    })
}
