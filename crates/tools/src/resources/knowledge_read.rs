//! `knowledge_read`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::artifacts::reading::{self, TextRange, TextSource};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Read a document of a knowledge base, page by page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the knowledge base.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Id of the document.
    #[schemars(length(min = 1))]
    document_id: String,
    /// Start offset in characters. Use nextOffset to continue.
    offset: Option<u64>,
    /// Maximum number of characters. Default 10000.
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<u32>,
}

/// The content read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Its title.
    title: String,
    /// Source.
    source: String,
    /// The requested part.
    content: String,
    /// The size of the whole text in bytes.
    total_size: u64,
    /// Whether there is more.
    has_more: bool,
    /// Offset to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "knowledge_read",
    enabled: always,
    build: |deps| typed(KnowledgeRead(deps.resources.clone())),
};

struct KnowledgeRead(Resources);

impl TypedTool for KnowledgeRead {
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
        let read = self.0.store.document(found.id, &params.document_id).await;
        let Some((document, text)) = read? else {
            let shown: String = params.document_id.chars().take(128).collect();
            return Err(ToolError::not_found(format!("no document {shown:?}"))
                .hint("knowledge_list lists the documents"));
        };
        let whole = futures_util::stream::once(async { Ok(text.into()) });
        // Read like a file, so that it is redacted and paged in the same way.
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
