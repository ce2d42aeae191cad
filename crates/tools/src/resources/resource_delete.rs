//! `resource_delete`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Delete a resource of yours with all its contents. Needs admin access. This cannot be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the resource.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Its name, as a safeguard against deleting another one.
    name: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its id.
    collection_id: String,
    /// Number of rows, files, documents or secrets it contained.
    items: u64,
}

pub(crate) const TOOL: Registration = Registration {
    name: "resource_delete",
    enabled: always,
    build: |deps| typed(ResourceDelete(deps.resources.clone())),
};

struct ResourceDelete(Resources);

impl TypedTool for ResourceDelete {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES)
            .frees_storage()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        // Twice, because only the record tells the kind that `open` checks the access to.
        let found = self.0.any(&context.agent, id, None).await?.0;
        let found = self
            .0
            .open(&context.agent, id, found.kind, Level::Admin)
            .await?;
        if found.name != params.name {
            let message = format!("must be {:?}, the name of the resource", found.name);
            return Err(ToolError::parameter("name", message));
        }
        self.0.store.remove(found.id).await?;
        Outcome::of(&Output {
            collection_id: params.collection_id,
            items: found.items,
        })
    }
}
