//! `acp_permit`

use manyhands_core::{
    CallContext, Effects, Exposure, Group, Outcome, ToolError, ToolSpec, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Whether an agent of `acp.agents` may do what it asks to be allowed. `acp_spawn` calls this for each such question, so that
/// the owner's rules decide and the owner is asked; the call comes back only where they agree. It does nothing by itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The requesting agent.
    agent: String,
    /// What it wants to do, in its own words.
    title: String,
    /// Kind of action: `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`,
    /// `switch_mode` or `other`.
    kind: String,
    /// Arguments, as stated by the agent.
    #[serde(default)]
    input: Value,
}

/// A granted permission.
#[derive(Serialize, JsonSchema)]
pub struct Permitted {
    /// Always true: a denial is an error.
    allowed: bool,
    /// The agent.
    agent: String,
    /// What it may do.
    title: String,
    /// Kind of action.
    kind: String,
    /// Arguments.
    input: Value,
}

pub(crate) const TOOL: Registration = Registration {
    name: "acp_permit",
    enabled: |tools| tools.acp_spawn.enabled,
    build: |_| typed(AcpPermit),
};

struct AcpPermit;

impl TypedTool for AcpPermit {
    type Params = Params;
    type Output = Permitted;

    fn spec(&self) -> ToolSpec {
        // The action runs elsewhere, and rules should see its real effects.
        super::spec(TOOL.name)
            .effects(Effects::WRITES.and(Effects::RUNS))
            .group(Group::Extra)
            .exposure(Exposure::Discoverable)
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        Outcome::of(&Permitted {
            allowed: true,
            agent: params.agent,
            title: params.title,
            kind: params.kind,
            input: params.input,
        })
    }
}
