//! Skills: listed with where they stand, shown, switched on and off.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_host::workspace::SkillSource;
use manyhands_http_common::{Answer, Asker, Owner, Refusal, answer};
use manyhands_wire::{SkillStatus, SkillsStatusResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{body, query};
use crate::http::object::Json;
use crate::http::shapes;

/// Whose skills.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    /// Of this agent; of `main` when not said.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent: Option<String>,
}

fn agent(said: Option<&str>) -> Result<AgentId, Refusal> {
    let wrong =
        |e: manyhands_core::InvalidName| Refusal(ToolError::parameter("agent", e.to_string()));
    said.map_or_else(|| Ok(AgentId::main()), |name| name.parse().map_err(wrong))
}

/// Every skill of an agent, and the machines.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    whose: Result<Query<Whose>, QueryRejection>,
) -> Answer<SkillsStatusResult> {
    let agent = agent(query(whose)?.agent.as_deref())?;
    let status = gateway.skills_status(&asker.caller, &agent).await?;
    answer(status)
}

/// A skill with its text.
#[derive(Serialize, JsonSchema)]
pub struct SkillText {
    /// Where it stands.
    #[serde(flatten)]
    status: SkillStatus,
    /// Where its text is, as a path of the workspace.
    path: String,
    /// Whose copy it is.
    source: SkillSource,
    /// Its text.
    text: String,
}

/// One skill.
#[derive(Serialize, JsonSchema)]
pub struct SkillShown {
    /// The skill.
    skill: SkillText,
}

/// One skill with its text.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(name): Path<String>,
    whose: Result<Query<Whose>, QueryRejection>,
) -> Answer<SkillShown> {
    let agent = agent(query(whose)?.agent.as_deref())?;
    let seen = gateway.skill(&asker.caller, &agent, &name).await?;
    answer(SkillShown {
        skill: SkillText {
            status: seen.status,
            path: seen.path,
            source: seen.source,
            text: seen.text,
        },
    })
}

/// What becomes of a skill.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Whether it is used.
    enabled: bool,
    /// As this agent sees it; `main` when not said. The switch holds for every agent.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent: Option<String>,
}

/// A skill that was switched.
#[derive(Serialize, JsonSchema)]
pub struct SkillSwitched {
    /// Where it stands now.
    skill: SkillStatus,
}

/// Switches a skill on or off, for every agent.
pub async fn switch(
    State(gateway): State<Arc<Gateway>>,
    Owner(asker): Owner,
    Path(name): Path<String>,
    switch: Result<Json<Switch>, JsonRejection>,
) -> Answer<SkillSwitched> {
    let switch = body(switch)?;
    let agent = agent(switch.agent.as_deref())?;
    let on = switch.enabled;
    let seen = gateway
        .switch_skill(&asker.caller, &agent, &name, on)
        .await?;
    answer(SkillSwitched { skill: seen.status })
}
