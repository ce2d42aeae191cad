//! Agents: those in the settings, and `main`.

use std::sync::Arc;

use axum::extract::{Path, State};
use manyhands_agent::{ToolAccess, ToolScope, tool_access};
use manyhands_config::{DmScope, Reset, Rule, Settings, ThinkingLevel};
use manyhands_core::{AgentId, Invoke as _, Pattern, Principal, ToolError};
use manyhands_gateway::Gateway;
use manyhands_host::workspace::tree_of;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use schemars::JsonSchema;
use serde::Serialize;

/// The settings of an agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Name.
    #[schemars(with = "String")]
    id: AgentId,
    /// Model, as `provider/model`.
    model: Option<String>,
    /// Reasoning level.
    thinking: Option<ThinkingLevel>,
    /// Tools its model is given, by pattern.
    tools: Vec<Pattern>,
    /// Tools it must discover first, by pattern.
    discover: Vec<Pattern>,
    /// Agent whose workspace it uses.
    #[schemars(with = "String")]
    workspace: AgentId,
    /// Which of its sessions receive direct messages.
    dm_scope: DmScope,
    /// Its own rules.
    policy: Vec<Rule>,
    /// Extra system prompt, besides the files of its workspace.
    system_prompt: Option<String>,
    /// When its sessions are reset automatically.
    reset: Reset,
}

/// A list of agents.
#[derive(Serialize, JsonSchema)]
pub struct AgentList {
    /// Number of agents.
    count: usize,
    /// Agents, `main` first.
    agents: Vec<AgentView>,
}

/// An agent with its tools.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTools {
    #[serde(flatten)]
    set: AgentView,
    /// The agent that spawned it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    made_by: Option<AgentId>,
    /// Tools its model is given.
    direct_tools: Vec<String>,
    /// Tools it can discover.
    discovered_tools: Vec<String>,
}

/// The response with an agent.
#[derive(Serialize, JsonSchema)]
pub struct AgentShown {
    /// The agent.
    agent: AgentTools,
}

/// Lists all agents, `main` first.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<AgentList> {
    let settings = gateway.settings.current();
    let all = names(&settings);
    answer(AgentList {
        count: all.len(),
        agents: all.into_iter().map(|id| shown(&settings, id)).collect(),
    })
}

/// The names of all agents, `main` first.
pub fn names(settings: &Settings) -> Vec<AgentId> {
    let main = AgentId::main();
    let others = settings.agents.keys().filter(|id| **id != main).cloned();
    std::iter::once(main.clone()).chain(others).collect()
}

/// Returns an agent: settings, own rules and available tools.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<AgentShown> {
    let wrong = |e: manyhands_core::InvalidName| Refusal(ToolError::parameter("id", e.to_string()));
    let id: AgentId = id.parse().map_err(wrong)?;
    let agent = gateway.minds().agent(&id)?;
    let settings = gateway.settings.current();
    // As in a turn of that agent, because its rules apply to its own calls only.
    let caller = owner.caller.through(Principal::Agent(id.clone()));
    let shape = ToolScope {
        path: &*gateway.path,
        caller: &caller,
        agent: &agent.id,
        tools: &agent.tools,
        discover: &agent.discover,
        only: None,
        place: None,
        session: None,
    };
    let catalogue = gateway.path.catalogue();
    let tools = |wanted: ToolAccess| -> Vec<String> {
        let fits = catalogue
            .specs()
            .filter(|spec| tool_access(spec, &shape) == wanted);
        fits.map(|spec| spec.name.to_string()).collect()
    };
    let (direct_tools, discovered_tools) =
        (tools(ToolAccess::Direct), tools(ToolAccess::Discovered));
    // `main` has defaults even if the settings do not name it.
    let named = settings.agents.contains_key(&id);
    let (mut set, mut made_by) = (shown(&settings, id), None);
    if !named {
        // A spawned agent has no settings of its own: show what it was created with.
        set.model = agent.model.as_ref().map(ToString::to_string);
        set.tools = agent.tools;
        set.system_prompt = agent.system_prompt;
        made_by = agent.payer;
    }
    answer(AgentShown {
        agent: AgentTools {
            set,
            made_by,
            direct_tools,
            discovered_tools,
        },
    })
}

fn shown(settings: &Settings, id: AgentId) -> AgentView {
    let said = settings.agents.get(&id).cloned().unwrap_or_default();
    AgentView {
        model: said.model.or(settings.models.default.clone()),
        thinking: said.thinking,
        tools: said.tools,
        discover: said.discover,
        workspace: tree_of(settings, &id),
        dm_scope: said.dm_scope.unwrap_or(settings.sessions.dm_scope),
        policy: said.policy.rules,
        system_prompt: said.system_prompt,
        reset: said.reset.unwrap_or(settings.sessions.reset),
        id,
    }
}
