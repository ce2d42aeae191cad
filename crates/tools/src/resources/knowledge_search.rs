//! `knowledge_search`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// A passage.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Id of its document.
    document_id: String,
    /// Title of its document.
    title: String,
    /// Source of its document.
    source: String,
    /// Index of the passage in its document.
    passage: u64,
    /// Its text.
    text: String,
    /// Relevance: higher is better.
    score: f64,
}

/// Search the documents of a knowledge base. Returns the passages that contain most of the words of
/// the query, best first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the knowledge base.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Search words.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Maximum number of passages. Default 5.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

/// Matching passages.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Passages, best first.
    passages: Vec<Passage>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "knowledge_search",
    enabled: always,
    build: |deps| typed(KnowledgeSearch(deps.resources.clone())),
};

struct KnowledgeSearch(Resources);

impl TypedTool for KnowledgeSearch {
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
        let passages = self
            .0
            .store
            .search(found.id, &params.query, params.limit.unwrap_or(5))
            .await;
        let passages = passages?.into_iter().map(|one| Passage {
            document_id: one.document,
            title: one.title,
            source: one.source,
            passage: one.place,
            text: one.text,
            score: one.score,
        });
        Outcome::of(&Output {
            passages: passages.collect(),
        })
    }
}
