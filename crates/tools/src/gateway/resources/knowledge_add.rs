//! `knowledge_add`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level, NewDocument, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resources;

/// Add a document to a knowledge base, in place of one with the same id. It can be found at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Its title.
    #[schemars(length(min = 1, max = 500))]
    title: String,
    /// Its text.
    text: String,
    /// Where it comes from, such as a URL.
    #[schemars(length(max = 2000))]
    source: Option<String>,
    /// Its id, 1-128 bytes; a fresh one when not given.
    document_id: Option<String>,
}

/// What was added.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its id.
    document_id: String,
    /// How many bytes its text has.
    size: u64,
    /// Whether there was no such document before.
    created: bool,
}

pub(super) struct KnowledgeAdd(pub(super) Resources);

impl TypedTool for KnowledgeAdd {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("knowledge_add").effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Knowledge, Level::Write)
            .await?;
        let new = NewDocument {
            id: params.document_id,
            title: params.title,
            source: params.source.unwrap_or_default(),
            text: params.text,
        };
        let put = self
            .0
            .store
            .put_document(found.id, new, self.0.room())
            .await;
        let (kept, created) = put.map_err(|e| match e {
            StoreError::Invalid { what } => ToolError::parameter("documentId", what),
            other => other.into(),
        })?;
        Outcome::of(&Output {
            document_id: kept.id,
            size: kept.size,
            created,
        })
    }
}
