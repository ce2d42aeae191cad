//! `knowledge_list`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// A document.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedDocument {
    /// Its id.
    document_id: String,
    /// Its title.
    title: String,
    /// Source.
    source: String,
    /// Size of its text, in bytes.
    size: u64,
    /// When it was last added, RFC 3339.
    updated: String,
}

/// List the documents of a knowledge base, sorted by title.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the knowledge base.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Maximum number of documents. Default 100.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// Number of documents to skip. Default 0.
    offset: Option<u32>,
}

/// A list of documents.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The documents.
    documents: Vec<ListedDocument>,
    /// Whether there are more.
    has_more: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "knowledge_list",
    enabled: always,
    build: |deps| typed(KnowledgeList(deps.resources.clone())),
};

struct KnowledgeList(Resources);

impl TypedTool for KnowledgeList {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Knowledge, Level::Read)
            .await?;
        let (limit, offset) = (params.limit.unwrap_or(100), params.offset.unwrap_or(0));
        // One more than is shown, to know whether there are more.
        let listed = self.0.store.documents(found.id, limit + 1, offset).await;
        let mut documents = listed?;
        let has_more = documents.len() > limit as usize;
        documents.truncate(limit as usize);
        let documents = documents.into_iter().map(|one| ListedDocument {
            document_id: one.id,
            title: one.title,
            source: one.source,
            size: one.size,
            updated: one.updated.rfc3339(),
        });
        Outcome::of(&Output {
            documents: documents.collect(),
            has_more,
        })
    }
}
