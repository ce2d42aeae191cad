//! `resource_grant`

use manyhands_core::{AgentId, CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Access level of an agent.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GrantLevel {
    /// No access.
    None,
    /// Read the contents, or use the secrets.
    Read,
    /// Change the contents.
    Write,
    /// Grant it to other agents, and delete it.
    Admin,
}

/// Grant an agent access to a resource of yours, or revoke it. Needs admin access.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the resource.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// The agent.
    #[schemars(length(min = 1))]
    agent: String,
    /// Access level: read, write or admin, each including the ones before; none revokes access.
    level: GrantLevel,
}

/// The new access level.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The resource.
    collection_id: String,
    /// The agent.
    agent: String,
    /// Access level.
    level: GrantLevel,
}

pub(crate) const TOOL: Registration = Registration {
    name: "resource_grant",
    enabled: always,
    build: |deps| typed(ResourceGrant(deps.resources.clone())),
};

struct ResourceGrant(Resources);

impl TypedTool for ResourceGrant {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let found = self
            .0
            .any(&context.agent, &params.collection_id, None)
            .await?
            .0;
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, found.kind, Level::Admin)
            .await?;
        let agent: AgentId = params
            .agent
            .parse()
            .map_err(|e: manyhands_core::InvalidName| {
                ToolError::parameter("agent", e.to_string())
            })?;
        if agent == context.agent {
            let message = "must be another agent: you would lose your own admin";
            return Err(ToolError::parameter("agent", message));
        }
        let store = &self.0.store;
        let done = match params.level {
            GrantLevel::None => store.revoke(found.id, &agent).await.map(drop),
            GrantLevel::Read => store.grant(found.id, &agent, Level::Read).await,
            GrantLevel::Write => store.grant(found.id, &agent, Level::Write).await,
            GrantLevel::Admin => store.grant(found.id, &agent, Level::Admin).await,
        };
        done?;
        Outcome::of(&Output {
            collection_id: params.collection_id,
            agent: params.agent,
            level: params.level,
        })
    }
}
