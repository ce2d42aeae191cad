//! `knowledge_remove`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Remove a document of a knowledge base.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the knowledge base.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Id of the document.
    #[schemars(length(min = 1))]
    document_id: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its id.
    document_id: String,
    /// Always true.
    deleted: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "knowledge_remove",
    enabled: always,
    build: |deps| typed(KnowledgeRemove(deps.resources.clone())),
};

struct KnowledgeRemove(Resources);

impl TypedTool for KnowledgeRemove {
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
            .open(&context.agent, id, CollectionKind::Knowledge, Level::Write)
            .await?;
        let removed = self
            .0
            .store
            .remove_document(found.id, &params.document_id)
            .await;
        if !removed? {
            let shown: String = params.document_id.chars().take(128).collect();
            return Err(ToolError::not_found(format!("no document {shown:?}")));
        }
        Outcome::of(&Output {
            document_id: params.document_id,
            deleted: true,
        })
    }
}
