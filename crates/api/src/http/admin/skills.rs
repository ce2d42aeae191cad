//! Skills: list, inspect, enable and disable.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_host::workspace::SkillSource;
use manyhands_http_common::{Answer, Authenticated, Owner, Refusal, answer};
use manyhands_wire::{SkillStatus, SkillsStatusResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::patterns;

/// The agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentQuery {
    /// Agent; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
}

fn agent(said: Option<&str>) -> Result<AgentId, Refusal> {
    let wrong =
        |e: manyhands_core::InvalidName| Refusal(ToolError::parameter("agent", e.to_string()));
    said.map_or_else(|| Ok(AgentId::main()), |name| name.parse().map_err(wrong))
}

/// Lists the skills of an agent, and the nodes.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    whose: Result<Query<AgentQuery>, QueryRejection>,
) -> Answer<SkillsStatusResult> {
    let agent = agent(query(whose)?.agent.as_deref())?;
    let status = gateway.skills_status(&admitted.caller, &agent).await?;
    answer(status)
}

/// A skill with its text.
#[derive(Serialize, JsonSchema)]
pub struct SkillText {
    /// Status.
    #[serde(flatten)]
    status: SkillStatus,
    /// Path of its text in the workspace.
    path: String,
    /// Origin of this copy.
    source: SkillSource,
    /// Its text.
    text: String,
}

/// The response with a skill.
#[derive(Serialize, JsonSchema)]
pub struct SkillShown {
    /// The skill.
    skill: SkillText,
}

/// Returns a skill with its text.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(name): Path<String>,
    whose: Result<Query<AgentQuery>, QueryRejection>,
) -> Answer<SkillShown> {
    let agent = agent(query(whose)?.agent.as_deref())?;
    let seen = gateway.skill(&admitted.caller, &agent, &name).await?;
    answer(SkillShown {
        skill: SkillText {
            status: seen.status,
            path: seen.path,
            source: seen.source,
            text: seen.text,
        },
    })
}

/// Whether to enable a skill.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Enabled or disabled.
    enabled: bool,
    /// Agent whose view is returned; `main` by default. The change applies to every agent.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
}

/// The response after a skill was enabled or disabled.
#[derive(Serialize, JsonSchema)]
pub struct SkillSwitched {
    /// Its new status.
    skill: SkillStatus,
}

/// Enables or disables a skill for every agent.
pub async fn switch(
    State(gateway): State<Arc<Gateway>>,
    Owner(admitted): Owner,
    Path(name): Path<String>,
    switch: Result<Json<Switch>, JsonRejection>,
) -> Answer<SkillSwitched> {
    let switch = body(switch)?;
    let agent = agent(switch.agent.as_deref())?;
    let on = switch.enabled;
    let seen = gateway
        .switch_skill(&admitted.caller, &agent, &name, on)
        .await?;
    answer(SkillSwitched { skill: seen.status })
}
