//! `resource_grant`

use manyhands_core::{AgentId, CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resources;

/// What an agent may do with a resource.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// Nothing.
    None,
    /// Look at what it holds, or use its secrets.
    Read,
    /// Change what it holds.
    Write,
    /// Let other agents use it, and remove it.
    Admin,
}

/// Let an agent use a resource of yours, or no longer. Needs admin on it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// The agent.
    #[schemars(length(min = 1))]
    agent: String,
    /// What it may do: read, write or admin, each with the ones before; none takes it back.
    level: Wanted,
}

/// What the agent may do now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The resource.
    collection_id: String,
    /// The agent.
    agent: String,
    /// What it may do.
    level: Wanted,
}

pub(super) struct ResourceGrant(pub(super) Resources);

impl TypedTool for ResourceGrant {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("resource_grant").effects(Effects::WRITES)
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
            Wanted::None => store.revoke(found.id, &agent).await.map(drop),
            Wanted::Read => store.grant(found.id, &agent, Level::Read).await,
            Wanted::Write => store.grant(found.id, &agent, Level::Write).await,
            Wanted::Admin => store.grant(found.id, &agent, Level::Admin).await,
        };
        done?;
        Outcome::of(&Output {
            collection_id: params.collection_id,
            agent: params.agent,
            level: params.level,
        })
    }
}
