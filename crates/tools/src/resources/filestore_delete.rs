//! `filestore_delete`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Remove a file of a filestore.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the filestore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Its path.
    #[schemars(length(min = 1))]
    path: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The path.
    path: String,
    /// Always true.
    deleted: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "filestore_delete",
    enabled: always,
    build: |deps| typed(FilestoreDelete(deps.resources.clone())),
};

struct FilestoreDelete(Resources);

impl TypedTool for FilestoreDelete {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES)
            .frees_storage()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Filestore, Level::Write)
            .await?;
        let removed = self.0.store.remove_file(found.id, &params.path).await;
        if !removed? {
            let shown: String = params.path.chars().take(100).collect();
            return Err(ToolError::not_found(format!(
                "the file {shown} does not exist"
            )));
        }
        Outcome::of(&Output {
            path: params.path,
            deleted: true,
        })
    }
}
