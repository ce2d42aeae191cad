//! `knowledge_read`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::artifacts::reading::{self, TextRange, TextSource};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resources;

/// Read a document of a knowledge base, page by page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Which document.
    #[schemars(length(min = 1))]
    document_id: String,
    /// The character to start from. Use nextOffset to go on.
    offset: Option<u64>,
    /// How many characters at most. Default 10000.
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<u32>,
}

/// What was read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its title.
    title: String,
    /// Where it comes from.
    source: String,
    /// The part that was asked for.
    content: String,
    /// The size of the whole text in bytes.
    total_size: u64,
    /// Whether there is more of it.
    has_more: bool,
    /// The offset to go on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

pub(super) struct KnowledgeRead(pub(super) Resources);

impl TypedTool for KnowledgeRead {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("knowledge_read").effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Knowledge, Level::Read)
            .await?;
        let read = self.0.store.document(found.id, &params.document_id).await;
        let Some((document, text)) = read? else {
            let shown: String = params.document_id.chars().take(128).collect();
            return Err(
                ToolError::not_found(format!("there is no document {shown:?}"))
                    .hint("knowledge_list shows what there is"),
            );
        };
        let whole = futures_util::stream::once(async { Ok(text.into()) });
        let source = TextSource::new(Box::pin(whole), &self.0.redactor.load());
        let page = TextRange {
            offset: params.offset.unwrap_or(0),
            limit: params.limit.unwrap_or(10_000) as usize,
        };
        let part = reading::page(source, page).await?;
        Outcome::of(&Output {
            title: document.title,
            source: document.source,
            content: part.content,
            total_size: document.size,
            has_more: part.next.is_some(),
            next_offset: part.next,
        })
    }
}
