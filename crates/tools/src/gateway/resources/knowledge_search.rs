//! `knowledge_search`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resources;

/// One passage.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Its document.
    document_id: String,
    /// The document's title.
    title: String,
    /// Where the document comes from.
    source: String,
    /// Which passage of its document, from 0.
    passage: u64,
    /// Its text.
    text: String,
    /// How well it fits: more is better.
    score: f64,
}

/// Search the documents of a knowledge base. Finds the passages that hold most of the words of the query, the best first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// What to look for, in words.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// How many passages at most. Default 5.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

/// The passages that were found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The passages, the best first.
    passages: Vec<Found>,
}

pub(super) struct KnowledgeSearch(pub(super) Resources);

impl TypedTool for KnowledgeSearch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("knowledge_search").effects(Effects::READS)
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
        let passages = passages?.into_iter().map(|one| Found {
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
