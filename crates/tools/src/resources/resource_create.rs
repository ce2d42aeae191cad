//! `resource_create`

use manyhands_core::{CallContext, CollectionId, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Grant, Level, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Create a datastore, filestore, knowledge base or vault. You get admin access: you can grant it
/// to other agents and delete it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Type: datastore (rows of JSON), filestore (files), knowledge (documents to search in) or
    /// vault (secrets).
    kind: CollectionKind,
    /// Name, unique among its type: 1-64 letters, digits, spaces, -, _ and .
    #[schemars(length(min = 1))]
    name: String,
    /// Purpose.
    #[schemars(length(max = 1000))]
    description: Option<String>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its id.
    collection_id: CollectionId,
    /// Type.
    kind: CollectionKind,
    /// Its name.
    name: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "resource_create",
    enabled: always,
    build: |deps| typed(ResourceCreate(deps.resources.clone())),
};

struct ResourceCreate(Resources);

impl TypedTool for ResourceCreate {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        // Without a grant not even its creator could use it.
        let grants = [Grant {
            agent: context.agent.clone(),
            level: Level::Admin,
        }];
        let about = params.description.unwrap_or_default();
        let made = self
            .0
            .store
            .create(params.kind, &params.name, &about, &grants);
        let made = made.await.map_err(|e| match e {
            StoreError::Invalid { what } => ToolError::parameter("name", what),
            other => other.into(),
        })?;
        Outcome::of(&Output {
            collection_id: made.id,
            kind: made.kind,
            name: made.name,
        })
    }
}
