//! Agents: those that the settings name, and `main`.

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

/// What is set for an agent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its name.
    #[schemars(with = "String")]
    id: AgentId,
    /// Its model, as `provider/model`.
    model: Option<String>,
    /// How hard it thinks.
    thinking: Option<ThinkingLevel>,
    /// The tools its model is shown, by pattern.
    tools: Vec<Pattern>,
    /// The tools it has to look for first, by pattern.
    discover: Vec<Pattern>,
    /// Whose workspace it works in.
    #[schemars(with = "String")]
    workspace: AgentId,
    /// In which of its sessions people write to it directly.
    dm_scope: DmScope,
    /// Rules of its own.
    policy: Vec<Rule>,
    /// What its model is told besides the files of its workspace.
    system_prompt: Option<String>,
    /// When its sessions begin anew by themselves.
    reset: Reset,
}

/// Agents.
#[derive(Serialize, JsonSchema)]
pub struct AgentList {
    /// How many.
    count: usize,
    /// The agents, `main` first.
    agents: Vec<AgentView>,
}

/// One agent with its tools.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTools {
    #[serde(flatten)]
    set: AgentView,
    /// The agent that made it, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    made_by: Option<AgentId>,
    /// The tools that its model is shown.
    direct_tools: Vec<String>,
    /// The tools that it can find.
    discovered_tools: Vec<String>,
}

/// One agent.
#[derive(Serialize, JsonSchema)]
pub struct AgentShown {
    /// The agent.
    agent: AgentTools,
}

/// All agents, `main` first.
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

/// One agent: what is set, its own rules, and the tools that its model is shown or can find.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<AgentShown> {
    let wrong = |e: manyhands_core::InvalidName| Refusal(ToolError::parameter("id", e.to_string()));
    let id: AgentId = id.parse().map_err(wrong)?;
    let agent = gateway.minds().agent(&id)?;
    let settings = gateway.settings.current();
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
    let named = settings.agents.contains_key(&id);
    let (mut set, mut made_by) = (shown(&settings, id), None);
    if !named {
        // One that an agent made: what it was made with.
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
