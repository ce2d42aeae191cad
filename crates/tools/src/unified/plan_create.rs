//! `plan_create`

use std::time::Duration;

use manyhands_agent::{PlanTask, TaskPlan};
use manyhands_core::{
    CallContext, Effects, Group, Outcome, RunsOn, ToolError, ToolSpec, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_deps::{AgentToolDeps, agent_model};
use crate::registration::{Registration, typed};

/// Generate an execution plan for a complex task. The plan is shown to you while you work on, and each call of a tool that
/// succeeds brings it one step further.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Task description to plan.
    #[schemars(length(min = 1))]
    task: String,
    /// Maximum number of steps; `tools.plan_create.max_steps` when not given, and never more than that.
    #[schemars(range(min = 1))]
    max_steps: Option<u32>,
    /// Plan style hint, for example `terse`.
    style: Option<String>,
    /// Override model for plan generation, as `provider/model`.
    model: Option<String>,
}

/// The plan.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The plan: a thought, and steps that are pending, in progress or completed.
    plan: TaskPlan,
}

pub(crate) const TOOL: Registration = Registration {
    name: "plan_create",
    enabled: |tools| tools.plan_create.enabled,
    build: |deps| typed(PlanCreate(deps.agents())),
};

struct PlanCreate(AgentToolDeps);

impl TypedTool for PlanCreate {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::LEAVES)
            .runs_on(RunsOn::Gateway)
            .group(Group::Extra)
            .deadline(Duration::from_secs(300))
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let most = self.0.settings.current().tools.plan_create.max_steps;
        let task = PlanTask {
            task: params.task,
            // The owner's limit wins over the caller's.
            max_steps: params.max_steps.map_or(most, |asked| asked.min(most)),
            style: params.style.filter(|style| !style.trim().is_empty()),
            model: agent_model(params.model.as_deref())?,
        };
        let plan = self.0.minds()?.plan(task, context).await?;
        // The model's own words about its own task, so not untrusted.
        Ok(Outcome::of(&Output { plan })?.clean(true))
    }
}
