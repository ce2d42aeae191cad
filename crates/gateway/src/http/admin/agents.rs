//! Agents: those that the settings name, and `main`.

use std::sync::Arc;

use axum::extract::{Path, State};
use manyhands_agent::{Reach, Shape, reach};
use manyhands_config::Settings;
use manyhands_core::{AgentId, Invoke as _, ToolError};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};
use crate::workspace::tree_of;

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

/// One agent: what is set, its own rules, and the tools that its model is shown or can find.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer {
    let wrong = |e: manyhands_core::InvalidName| Refusal(ToolError::parameter("id", e.to_string()));
    let id: AgentId = id.parse().map_err(wrong)?;
    let agent = gateway.minds().agent(&id)?;
    let settings = gateway.settings.current();
    let shape = Shape {
        caller: &owner.caller,
        tools: &agent.tools,
        discover: &agent.discover,
        only: None,
        place: None,
    };
    let catalogue = gateway.path.catalogue();
    let tools = |wanted: Reach| -> Vec<String> {
        let fits = catalogue
            .specs()
            .filter(|spec| reach(spec, &shape) == wanted);
        fits.map(|spec| spec.name.to_string()).collect()
    };
    let mut shown = shown(&settings, &id);
    if !settings.agents.contains_key(&id) {
        // One that an agent made: what it was made with.
        shown["model"] = json!(agent.model.as_ref().map(ToString::to_string));
        shown["tools"] = json!(agent.tools);
        shown["systemPrompt"] = json!(agent.system_prompt);
        shown["madeBy"] = json!(agent.payer);
    }
    shown["directTools"] = json!(tools(Reach::Direct));
    shown["discoveredTools"] = json!(tools(Reach::Discovered));
    answer(json!({ "agent": shown }))
}

fn shown(settings: &Settings, id: &AgentId) -> Value {
    let said = settings.agents.get(id).cloned().unwrap_or_default();
    json!({
        "id": id,
        "model": said.model.as_ref().or(settings.models.default.as_ref()),
        "thinking": said.thinking,
        "tools": said.tools,
        "discover": said.discover,
        "workspace": tree_of(settings, id),
        "dmScope": said.dm_scope.unwrap_or(settings.sessions.dm_scope),
        "policy": said.policy.rules,
        "systemPrompt": said.system_prompt,
        "reset": said.reset.unwrap_or(settings.sessions.reset),
    })
}
